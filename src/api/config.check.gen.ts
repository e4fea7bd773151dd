// Generated from crds/ by `make generate`: do not edit.

// @ts-nocheck: ajv writes JavaScript.
/* oxlint-disable */

/** Where a value does not fit the schema, in the words of ajv. */
export interface SettingsError {
  /** The place in the value, a JSON pointer. */
  readonly instancePath: string
  /** The place of the keyword in the schema, such as `#/properties/auth/type`. */
  readonly schemaPath: string
  readonly keyword: string
  /** Of keyword `type`: the type that would be right. */
  readonly params: Readonly<Record<string, unknown>>
}

/** Every place where a value does not fit the schema of the settings (contract 6.2, 6.5); empty when it fits. */
export function settingsErrors(value: unknown): readonly SettingsError[] {
  return validate10(value) ? [] : validate10.errors
}

function validate10(
  data,
  { instancePath = '', parentData, parentDataProperty, rootData = data } = {},
) {
  let vErrors = null
  let errors = 0
  if (data && typeof data == 'object' && !Array.isArray(data)) {
    if (data.auth !== undefined) {
      let data0 = data.auth
      if (data0 && typeof data0 == 'object' && !Array.isArray(data0)) {
        if (data0.oidc !== undefined) {
          let data1 = data0.oidc
          if (data1 && typeof data1 == 'object' && !Array.isArray(data1)) {
            if (data1.issuerUrl !== undefined) {
              if (typeof data1.issuerUrl !== 'string') {
                const err0 = {
                  instancePath: instancePath + '/auth/oidc/issuerUrl',
                  schemaPath: '#/properties/auth/properties/oidc/properties/issuerUrl/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err0]
                } else {
                  vErrors.push(err0)
                }
                errors++
              }
            }
            if (data1.clientId !== undefined) {
              if (typeof data1.clientId !== 'string') {
                const err1 = {
                  instancePath: instancePath + '/auth/oidc/clientId',
                  schemaPath: '#/properties/auth/properties/oidc/properties/clientId/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err1]
                } else {
                  vErrors.push(err1)
                }
                errors++
              }
            }
            if (data1.clientSecret !== undefined) {
              if (typeof data1.clientSecret !== 'string') {
                const err2 = {
                  instancePath: instancePath + '/auth/oidc/clientSecret',
                  schemaPath: '#/properties/auth/properties/oidc/properties/clientSecret/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err2]
                } else {
                  vErrors.push(err2)
                }
                errors++
              }
            }
            if (data1.redirectURI !== undefined) {
              if (typeof data1.redirectURI !== 'string') {
                const err3 = {
                  instancePath: instancePath + '/auth/oidc/redirectURI',
                  schemaPath: '#/properties/auth/properties/oidc/properties/redirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err3]
                } else {
                  vErrors.push(err3)
                }
                errors++
              }
            }
            if (data1.postLogoutRedirectURI !== undefined) {
              if (typeof data1.postLogoutRedirectURI !== 'string') {
                const err4 = {
                  instancePath: instancePath + '/auth/oidc/postLogoutRedirectURI',
                  schemaPath:
                    '#/properties/auth/properties/oidc/properties/postLogoutRedirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err4]
                } else {
                  vErrors.push(err4)
                }
                errors++
              }
            }
            if (data1.caFile !== undefined) {
              if (typeof data1.caFile !== 'string') {
                const err5 = {
                  instancePath: instancePath + '/auth/oidc/caFile',
                  schemaPath: '#/properties/auth/properties/oidc/properties/caFile/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err5]
                } else {
                  vErrors.push(err5)
                }
                errors++
              }
            }
            if (data1.insecureCa !== undefined) {
              if (typeof data1.insecureCa !== 'boolean') {
                const err6 = {
                  instancePath: instancePath + '/auth/oidc/insecureCa',
                  schemaPath: '#/properties/auth/properties/oidc/properties/insecureCa/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err6]
                } else {
                  vErrors.push(err6)
                }
                errors++
              }
            }
            if (data1.preferredUsername !== undefined) {
              if (typeof data1.preferredUsername !== 'string') {
                const err7 = {
                  instancePath: instancePath + '/auth/oidc/preferredUsername',
                  schemaPath: '#/properties/auth/properties/oidc/properties/preferredUsername/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err7]
                } else {
                  vErrors.push(err7)
                }
                errors++
              }
            }
            if (data1.platformUsernameClaim !== undefined) {
              if (typeof data1.platformUsernameClaim !== 'string') {
                const err8 = {
                  instancePath: instancePath + '/auth/oidc/platformUsernameClaim',
                  schemaPath:
                    '#/properties/auth/properties/oidc/properties/platformUsernameClaim/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err8]
                } else {
                  vErrors.push(err8)
                }
                errors++
              }
            }
            if (data1.usernameClaim !== undefined) {
              if (typeof data1.usernameClaim !== 'string') {
                const err9 = {
                  instancePath: instancePath + '/auth/oidc/usernameClaim',
                  schemaPath: '#/properties/auth/properties/oidc/properties/usernameClaim/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err9]
                } else {
                  vErrors.push(err9)
                }
                errors++
              }
            }
            if (data1.emailClaim !== undefined) {
              if (typeof data1.emailClaim !== 'string') {
                const err10 = {
                  instancePath: instancePath + '/auth/oidc/emailClaim',
                  schemaPath: '#/properties/auth/properties/oidc/properties/emailClaim/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err10]
                } else {
                  vErrors.push(err10)
                }
                errors++
              }
            }
            if (data1.allowedExtraClaims !== undefined) {
              let data13 = data1.allowedExtraClaims
              if (Array.isArray(data13)) {
                const len0 = data13.length
                for (let i0 = 0; i0 < len0; i0++) {
                  if (typeof data13[i0] !== 'string') {
                    const err11 = {
                      instancePath: instancePath + '/auth/oidc/allowedExtraClaims/' + i0,
                      schemaPath:
                        '#/properties/auth/properties/oidc/properties/allowedExtraClaims/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err11]
                    } else {
                      vErrors.push(err11)
                    }
                    errors++
                  }
                }
              } else {
                const err12 = {
                  instancePath: instancePath + '/auth/oidc/allowedExtraClaims',
                  schemaPath:
                    '#/properties/auth/properties/oidc/properties/allowedExtraClaims/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err12]
                } else {
                  vErrors.push(err12)
                }
                errors++
              }
            }
            if (data1.usernamePrefix !== undefined) {
              if (typeof data1.usernamePrefix !== 'string') {
                const err13 = {
                  instancePath: instancePath + '/auth/oidc/usernamePrefix',
                  schemaPath: '#/properties/auth/properties/oidc/properties/usernamePrefix/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err13]
                } else {
                  vErrors.push(err13)
                }
                errors++
              }
            }
            if (data1.groupsClaim !== undefined) {
              if (typeof data1.groupsClaim !== 'string') {
                const err14 = {
                  instancePath: instancePath + '/auth/oidc/groupsClaim',
                  schemaPath: '#/properties/auth/properties/oidc/properties/groupsClaim/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err14]
                } else {
                  vErrors.push(err14)
                }
                errors++
              }
            }
            if (data1.groups !== undefined) {
              let data17 = data1.groups
              if (Array.isArray(data17)) {
                const len1 = data17.length
                for (let i1 = 0; i1 < len1; i1++) {
                  if (typeof data17[i1] !== 'string') {
                    const err15 = {
                      instancePath: instancePath + '/auth/oidc/groups/' + i1,
                      schemaPath: '#/properties/auth/properties/oidc/properties/groups/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err15]
                    } else {
                      vErrors.push(err15)
                    }
                    errors++
                  }
                }
              } else {
                const err16 = {
                  instancePath: instancePath + '/auth/oidc/groups',
                  schemaPath: '#/properties/auth/properties/oidc/properties/groups/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err16]
                } else {
                  vErrors.push(err16)
                }
                errors++
              }
            }
            if (data1.scopes !== undefined) {
              let data19 = data1.scopes
              if (Array.isArray(data19)) {
                const len2 = data19.length
                for (let i2 = 0; i2 < len2; i2++) {
                  if (typeof data19[i2] !== 'string') {
                    const err17 = {
                      instancePath: instancePath + '/auth/oidc/scopes/' + i2,
                      schemaPath: '#/properties/auth/properties/oidc/properties/scopes/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err17]
                    } else {
                      vErrors.push(err17)
                    }
                    errors++
                  }
                }
              } else {
                const err18 = {
                  instancePath: instancePath + '/auth/oidc/scopes',
                  schemaPath: '#/properties/auth/properties/oidc/properties/scopes/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err18]
                } else {
                  vErrors.push(err18)
                }
                errors++
              }
            }
            if (data1.getUserInfo !== undefined) {
              if (typeof data1.getUserInfo !== 'boolean') {
                const err19 = {
                  instancePath: instancePath + '/auth/oidc/getUserInfo',
                  schemaPath: '#/properties/auth/properties/oidc/properties/getUserInfo/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err19]
                } else {
                  vErrors.push(err19)
                }
                errors++
              }
            }
            if (data1.groupsPrefix !== undefined) {
              if (typeof data1.groupsPrefix !== 'string') {
                const err20 = {
                  instancePath: instancePath + '/auth/oidc/groupsPrefix',
                  schemaPath: '#/properties/auth/properties/oidc/properties/groupsPrefix/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err20]
                } else {
                  vErrors.push(err20)
                }
                errors++
              }
            }
            if (data1.type !== undefined) {
              if (typeof data1.type !== 'string') {
                const err21 = {
                  instancePath: instancePath + '/auth/oidc/type',
                  schemaPath: '#/properties/auth/properties/oidc/properties/type/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err21]
                } else {
                  vErrors.push(err21)
                }
                errors++
              }
            }
            if (data1.resource !== undefined) {
              if (typeof data1.resource !== 'string') {
                const err22 = {
                  instancePath: instancePath + '/auth/oidc/resource',
                  schemaPath: '#/properties/auth/properties/oidc/properties/resource/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err22]
                } else {
                  vErrors.push(err22)
                }
                errors++
              }
            }
          } else {
            const err23 = {
              instancePath: instancePath + '/auth/oidc',
              schemaPath: '#/properties/auth/properties/oidc/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err23]
            } else {
              vErrors.push(err23)
            }
            errors++
          }
        }
        if (data0.sourceHostA !== undefined) {
          let data25 = data0.sourceHostA
          if (data25 && typeof data25 == 'object' && !Array.isArray(data25)) {
            if (data25.clientId !== undefined) {
              if (typeof data25.clientId !== 'string') {
                const err24 = {
                  instancePath: instancePath + '/auth/sourceHostA/clientId',
                  schemaPath: '#/properties/auth/properties/sourceHostA/properties/clientId/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err24]
                } else {
                  vErrors.push(err24)
                }
                errors++
              }
            }
            if (data25.clientSecret !== undefined) {
              if (typeof data25.clientSecret !== 'string') {
                const err25 = {
                  instancePath: instancePath + '/auth/sourceHostA/clientSecret',
                  schemaPath:
                    '#/properties/auth/properties/sourceHostA/properties/clientSecret/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err25]
                } else {
                  vErrors.push(err25)
                }
                errors++
              }
            }
            if (data25.redirectURI !== undefined) {
              if (typeof data25.redirectURI !== 'string') {
                const err26 = {
                  instancePath: instancePath + '/auth/sourceHostA/redirectURI',
                  schemaPath:
                    '#/properties/auth/properties/sourceHostA/properties/redirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err26]
                } else {
                  vErrors.push(err26)
                }
                errors++
              }
            }
            if (data25.orgs !== undefined) {
              let data29 = data25.orgs
              if (Array.isArray(data29)) {
                const len3 = data29.length
                for (let i3 = 0; i3 < len3; i3++) {
                  let data30 = data29[i3]
                  if (data30 && typeof data30 == 'object' && !Array.isArray(data30)) {
                    if (data30.name !== undefined) {
                      if (typeof data30.name !== 'string') {
                        const err27 = {
                          instancePath: instancePath + '/auth/sourceHostA/orgs/' + i3 + '/name',
                          schemaPath:
                            '#/properties/auth/properties/sourceHostA/properties/orgs/items/properties/name/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err27]
                        } else {
                          vErrors.push(err27)
                        }
                        errors++
                      }
                    }
                    if (data30.teams !== undefined) {
                      let data32 = data30.teams
                      if (Array.isArray(data32)) {
                        const len4 = data32.length
                        for (let i4 = 0; i4 < len4; i4++) {
                          if (typeof data32[i4] !== 'string') {
                            const err28 = {
                              instancePath:
                                instancePath + '/auth/sourceHostA/orgs/' + i3 + '/teams/' + i4,
                              schemaPath:
                                '#/properties/auth/properties/sourceHostA/properties/orgs/items/properties/teams/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err28]
                            } else {
                              vErrors.push(err28)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err29 = {
                          instancePath: instancePath + '/auth/sourceHostA/orgs/' + i3 + '/teams',
                          schemaPath:
                            '#/properties/auth/properties/sourceHostA/properties/orgs/items/properties/teams/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err29]
                        } else {
                          vErrors.push(err29)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err30 = {
                      instancePath: instancePath + '/auth/sourceHostA/orgs/' + i3,
                      schemaPath:
                        '#/properties/auth/properties/sourceHostA/properties/orgs/items/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err30]
                    } else {
                      vErrors.push(err30)
                    }
                    errors++
                  }
                }
              } else {
                const err31 = {
                  instancePath: instancePath + '/auth/sourceHostA/orgs',
                  schemaPath: '#/properties/auth/properties/sourceHostA/properties/orgs/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err31]
                } else {
                  vErrors.push(err31)
                }
                errors++
              }
            }
            if (data25.hostName !== undefined) {
              if (typeof data25.hostName !== 'string') {
                const err32 = {
                  instancePath: instancePath + '/auth/sourceHostA/hostName',
                  schemaPath: '#/properties/auth/properties/sourceHostA/properties/hostName/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err32]
                } else {
                  vErrors.push(err32)
                }
                errors++
              }
            }
            if (data25.rootCA !== undefined) {
              if (typeof data25.rootCA !== 'string') {
                const err33 = {
                  instancePath: instancePath + '/auth/sourceHostA/rootCA',
                  schemaPath: '#/properties/auth/properties/sourceHostA/properties/rootCA/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err33]
                } else {
                  vErrors.push(err33)
                }
                errors++
              }
            }
          } else {
            const err34 = {
              instancePath: instancePath + '/auth/sourceHostA',
              schemaPath: '#/properties/auth/properties/sourceHostA/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err34]
            } else {
              vErrors.push(err34)
            }
            errors++
          }
        }
        if (data0.sourceHostB !== undefined) {
          let data36 = data0.sourceHostB
          if (data36 && typeof data36 == 'object' && !Array.isArray(data36)) {
            if (data36.baseURL !== undefined) {
              if (typeof data36.baseURL !== 'string') {
                const err35 = {
                  instancePath: instancePath + '/auth/sourceHostB/baseURL',
                  schemaPath: '#/properties/auth/properties/sourceHostB/properties/baseURL/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err35]
                } else {
                  vErrors.push(err35)
                }
                errors++
              }
            }
            if (data36.clientId !== undefined) {
              if (typeof data36.clientId !== 'string') {
                const err36 = {
                  instancePath: instancePath + '/auth/sourceHostB/clientId',
                  schemaPath: '#/properties/auth/properties/sourceHostB/properties/clientId/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err36]
                } else {
                  vErrors.push(err36)
                }
                errors++
              }
            }
            if (data36.clientSecret !== undefined) {
              if (typeof data36.clientSecret !== 'string') {
                const err37 = {
                  instancePath: instancePath + '/auth/sourceHostB/clientSecret',
                  schemaPath:
                    '#/properties/auth/properties/sourceHostB/properties/clientSecret/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err37]
                } else {
                  vErrors.push(err37)
                }
                errors++
              }
            }
            if (data36.redirectURI !== undefined) {
              if (typeof data36.redirectURI !== 'string') {
                const err38 = {
                  instancePath: instancePath + '/auth/sourceHostB/redirectURI',
                  schemaPath:
                    '#/properties/auth/properties/sourceHostB/properties/redirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err38]
                } else {
                  vErrors.push(err38)
                }
                errors++
              }
            }
            if (data36.groups !== undefined) {
              let data41 = data36.groups
              if (Array.isArray(data41)) {
                const len5 = data41.length
                for (let i5 = 0; i5 < len5; i5++) {
                  if (typeof data41[i5] !== 'string') {
                    const err39 = {
                      instancePath: instancePath + '/auth/sourceHostB/groups/' + i5,
                      schemaPath:
                        '#/properties/auth/properties/sourceHostB/properties/groups/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err39]
                    } else {
                      vErrors.push(err39)
                    }
                    errors++
                  }
                }
              } else {
                const err40 = {
                  instancePath: instancePath + '/auth/sourceHostB/groups',
                  schemaPath: '#/properties/auth/properties/sourceHostB/properties/groups/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err40]
                } else {
                  vErrors.push(err40)
                }
                errors++
              }
            }
          } else {
            const err41 = {
              instancePath: instancePath + '/auth/sourceHostB',
              schemaPath: '#/properties/auth/properties/sourceHostB/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err41]
            } else {
              vErrors.push(err41)
            }
            errors++
          }
        }
        if (data0.idpA !== undefined) {
          let data43 = data0.idpA
          if (data43 && typeof data43 == 'object' && !Array.isArray(data43)) {
            if (data43.clientId !== undefined) {
              if (typeof data43.clientId !== 'string') {
                const err42 = {
                  instancePath: instancePath + '/auth/idpA/clientId',
                  schemaPath: '#/properties/auth/properties/idpA/properties/clientId/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err42]
                } else {
                  vErrors.push(err42)
                }
                errors++
              }
            }
            if (data43.clientSecret !== undefined) {
              if (typeof data43.clientSecret !== 'string') {
                const err43 = {
                  instancePath: instancePath + '/auth/idpA/clientSecret',
                  schemaPath: '#/properties/auth/properties/idpA/properties/clientSecret/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err43]
                } else {
                  vErrors.push(err43)
                }
                errors++
              }
            }
            if (data43.redirectURI !== undefined) {
              if (typeof data43.redirectURI !== 'string') {
                const err44 = {
                  instancePath: instancePath + '/auth/idpA/redirectURI',
                  schemaPath: '#/properties/auth/properties/idpA/properties/redirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err44]
                } else {
                  vErrors.push(err44)
                }
                errors++
              }
            }
            if (data43.scopes !== undefined) {
              let data47 = data43.scopes
              if (Array.isArray(data47)) {
                const len6 = data47.length
                for (let i6 = 0; i6 < len6; i6++) {
                  if (typeof data47[i6] !== 'string') {
                    const err45 = {
                      instancePath: instancePath + '/auth/idpA/scopes/' + i6,
                      schemaPath: '#/properties/auth/properties/idpA/properties/scopes/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err45]
                    } else {
                      vErrors.push(err45)
                    }
                    errors++
                  }
                }
              } else {
                const err46 = {
                  instancePath: instancePath + '/auth/idpA/scopes',
                  schemaPath: '#/properties/auth/properties/idpA/properties/scopes/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err46]
                } else {
                  vErrors.push(err46)
                }
                errors++
              }
            }
            if (data43.hostedDomains !== undefined) {
              let data49 = data43.hostedDomains
              if (Array.isArray(data49)) {
                const len7 = data49.length
                for (let i7 = 0; i7 < len7; i7++) {
                  if (typeof data49[i7] !== 'string') {
                    const err47 = {
                      instancePath: instancePath + '/auth/idpA/hostedDomains/' + i7,
                      schemaPath:
                        '#/properties/auth/properties/idpA/properties/hostedDomains/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err47]
                    } else {
                      vErrors.push(err47)
                    }
                    errors++
                  }
                }
              } else {
                const err48 = {
                  instancePath: instancePath + '/auth/idpA/hostedDomains',
                  schemaPath: '#/properties/auth/properties/idpA/properties/hostedDomains/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err48]
                } else {
                  vErrors.push(err48)
                }
                errors++
              }
            }
            if (data43.groups !== undefined) {
              let data51 = data43.groups
              if (Array.isArray(data51)) {
                const len8 = data51.length
                for (let i8 = 0; i8 < len8; i8++) {
                  if (typeof data51[i8] !== 'string') {
                    const err49 = {
                      instancePath: instancePath + '/auth/idpA/groups/' + i8,
                      schemaPath: '#/properties/auth/properties/idpA/properties/groups/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err49]
                    } else {
                      vErrors.push(err49)
                    }
                    errors++
                  }
                }
              } else {
                const err50 = {
                  instancePath: instancePath + '/auth/idpA/groups',
                  schemaPath: '#/properties/auth/properties/idpA/properties/groups/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err50]
                } else {
                  vErrors.push(err50)
                }
                errors++
              }
            }
            if (data43.serviceAccountFilePath !== undefined) {
              if (typeof data43.serviceAccountFilePath !== 'string') {
                const err51 = {
                  instancePath: instancePath + '/auth/idpA/serviceAccountFilePath',
                  schemaPath:
                    '#/properties/auth/properties/idpA/properties/serviceAccountFilePath/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err51]
                } else {
                  vErrors.push(err51)
                }
                errors++
              }
            }
            if (data43.adminEmail !== undefined) {
              if (typeof data43.adminEmail !== 'string') {
                const err52 = {
                  instancePath: instancePath + '/auth/idpA/adminEmail',
                  schemaPath: '#/properties/auth/properties/idpA/properties/adminEmail/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err52]
                } else {
                  vErrors.push(err52)
                }
                errors++
              }
            }
          } else {
            const err53 = {
              instancePath: instancePath + '/auth/idpA',
              schemaPath: '#/properties/auth/properties/idpA/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err53]
            } else {
              vErrors.push(err53)
            }
            errors++
          }
        }
        if (data0.idpB !== undefined) {
          let data55 = data0.idpB
          if (data55 && typeof data55 == 'object' && !Array.isArray(data55)) {
            if (data55.clientId !== undefined) {
              if (typeof data55.clientId !== 'string') {
                const err54 = {
                  instancePath: instancePath + '/auth/idpB/clientId',
                  schemaPath: '#/properties/auth/properties/idpB/properties/clientId/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err54]
                } else {
                  vErrors.push(err54)
                }
                errors++
              }
            }
            if (data55.clientSecret !== undefined) {
              if (typeof data55.clientSecret !== 'string') {
                const err55 = {
                  instancePath: instancePath + '/auth/idpB/clientSecret',
                  schemaPath: '#/properties/auth/properties/idpB/properties/clientSecret/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err55]
                } else {
                  vErrors.push(err55)
                }
                errors++
              }
            }
            if (data55.redirectURI !== undefined) {
              if (typeof data55.redirectURI !== 'string') {
                const err56 = {
                  instancePath: instancePath + '/auth/idpB/redirectURI',
                  schemaPath: '#/properties/auth/properties/idpB/properties/redirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err56]
                } else {
                  vErrors.push(err56)
                }
                errors++
              }
            }
            if (data55.tenant !== undefined) {
              if (typeof data55.tenant !== 'string') {
                const err57 = {
                  instancePath: instancePath + '/auth/idpB/tenant',
                  schemaPath: '#/properties/auth/properties/idpB/properties/tenant/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err57]
                } else {
                  vErrors.push(err57)
                }
                errors++
              }
            }
            if (data55.groups !== undefined) {
              let data60 = data55.groups
              if (Array.isArray(data60)) {
                const len9 = data60.length
                for (let i9 = 0; i9 < len9; i9++) {
                  if (typeof data60[i9] !== 'string') {
                    const err58 = {
                      instancePath: instancePath + '/auth/idpB/groups/' + i9,
                      schemaPath: '#/properties/auth/properties/idpB/properties/groups/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err58]
                    } else {
                      vErrors.push(err58)
                    }
                    errors++
                  }
                }
              } else {
                const err59 = {
                  instancePath: instancePath + '/auth/idpB/groups',
                  schemaPath: '#/properties/auth/properties/idpB/properties/groups/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err59]
                } else {
                  vErrors.push(err59)
                }
                errors++
              }
            }
            if (data55.onlySecurityGroups !== undefined) {
              if (typeof data55.onlySecurityGroups !== 'boolean') {
                const err60 = {
                  instancePath: instancePath + '/auth/idpB/onlySecurityGroups',
                  schemaPath:
                    '#/properties/auth/properties/idpB/properties/onlySecurityGroups/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err60]
                } else {
                  vErrors.push(err60)
                }
                errors++
              }
            }
            if (data55.useGroupsAsWhitelist !== undefined) {
              if (typeof data55.useGroupsAsWhitelist !== 'boolean') {
                const err61 = {
                  instancePath: instancePath + '/auth/idpB/useGroupsAsWhitelist',
                  schemaPath:
                    '#/properties/auth/properties/idpB/properties/useGroupsAsWhitelist/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err61]
                } else {
                  vErrors.push(err61)
                }
                errors++
              }
            }
          } else {
            const err62 = {
              instancePath: instancePath + '/auth/idpB',
              schemaPath: '#/properties/auth/properties/idpB/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err62]
            } else {
              vErrors.push(err62)
            }
            errors++
          }
        }
        if (data0.saml !== undefined) {
          let data64 = data0.saml
          if (data64 && typeof data64 == 'object' && !Array.isArray(data64)) {
            if (data64.redirectURI !== undefined) {
              if (typeof data64.redirectURI !== 'string') {
                const err63 = {
                  instancePath: instancePath + '/auth/saml/redirectURI',
                  schemaPath: '#/properties/auth/properties/saml/properties/redirectURI/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err63]
                } else {
                  vErrors.push(err63)
                }
                errors++
              }
            }
            if (data64.ssoURL !== undefined) {
              if (typeof data64.ssoURL !== 'string') {
                const err64 = {
                  instancePath: instancePath + '/auth/saml/ssoURL',
                  schemaPath: '#/properties/auth/properties/saml/properties/ssoURL/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err64]
                } else {
                  vErrors.push(err64)
                }
                errors++
              }
            }
            if (data64.caData !== undefined) {
              if (typeof data64.caData !== 'string') {
                const err65 = {
                  instancePath: instancePath + '/auth/saml/caData',
                  schemaPath: '#/properties/auth/properties/saml/properties/caData/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err65]
                } else {
                  vErrors.push(err65)
                }
                errors++
              }
            }
            if (data64.ca !== undefined) {
              if (typeof data64.ca !== 'string') {
                const err66 = {
                  instancePath: instancePath + '/auth/saml/ca',
                  schemaPath: '#/properties/auth/properties/saml/properties/ca/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err66]
                } else {
                  vErrors.push(err66)
                }
                errors++
              }
            }
            if (data64.insecureSkipSignatureValidation !== undefined) {
              if (typeof data64.insecureSkipSignatureValidation !== 'boolean') {
                const err67 = {
                  instancePath: instancePath + '/auth/saml/insecureSkipSignatureValidation',
                  schemaPath:
                    '#/properties/auth/properties/saml/properties/insecureSkipSignatureValidation/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err67]
                } else {
                  vErrors.push(err67)
                }
                errors++
              }
            }
            if (data64.usernameAttr !== undefined) {
              if (typeof data64.usernameAttr !== 'string') {
                const err68 = {
                  instancePath: instancePath + '/auth/saml/usernameAttr',
                  schemaPath: '#/properties/auth/properties/saml/properties/usernameAttr/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err68]
                } else {
                  vErrors.push(err68)
                }
                errors++
              }
            }
            if (data64.emailAttr !== undefined) {
              if (typeof data64.emailAttr !== 'string') {
                const err69 = {
                  instancePath: instancePath + '/auth/saml/emailAttr',
                  schemaPath: '#/properties/auth/properties/saml/properties/emailAttr/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err69]
                } else {
                  vErrors.push(err69)
                }
                errors++
              }
            }
            if (data64.groupsAttr !== undefined) {
              if (typeof data64.groupsAttr !== 'string') {
                const err70 = {
                  instancePath: instancePath + '/auth/saml/groupsAttr',
                  schemaPath: '#/properties/auth/properties/saml/properties/groupsAttr/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err70]
                } else {
                  vErrors.push(err70)
                }
                errors++
              }
            }
            if (data64.entityIssuer !== undefined) {
              if (typeof data64.entityIssuer !== 'string') {
                const err71 = {
                  instancePath: instancePath + '/auth/saml/entityIssuer',
                  schemaPath: '#/properties/auth/properties/saml/properties/entityIssuer/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err71]
                } else {
                  vErrors.push(err71)
                }
                errors++
              }
            }
            if (data64.ssoIssuer !== undefined) {
              if (typeof data64.ssoIssuer !== 'string') {
                const err72 = {
                  instancePath: instancePath + '/auth/saml/ssoIssuer',
                  schemaPath: '#/properties/auth/properties/saml/properties/ssoIssuer/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err72]
                } else {
                  vErrors.push(err72)
                }
                errors++
              }
            }
            if (data64.groupsDelim !== undefined) {
              if (typeof data64.groupsDelim !== 'string') {
                const err73 = {
                  instancePath: instancePath + '/auth/saml/groupsDelim',
                  schemaPath: '#/properties/auth/properties/saml/properties/groupsDelim/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err73]
                } else {
                  vErrors.push(err73)
                }
                errors++
              }
            }
            if (data64.allowedGroups !== undefined) {
              let data76 = data64.allowedGroups
              if (Array.isArray(data76)) {
                const len10 = data76.length
                for (let i10 = 0; i10 < len10; i10++) {
                  if (typeof data76[i10] !== 'string') {
                    const err74 = {
                      instancePath: instancePath + '/auth/saml/allowedGroups/' + i10,
                      schemaPath:
                        '#/properties/auth/properties/saml/properties/allowedGroups/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err74]
                    } else {
                      vErrors.push(err74)
                    }
                    errors++
                  }
                }
              } else {
                const err75 = {
                  instancePath: instancePath + '/auth/saml/allowedGroups',
                  schemaPath: '#/properties/auth/properties/saml/properties/allowedGroups/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err75]
                } else {
                  vErrors.push(err75)
                }
                errors++
              }
            }
            if (data64.filterGroups !== undefined) {
              if (typeof data64.filterGroups !== 'boolean') {
                const err76 = {
                  instancePath: instancePath + '/auth/saml/filterGroups',
                  schemaPath: '#/properties/auth/properties/saml/properties/filterGroups/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err76]
                } else {
                  vErrors.push(err76)
                }
                errors++
              }
            }
            if (data64.nameIDPolicyFormat !== undefined) {
              if (typeof data64.nameIDPolicyFormat !== 'string') {
                const err77 = {
                  instancePath: instancePath + '/auth/saml/nameIDPolicyFormat',
                  schemaPath:
                    '#/properties/auth/properties/saml/properties/nameIDPolicyFormat/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err77]
                } else {
                  vErrors.push(err77)
                }
                errors++
              }
            }
          } else {
            const err78 = {
              instancePath: instancePath + '/auth/saml',
              schemaPath: '#/properties/auth/properties/saml/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err78]
            } else {
              vErrors.push(err78)
            }
            errors++
          }
        }
        if (data0.password !== undefined) {
          let data80 = data0.password
          if (data80 && typeof data80 == 'object' && !Array.isArray(data80)) {
            if (data80.disabled !== undefined) {
              if (typeof data80.disabled !== 'boolean') {
                const err79 = {
                  instancePath: instancePath + '/auth/password/disabled',
                  schemaPath: '#/properties/auth/properties/password/properties/disabled/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err79]
                } else {
                  vErrors.push(err79)
                }
                errors++
              }
            }
          } else {
            const err80 = {
              instancePath: instancePath + '/auth/password',
              schemaPath: '#/properties/auth/properties/password/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err80]
            } else {
              vErrors.push(err80)
            }
            errors++
          }
        }
        if (data0.connectors !== undefined) {
          let data82 = data0.connectors
          if (Array.isArray(data82)) {
            const len11 = data82.length
            for (let i11 = 0; i11 < len11; i11++) {
              let data83 = data82[i11]
              if (data83 && typeof data83 == 'object' && !Array.isArray(data83)) {
                if (data83.id !== undefined) {
                  if (typeof data83.id !== 'string') {
                    const err81 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/id',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/id/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err81]
                    } else {
                      vErrors.push(err81)
                    }
                    errors++
                  }
                }
                if (data83.displayName !== undefined) {
                  if (typeof data83.displayName !== 'string') {
                    const err82 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/displayName',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/displayName/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err82]
                    } else {
                      vErrors.push(err82)
                    }
                    errors++
                  }
                }
                if (data83.oidc !== undefined) {
                  let data86 = data83.oidc
                  if (data86 && typeof data86 == 'object' && !Array.isArray(data86)) {
                    if (data86.issuerUrl !== undefined) {
                      if (typeof data86.issuerUrl !== 'string') {
                        const err83 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/issuerUrl',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/issuerUrl/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err83]
                        } else {
                          vErrors.push(err83)
                        }
                        errors++
                      }
                    }
                    if (data86.clientId !== undefined) {
                      if (typeof data86.clientId !== 'string') {
                        const err84 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc/clientId',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/clientId/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err84]
                        } else {
                          vErrors.push(err84)
                        }
                        errors++
                      }
                    }
                    if (data86.clientSecret !== undefined) {
                      if (typeof data86.clientSecret !== 'string') {
                        const err85 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/clientSecret',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/clientSecret/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err85]
                        } else {
                          vErrors.push(err85)
                        }
                        errors++
                      }
                    }
                    if (data86.redirectURI !== undefined) {
                      if (typeof data86.redirectURI !== 'string') {
                        const err86 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/redirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/redirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err86]
                        } else {
                          vErrors.push(err86)
                        }
                        errors++
                      }
                    }
                    if (data86.postLogoutRedirectURI !== undefined) {
                      if (typeof data86.postLogoutRedirectURI !== 'string') {
                        const err87 = {
                          instancePath:
                            instancePath +
                            '/auth/connectors/' +
                            i11 +
                            '/oidc/postLogoutRedirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/postLogoutRedirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err87]
                        } else {
                          vErrors.push(err87)
                        }
                        errors++
                      }
                    }
                    if (data86.caFile !== undefined) {
                      if (typeof data86.caFile !== 'string') {
                        const err88 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc/caFile',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/caFile/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err88]
                        } else {
                          vErrors.push(err88)
                        }
                        errors++
                      }
                    }
                    if (data86.insecureCa !== undefined) {
                      if (typeof data86.insecureCa !== 'boolean') {
                        const err89 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/insecureCa',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/insecureCa/type',
                          keyword: 'type',
                          params: { type: 'boolean' },
                        }
                        if (vErrors === null) {
                          vErrors = [err89]
                        } else {
                          vErrors.push(err89)
                        }
                        errors++
                      }
                    }
                    if (data86.preferredUsername !== undefined) {
                      if (typeof data86.preferredUsername !== 'string') {
                        const err90 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/preferredUsername',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/preferredUsername/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err90]
                        } else {
                          vErrors.push(err90)
                        }
                        errors++
                      }
                    }
                    if (data86.platformUsernameClaim !== undefined) {
                      if (typeof data86.platformUsernameClaim !== 'string') {
                        const err91 = {
                          instancePath:
                            instancePath +
                            '/auth/connectors/' +
                            i11 +
                            '/oidc/platformUsernameClaim',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/platformUsernameClaim/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err91]
                        } else {
                          vErrors.push(err91)
                        }
                        errors++
                      }
                    }
                    if (data86.usernameClaim !== undefined) {
                      if (typeof data86.usernameClaim !== 'string') {
                        const err92 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/usernameClaim',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/usernameClaim/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err92]
                        } else {
                          vErrors.push(err92)
                        }
                        errors++
                      }
                    }
                    if (data86.emailClaim !== undefined) {
                      if (typeof data86.emailClaim !== 'string') {
                        const err93 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/emailClaim',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/emailClaim/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err93]
                        } else {
                          vErrors.push(err93)
                        }
                        errors++
                      }
                    }
                    if (data86.allowedExtraClaims !== undefined) {
                      let data98 = data86.allowedExtraClaims
                      if (Array.isArray(data98)) {
                        const len12 = data98.length
                        for (let i12 = 0; i12 < len12; i12++) {
                          if (typeof data98[i12] !== 'string') {
                            const err94 = {
                              instancePath:
                                instancePath +
                                '/auth/connectors/' +
                                i11 +
                                '/oidc/allowedExtraClaims/' +
                                i12,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/oidc/properties/allowedExtraClaims/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err94]
                            } else {
                              vErrors.push(err94)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err95 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/allowedExtraClaims',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/allowedExtraClaims/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err95]
                        } else {
                          vErrors.push(err95)
                        }
                        errors++
                      }
                    }
                    if (data86.usernamePrefix !== undefined) {
                      if (typeof data86.usernamePrefix !== 'string') {
                        const err96 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/usernamePrefix',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/usernamePrefix/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err96]
                        } else {
                          vErrors.push(err96)
                        }
                        errors++
                      }
                    }
                    if (data86.groupsClaim !== undefined) {
                      if (typeof data86.groupsClaim !== 'string') {
                        const err97 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/groupsClaim',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/groupsClaim/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err97]
                        } else {
                          vErrors.push(err97)
                        }
                        errors++
                      }
                    }
                    if (data86.groups !== undefined) {
                      let data102 = data86.groups
                      if (Array.isArray(data102)) {
                        const len13 = data102.length
                        for (let i13 = 0; i13 < len13; i13++) {
                          if (typeof data102[i13] !== 'string') {
                            const err98 = {
                              instancePath:
                                instancePath + '/auth/connectors/' + i11 + '/oidc/groups/' + i13,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/oidc/properties/groups/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err98]
                            } else {
                              vErrors.push(err98)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err99 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc/groups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/groups/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err99]
                        } else {
                          vErrors.push(err99)
                        }
                        errors++
                      }
                    }
                    if (data86.scopes !== undefined) {
                      let data104 = data86.scopes
                      if (Array.isArray(data104)) {
                        const len14 = data104.length
                        for (let i14 = 0; i14 < len14; i14++) {
                          if (typeof data104[i14] !== 'string') {
                            const err100 = {
                              instancePath:
                                instancePath + '/auth/connectors/' + i11 + '/oidc/scopes/' + i14,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/oidc/properties/scopes/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err100]
                            } else {
                              vErrors.push(err100)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err101 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc/scopes',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/scopes/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err101]
                        } else {
                          vErrors.push(err101)
                        }
                        errors++
                      }
                    }
                    if (data86.getUserInfo !== undefined) {
                      if (typeof data86.getUserInfo !== 'boolean') {
                        const err102 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/getUserInfo',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/getUserInfo/type',
                          keyword: 'type',
                          params: { type: 'boolean' },
                        }
                        if (vErrors === null) {
                          vErrors = [err102]
                        } else {
                          vErrors.push(err102)
                        }
                        errors++
                      }
                    }
                    if (data86.groupsPrefix !== undefined) {
                      if (typeof data86.groupsPrefix !== 'string') {
                        const err103 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/oidc/groupsPrefix',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/groupsPrefix/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err103]
                        } else {
                          vErrors.push(err103)
                        }
                        errors++
                      }
                    }
                    if (data86.type !== undefined) {
                      if (typeof data86.type !== 'string') {
                        const err104 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc/type',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/type/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err104]
                        } else {
                          vErrors.push(err104)
                        }
                        errors++
                      }
                    }
                    if (data86.resource !== undefined) {
                      if (typeof data86.resource !== 'string') {
                        const err105 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc/resource',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/oidc/properties/resource/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err105]
                        } else {
                          vErrors.push(err105)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err106 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/oidc',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/oidc/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err106]
                    } else {
                      vErrors.push(err106)
                    }
                    errors++
                  }
                }
                if (data83.sourceHostA !== undefined) {
                  let data110 = data83.sourceHostA
                  if (data110 && typeof data110 == 'object' && !Array.isArray(data110)) {
                    if (data110.clientId !== undefined) {
                      if (typeof data110.clientId !== 'string') {
                        const err107 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostA/clientId',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/clientId/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err107]
                        } else {
                          vErrors.push(err107)
                        }
                        errors++
                      }
                    }
                    if (data110.clientSecret !== undefined) {
                      if (typeof data110.clientSecret !== 'string') {
                        const err108 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostA/clientSecret',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/clientSecret/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err108]
                        } else {
                          vErrors.push(err108)
                        }
                        errors++
                      }
                    }
                    if (data110.redirectURI !== undefined) {
                      if (typeof data110.redirectURI !== 'string') {
                        const err109 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostA/redirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/redirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err109]
                        } else {
                          vErrors.push(err109)
                        }
                        errors++
                      }
                    }
                    if (data110.orgs !== undefined) {
                      let data114 = data110.orgs
                      if (Array.isArray(data114)) {
                        const len15 = data114.length
                        for (let i15 = 0; i15 < len15; i15++) {
                          let data115 = data114[i15]
                          if (data115 && typeof data115 == 'object' && !Array.isArray(data115)) {
                            if (data115.name !== undefined) {
                              if (typeof data115.name !== 'string') {
                                const err110 = {
                                  instancePath:
                                    instancePath +
                                    '/auth/connectors/' +
                                    i11 +
                                    '/sourceHostA/orgs/' +
                                    i15 +
                                    '/name',
                                  schemaPath:
                                    '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/orgs/items/properties/name/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err110]
                                } else {
                                  vErrors.push(err110)
                                }
                                errors++
                              }
                            }
                            if (data115.teams !== undefined) {
                              let data117 = data115.teams
                              if (Array.isArray(data117)) {
                                const len16 = data117.length
                                for (let i16 = 0; i16 < len16; i16++) {
                                  if (typeof data117[i16] !== 'string') {
                                    const err111 = {
                                      instancePath:
                                        instancePath +
                                        '/auth/connectors/' +
                                        i11 +
                                        '/sourceHostA/orgs/' +
                                        i15 +
                                        '/teams/' +
                                        i16,
                                      schemaPath:
                                        '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/orgs/items/properties/teams/items/type',
                                      keyword: 'type',
                                      params: { type: 'string' },
                                    }
                                    if (vErrors === null) {
                                      vErrors = [err111]
                                    } else {
                                      vErrors.push(err111)
                                    }
                                    errors++
                                  }
                                }
                              } else {
                                const err112 = {
                                  instancePath:
                                    instancePath +
                                    '/auth/connectors/' +
                                    i11 +
                                    '/sourceHostA/orgs/' +
                                    i15 +
                                    '/teams',
                                  schemaPath:
                                    '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/orgs/items/properties/teams/type',
                                  keyword: 'type',
                                  params: { type: 'array' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err112]
                                } else {
                                  vErrors.push(err112)
                                }
                                errors++
                              }
                            }
                          } else {
                            const err113 = {
                              instancePath:
                                instancePath +
                                '/auth/connectors/' +
                                i11 +
                                '/sourceHostA/orgs/' +
                                i15,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/orgs/items/type',
                              keyword: 'type',
                              params: { type: 'object' },
                            }
                            if (vErrors === null) {
                              vErrors = [err113]
                            } else {
                              vErrors.push(err113)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err114 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostA/orgs',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/orgs/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err114]
                        } else {
                          vErrors.push(err114)
                        }
                        errors++
                      }
                    }
                    if (data110.hostName !== undefined) {
                      if (typeof data110.hostName !== 'string') {
                        const err115 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostA/hostName',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/hostName/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err115]
                        } else {
                          vErrors.push(err115)
                        }
                        errors++
                      }
                    }
                    if (data110.rootCA !== undefined) {
                      if (typeof data110.rootCA !== 'string') {
                        const err116 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostA/rootCA',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostA/properties/rootCA/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err116]
                        } else {
                          vErrors.push(err116)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err117 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/sourceHostA',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/sourceHostA/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err117]
                    } else {
                      vErrors.push(err117)
                    }
                    errors++
                  }
                }
                if (data83.sourceHostB !== undefined) {
                  let data121 = data83.sourceHostB
                  if (data121 && typeof data121 == 'object' && !Array.isArray(data121)) {
                    if (data121.baseURL !== undefined) {
                      if (typeof data121.baseURL !== 'string') {
                        const err118 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostB/baseURL',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostB/properties/baseURL/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err118]
                        } else {
                          vErrors.push(err118)
                        }
                        errors++
                      }
                    }
                    if (data121.clientId !== undefined) {
                      if (typeof data121.clientId !== 'string') {
                        const err119 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostB/clientId',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostB/properties/clientId/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err119]
                        } else {
                          vErrors.push(err119)
                        }
                        errors++
                      }
                    }
                    if (data121.clientSecret !== undefined) {
                      if (typeof data121.clientSecret !== 'string') {
                        const err120 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostB/clientSecret',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostB/properties/clientSecret/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err120]
                        } else {
                          vErrors.push(err120)
                        }
                        errors++
                      }
                    }
                    if (data121.redirectURI !== undefined) {
                      if (typeof data121.redirectURI !== 'string') {
                        const err121 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostB/redirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostB/properties/redirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err121]
                        } else {
                          vErrors.push(err121)
                        }
                        errors++
                      }
                    }
                    if (data121.groups !== undefined) {
                      let data126 = data121.groups
                      if (Array.isArray(data126)) {
                        const len17 = data126.length
                        for (let i17 = 0; i17 < len17; i17++) {
                          if (typeof data126[i17] !== 'string') {
                            const err122 = {
                              instancePath:
                                instancePath +
                                '/auth/connectors/' +
                                i11 +
                                '/sourceHostB/groups/' +
                                i17,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/sourceHostB/properties/groups/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err122]
                            } else {
                              vErrors.push(err122)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err123 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/sourceHostB/groups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/sourceHostB/properties/groups/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err123]
                        } else {
                          vErrors.push(err123)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err124 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/sourceHostB',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/sourceHostB/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err124]
                    } else {
                      vErrors.push(err124)
                    }
                    errors++
                  }
                }
                if (data83.idpA !== undefined) {
                  let data128 = data83.idpA
                  if (data128 && typeof data128 == 'object' && !Array.isArray(data128)) {
                    if (data128.clientId !== undefined) {
                      if (typeof data128.clientId !== 'string') {
                        const err125 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/idpA/clientId',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/clientId/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err125]
                        } else {
                          vErrors.push(err125)
                        }
                        errors++
                      }
                    }
                    if (data128.clientSecret !== undefined) {
                      if (typeof data128.clientSecret !== 'string') {
                        const err126 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpA/clientSecret',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/clientSecret/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err126]
                        } else {
                          vErrors.push(err126)
                        }
                        errors++
                      }
                    }
                    if (data128.redirectURI !== undefined) {
                      if (typeof data128.redirectURI !== 'string') {
                        const err127 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpA/redirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/redirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err127]
                        } else {
                          vErrors.push(err127)
                        }
                        errors++
                      }
                    }
                    if (data128.scopes !== undefined) {
                      let data132 = data128.scopes
                      if (Array.isArray(data132)) {
                        const len18 = data132.length
                        for (let i18 = 0; i18 < len18; i18++) {
                          if (typeof data132[i18] !== 'string') {
                            const err128 = {
                              instancePath:
                                instancePath + '/auth/connectors/' + i11 + '/idpA/scopes/' + i18,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/idpA/properties/scopes/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err128]
                            } else {
                              vErrors.push(err128)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err129 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/idpA/scopes',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/scopes/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err129]
                        } else {
                          vErrors.push(err129)
                        }
                        errors++
                      }
                    }
                    if (data128.hostedDomains !== undefined) {
                      let data134 = data128.hostedDomains
                      if (Array.isArray(data134)) {
                        const len19 = data134.length
                        for (let i19 = 0; i19 < len19; i19++) {
                          if (typeof data134[i19] !== 'string') {
                            const err130 = {
                              instancePath:
                                instancePath +
                                '/auth/connectors/' +
                                i11 +
                                '/idpA/hostedDomains/' +
                                i19,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/idpA/properties/hostedDomains/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err130]
                            } else {
                              vErrors.push(err130)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err131 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpA/hostedDomains',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/hostedDomains/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err131]
                        } else {
                          vErrors.push(err131)
                        }
                        errors++
                      }
                    }
                    if (data128.groups !== undefined) {
                      let data136 = data128.groups
                      if (Array.isArray(data136)) {
                        const len20 = data136.length
                        for (let i20 = 0; i20 < len20; i20++) {
                          if (typeof data136[i20] !== 'string') {
                            const err132 = {
                              instancePath:
                                instancePath + '/auth/connectors/' + i11 + '/idpA/groups/' + i20,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/idpA/properties/groups/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err132]
                            } else {
                              vErrors.push(err132)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err133 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/idpA/groups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/groups/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err133]
                        } else {
                          vErrors.push(err133)
                        }
                        errors++
                      }
                    }
                    if (data128.serviceAccountFilePath !== undefined) {
                      if (typeof data128.serviceAccountFilePath !== 'string') {
                        const err134 = {
                          instancePath:
                            instancePath +
                            '/auth/connectors/' +
                            i11 +
                            '/idpA/serviceAccountFilePath',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/serviceAccountFilePath/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err134]
                        } else {
                          vErrors.push(err134)
                        }
                        errors++
                      }
                    }
                    if (data128.adminEmail !== undefined) {
                      if (typeof data128.adminEmail !== 'string') {
                        const err135 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpA/adminEmail',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpA/properties/adminEmail/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err135]
                        } else {
                          vErrors.push(err135)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err136 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/idpA',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/idpA/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err136]
                    } else {
                      vErrors.push(err136)
                    }
                    errors++
                  }
                }
                if (data83.idpB !== undefined) {
                  let data140 = data83.idpB
                  if (data140 && typeof data140 == 'object' && !Array.isArray(data140)) {
                    if (data140.clientId !== undefined) {
                      if (typeof data140.clientId !== 'string') {
                        const err137 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/idpB/clientId',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/clientId/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err137]
                        } else {
                          vErrors.push(err137)
                        }
                        errors++
                      }
                    }
                    if (data140.clientSecret !== undefined) {
                      if (typeof data140.clientSecret !== 'string') {
                        const err138 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpB/clientSecret',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/clientSecret/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err138]
                        } else {
                          vErrors.push(err138)
                        }
                        errors++
                      }
                    }
                    if (data140.redirectURI !== undefined) {
                      if (typeof data140.redirectURI !== 'string') {
                        const err139 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpB/redirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/redirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err139]
                        } else {
                          vErrors.push(err139)
                        }
                        errors++
                      }
                    }
                    if (data140.tenant !== undefined) {
                      if (typeof data140.tenant !== 'string') {
                        const err140 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/idpB/tenant',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/tenant/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err140]
                        } else {
                          vErrors.push(err140)
                        }
                        errors++
                      }
                    }
                    if (data140.groups !== undefined) {
                      let data145 = data140.groups
                      if (Array.isArray(data145)) {
                        const len21 = data145.length
                        for (let i21 = 0; i21 < len21; i21++) {
                          if (typeof data145[i21] !== 'string') {
                            const err141 = {
                              instancePath:
                                instancePath + '/auth/connectors/' + i11 + '/idpB/groups/' + i21,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/idpB/properties/groups/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err141]
                            } else {
                              vErrors.push(err141)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err142 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/idpB/groups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/groups/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err142]
                        } else {
                          vErrors.push(err142)
                        }
                        errors++
                      }
                    }
                    if (data140.onlySecurityGroups !== undefined) {
                      if (typeof data140.onlySecurityGroups !== 'boolean') {
                        const err143 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpB/onlySecurityGroups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/onlySecurityGroups/type',
                          keyword: 'type',
                          params: { type: 'boolean' },
                        }
                        if (vErrors === null) {
                          vErrors = [err143]
                        } else {
                          vErrors.push(err143)
                        }
                        errors++
                      }
                    }
                    if (data140.useGroupsAsWhitelist !== undefined) {
                      if (typeof data140.useGroupsAsWhitelist !== 'boolean') {
                        const err144 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/idpB/useGroupsAsWhitelist',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/idpB/properties/useGroupsAsWhitelist/type',
                          keyword: 'type',
                          params: { type: 'boolean' },
                        }
                        if (vErrors === null) {
                          vErrors = [err144]
                        } else {
                          vErrors.push(err144)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err145 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/idpB',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/idpB/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err145]
                    } else {
                      vErrors.push(err145)
                    }
                    errors++
                  }
                }
                if (data83.saml !== undefined) {
                  let data149 = data83.saml
                  if (data149 && typeof data149 == 'object' && !Array.isArray(data149)) {
                    if (data149.redirectURI !== undefined) {
                      if (typeof data149.redirectURI !== 'string') {
                        const err146 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/redirectURI',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/redirectURI/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err146]
                        } else {
                          vErrors.push(err146)
                        }
                        errors++
                      }
                    }
                    if (data149.ssoURL !== undefined) {
                      if (typeof data149.ssoURL !== 'string') {
                        const err147 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/saml/ssoURL',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/ssoURL/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err147]
                        } else {
                          vErrors.push(err147)
                        }
                        errors++
                      }
                    }
                    if (data149.caData !== undefined) {
                      if (typeof data149.caData !== 'string') {
                        const err148 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/saml/caData',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/caData/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err148]
                        } else {
                          vErrors.push(err148)
                        }
                        errors++
                      }
                    }
                    if (data149.ca !== undefined) {
                      if (typeof data149.ca !== 'string') {
                        const err149 = {
                          instancePath: instancePath + '/auth/connectors/' + i11 + '/saml/ca',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/ca/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err149]
                        } else {
                          vErrors.push(err149)
                        }
                        errors++
                      }
                    }
                    if (data149.insecureSkipSignatureValidation !== undefined) {
                      if (typeof data149.insecureSkipSignatureValidation !== 'boolean') {
                        const err150 = {
                          instancePath:
                            instancePath +
                            '/auth/connectors/' +
                            i11 +
                            '/saml/insecureSkipSignatureValidation',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/insecureSkipSignatureValidation/type',
                          keyword: 'type',
                          params: { type: 'boolean' },
                        }
                        if (vErrors === null) {
                          vErrors = [err150]
                        } else {
                          vErrors.push(err150)
                        }
                        errors++
                      }
                    }
                    if (data149.usernameAttr !== undefined) {
                      if (typeof data149.usernameAttr !== 'string') {
                        const err151 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/usernameAttr',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/usernameAttr/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err151]
                        } else {
                          vErrors.push(err151)
                        }
                        errors++
                      }
                    }
                    if (data149.emailAttr !== undefined) {
                      if (typeof data149.emailAttr !== 'string') {
                        const err152 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/emailAttr',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/emailAttr/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err152]
                        } else {
                          vErrors.push(err152)
                        }
                        errors++
                      }
                    }
                    if (data149.groupsAttr !== undefined) {
                      if (typeof data149.groupsAttr !== 'string') {
                        const err153 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/groupsAttr',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/groupsAttr/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err153]
                        } else {
                          vErrors.push(err153)
                        }
                        errors++
                      }
                    }
                    if (data149.entityIssuer !== undefined) {
                      if (typeof data149.entityIssuer !== 'string') {
                        const err154 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/entityIssuer',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/entityIssuer/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err154]
                        } else {
                          vErrors.push(err154)
                        }
                        errors++
                      }
                    }
                    if (data149.ssoIssuer !== undefined) {
                      if (typeof data149.ssoIssuer !== 'string') {
                        const err155 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/ssoIssuer',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/ssoIssuer/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err155]
                        } else {
                          vErrors.push(err155)
                        }
                        errors++
                      }
                    }
                    if (data149.groupsDelim !== undefined) {
                      if (typeof data149.groupsDelim !== 'string') {
                        const err156 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/groupsDelim',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/groupsDelim/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err156]
                        } else {
                          vErrors.push(err156)
                        }
                        errors++
                      }
                    }
                    if (data149.allowedGroups !== undefined) {
                      let data161 = data149.allowedGroups
                      if (Array.isArray(data161)) {
                        const len22 = data161.length
                        for (let i22 = 0; i22 < len22; i22++) {
                          if (typeof data161[i22] !== 'string') {
                            const err157 = {
                              instancePath:
                                instancePath +
                                '/auth/connectors/' +
                                i11 +
                                '/saml/allowedGroups/' +
                                i22,
                              schemaPath:
                                '#/properties/auth/properties/connectors/items/properties/saml/properties/allowedGroups/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err157]
                            } else {
                              vErrors.push(err157)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err158 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/allowedGroups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/allowedGroups/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err158]
                        } else {
                          vErrors.push(err158)
                        }
                        errors++
                      }
                    }
                    if (data149.filterGroups !== undefined) {
                      if (typeof data149.filterGroups !== 'boolean') {
                        const err159 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/filterGroups',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/filterGroups/type',
                          keyword: 'type',
                          params: { type: 'boolean' },
                        }
                        if (vErrors === null) {
                          vErrors = [err159]
                        } else {
                          vErrors.push(err159)
                        }
                        errors++
                      }
                    }
                    if (data149.nameIDPolicyFormat !== undefined) {
                      if (typeof data149.nameIDPolicyFormat !== 'string') {
                        const err160 = {
                          instancePath:
                            instancePath + '/auth/connectors/' + i11 + '/saml/nameIDPolicyFormat',
                          schemaPath:
                            '#/properties/auth/properties/connectors/items/properties/saml/properties/nameIDPolicyFormat/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err160]
                        } else {
                          vErrors.push(err160)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err161 = {
                      instancePath: instancePath + '/auth/connectors/' + i11 + '/saml',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/saml/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err161]
                    } else {
                      vErrors.push(err161)
                    }
                    errors++
                  }
                }
                if (data83.disableTeamCreation !== undefined) {
                  if (typeof data83.disableTeamCreation !== 'boolean') {
                    const err162 = {
                      instancePath:
                        instancePath + '/auth/connectors/' + i11 + '/disableTeamCreation',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/disableTeamCreation/type',
                      keyword: 'type',
                      params: { type: 'boolean' },
                    }
                    if (vErrors === null) {
                      vErrors = [err162]
                    } else {
                      vErrors.push(err162)
                    }
                    errors++
                  }
                }
                if (data83.disableUserCreation !== undefined) {
                  if (typeof data83.disableUserCreation !== 'boolean') {
                    const err163 = {
                      instancePath:
                        instancePath + '/auth/connectors/' + i11 + '/disableUserCreation',
                      schemaPath:
                        '#/properties/auth/properties/connectors/items/properties/disableUserCreation/type',
                      keyword: 'type',
                      params: { type: 'boolean' },
                    }
                    if (vErrors === null) {
                      vErrors = [err163]
                    } else {
                      vErrors.push(err163)
                    }
                    errors++
                  }
                }
              } else {
                const err164 = {
                  instancePath: instancePath + '/auth/connectors/' + i11,
                  schemaPath: '#/properties/auth/properties/connectors/items/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err164]
                } else {
                  vErrors.push(err164)
                }
                errors++
              }
            }
          } else {
            const err165 = {
              instancePath: instancePath + '/auth/connectors',
              schemaPath: '#/properties/auth/properties/connectors/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err165]
            } else {
              vErrors.push(err165)
            }
            errors++
          }
        }
        if (data0.disableTeamCreation !== undefined) {
          if (typeof data0.disableTeamCreation !== 'boolean') {
            const err166 = {
              instancePath: instancePath + '/auth/disableTeamCreation',
              schemaPath: '#/properties/auth/properties/disableTeamCreation/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err166]
            } else {
              vErrors.push(err166)
            }
            errors++
          }
        }
        if (data0.disableUserCreation !== undefined) {
          if (typeof data0.disableUserCreation !== 'boolean') {
            const err167 = {
              instancePath: instancePath + '/auth/disableUserCreation',
              schemaPath: '#/properties/auth/properties/disableUserCreation/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err167]
            } else {
              vErrors.push(err167)
            }
            errors++
          }
        }
        if (data0.accessKeyMaxTTLSeconds !== undefined) {
          let data169 = data0.accessKeyMaxTTLSeconds
          if (
            !(typeof data169 == 'number' && !(data169 % 1) && !isNaN(data169) && isFinite(data169))
          ) {
            const err168 = {
              instancePath: instancePath + '/auth/accessKeyMaxTTLSeconds',
              schemaPath: '#/properties/auth/properties/accessKeyMaxTTLSeconds/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err168]
            } else {
              vErrors.push(err168)
            }
            errors++
          }
        }
        if (data0.loginAccessKeyTTLSeconds !== undefined) {
          let data170 = data0.loginAccessKeyTTLSeconds
          if (
            !(typeof data170 == 'number' && !(data170 % 1) && !isNaN(data170) && isFinite(data170))
          ) {
            const err169 = {
              instancePath: instancePath + '/auth/loginAccessKeyTTLSeconds',
              schemaPath: '#/properties/auth/properties/loginAccessKeyTTLSeconds/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err169]
            } else {
              vErrors.push(err169)
            }
            errors++
          }
        }
        if (data0.customHttpHeaders !== undefined) {
          let data171 = data0.customHttpHeaders
          if (data171 && typeof data171 == 'object' && !Array.isArray(data171)) {
            for (const key0 in data171) {
              if (typeof data171[key0] !== 'string') {
                const err170 = {
                  instancePath:
                    instancePath +
                    '/auth/customHttpHeaders/' +
                    key0.replace(/~/g, '~0').replace(/\//g, '~1'),
                  schemaPath:
                    '#/properties/auth/properties/customHttpHeaders/additionalProperties/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err170]
                } else {
                  vErrors.push(err170)
                }
                errors++
              }
            }
          } else {
            const err171 = {
              instancePath: instancePath + '/auth/customHttpHeaders',
              schemaPath: '#/properties/auth/properties/customHttpHeaders/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err171]
            } else {
              vErrors.push(err171)
            }
            errors++
          }
        }
        if (data0.groupsFilters !== undefined) {
          let data173 = data0.groupsFilters
          if (Array.isArray(data173)) {
            const len23 = data173.length
            for (let i23 = 0; i23 < len23; i23++) {
              if (typeof data173[i23] !== 'string') {
                const err172 = {
                  instancePath: instancePath + '/auth/groupsFilters/' + i23,
                  schemaPath: '#/properties/auth/properties/groupsFilters/items/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err172]
                } else {
                  vErrors.push(err172)
                }
                errors++
              }
            }
          } else {
            const err173 = {
              instancePath: instancePath + '/auth/groupsFilters',
              schemaPath: '#/properties/auth/properties/groupsFilters/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err173]
            } else {
              vErrors.push(err173)
            }
            errors++
          }
        }
      } else {
        const err174 = {
          instancePath: instancePath + '/auth',
          schemaPath: '#/properties/auth/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err174]
        } else {
          vErrors.push(err174)
        }
        errors++
      }
    }
    if (data.oidc !== undefined) {
      let data175 = data.oidc
      if (data175 && typeof data175 == 'object' && !Array.isArray(data175)) {
        if (data175.enabled !== undefined) {
          if (typeof data175.enabled !== 'boolean') {
            const err175 = {
              instancePath: instancePath + '/oidc/enabled',
              schemaPath: '#/properties/oidc/properties/enabled/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err175]
            } else {
              vErrors.push(err175)
            }
            errors++
          }
        }
        if (data175.wildcardRedirect !== undefined) {
          if (typeof data175.wildcardRedirect !== 'boolean') {
            const err176 = {
              instancePath: instancePath + '/oidc/wildcardRedirect',
              schemaPath: '#/properties/oidc/properties/wildcardRedirect/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err176]
            } else {
              vErrors.push(err176)
            }
            errors++
          }
        }
        if (data175.clients !== undefined) {
          let data178 = data175.clients
          if (Array.isArray(data178)) {
            const len24 = data178.length
            for (let i24 = 0; i24 < len24; i24++) {
              let data179 = data178[i24]
              if (data179 && typeof data179 == 'object' && !Array.isArray(data179)) {
                if (data179.name !== undefined) {
                  if (typeof data179.name !== 'string') {
                    const err177 = {
                      instancePath: instancePath + '/oidc/clients/' + i24 + '/name',
                      schemaPath: '#/properties/oidc/properties/clients/items/properties/name/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err177]
                    } else {
                      vErrors.push(err177)
                    }
                    errors++
                  }
                }
                if (data179.clientId !== undefined) {
                  if (typeof data179.clientId !== 'string') {
                    const err178 = {
                      instancePath: instancePath + '/oidc/clients/' + i24 + '/clientId',
                      schemaPath:
                        '#/properties/oidc/properties/clients/items/properties/clientId/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err178]
                    } else {
                      vErrors.push(err178)
                    }
                    errors++
                  }
                }
                if (data179.clientSecret !== undefined) {
                  if (typeof data179.clientSecret !== 'string') {
                    const err179 = {
                      instancePath: instancePath + '/oidc/clients/' + i24 + '/clientSecret',
                      schemaPath:
                        '#/properties/oidc/properties/clients/items/properties/clientSecret/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err179]
                    } else {
                      vErrors.push(err179)
                    }
                    errors++
                  }
                }
                if (data179.redirectURIs !== undefined) {
                  let data183 = data179.redirectURIs
                  if (Array.isArray(data183)) {
                    const len25 = data183.length
                    for (let i25 = 0; i25 < len25; i25++) {
                      if (typeof data183[i25] !== 'string') {
                        const err180 = {
                          instancePath:
                            instancePath + '/oidc/clients/' + i24 + '/redirectURIs/' + i25,
                          schemaPath:
                            '#/properties/oidc/properties/clients/items/properties/redirectURIs/items/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err180]
                        } else {
                          vErrors.push(err180)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err181 = {
                      instancePath: instancePath + '/oidc/clients/' + i24 + '/redirectURIs',
                      schemaPath:
                        '#/properties/oidc/properties/clients/items/properties/redirectURIs/type',
                      keyword: 'type',
                      params: { type: 'array' },
                    }
                    if (vErrors === null) {
                      vErrors = [err181]
                    } else {
                      vErrors.push(err181)
                    }
                    errors++
                  }
                }
              } else {
                const err182 = {
                  instancePath: instancePath + '/oidc/clients/' + i24,
                  schemaPath: '#/properties/oidc/properties/clients/items/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err182]
                } else {
                  vErrors.push(err182)
                }
                errors++
              }
            }
          } else {
            const err183 = {
              instancePath: instancePath + '/oidc/clients',
              schemaPath: '#/properties/oidc/properties/clients/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err183]
            } else {
              vErrors.push(err183)
            }
            errors++
          }
        }
      } else {
        const err184 = {
          instancePath: instancePath + '/oidc',
          schemaPath: '#/properties/oidc/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err184]
        } else {
          vErrors.push(err184)
        }
        errors++
      }
    }
    if (data.apps !== undefined) {
      let data185 = data.apps
      if (data185 && typeof data185 == 'object' && !Array.isArray(data185)) {
        if (data185.noDefault !== undefined) {
          if (typeof data185.noDefault !== 'boolean') {
            const err185 = {
              instancePath: instancePath + '/apps/noDefault',
              schemaPath: '#/properties/apps/properties/noDefault/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err185]
            } else {
              vErrors.push(err185)
            }
            errors++
          }
        }
        if (data185.repositories !== undefined) {
          let data187 = data185.repositories
          if (Array.isArray(data187)) {
            const len26 = data187.length
            for (let i26 = 0; i26 < len26; i26++) {
              let data188 = data187[i26]
              if (data188 && typeof data188 == 'object' && !Array.isArray(data188)) {
                if (data188.name !== undefined) {
                  if (typeof data188.name !== 'string') {
                    const err186 = {
                      instancePath: instancePath + '/apps/repositories/' + i26 + '/name',
                      schemaPath:
                        '#/properties/apps/properties/repositories/items/properties/name/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err186]
                    } else {
                      vErrors.push(err186)
                    }
                    errors++
                  }
                }
                if (data188.url !== undefined) {
                  if (typeof data188.url !== 'string') {
                    const err187 = {
                      instancePath: instancePath + '/apps/repositories/' + i26 + '/url',
                      schemaPath:
                        '#/properties/apps/properties/repositories/items/properties/url/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err187]
                    } else {
                      vErrors.push(err187)
                    }
                    errors++
                  }
                }
                if (data188.username !== undefined) {
                  if (typeof data188.username !== 'string') {
                    const err188 = {
                      instancePath: instancePath + '/apps/repositories/' + i26 + '/username',
                      schemaPath:
                        '#/properties/apps/properties/repositories/items/properties/username/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err188]
                    } else {
                      vErrors.push(err188)
                    }
                    errors++
                  }
                }
                if (data188.password !== undefined) {
                  if (typeof data188.password !== 'string') {
                    const err189 = {
                      instancePath: instancePath + '/apps/repositories/' + i26 + '/password',
                      schemaPath:
                        '#/properties/apps/properties/repositories/items/properties/password/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err189]
                    } else {
                      vErrors.push(err189)
                    }
                    errors++
                  }
                }
                if (data188.insecure !== undefined) {
                  if (typeof data188.insecure !== 'boolean') {
                    const err190 = {
                      instancePath: instancePath + '/apps/repositories/' + i26 + '/insecure',
                      schemaPath:
                        '#/properties/apps/properties/repositories/items/properties/insecure/type',
                      keyword: 'type',
                      params: { type: 'boolean' },
                    }
                    if (vErrors === null) {
                      vErrors = [err190]
                    } else {
                      vErrors.push(err190)
                    }
                    errors++
                  }
                }
              } else {
                const err191 = {
                  instancePath: instancePath + '/apps/repositories/' + i26,
                  schemaPath: '#/properties/apps/properties/repositories/items/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err191]
                } else {
                  vErrors.push(err191)
                }
                errors++
              }
            }
          } else {
            const err192 = {
              instancePath: instancePath + '/apps/repositories',
              schemaPath: '#/properties/apps/properties/repositories/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err192]
            } else {
              vErrors.push(err192)
            }
            errors++
          }
        }
        if (data185.predefinedApps !== undefined) {
          let data194 = data185.predefinedApps
          if (Array.isArray(data194)) {
            const len27 = data194.length
            for (let i27 = 0; i27 < len27; i27++) {
              let data195 = data194[i27]
              if (data195 && typeof data195 == 'object' && !Array.isArray(data195)) {
                if (data195.chart !== undefined) {
                  if (typeof data195.chart !== 'string') {
                    const err193 = {
                      instancePath: instancePath + '/apps/predefinedApps/' + i27 + '/chart',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/chart/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err193]
                    } else {
                      vErrors.push(err193)
                    }
                    errors++
                  }
                }
                if (data195.initialVersion !== undefined) {
                  if (typeof data195.initialVersion !== 'string') {
                    const err194 = {
                      instancePath:
                        instancePath + '/apps/predefinedApps/' + i27 + '/initialVersion',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/initialVersion/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err194]
                    } else {
                      vErrors.push(err194)
                    }
                    errors++
                  }
                }
                if (data195.initialValues !== undefined) {
                  if (typeof data195.initialValues !== 'string') {
                    const err195 = {
                      instancePath: instancePath + '/apps/predefinedApps/' + i27 + '/initialValues',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/initialValues/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err195]
                    } else {
                      vErrors.push(err195)
                    }
                    errors++
                  }
                }
                if (data195.clusters !== undefined) {
                  let data199 = data195.clusters
                  if (Array.isArray(data199)) {
                    const len28 = data199.length
                    for (let i28 = 0; i28 < len28; i28++) {
                      if (typeof data199[i28] !== 'string') {
                        const err196 = {
                          instancePath:
                            instancePath + '/apps/predefinedApps/' + i27 + '/clusters/' + i28,
                          schemaPath:
                            '#/properties/apps/properties/predefinedApps/items/properties/clusters/items/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err196]
                        } else {
                          vErrors.push(err196)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err197 = {
                      instancePath: instancePath + '/apps/predefinedApps/' + i27 + '/clusters',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/clusters/type',
                      keyword: 'type',
                      params: { type: 'array' },
                    }
                    if (vErrors === null) {
                      vErrors = [err197]
                    } else {
                      vErrors.push(err197)
                    }
                    errors++
                  }
                }
                if (data195.title !== undefined) {
                  if (typeof data195.title !== 'string') {
                    const err198 = {
                      instancePath: instancePath + '/apps/predefinedApps/' + i27 + '/title',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/title/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err198]
                    } else {
                      vErrors.push(err198)
                    }
                    errors++
                  }
                }
                if (data195.iconUrl !== undefined) {
                  if (typeof data195.iconUrl !== 'string') {
                    const err199 = {
                      instancePath: instancePath + '/apps/predefinedApps/' + i27 + '/iconUrl',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/iconUrl/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err199]
                    } else {
                      vErrors.push(err199)
                    }
                    errors++
                  }
                }
                if (data195.readmeUrl !== undefined) {
                  if (typeof data195.readmeUrl !== 'string') {
                    const err200 = {
                      instancePath: instancePath + '/apps/predefinedApps/' + i27 + '/readmeUrl',
                      schemaPath:
                        '#/properties/apps/properties/predefinedApps/items/properties/readmeUrl/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err200]
                    } else {
                      vErrors.push(err200)
                    }
                    errors++
                  }
                }
              } else {
                const err201 = {
                  instancePath: instancePath + '/apps/predefinedApps/' + i27,
                  schemaPath: '#/properties/apps/properties/predefinedApps/items/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err201]
                } else {
                  vErrors.push(err201)
                }
                errors++
              }
            }
          } else {
            const err202 = {
              instancePath: instancePath + '/apps/predefinedApps',
              schemaPath: '#/properties/apps/properties/predefinedApps/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err202]
            } else {
              vErrors.push(err202)
            }
            errors++
          }
        }
      } else {
        const err203 = {
          instancePath: instancePath + '/apps',
          schemaPath: '#/properties/apps/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err203]
        } else {
          vErrors.push(err203)
        }
        errors++
      }
    }
    if (data.audit !== undefined) {
      let data204 = data.audit
      if (data204 && typeof data204 == 'object' && !Array.isArray(data204)) {
        if (data204.enabled !== undefined) {
          if (typeof data204.enabled !== 'boolean') {
            const err204 = {
              instancePath: instancePath + '/audit/enabled',
              schemaPath: '#/properties/audit/properties/enabled/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err204]
            } else {
              vErrors.push(err204)
            }
            errors++
          }
        }
        if (data204.disableAgentSyncBack !== undefined) {
          if (typeof data204.disableAgentSyncBack !== 'boolean') {
            const err205 = {
              instancePath: instancePath + '/audit/disableAgentSyncBack',
              schemaPath: '#/properties/audit/properties/disableAgentSyncBack/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err205]
            } else {
              vErrors.push(err205)
            }
            errors++
          }
        }
        if (data204.level !== undefined) {
          let data207 = data204.level
          if (
            !(typeof data207 == 'number' && !(data207 % 1) && !isNaN(data207) && isFinite(data207))
          ) {
            const err206 = {
              instancePath: instancePath + '/audit/level',
              schemaPath: '#/properties/audit/properties/level/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err206]
            } else {
              vErrors.push(err206)
            }
            errors++
          }
        }
        if (data204.policy !== undefined) {
          let data208 = data204.policy
          if (data208 && typeof data208 == 'object' && !Array.isArray(data208)) {
            if (data208.rules !== undefined) {
              let data209 = data208.rules
              if (Array.isArray(data209)) {
                const len29 = data209.length
                for (let i29 = 0; i29 < len29; i29++) {
                  let data210 = data209[i29]
                  if (data210 && typeof data210 == 'object' && !Array.isArray(data210)) {
                    if (data210.level !== undefined) {
                      if (typeof data210.level !== 'string') {
                        const err207 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/level',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/level/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err207]
                        } else {
                          vErrors.push(err207)
                        }
                        errors++
                      }
                    }
                    if (data210.users !== undefined) {
                      let data212 = data210.users
                      if (Array.isArray(data212)) {
                        const len30 = data212.length
                        for (let i30 = 0; i30 < len30; i30++) {
                          if (typeof data212[i30] !== 'string') {
                            const err208 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/users/' + i30,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/users/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err208]
                            } else {
                              vErrors.push(err208)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err209 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/users',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/users/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err209]
                        } else {
                          vErrors.push(err209)
                        }
                        errors++
                      }
                    }
                    if (data210.userGroups !== undefined) {
                      let data214 = data210.userGroups
                      if (Array.isArray(data214)) {
                        const len31 = data214.length
                        for (let i31 = 0; i31 < len31; i31++) {
                          if (typeof data214[i31] !== 'string') {
                            const err210 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/userGroups/' + i31,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/userGroups/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err210]
                            } else {
                              vErrors.push(err210)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err211 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/userGroups',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/userGroups/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err211]
                        } else {
                          vErrors.push(err211)
                        }
                        errors++
                      }
                    }
                    if (data210.verbs !== undefined) {
                      let data216 = data210.verbs
                      if (Array.isArray(data216)) {
                        const len32 = data216.length
                        for (let i32 = 0; i32 < len32; i32++) {
                          if (typeof data216[i32] !== 'string') {
                            const err212 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/verbs/' + i32,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/verbs/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err212]
                            } else {
                              vErrors.push(err212)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err213 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/verbs',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/verbs/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err213]
                        } else {
                          vErrors.push(err213)
                        }
                        errors++
                      }
                    }
                    if (data210.resources !== undefined) {
                      let data218 = data210.resources
                      if (Array.isArray(data218)) {
                        const len33 = data218.length
                        for (let i33 = 0; i33 < len33; i33++) {
                          let data219 = data218[i33]
                          if (data219 && typeof data219 == 'object' && !Array.isArray(data219)) {
                            if (data219.group !== undefined) {
                              if (typeof data219.group !== 'string') {
                                const err214 = {
                                  instancePath:
                                    instancePath +
                                    '/audit/policy/rules/' +
                                    i29 +
                                    '/resources/' +
                                    i33 +
                                    '/group',
                                  schemaPath:
                                    '#/properties/audit/properties/policy/properties/rules/items/properties/resources/items/properties/group/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err214]
                                } else {
                                  vErrors.push(err214)
                                }
                                errors++
                              }
                            }
                            if (data219.resources !== undefined) {
                              let data221 = data219.resources
                              if (Array.isArray(data221)) {
                                const len34 = data221.length
                                for (let i34 = 0; i34 < len34; i34++) {
                                  if (typeof data221[i34] !== 'string') {
                                    const err215 = {
                                      instancePath:
                                        instancePath +
                                        '/audit/policy/rules/' +
                                        i29 +
                                        '/resources/' +
                                        i33 +
                                        '/resources/' +
                                        i34,
                                      schemaPath:
                                        '#/properties/audit/properties/policy/properties/rules/items/properties/resources/items/properties/resources/items/type',
                                      keyword: 'type',
                                      params: { type: 'string' },
                                    }
                                    if (vErrors === null) {
                                      vErrors = [err215]
                                    } else {
                                      vErrors.push(err215)
                                    }
                                    errors++
                                  }
                                }
                              } else {
                                const err216 = {
                                  instancePath:
                                    instancePath +
                                    '/audit/policy/rules/' +
                                    i29 +
                                    '/resources/' +
                                    i33 +
                                    '/resources',
                                  schemaPath:
                                    '#/properties/audit/properties/policy/properties/rules/items/properties/resources/items/properties/resources/type',
                                  keyword: 'type',
                                  params: { type: 'array' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err216]
                                } else {
                                  vErrors.push(err216)
                                }
                                errors++
                              }
                            }
                            if (data219.resourceNames !== undefined) {
                              let data223 = data219.resourceNames
                              if (Array.isArray(data223)) {
                                const len35 = data223.length
                                for (let i35 = 0; i35 < len35; i35++) {
                                  if (typeof data223[i35] !== 'string') {
                                    const err217 = {
                                      instancePath:
                                        instancePath +
                                        '/audit/policy/rules/' +
                                        i29 +
                                        '/resources/' +
                                        i33 +
                                        '/resourceNames/' +
                                        i35,
                                      schemaPath:
                                        '#/properties/audit/properties/policy/properties/rules/items/properties/resources/items/properties/resourceNames/items/type',
                                      keyword: 'type',
                                      params: { type: 'string' },
                                    }
                                    if (vErrors === null) {
                                      vErrors = [err217]
                                    } else {
                                      vErrors.push(err217)
                                    }
                                    errors++
                                  }
                                }
                              } else {
                                const err218 = {
                                  instancePath:
                                    instancePath +
                                    '/audit/policy/rules/' +
                                    i29 +
                                    '/resources/' +
                                    i33 +
                                    '/resourceNames',
                                  schemaPath:
                                    '#/properties/audit/properties/policy/properties/rules/items/properties/resources/items/properties/resourceNames/type',
                                  keyword: 'type',
                                  params: { type: 'array' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err218]
                                } else {
                                  vErrors.push(err218)
                                }
                                errors++
                              }
                            }
                          } else {
                            const err219 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/resources/' + i33,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/resources/items/type',
                              keyword: 'type',
                              params: { type: 'object' },
                            }
                            if (vErrors === null) {
                              vErrors = [err219]
                            } else {
                              vErrors.push(err219)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err220 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/resources',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/resources/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err220]
                        } else {
                          vErrors.push(err220)
                        }
                        errors++
                      }
                    }
                    if (data210.namespaces !== undefined) {
                      let data225 = data210.namespaces
                      if (Array.isArray(data225)) {
                        const len36 = data225.length
                        for (let i36 = 0; i36 < len36; i36++) {
                          if (typeof data225[i36] !== 'string') {
                            const err221 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/namespaces/' + i36,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/namespaces/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err221]
                            } else {
                              vErrors.push(err221)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err222 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/namespaces',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/namespaces/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err222]
                        } else {
                          vErrors.push(err222)
                        }
                        errors++
                      }
                    }
                    if (data210.nonResourceURLs !== undefined) {
                      let data227 = data210.nonResourceURLs
                      if (Array.isArray(data227)) {
                        const len37 = data227.length
                        for (let i37 = 0; i37 < len37; i37++) {
                          if (typeof data227[i37] !== 'string') {
                            const err223 = {
                              instancePath:
                                instancePath +
                                '/audit/policy/rules/' +
                                i29 +
                                '/nonResourceURLs/' +
                                i37,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/nonResourceURLs/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err223]
                            } else {
                              vErrors.push(err223)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err224 = {
                          instancePath:
                            instancePath + '/audit/policy/rules/' + i29 + '/nonResourceURLs',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/nonResourceURLs/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err224]
                        } else {
                          vErrors.push(err224)
                        }
                        errors++
                      }
                    }
                    if (data210.omitStages !== undefined) {
                      let data229 = data210.omitStages
                      if (Array.isArray(data229)) {
                        const len38 = data229.length
                        for (let i38 = 0; i38 < len38; i38++) {
                          if (typeof data229[i38] !== 'string') {
                            const err225 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/omitStages/' + i38,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/omitStages/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err225]
                            } else {
                              vErrors.push(err225)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err226 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/omitStages',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/omitStages/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err226]
                        } else {
                          vErrors.push(err226)
                        }
                        errors++
                      }
                    }
                    if (data210.requestTargets !== undefined) {
                      let data231 = data210.requestTargets
                      if (Array.isArray(data231)) {
                        const len39 = data231.length
                        for (let i39 = 0; i39 < len39; i39++) {
                          if (typeof data231[i39] !== 'string') {
                            const err227 = {
                              instancePath:
                                instancePath +
                                '/audit/policy/rules/' +
                                i29 +
                                '/requestTargets/' +
                                i39,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/requestTargets/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err227]
                            } else {
                              vErrors.push(err227)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err228 = {
                          instancePath:
                            instancePath + '/audit/policy/rules/' + i29 + '/requestTargets',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/requestTargets/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err228]
                        } else {
                          vErrors.push(err228)
                        }
                        errors++
                      }
                    }
                    if (data210.clusters !== undefined) {
                      let data233 = data210.clusters
                      if (Array.isArray(data233)) {
                        const len40 = data233.length
                        for (let i40 = 0; i40 < len40; i40++) {
                          if (typeof data233[i40] !== 'string') {
                            const err229 = {
                              instancePath:
                                instancePath + '/audit/policy/rules/' + i29 + '/clusters/' + i40,
                              schemaPath:
                                '#/properties/audit/properties/policy/properties/rules/items/properties/clusters/items/type',
                              keyword: 'type',
                              params: { type: 'string' },
                            }
                            if (vErrors === null) {
                              vErrors = [err229]
                            } else {
                              vErrors.push(err229)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err230 = {
                          instancePath: instancePath + '/audit/policy/rules/' + i29 + '/clusters',
                          schemaPath:
                            '#/properties/audit/properties/policy/properties/rules/items/properties/clusters/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err230]
                        } else {
                          vErrors.push(err230)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err231 = {
                      instancePath: instancePath + '/audit/policy/rules/' + i29,
                      schemaPath:
                        '#/properties/audit/properties/policy/properties/rules/items/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err231]
                    } else {
                      vErrors.push(err231)
                    }
                    errors++
                  }
                }
              } else {
                const err232 = {
                  instancePath: instancePath + '/audit/policy/rules',
                  schemaPath: '#/properties/audit/properties/policy/properties/rules/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err232]
                } else {
                  vErrors.push(err232)
                }
                errors++
              }
            }
            if (data208.omitStages !== undefined) {
              let data235 = data208.omitStages
              if (Array.isArray(data235)) {
                const len41 = data235.length
                for (let i41 = 0; i41 < len41; i41++) {
                  if (typeof data235[i41] !== 'string') {
                    const err233 = {
                      instancePath: instancePath + '/audit/policy/omitStages/' + i41,
                      schemaPath:
                        '#/properties/audit/properties/policy/properties/omitStages/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err233]
                    } else {
                      vErrors.push(err233)
                    }
                    errors++
                  }
                }
              } else {
                const err234 = {
                  instancePath: instancePath + '/audit/policy/omitStages',
                  schemaPath: '#/properties/audit/properties/policy/properties/omitStages/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err234]
                } else {
                  vErrors.push(err234)
                }
                errors++
              }
            }
          } else {
            const err235 = {
              instancePath: instancePath + '/audit/policy',
              schemaPath: '#/properties/audit/properties/policy/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err235]
            } else {
              vErrors.push(err235)
            }
            errors++
          }
        }
        if (data204.dataStoreEndpoint !== undefined) {
          if (typeof data204.dataStoreEndpoint !== 'string') {
            const err236 = {
              instancePath: instancePath + '/audit/dataStoreEndpoint',
              schemaPath: '#/properties/audit/properties/dataStoreEndpoint/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err236]
            } else {
              vErrors.push(err236)
            }
            errors++
          }
        }
        if (data204.dataStoreTTL !== undefined) {
          let data238 = data204.dataStoreTTL
          if (
            !(typeof data238 == 'number' && !(data238 % 1) && !isNaN(data238) && isFinite(data238))
          ) {
            const err237 = {
              instancePath: instancePath + '/audit/dataStoreTTL',
              schemaPath: '#/properties/audit/properties/dataStoreTTL/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err237]
            } else {
              vErrors.push(err237)
            }
            errors++
          }
        }
        if (data204.path !== undefined) {
          if (typeof data204.path !== 'string') {
            const err238 = {
              instancePath: instancePath + '/audit/path',
              schemaPath: '#/properties/audit/properties/path/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err238]
            } else {
              vErrors.push(err238)
            }
            errors++
          }
        }
        if (data204.maxAge !== undefined) {
          let data240 = data204.maxAge
          if (
            !(typeof data240 == 'number' && !(data240 % 1) && !isNaN(data240) && isFinite(data240))
          ) {
            const err239 = {
              instancePath: instancePath + '/audit/maxAge',
              schemaPath: '#/properties/audit/properties/maxAge/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err239]
            } else {
              vErrors.push(err239)
            }
            errors++
          }
        }
        if (data204.maxBackups !== undefined) {
          let data241 = data204.maxBackups
          if (
            !(typeof data241 == 'number' && !(data241 % 1) && !isNaN(data241) && isFinite(data241))
          ) {
            const err240 = {
              instancePath: instancePath + '/audit/maxBackups',
              schemaPath: '#/properties/audit/properties/maxBackups/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err240]
            } else {
              vErrors.push(err240)
            }
            errors++
          }
        }
        if (data204.maxSize !== undefined) {
          let data242 = data204.maxSize
          if (
            !(typeof data242 == 'number' && !(data242 % 1) && !isNaN(data242) && isFinite(data242))
          ) {
            const err241 = {
              instancePath: instancePath + '/audit/maxSize',
              schemaPath: '#/properties/audit/properties/maxSize/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err241]
            } else {
              vErrors.push(err241)
            }
            errors++
          }
        }
        if (data204.compress !== undefined) {
          if (typeof data204.compress !== 'boolean') {
            const err242 = {
              instancePath: instancePath + '/audit/compress',
              schemaPath: '#/properties/audit/properties/compress/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err242]
            } else {
              vErrors.push(err242)
            }
            errors++
          }
        }
      } else {
        const err243 = {
          instancePath: instancePath + '/audit',
          schemaPath: '#/properties/audit/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err243]
        } else {
          vErrors.push(err243)
        }
        errors++
      }
    }
    if (data.platformHost !== undefined) {
      if (typeof data.platformHost !== 'string') {
        const err244 = {
          instancePath: instancePath + '/platformHost',
          schemaPath: '#/properties/platformHost/type',
          keyword: 'type',
          params: { type: 'string' },
        }
        if (vErrors === null) {
          vErrors = [err244]
        } else {
          vErrors.push(err244)
        }
        errors++
      }
    }
    if (data.projectNamespacePrefix !== undefined) {
      if (typeof data.projectNamespacePrefix !== 'string') {
        const err245 = {
          instancePath: instancePath + '/projectNamespacePrefix',
          schemaPath: '#/properties/projectNamespacePrefix/type',
          keyword: 'type',
          params: { type: 'string' },
        }
        if (vErrors === null) {
          vErrors = [err245]
        } else {
          vErrors.push(err245)
        }
        errors++
      }
    }
    if (data.devPodSubDomain !== undefined) {
      if (typeof data.devPodSubDomain !== 'string') {
        const err246 = {
          instancePath: instancePath + '/devPodSubDomain',
          schemaPath: '#/properties/devPodSubDomain/type',
          keyword: 'type',
          params: { type: 'string' },
        }
        if (vErrors === null) {
          vErrors = [err246]
        } else {
          vErrors.push(err246)
        }
        errors++
      }
    }
    if (data.uiSettings !== undefined) {
      let data247 = data.uiSettings
      if (data247 && typeof data247 == 'object' && !Array.isArray(data247)) {
        if (data247.platformVersion !== undefined) {
          if (typeof data247.platformVersion !== 'string') {
            const err247 = {
              instancePath: instancePath + '/uiSettings/platformVersion',
              schemaPath: '#/properties/uiSettings/properties/platformVersion/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err247]
            } else {
              vErrors.push(err247)
            }
            errors++
          }
        }
        if (data247.logoURL !== undefined) {
          if (typeof data247.logoURL !== 'string') {
            const err248 = {
              instancePath: instancePath + '/uiSettings/logoURL',
              schemaPath: '#/properties/uiSettings/properties/logoURL/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err248]
            } else {
              vErrors.push(err248)
            }
            errors++
          }
        }
        if (data247.faviconURL !== undefined) {
          if (typeof data247.faviconURL !== 'string') {
            const err249 = {
              instancePath: instancePath + '/uiSettings/faviconURL',
              schemaPath: '#/properties/uiSettings/properties/faviconURL/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err249]
            } else {
              vErrors.push(err249)
            }
            errors++
          }
        }
        if (data247.smallLogoURL !== undefined) {
          if (typeof data247.smallLogoURL !== 'string') {
            const err250 = {
              instancePath: instancePath + '/uiSettings/smallLogoURL',
              schemaPath: '#/properties/uiSettings/properties/smallLogoURL/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err250]
            } else {
              vErrors.push(err250)
            }
            errors++
          }
        }
        if (data247.logoBackgroundColor !== undefined) {
          if (typeof data247.logoBackgroundColor !== 'string') {
            const err251 = {
              instancePath: instancePath + '/uiSettings/logoBackgroundColor',
              schemaPath: '#/properties/uiSettings/properties/logoBackgroundColor/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err251]
            } else {
              vErrors.push(err251)
            }
            errors++
          }
        }
        if (data247.primaryColor !== undefined) {
          if (typeof data247.primaryColor !== 'string') {
            const err252 = {
              instancePath: instancePath + '/uiSettings/primaryColor',
              schemaPath: '#/properties/uiSettings/properties/primaryColor/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err252]
            } else {
              vErrors.push(err252)
            }
            errors++
          }
        }
        if (data247.sidebarColor !== undefined) {
          if (typeof data247.sidebarColor !== 'string') {
            const err253 = {
              instancePath: instancePath + '/uiSettings/sidebarColor',
              schemaPath: '#/properties/uiSettings/properties/sidebarColor/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err253]
            } else {
              vErrors.push(err253)
            }
            errors++
          }
        }
        if (data247.accentColor !== undefined) {
          if (typeof data247.accentColor !== 'string') {
            const err254 = {
              instancePath: instancePath + '/uiSettings/accentColor',
              schemaPath: '#/properties/uiSettings/properties/accentColor/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err254]
            } else {
              vErrors.push(err254)
            }
            errors++
          }
        }
        if (data247.legalTemplate !== undefined) {
          if (typeof data247.legalTemplate !== 'string') {
            const err255 = {
              instancePath: instancePath + '/uiSettings/legalTemplate',
              schemaPath: '#/properties/uiSettings/properties/legalTemplate/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err255]
            } else {
              vErrors.push(err255)
            }
            errors++
          }
        }
        if (data247.customCss !== undefined) {
          let data257 = data247.customCss
          if (Array.isArray(data257)) {
            const len42 = data257.length
            for (let i42 = 0; i42 < len42; i42++) {
              if (typeof data257[i42] !== 'string') {
                const err256 = {
                  instancePath: instancePath + '/uiSettings/customCss/' + i42,
                  schemaPath: '#/properties/uiSettings/properties/customCss/items/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err256]
                } else {
                  vErrors.push(err256)
                }
                errors++
              }
            }
          } else {
            const err257 = {
              instancePath: instancePath + '/uiSettings/customCss',
              schemaPath: '#/properties/uiSettings/properties/customCss/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err257]
            } else {
              vErrors.push(err257)
            }
            errors++
          }
        }
        if (data247.customJavaScript !== undefined) {
          let data259 = data247.customJavaScript
          if (Array.isArray(data259)) {
            const len43 = data259.length
            for (let i43 = 0; i43 < len43; i43++) {
              if (typeof data259[i43] !== 'string') {
                const err258 = {
                  instancePath: instancePath + '/uiSettings/customJavaScript/' + i43,
                  schemaPath: '#/properties/uiSettings/properties/customJavaScript/items/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err258]
                } else {
                  vErrors.push(err258)
                }
                errors++
              }
            }
          } else {
            const err259 = {
              instancePath: instancePath + '/uiSettings/customJavaScript',
              schemaPath: '#/properties/uiSettings/properties/customJavaScript/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err259]
            } else {
              vErrors.push(err259)
            }
            errors++
          }
        }
        if (data247.navBarButtons !== undefined) {
          let data261 = data247.navBarButtons
          if (Array.isArray(data261)) {
            const len44 = data261.length
            for (let i44 = 0; i44 < len44; i44++) {
              let data262 = data261[i44]
              if (data262 && typeof data262 == 'object' && !Array.isArray(data262)) {
                if (data262.position !== undefined) {
                  if (typeof data262.position !== 'string') {
                    const err260 = {
                      instancePath: instancePath + '/uiSettings/navBarButtons/' + i44 + '/position',
                      schemaPath:
                        '#/properties/uiSettings/properties/navBarButtons/items/properties/position/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err260]
                    } else {
                      vErrors.push(err260)
                    }
                    errors++
                  }
                }
                if (data262.text !== undefined) {
                  if (typeof data262.text !== 'string') {
                    const err261 = {
                      instancePath: instancePath + '/uiSettings/navBarButtons/' + i44 + '/text',
                      schemaPath:
                        '#/properties/uiSettings/properties/navBarButtons/items/properties/text/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err261]
                    } else {
                      vErrors.push(err261)
                    }
                    errors++
                  }
                }
                if (data262.link !== undefined) {
                  if (typeof data262.link !== 'string') {
                    const err262 = {
                      instancePath: instancePath + '/uiSettings/navBarButtons/' + i44 + '/link',
                      schemaPath:
                        '#/properties/uiSettings/properties/navBarButtons/items/properties/link/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err262]
                    } else {
                      vErrors.push(err262)
                    }
                    errors++
                  }
                }
                if (data262.icon !== undefined) {
                  if (typeof data262.icon !== 'string') {
                    const err263 = {
                      instancePath: instancePath + '/uiSettings/navBarButtons/' + i44 + '/icon',
                      schemaPath:
                        '#/properties/uiSettings/properties/navBarButtons/items/properties/icon/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err263]
                    } else {
                      vErrors.push(err263)
                    }
                    errors++
                  }
                }
              } else {
                const err264 = {
                  instancePath: instancePath + '/uiSettings/navBarButtons/' + i44,
                  schemaPath: '#/properties/uiSettings/properties/navBarButtons/items/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err264]
                } else {
                  vErrors.push(err264)
                }
                errors++
              }
            }
          } else {
            const err265 = {
              instancePath: instancePath + '/uiSettings/navBarButtons',
              schemaPath: '#/properties/uiSettings/properties/navBarButtons/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err265]
            } else {
              vErrors.push(err265)
            }
            errors++
          }
        }
        if (data247.externalURLs !== undefined) {
          let data267 = data247.externalURLs
          if (data267 && typeof data267 == 'object' && !Array.isArray(data267)) {
            if (data267.block !== undefined) {
              if (typeof data267.block !== 'boolean') {
                const err266 = {
                  instancePath: instancePath + '/uiSettings/externalURLs/block',
                  schemaPath:
                    '#/properties/uiSettings/properties/externalURLs/properties/block/type',
                  keyword: 'type',
                  params: { type: 'boolean' },
                }
                if (vErrors === null) {
                  vErrors = [err266]
                } else {
                  vErrors.push(err266)
                }
                errors++
              }
            }
            if (data267.allow !== undefined) {
              let data269 = data267.allow
              if (Array.isArray(data269)) {
                const len45 = data269.length
                for (let i45 = 0; i45 < len45; i45++) {
                  if (typeof data269[i45] !== 'string') {
                    const err267 = {
                      instancePath: instancePath + '/uiSettings/externalURLs/allow/' + i45,
                      schemaPath:
                        '#/properties/uiSettings/properties/externalURLs/properties/allow/items/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err267]
                    } else {
                      vErrors.push(err267)
                    }
                    errors++
                  }
                }
              } else {
                const err268 = {
                  instancePath: instancePath + '/uiSettings/externalURLs/allow',
                  schemaPath:
                    '#/properties/uiSettings/properties/externalURLs/properties/allow/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err268]
                } else {
                  vErrors.push(err268)
                }
                errors++
              }
            }
          } else {
            const err269 = {
              instancePath: instancePath + '/uiSettings/externalURLs',
              schemaPath: '#/properties/uiSettings/properties/externalURLs/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err269]
            } else {
              vErrors.push(err269)
            }
            errors++
          }
        }
      } else {
        const err270 = {
          instancePath: instancePath + '/uiSettings',
          schemaPath: '#/properties/uiSettings/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err270]
        } else {
          vErrors.push(err270)
        }
        errors++
      }
    }
    if (data.secretStore !== undefined) {
      let data271 = data.secretStore
      if (data271 && typeof data271 == 'object' && !Array.isArray(data271)) {
        if (data271.enabled !== undefined) {
          if (typeof data271.enabled !== 'boolean') {
            const err271 = {
              instancePath: instancePath + '/secretStore/enabled',
              schemaPath: '#/properties/secretStore/properties/enabled/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err271]
            } else {
              vErrors.push(err271)
            }
            errors++
          }
        }
        if (data271.address !== undefined) {
          if (typeof data271.address !== 'string') {
            const err272 = {
              instancePath: instancePath + '/secretStore/address',
              schemaPath: '#/properties/secretStore/properties/address/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err272]
            } else {
              vErrors.push(err272)
            }
            errors++
          }
        }
        if (data271.skipTLSVerify !== undefined) {
          if (typeof data271.skipTLSVerify !== 'boolean') {
            const err273 = {
              instancePath: instancePath + '/secretStore/skipTLSVerify',
              schemaPath: '#/properties/secretStore/properties/skipTLSVerify/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err273]
            } else {
              vErrors.push(err273)
            }
            errors++
          }
        }
        if (data271.namespace !== undefined) {
          if (typeof data271.namespace !== 'string') {
            const err274 = {
              instancePath: instancePath + '/secretStore/namespace',
              schemaPath: '#/properties/secretStore/properties/namespace/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err274]
            } else {
              vErrors.push(err274)
            }
            errors++
          }
        }
        if (data271.auth !== undefined) {
          let data276 = data271.auth
          if (data276 && typeof data276 == 'object' && !Array.isArray(data276)) {
            if (data276.token !== undefined) {
              if (typeof data276.token !== 'string') {
                const err275 = {
                  instancePath: instancePath + '/secretStore/auth/token',
                  schemaPath: '#/properties/secretStore/properties/auth/properties/token/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err275]
                } else {
                  vErrors.push(err275)
                }
                errors++
              }
            }
            if (data276.tokenSecretRef !== undefined) {
              let data278 = data276.tokenSecretRef
              if (data278 && typeof data278 == 'object' && !Array.isArray(data278)) {
                if (data278.name !== undefined) {
                  if (typeof data278.name !== 'string') {
                    const err276 = {
                      instancePath: instancePath + '/secretStore/auth/tokenSecretRef/name',
                      schemaPath:
                        '#/properties/secretStore/properties/auth/properties/tokenSecretRef/properties/name/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err276]
                    } else {
                      vErrors.push(err276)
                    }
                    errors++
                  }
                }
                if (data278.key !== undefined) {
                  if (typeof data278.key !== 'string') {
                    const err277 = {
                      instancePath: instancePath + '/secretStore/auth/tokenSecretRef/key',
                      schemaPath:
                        '#/properties/secretStore/properties/auth/properties/tokenSecretRef/properties/key/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err277]
                    } else {
                      vErrors.push(err277)
                    }
                    errors++
                  }
                }
                if (data278.optional !== undefined) {
                  if (typeof data278.optional !== 'boolean') {
                    const err278 = {
                      instancePath: instancePath + '/secretStore/auth/tokenSecretRef/optional',
                      schemaPath:
                        '#/properties/secretStore/properties/auth/properties/tokenSecretRef/properties/optional/type',
                      keyword: 'type',
                      params: { type: 'boolean' },
                    }
                    if (vErrors === null) {
                      vErrors = [err278]
                    } else {
                      vErrors.push(err278)
                    }
                    errors++
                  }
                }
              } else {
                const err279 = {
                  instancePath: instancePath + '/secretStore/auth/tokenSecretRef',
                  schemaPath:
                    '#/properties/secretStore/properties/auth/properties/tokenSecretRef/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err279]
                } else {
                  vErrors.push(err279)
                }
                errors++
              }
            }
          } else {
            const err280 = {
              instancePath: instancePath + '/secretStore/auth',
              schemaPath: '#/properties/secretStore/properties/auth/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err280]
            } else {
              vErrors.push(err280)
            }
            errors++
          }
        }
        if (data271.syncInterval !== undefined) {
          if (typeof data271.syncInterval !== 'string') {
            const err281 = {
              instancePath: instancePath + '/secretStore/syncInterval',
              schemaPath: '#/properties/secretStore/properties/syncInterval/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err281]
            } else {
              vErrors.push(err281)
            }
            errors++
          }
        }
      } else {
        const err282 = {
          instancePath: instancePath + '/secretStore',
          schemaPath: '#/properties/secretStore/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err282]
        } else {
          vErrors.push(err282)
        }
        errors++
      }
    }
    if (data.disableConfigEndpoint !== undefined) {
      if (typeof data.disableConfigEndpoint !== 'boolean') {
        const err283 = {
          instancePath: instancePath + '/disableConfigEndpoint',
          schemaPath: '#/properties/disableConfigEndpoint/type',
          keyword: 'type',
          params: { type: 'boolean' },
        }
        if (vErrors === null) {
          vErrors = [err283]
        } else {
          vErrors.push(err283)
        }
        errors++
      }
    }
    if (data.authenticateVersionEndpoint !== undefined) {
      if (typeof data.authenticateVersionEndpoint !== 'boolean') {
        const err284 = {
          instancePath: instancePath + '/authenticateVersionEndpoint',
          schemaPath: '#/properties/authenticateVersionEndpoint/type',
          keyword: 'type',
          params: { type: 'boolean' },
        }
        if (vErrors === null) {
          vErrors = [err284]
        } else {
          vErrors.push(err284)
        }
        errors++
      }
    }
    if (data.cloud !== undefined) {
      let data285 = data.cloud
      if (data285 && typeof data285 == 'object' && !Array.isArray(data285)) {
        if (data285.releaseChannel !== undefined) {
          if (typeof data285.releaseChannel !== 'string') {
            const err285 = {
              instancePath: instancePath + '/cloud/releaseChannel',
              schemaPath: '#/properties/cloud/properties/releaseChannel/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err285]
            } else {
              vErrors.push(err285)
            }
            errors++
          }
        }
        if (data285.maintenanceWindow !== undefined) {
          let data287 = data285.maintenanceWindow
          if (data287 && typeof data287 == 'object' && !Array.isArray(data287)) {
            if (data287.dayOfWeek !== undefined) {
              if (typeof data287.dayOfWeek !== 'string') {
                const err286 = {
                  instancePath: instancePath + '/cloud/maintenanceWindow/dayOfWeek',
                  schemaPath:
                    '#/properties/cloud/properties/maintenanceWindow/properties/dayOfWeek/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err286]
                } else {
                  vErrors.push(err286)
                }
                errors++
              }
            }
            if (data287.timeWindow !== undefined) {
              if (typeof data287.timeWindow !== 'string') {
                const err287 = {
                  instancePath: instancePath + '/cloud/maintenanceWindow/timeWindow',
                  schemaPath:
                    '#/properties/cloud/properties/maintenanceWindow/properties/timeWindow/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err287]
                } else {
                  vErrors.push(err287)
                }
                errors++
              }
            }
          } else {
            const err288 = {
              instancePath: instancePath + '/cloud/maintenanceWindow',
              schemaPath: '#/properties/cloud/properties/maintenanceWindow/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err288]
            } else {
              vErrors.push(err288)
            }
            errors++
          }
        }
      } else {
        const err289 = {
          instancePath: instancePath + '/cloud',
          schemaPath: '#/properties/cloud/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err289]
        } else {
          vErrors.push(err289)
        }
        errors++
      }
    }
    if (data.costControl !== undefined) {
      let data290 = data.costControl
      if (data290 && typeof data290 == 'object' && !Array.isArray(data290)) {
        if (data290.enabled !== undefined) {
          if (typeof data290.enabled !== 'boolean') {
            const err290 = {
              instancePath: instancePath + '/costControl/enabled',
              schemaPath: '#/properties/costControl/properties/enabled/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err290]
            } else {
              vErrors.push(err290)
            }
            errors++
          }
        }
        if (data290.global !== undefined) {
          let data292 = data290.global
          if (data292 && typeof data292 == 'object' && !Array.isArray(data292)) {
            if (data292.metrics !== undefined) {
              let data293 = data292.metrics
              if (data293 && typeof data293 == 'object' && !Array.isArray(data293)) {
                if (data293.replicas !== undefined) {
                  let data294 = data293.replicas
                  if (
                    !(
                      typeof data294 == 'number' &&
                      !(data294 % 1) &&
                      !isNaN(data294) &&
                      isFinite(data294)
                    )
                  ) {
                    const err291 = {
                      instancePath: instancePath + '/costControl/global/metrics/replicas',
                      schemaPath:
                        '#/properties/costControl/properties/global/properties/metrics/properties/replicas/type',
                      keyword: 'type',
                      params: { type: 'integer' },
                    }
                    if (vErrors === null) {
                      vErrors = [err291]
                    } else {
                      vErrors.push(err291)
                    }
                    errors++
                  }
                }
                if (data293.resources !== undefined) {
                  let data295 = data293.resources
                  if (data295 && typeof data295 == 'object' && !Array.isArray(data295)) {
                    if (data295.limits !== undefined) {
                      let data296 = data295.limits
                      if (data296 && typeof data296 == 'object' && !Array.isArray(data296)) {
                        for (const key1 in data296) {
                          let data297 = data296[key1]
                          const _errs598 = errors
                          let valid133 = false
                          const _errs599 = errors
                          if (
                            !(
                              typeof data297 == 'number' &&
                              !(data297 % 1) &&
                              !isNaN(data297) &&
                              isFinite(data297)
                            )
                          ) {
                            const err292 = {
                              instancePath:
                                instancePath +
                                '/costControl/global/metrics/resources/limits/' +
                                key1.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/limits/additionalProperties/anyOf/0/type',
                              keyword: 'type',
                              params: { type: 'integer' },
                            }
                            if (vErrors === null) {
                              vErrors = [err292]
                            } else {
                              vErrors.push(err292)
                            }
                            errors++
                          }
                          var _valid0 = _errs599 === errors
                          valid133 = valid133 || _valid0
                          if (!valid133) {
                            const _errs601 = errors
                            if (typeof data297 !== 'string') {
                              const err293 = {
                                instancePath:
                                  instancePath +
                                  '/costControl/global/metrics/resources/limits/' +
                                  key1.replace(/~/g, '~0').replace(/\//g, '~1'),
                                schemaPath:
                                  '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/limits/additionalProperties/anyOf/1/type',
                                keyword: 'type',
                                params: { type: 'string' },
                              }
                              if (vErrors === null) {
                                vErrors = [err293]
                              } else {
                                vErrors.push(err293)
                              }
                              errors++
                            }
                            var _valid0 = _errs601 === errors
                            valid133 = valid133 || _valid0
                          }
                          if (!valid133) {
                            const err294 = {
                              instancePath:
                                instancePath +
                                '/costControl/global/metrics/resources/limits/' +
                                key1.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/limits/additionalProperties/anyOf',
                              keyword: 'anyOf',
                              params: {},
                            }
                            if (vErrors === null) {
                              vErrors = [err294]
                            } else {
                              vErrors.push(err294)
                            }
                            errors++
                          } else {
                            errors = _errs598
                            if (vErrors !== null) {
                              if (_errs598) {
                                vErrors.length = _errs598
                              } else {
                                vErrors = null
                              }
                            }
                          }
                        }
                      } else {
                        const err295 = {
                          instancePath:
                            instancePath + '/costControl/global/metrics/resources/limits',
                          schemaPath:
                            '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/limits/type',
                          keyword: 'type',
                          params: { type: 'object' },
                        }
                        if (vErrors === null) {
                          vErrors = [err295]
                        } else {
                          vErrors.push(err295)
                        }
                        errors++
                      }
                    }
                    if (data295.requests !== undefined) {
                      let data298 = data295.requests
                      if (data298 && typeof data298 == 'object' && !Array.isArray(data298)) {
                        for (const key2 in data298) {
                          let data299 = data298[key2]
                          const _errs607 = errors
                          let valid135 = false
                          const _errs608 = errors
                          if (
                            !(
                              typeof data299 == 'number' &&
                              !(data299 % 1) &&
                              !isNaN(data299) &&
                              isFinite(data299)
                            )
                          ) {
                            const err296 = {
                              instancePath:
                                instancePath +
                                '/costControl/global/metrics/resources/requests/' +
                                key2.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/requests/additionalProperties/anyOf/0/type',
                              keyword: 'type',
                              params: { type: 'integer' },
                            }
                            if (vErrors === null) {
                              vErrors = [err296]
                            } else {
                              vErrors.push(err296)
                            }
                            errors++
                          }
                          var _valid1 = _errs608 === errors
                          valid135 = valid135 || _valid1
                          if (!valid135) {
                            const _errs610 = errors
                            if (typeof data299 !== 'string') {
                              const err297 = {
                                instancePath:
                                  instancePath +
                                  '/costControl/global/metrics/resources/requests/' +
                                  key2.replace(/~/g, '~0').replace(/\//g, '~1'),
                                schemaPath:
                                  '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/requests/additionalProperties/anyOf/1/type',
                                keyword: 'type',
                                params: { type: 'string' },
                              }
                              if (vErrors === null) {
                                vErrors = [err297]
                              } else {
                                vErrors.push(err297)
                              }
                              errors++
                            }
                            var _valid1 = _errs610 === errors
                            valid135 = valid135 || _valid1
                          }
                          if (!valid135) {
                            const err298 = {
                              instancePath:
                                instancePath +
                                '/costControl/global/metrics/resources/requests/' +
                                key2.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/requests/additionalProperties/anyOf',
                              keyword: 'anyOf',
                              params: {},
                            }
                            if (vErrors === null) {
                              vErrors = [err298]
                            } else {
                              vErrors.push(err298)
                            }
                            errors++
                          } else {
                            errors = _errs607
                            if (vErrors !== null) {
                              if (_errs607) {
                                vErrors.length = _errs607
                              } else {
                                vErrors = null
                              }
                            }
                          }
                        }
                      } else {
                        const err299 = {
                          instancePath:
                            instancePath + '/costControl/global/metrics/resources/requests',
                          schemaPath:
                            '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/requests/type',
                          keyword: 'type',
                          params: { type: 'object' },
                        }
                        if (vErrors === null) {
                          vErrors = [err299]
                        } else {
                          vErrors.push(err299)
                        }
                        errors++
                      }
                    }
                    if (data295.claims !== undefined) {
                      let data300 = data295.claims
                      if (Array.isArray(data300)) {
                        const len46 = data300.length
                        for (let i46 = 0; i46 < len46; i46++) {
                          let data301 = data300[i46]
                          if (data301 && typeof data301 == 'object' && !Array.isArray(data301)) {
                            if (data301.name !== undefined) {
                              if (typeof data301.name !== 'string') {
                                const err300 = {
                                  instancePath:
                                    instancePath +
                                    '/costControl/global/metrics/resources/claims/' +
                                    i46 +
                                    '/name',
                                  schemaPath:
                                    '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/claims/items/properties/name/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err300]
                                } else {
                                  vErrors.push(err300)
                                }
                                errors++
                              }
                            }
                            if (data301.request !== undefined) {
                              if (typeof data301.request !== 'string') {
                                const err301 = {
                                  instancePath:
                                    instancePath +
                                    '/costControl/global/metrics/resources/claims/' +
                                    i46 +
                                    '/request',
                                  schemaPath:
                                    '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/claims/items/properties/request/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err301]
                                } else {
                                  vErrors.push(err301)
                                }
                                errors++
                              }
                            }
                          } else {
                            const err302 = {
                              instancePath:
                                instancePath +
                                '/costControl/global/metrics/resources/claims/' +
                                i46,
                              schemaPath:
                                '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/claims/items/type',
                              keyword: 'type',
                              params: { type: 'object' },
                            }
                            if (vErrors === null) {
                              vErrors = [err302]
                            } else {
                              vErrors.push(err302)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err303 = {
                          instancePath:
                            instancePath + '/costControl/global/metrics/resources/claims',
                          schemaPath:
                            '#/properties/costControl/properties/global/properties/metrics/properties/resources/properties/claims/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err303]
                        } else {
                          vErrors.push(err303)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err304 = {
                      instancePath: instancePath + '/costControl/global/metrics/resources',
                      schemaPath:
                        '#/properties/costControl/properties/global/properties/metrics/properties/resources/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err304]
                    } else {
                      vErrors.push(err304)
                    }
                    errors++
                  }
                }
                if (data293.retention !== undefined) {
                  if (typeof data293.retention !== 'string') {
                    const err305 = {
                      instancePath: instancePath + '/costControl/global/metrics/retention',
                      schemaPath:
                        '#/properties/costControl/properties/global/properties/metrics/properties/retention/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err305]
                    } else {
                      vErrors.push(err305)
                    }
                    errors++
                  }
                }
                if (data293.storage !== undefined) {
                  let data305 = data293.storage
                  if (data305 && typeof data305 == 'object' && !Array.isArray(data305)) {
                    if (data305.storageClass !== undefined) {
                      if (typeof data305.storageClass !== 'string') {
                        const err306 = {
                          instancePath:
                            instancePath + '/costControl/global/metrics/storage/storageClass',
                          schemaPath:
                            '#/properties/costControl/properties/global/properties/metrics/properties/storage/properties/storageClass/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err306]
                        } else {
                          vErrors.push(err306)
                        }
                        errors++
                      }
                    }
                    if (data305.size !== undefined) {
                      if (typeof data305.size !== 'string') {
                        const err307 = {
                          instancePath: instancePath + '/costControl/global/metrics/storage/size',
                          schemaPath:
                            '#/properties/costControl/properties/global/properties/metrics/properties/storage/properties/size/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err307]
                        } else {
                          vErrors.push(err307)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err308 = {
                      instancePath: instancePath + '/costControl/global/metrics/storage',
                      schemaPath:
                        '#/properties/costControl/properties/global/properties/metrics/properties/storage/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err308]
                    } else {
                      vErrors.push(err308)
                    }
                    errors++
                  }
                }
              } else {
                const err309 = {
                  instancePath: instancePath + '/costControl/global/metrics',
                  schemaPath: '#/properties/costControl/properties/global/properties/metrics/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err309]
                } else {
                  vErrors.push(err309)
                }
                errors++
              }
            }
          } else {
            const err310 = {
              instancePath: instancePath + '/costControl/global',
              schemaPath: '#/properties/costControl/properties/global/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err310]
            } else {
              vErrors.push(err310)
            }
            errors++
          }
        }
        if (data290.cluster !== undefined) {
          let data308 = data290.cluster
          if (data308 && typeof data308 == 'object' && !Array.isArray(data308)) {
            if (data308.metrics !== undefined) {
              let data309 = data308.metrics
              if (data309 && typeof data309 == 'object' && !Array.isArray(data309)) {
                if (data309.replicas !== undefined) {
                  let data310 = data309.replicas
                  if (
                    !(
                      typeof data310 == 'number' &&
                      !(data310 % 1) &&
                      !isNaN(data310) &&
                      isFinite(data310)
                    )
                  ) {
                    const err311 = {
                      instancePath: instancePath + '/costControl/cluster/metrics/replicas',
                      schemaPath:
                        '#/properties/costControl/properties/cluster/properties/metrics/properties/replicas/type',
                      keyword: 'type',
                      params: { type: 'integer' },
                    }
                    if (vErrors === null) {
                      vErrors = [err311]
                    } else {
                      vErrors.push(err311)
                    }
                    errors++
                  }
                }
                if (data309.resources !== undefined) {
                  let data311 = data309.resources
                  if (data311 && typeof data311 == 'object' && !Array.isArray(data311)) {
                    if (data311.limits !== undefined) {
                      let data312 = data311.limits
                      if (data312 && typeof data312 == 'object' && !Array.isArray(data312)) {
                        for (const key3 in data312) {
                          let data313 = data312[key3]
                          const _errs640 = errors
                          let valid144 = false
                          const _errs641 = errors
                          if (
                            !(
                              typeof data313 == 'number' &&
                              !(data313 % 1) &&
                              !isNaN(data313) &&
                              isFinite(data313)
                            )
                          ) {
                            const err312 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/metrics/resources/limits/' +
                                key3.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/limits/additionalProperties/anyOf/0/type',
                              keyword: 'type',
                              params: { type: 'integer' },
                            }
                            if (vErrors === null) {
                              vErrors = [err312]
                            } else {
                              vErrors.push(err312)
                            }
                            errors++
                          }
                          var _valid2 = _errs641 === errors
                          valid144 = valid144 || _valid2
                          if (!valid144) {
                            const _errs643 = errors
                            if (typeof data313 !== 'string') {
                              const err313 = {
                                instancePath:
                                  instancePath +
                                  '/costControl/cluster/metrics/resources/limits/' +
                                  key3.replace(/~/g, '~0').replace(/\//g, '~1'),
                                schemaPath:
                                  '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/limits/additionalProperties/anyOf/1/type',
                                keyword: 'type',
                                params: { type: 'string' },
                              }
                              if (vErrors === null) {
                                vErrors = [err313]
                              } else {
                                vErrors.push(err313)
                              }
                              errors++
                            }
                            var _valid2 = _errs643 === errors
                            valid144 = valid144 || _valid2
                          }
                          if (!valid144) {
                            const err314 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/metrics/resources/limits/' +
                                key3.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/limits/additionalProperties/anyOf',
                              keyword: 'anyOf',
                              params: {},
                            }
                            if (vErrors === null) {
                              vErrors = [err314]
                            } else {
                              vErrors.push(err314)
                            }
                            errors++
                          } else {
                            errors = _errs640
                            if (vErrors !== null) {
                              if (_errs640) {
                                vErrors.length = _errs640
                              } else {
                                vErrors = null
                              }
                            }
                          }
                        }
                      } else {
                        const err315 = {
                          instancePath:
                            instancePath + '/costControl/cluster/metrics/resources/limits',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/limits/type',
                          keyword: 'type',
                          params: { type: 'object' },
                        }
                        if (vErrors === null) {
                          vErrors = [err315]
                        } else {
                          vErrors.push(err315)
                        }
                        errors++
                      }
                    }
                    if (data311.requests !== undefined) {
                      let data314 = data311.requests
                      if (data314 && typeof data314 == 'object' && !Array.isArray(data314)) {
                        for (const key4 in data314) {
                          let data315 = data314[key4]
                          const _errs649 = errors
                          let valid146 = false
                          const _errs650 = errors
                          if (
                            !(
                              typeof data315 == 'number' &&
                              !(data315 % 1) &&
                              !isNaN(data315) &&
                              isFinite(data315)
                            )
                          ) {
                            const err316 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/metrics/resources/requests/' +
                                key4.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/requests/additionalProperties/anyOf/0/type',
                              keyword: 'type',
                              params: { type: 'integer' },
                            }
                            if (vErrors === null) {
                              vErrors = [err316]
                            } else {
                              vErrors.push(err316)
                            }
                            errors++
                          }
                          var _valid3 = _errs650 === errors
                          valid146 = valid146 || _valid3
                          if (!valid146) {
                            const _errs652 = errors
                            if (typeof data315 !== 'string') {
                              const err317 = {
                                instancePath:
                                  instancePath +
                                  '/costControl/cluster/metrics/resources/requests/' +
                                  key4.replace(/~/g, '~0').replace(/\//g, '~1'),
                                schemaPath:
                                  '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/requests/additionalProperties/anyOf/1/type',
                                keyword: 'type',
                                params: { type: 'string' },
                              }
                              if (vErrors === null) {
                                vErrors = [err317]
                              } else {
                                vErrors.push(err317)
                              }
                              errors++
                            }
                            var _valid3 = _errs652 === errors
                            valid146 = valid146 || _valid3
                          }
                          if (!valid146) {
                            const err318 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/metrics/resources/requests/' +
                                key4.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/requests/additionalProperties/anyOf',
                              keyword: 'anyOf',
                              params: {},
                            }
                            if (vErrors === null) {
                              vErrors = [err318]
                            } else {
                              vErrors.push(err318)
                            }
                            errors++
                          } else {
                            errors = _errs649
                            if (vErrors !== null) {
                              if (_errs649) {
                                vErrors.length = _errs649
                              } else {
                                vErrors = null
                              }
                            }
                          }
                        }
                      } else {
                        const err319 = {
                          instancePath:
                            instancePath + '/costControl/cluster/metrics/resources/requests',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/requests/type',
                          keyword: 'type',
                          params: { type: 'object' },
                        }
                        if (vErrors === null) {
                          vErrors = [err319]
                        } else {
                          vErrors.push(err319)
                        }
                        errors++
                      }
                    }
                    if (data311.claims !== undefined) {
                      let data316 = data311.claims
                      if (Array.isArray(data316)) {
                        const len47 = data316.length
                        for (let i47 = 0; i47 < len47; i47++) {
                          let data317 = data316[i47]
                          if (data317 && typeof data317 == 'object' && !Array.isArray(data317)) {
                            if (data317.name !== undefined) {
                              if (typeof data317.name !== 'string') {
                                const err320 = {
                                  instancePath:
                                    instancePath +
                                    '/costControl/cluster/metrics/resources/claims/' +
                                    i47 +
                                    '/name',
                                  schemaPath:
                                    '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/claims/items/properties/name/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err320]
                                } else {
                                  vErrors.push(err320)
                                }
                                errors++
                              }
                            }
                            if (data317.request !== undefined) {
                              if (typeof data317.request !== 'string') {
                                const err321 = {
                                  instancePath:
                                    instancePath +
                                    '/costControl/cluster/metrics/resources/claims/' +
                                    i47 +
                                    '/request',
                                  schemaPath:
                                    '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/claims/items/properties/request/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err321]
                                } else {
                                  vErrors.push(err321)
                                }
                                errors++
                              }
                            }
                          } else {
                            const err322 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/metrics/resources/claims/' +
                                i47,
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/claims/items/type',
                              keyword: 'type',
                              params: { type: 'object' },
                            }
                            if (vErrors === null) {
                              vErrors = [err322]
                            } else {
                              vErrors.push(err322)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err323 = {
                          instancePath:
                            instancePath + '/costControl/cluster/metrics/resources/claims',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/properties/claims/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err323]
                        } else {
                          vErrors.push(err323)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err324 = {
                      instancePath: instancePath + '/costControl/cluster/metrics/resources',
                      schemaPath:
                        '#/properties/costControl/properties/cluster/properties/metrics/properties/resources/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err324]
                    } else {
                      vErrors.push(err324)
                    }
                    errors++
                  }
                }
                if (data309.retention !== undefined) {
                  if (typeof data309.retention !== 'string') {
                    const err325 = {
                      instancePath: instancePath + '/costControl/cluster/metrics/retention',
                      schemaPath:
                        '#/properties/costControl/properties/cluster/properties/metrics/properties/retention/type',
                      keyword: 'type',
                      params: { type: 'string' },
                    }
                    if (vErrors === null) {
                      vErrors = [err325]
                    } else {
                      vErrors.push(err325)
                    }
                    errors++
                  }
                }
                if (data309.storage !== undefined) {
                  let data321 = data309.storage
                  if (data321 && typeof data321 == 'object' && !Array.isArray(data321)) {
                    if (data321.storageClass !== undefined) {
                      if (typeof data321.storageClass !== 'string') {
                        const err326 = {
                          instancePath:
                            instancePath + '/costControl/cluster/metrics/storage/storageClass',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/metrics/properties/storage/properties/storageClass/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err326]
                        } else {
                          vErrors.push(err326)
                        }
                        errors++
                      }
                    }
                    if (data321.size !== undefined) {
                      if (typeof data321.size !== 'string') {
                        const err327 = {
                          instancePath: instancePath + '/costControl/cluster/metrics/storage/size',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/metrics/properties/storage/properties/size/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err327]
                        } else {
                          vErrors.push(err327)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err328 = {
                      instancePath: instancePath + '/costControl/cluster/metrics/storage',
                      schemaPath:
                        '#/properties/costControl/properties/cluster/properties/metrics/properties/storage/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err328]
                    } else {
                      vErrors.push(err328)
                    }
                    errors++
                  }
                }
              } else {
                const err329 = {
                  instancePath: instancePath + '/costControl/cluster/metrics',
                  schemaPath: '#/properties/costControl/properties/cluster/properties/metrics/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err329]
                } else {
                  vErrors.push(err329)
                }
                errors++
              }
            }
            if (data308.costEstimator !== undefined) {
              let data324 = data308.costEstimator
              if (data324 && typeof data324 == 'object' && !Array.isArray(data324)) {
                if (data324.replicas !== undefined) {
                  let data325 = data324.replicas
                  if (
                    !(
                      typeof data325 == 'number' &&
                      !(data325 % 1) &&
                      !isNaN(data325) &&
                      isFinite(data325)
                    )
                  ) {
                    const err330 = {
                      instancePath: instancePath + '/costControl/cluster/costEstimator/replicas',
                      schemaPath:
                        '#/properties/costControl/properties/cluster/properties/costEstimator/properties/replicas/type',
                      keyword: 'type',
                      params: { type: 'integer' },
                    }
                    if (vErrors === null) {
                      vErrors = [err330]
                    } else {
                      vErrors.push(err330)
                    }
                    errors++
                  }
                }
                if (data324.resources !== undefined) {
                  let data326 = data324.resources
                  if (data326 && typeof data326 == 'object' && !Array.isArray(data326)) {
                    if (data326.limits !== undefined) {
                      let data327 = data326.limits
                      if (data327 && typeof data327 == 'object' && !Array.isArray(data327)) {
                        for (const key5 in data327) {
                          let data328 = data327[key5]
                          const _errs680 = errors
                          let valid154 = false
                          const _errs681 = errors
                          if (
                            !(
                              typeof data328 == 'number' &&
                              !(data328 % 1) &&
                              !isNaN(data328) &&
                              isFinite(data328)
                            )
                          ) {
                            const err331 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/costEstimator/resources/limits/' +
                                key5.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/limits/additionalProperties/anyOf/0/type',
                              keyword: 'type',
                              params: { type: 'integer' },
                            }
                            if (vErrors === null) {
                              vErrors = [err331]
                            } else {
                              vErrors.push(err331)
                            }
                            errors++
                          }
                          var _valid4 = _errs681 === errors
                          valid154 = valid154 || _valid4
                          if (!valid154) {
                            const _errs683 = errors
                            if (typeof data328 !== 'string') {
                              const err332 = {
                                instancePath:
                                  instancePath +
                                  '/costControl/cluster/costEstimator/resources/limits/' +
                                  key5.replace(/~/g, '~0').replace(/\//g, '~1'),
                                schemaPath:
                                  '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/limits/additionalProperties/anyOf/1/type',
                                keyword: 'type',
                                params: { type: 'string' },
                              }
                              if (vErrors === null) {
                                vErrors = [err332]
                              } else {
                                vErrors.push(err332)
                              }
                              errors++
                            }
                            var _valid4 = _errs683 === errors
                            valid154 = valid154 || _valid4
                          }
                          if (!valid154) {
                            const err333 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/costEstimator/resources/limits/' +
                                key5.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/limits/additionalProperties/anyOf',
                              keyword: 'anyOf',
                              params: {},
                            }
                            if (vErrors === null) {
                              vErrors = [err333]
                            } else {
                              vErrors.push(err333)
                            }
                            errors++
                          } else {
                            errors = _errs680
                            if (vErrors !== null) {
                              if (_errs680) {
                                vErrors.length = _errs680
                              } else {
                                vErrors = null
                              }
                            }
                          }
                        }
                      } else {
                        const err334 = {
                          instancePath:
                            instancePath + '/costControl/cluster/costEstimator/resources/limits',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/limits/type',
                          keyword: 'type',
                          params: { type: 'object' },
                        }
                        if (vErrors === null) {
                          vErrors = [err334]
                        } else {
                          vErrors.push(err334)
                        }
                        errors++
                      }
                    }
                    if (data326.requests !== undefined) {
                      let data329 = data326.requests
                      if (data329 && typeof data329 == 'object' && !Array.isArray(data329)) {
                        for (const key6 in data329) {
                          let data330 = data329[key6]
                          const _errs689 = errors
                          let valid156 = false
                          const _errs690 = errors
                          if (
                            !(
                              typeof data330 == 'number' &&
                              !(data330 % 1) &&
                              !isNaN(data330) &&
                              isFinite(data330)
                            )
                          ) {
                            const err335 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/costEstimator/resources/requests/' +
                                key6.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/requests/additionalProperties/anyOf/0/type',
                              keyword: 'type',
                              params: { type: 'integer' },
                            }
                            if (vErrors === null) {
                              vErrors = [err335]
                            } else {
                              vErrors.push(err335)
                            }
                            errors++
                          }
                          var _valid5 = _errs690 === errors
                          valid156 = valid156 || _valid5
                          if (!valid156) {
                            const _errs692 = errors
                            if (typeof data330 !== 'string') {
                              const err336 = {
                                instancePath:
                                  instancePath +
                                  '/costControl/cluster/costEstimator/resources/requests/' +
                                  key6.replace(/~/g, '~0').replace(/\//g, '~1'),
                                schemaPath:
                                  '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/requests/additionalProperties/anyOf/1/type',
                                keyword: 'type',
                                params: { type: 'string' },
                              }
                              if (vErrors === null) {
                                vErrors = [err336]
                              } else {
                                vErrors.push(err336)
                              }
                              errors++
                            }
                            var _valid5 = _errs692 === errors
                            valid156 = valid156 || _valid5
                          }
                          if (!valid156) {
                            const err337 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/costEstimator/resources/requests/' +
                                key6.replace(/~/g, '~0').replace(/\//g, '~1'),
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/requests/additionalProperties/anyOf',
                              keyword: 'anyOf',
                              params: {},
                            }
                            if (vErrors === null) {
                              vErrors = [err337]
                            } else {
                              vErrors.push(err337)
                            }
                            errors++
                          } else {
                            errors = _errs689
                            if (vErrors !== null) {
                              if (_errs689) {
                                vErrors.length = _errs689
                              } else {
                                vErrors = null
                              }
                            }
                          }
                        }
                      } else {
                        const err338 = {
                          instancePath:
                            instancePath + '/costControl/cluster/costEstimator/resources/requests',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/requests/type',
                          keyword: 'type',
                          params: { type: 'object' },
                        }
                        if (vErrors === null) {
                          vErrors = [err338]
                        } else {
                          vErrors.push(err338)
                        }
                        errors++
                      }
                    }
                    if (data326.claims !== undefined) {
                      let data331 = data326.claims
                      if (Array.isArray(data331)) {
                        const len48 = data331.length
                        for (let i48 = 0; i48 < len48; i48++) {
                          let data332 = data331[i48]
                          if (data332 && typeof data332 == 'object' && !Array.isArray(data332)) {
                            if (data332.name !== undefined) {
                              if (typeof data332.name !== 'string') {
                                const err339 = {
                                  instancePath:
                                    instancePath +
                                    '/costControl/cluster/costEstimator/resources/claims/' +
                                    i48 +
                                    '/name',
                                  schemaPath:
                                    '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/claims/items/properties/name/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err339]
                                } else {
                                  vErrors.push(err339)
                                }
                                errors++
                              }
                            }
                            if (data332.request !== undefined) {
                              if (typeof data332.request !== 'string') {
                                const err340 = {
                                  instancePath:
                                    instancePath +
                                    '/costControl/cluster/costEstimator/resources/claims/' +
                                    i48 +
                                    '/request',
                                  schemaPath:
                                    '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/claims/items/properties/request/type',
                                  keyword: 'type',
                                  params: { type: 'string' },
                                }
                                if (vErrors === null) {
                                  vErrors = [err340]
                                } else {
                                  vErrors.push(err340)
                                }
                                errors++
                              }
                            }
                          } else {
                            const err341 = {
                              instancePath:
                                instancePath +
                                '/costControl/cluster/costEstimator/resources/claims/' +
                                i48,
                              schemaPath:
                                '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/claims/items/type',
                              keyword: 'type',
                              params: { type: 'object' },
                            }
                            if (vErrors === null) {
                              vErrors = [err341]
                            } else {
                              vErrors.push(err341)
                            }
                            errors++
                          }
                        }
                      } else {
                        const err342 = {
                          instancePath:
                            instancePath + '/costControl/cluster/costEstimator/resources/claims',
                          schemaPath:
                            '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/properties/claims/type',
                          keyword: 'type',
                          params: { type: 'array' },
                        }
                        if (vErrors === null) {
                          vErrors = [err342]
                        } else {
                          vErrors.push(err342)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err343 = {
                      instancePath: instancePath + '/costControl/cluster/costEstimator/resources',
                      schemaPath:
                        '#/properties/costControl/properties/cluster/properties/costEstimator/properties/resources/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err343]
                    } else {
                      vErrors.push(err343)
                    }
                    errors++
                  }
                }
              } else {
                const err344 = {
                  instancePath: instancePath + '/costControl/cluster/costEstimator',
                  schemaPath:
                    '#/properties/costControl/properties/cluster/properties/costEstimator/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err344]
                } else {
                  vErrors.push(err344)
                }
                errors++
              }
            }
          } else {
            const err345 = {
              instancePath: instancePath + '/costControl/cluster',
              schemaPath: '#/properties/costControl/properties/cluster/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err345]
            } else {
              vErrors.push(err345)
            }
            errors++
          }
        }
        if (data290.settings !== undefined) {
          let data335 = data290.settings
          if (data335 && typeof data335 == 'object' && !Array.isArray(data335)) {
            if (data335.priceCurrency !== undefined) {
              if (typeof data335.priceCurrency !== 'string') {
                const err346 = {
                  instancePath: instancePath + '/costControl/settings/priceCurrency',
                  schemaPath:
                    '#/properties/costControl/properties/settings/properties/priceCurrency/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err346]
                } else {
                  vErrors.push(err346)
                }
                errors++
              }
            }
            if (data335.averageCPUPricePerNode !== undefined) {
              let data337 = data335.averageCPUPricePerNode
              if (!(data337 && typeof data337 == 'object' && !Array.isArray(data337))) {
                const err347 = {
                  instancePath: instancePath + '/costControl/settings/averageCPUPricePerNode',
                  schemaPath:
                    '#/properties/costControl/properties/settings/properties/averageCPUPricePerNode/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err347]
                } else {
                  vErrors.push(err347)
                }
                errors++
              }
            }
            if (data335.averageRAMPricePerNode !== undefined) {
              let data338 = data335.averageRAMPricePerNode
              if (!(data338 && typeof data338 == 'object' && !Array.isArray(data338))) {
                const err348 = {
                  instancePath: instancePath + '/costControl/settings/averageRAMPricePerNode',
                  schemaPath:
                    '#/properties/costControl/properties/settings/properties/averageRAMPricePerNode/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err348]
                } else {
                  vErrors.push(err348)
                }
                errors++
              }
            }
          } else {
            const err349 = {
              instancePath: instancePath + '/costControl/settings',
              schemaPath: '#/properties/costControl/properties/settings/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err349]
            } else {
              vErrors.push(err349)
            }
            errors++
          }
        }
      } else {
        const err350 = {
          instancePath: instancePath + '/costControl',
          schemaPath: '#/properties/costControl/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err350]
        } else {
          vErrors.push(err350)
        }
        errors++
      }
    }
    if (data.platformDB !== undefined) {
      let data339 = data.platformDB
      if (data339 && typeof data339 == 'object' && !Array.isArray(data339)) {
        if (data339.storageClass !== undefined) {
          if (typeof data339.storageClass !== 'string') {
            const err351 = {
              instancePath: instancePath + '/platformDB/storageClass',
              schemaPath: '#/properties/platformDB/properties/storageClass/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err351]
            } else {
              vErrors.push(err351)
            }
            errors++
          }
        }
      } else {
        const err352 = {
          instancePath: instancePath + '/platformDB',
          schemaPath: '#/properties/platformDB/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err352]
        } else {
          vErrors.push(err352)
        }
        errors++
      }
    }
    if (data.imageBuilder !== undefined) {
      let data341 = data.imageBuilder
      if (data341 && typeof data341 == 'object' && !Array.isArray(data341)) {
        if (data341.enabled !== undefined) {
          if (typeof data341.enabled !== 'boolean') {
            const err353 = {
              instancePath: instancePath + '/imageBuilder/enabled',
              schemaPath: '#/properties/imageBuilder/properties/enabled/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err353]
            } else {
              vErrors.push(err353)
            }
            errors++
          }
        }
        if (data341.replicas !== undefined) {
          let data343 = data341.replicas
          if (
            !(typeof data343 == 'number' && !(data343 % 1) && !isNaN(data343) && isFinite(data343))
          ) {
            const err354 = {
              instancePath: instancePath + '/imageBuilder/replicas',
              schemaPath: '#/properties/imageBuilder/properties/replicas/type',
              keyword: 'type',
              params: { type: 'integer' },
            }
            if (vErrors === null) {
              vErrors = [err354]
            } else {
              vErrors.push(err354)
            }
            errors++
          }
        }
        if (data341.resources !== undefined) {
          let data344 = data341.resources
          if (data344 && typeof data344 == 'object' && !Array.isArray(data344)) {
            if (data344.limits !== undefined) {
              let data345 = data344.limits
              if (data345 && typeof data345 == 'object' && !Array.isArray(data345)) {
                for (const key7 in data345) {
                  let data346 = data345[key7]
                  const _errs726 = errors
                  let valid165 = false
                  const _errs727 = errors
                  if (
                    !(
                      typeof data346 == 'number' &&
                      !(data346 % 1) &&
                      !isNaN(data346) &&
                      isFinite(data346)
                    )
                  ) {
                    const err355 = {
                      instancePath:
                        instancePath +
                        '/imageBuilder/resources/limits/' +
                        key7.replace(/~/g, '~0').replace(/\//g, '~1'),
                      schemaPath:
                        '#/properties/imageBuilder/properties/resources/properties/limits/additionalProperties/anyOf/0/type',
                      keyword: 'type',
                      params: { type: 'integer' },
                    }
                    if (vErrors === null) {
                      vErrors = [err355]
                    } else {
                      vErrors.push(err355)
                    }
                    errors++
                  }
                  var _valid6 = _errs727 === errors
                  valid165 = valid165 || _valid6
                  if (!valid165) {
                    const _errs729 = errors
                    if (typeof data346 !== 'string') {
                      const err356 = {
                        instancePath:
                          instancePath +
                          '/imageBuilder/resources/limits/' +
                          key7.replace(/~/g, '~0').replace(/\//g, '~1'),
                        schemaPath:
                          '#/properties/imageBuilder/properties/resources/properties/limits/additionalProperties/anyOf/1/type',
                        keyword: 'type',
                        params: { type: 'string' },
                      }
                      if (vErrors === null) {
                        vErrors = [err356]
                      } else {
                        vErrors.push(err356)
                      }
                      errors++
                    }
                    var _valid6 = _errs729 === errors
                    valid165 = valid165 || _valid6
                  }
                  if (!valid165) {
                    const err357 = {
                      instancePath:
                        instancePath +
                        '/imageBuilder/resources/limits/' +
                        key7.replace(/~/g, '~0').replace(/\//g, '~1'),
                      schemaPath:
                        '#/properties/imageBuilder/properties/resources/properties/limits/additionalProperties/anyOf',
                      keyword: 'anyOf',
                      params: {},
                    }
                    if (vErrors === null) {
                      vErrors = [err357]
                    } else {
                      vErrors.push(err357)
                    }
                    errors++
                  } else {
                    errors = _errs726
                    if (vErrors !== null) {
                      if (_errs726) {
                        vErrors.length = _errs726
                      } else {
                        vErrors = null
                      }
                    }
                  }
                }
              } else {
                const err358 = {
                  instancePath: instancePath + '/imageBuilder/resources/limits',
                  schemaPath:
                    '#/properties/imageBuilder/properties/resources/properties/limits/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err358]
                } else {
                  vErrors.push(err358)
                }
                errors++
              }
            }
            if (data344.requests !== undefined) {
              let data347 = data344.requests
              if (data347 && typeof data347 == 'object' && !Array.isArray(data347)) {
                for (const key8 in data347) {
                  let data348 = data347[key8]
                  const _errs735 = errors
                  let valid167 = false
                  const _errs736 = errors
                  if (
                    !(
                      typeof data348 == 'number' &&
                      !(data348 % 1) &&
                      !isNaN(data348) &&
                      isFinite(data348)
                    )
                  ) {
                    const err359 = {
                      instancePath:
                        instancePath +
                        '/imageBuilder/resources/requests/' +
                        key8.replace(/~/g, '~0').replace(/\//g, '~1'),
                      schemaPath:
                        '#/properties/imageBuilder/properties/resources/properties/requests/additionalProperties/anyOf/0/type',
                      keyword: 'type',
                      params: { type: 'integer' },
                    }
                    if (vErrors === null) {
                      vErrors = [err359]
                    } else {
                      vErrors.push(err359)
                    }
                    errors++
                  }
                  var _valid7 = _errs736 === errors
                  valid167 = valid167 || _valid7
                  if (!valid167) {
                    const _errs738 = errors
                    if (typeof data348 !== 'string') {
                      const err360 = {
                        instancePath:
                          instancePath +
                          '/imageBuilder/resources/requests/' +
                          key8.replace(/~/g, '~0').replace(/\//g, '~1'),
                        schemaPath:
                          '#/properties/imageBuilder/properties/resources/properties/requests/additionalProperties/anyOf/1/type',
                        keyword: 'type',
                        params: { type: 'string' },
                      }
                      if (vErrors === null) {
                        vErrors = [err360]
                      } else {
                        vErrors.push(err360)
                      }
                      errors++
                    }
                    var _valid7 = _errs738 === errors
                    valid167 = valid167 || _valid7
                  }
                  if (!valid167) {
                    const err361 = {
                      instancePath:
                        instancePath +
                        '/imageBuilder/resources/requests/' +
                        key8.replace(/~/g, '~0').replace(/\//g, '~1'),
                      schemaPath:
                        '#/properties/imageBuilder/properties/resources/properties/requests/additionalProperties/anyOf',
                      keyword: 'anyOf',
                      params: {},
                    }
                    if (vErrors === null) {
                      vErrors = [err361]
                    } else {
                      vErrors.push(err361)
                    }
                    errors++
                  } else {
                    errors = _errs735
                    if (vErrors !== null) {
                      if (_errs735) {
                        vErrors.length = _errs735
                      } else {
                        vErrors = null
                      }
                    }
                  }
                }
              } else {
                const err362 = {
                  instancePath: instancePath + '/imageBuilder/resources/requests',
                  schemaPath:
                    '#/properties/imageBuilder/properties/resources/properties/requests/type',
                  keyword: 'type',
                  params: { type: 'object' },
                }
                if (vErrors === null) {
                  vErrors = [err362]
                } else {
                  vErrors.push(err362)
                }
                errors++
              }
            }
            if (data344.claims !== undefined) {
              let data349 = data344.claims
              if (Array.isArray(data349)) {
                const len49 = data349.length
                for (let i49 = 0; i49 < len49; i49++) {
                  let data350 = data349[i49]
                  if (data350 && typeof data350 == 'object' && !Array.isArray(data350)) {
                    if (data350.name !== undefined) {
                      if (typeof data350.name !== 'string') {
                        const err363 = {
                          instancePath:
                            instancePath + '/imageBuilder/resources/claims/' + i49 + '/name',
                          schemaPath:
                            '#/properties/imageBuilder/properties/resources/properties/claims/items/properties/name/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err363]
                        } else {
                          vErrors.push(err363)
                        }
                        errors++
                      }
                    }
                    if (data350.request !== undefined) {
                      if (typeof data350.request !== 'string') {
                        const err364 = {
                          instancePath:
                            instancePath + '/imageBuilder/resources/claims/' + i49 + '/request',
                          schemaPath:
                            '#/properties/imageBuilder/properties/resources/properties/claims/items/properties/request/type',
                          keyword: 'type',
                          params: { type: 'string' },
                        }
                        if (vErrors === null) {
                          vErrors = [err364]
                        } else {
                          vErrors.push(err364)
                        }
                        errors++
                      }
                    }
                  } else {
                    const err365 = {
                      instancePath: instancePath + '/imageBuilder/resources/claims/' + i49,
                      schemaPath:
                        '#/properties/imageBuilder/properties/resources/properties/claims/items/type',
                      keyword: 'type',
                      params: { type: 'object' },
                    }
                    if (vErrors === null) {
                      vErrors = [err365]
                    } else {
                      vErrors.push(err365)
                    }
                    errors++
                  }
                }
              } else {
                const err366 = {
                  instancePath: instancePath + '/imageBuilder/resources/claims',
                  schemaPath:
                    '#/properties/imageBuilder/properties/resources/properties/claims/type',
                  keyword: 'type',
                  params: { type: 'array' },
                }
                if (vErrors === null) {
                  vErrors = [err366]
                } else {
                  vErrors.push(err366)
                }
                errors++
              }
            }
          } else {
            const err367 = {
              instancePath: instancePath + '/imageBuilder/resources',
              schemaPath: '#/properties/imageBuilder/properties/resources/type',
              keyword: 'type',
              params: { type: 'object' },
            }
            if (vErrors === null) {
              vErrors = [err367]
            } else {
              vErrors.push(err367)
            }
            errors++
          }
        }
      } else {
        const err368 = {
          instancePath: instancePath + '/imageBuilder',
          schemaPath: '#/properties/imageBuilder/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err368]
        } else {
          vErrors.push(err368)
        }
        errors++
      }
    }
    if (data.database !== undefined) {
      let data353 = data.database
      if (data353 && typeof data353 == 'object' && !Array.isArray(data353)) {
        if (data353.enabled !== undefined) {
          if (typeof data353.enabled !== 'boolean') {
            const err369 = {
              instancePath: instancePath + '/database/enabled',
              schemaPath: '#/properties/database/properties/enabled/type',
              keyword: 'type',
              params: { type: 'boolean' },
            }
            if (vErrors === null) {
              vErrors = [err369]
            } else {
              vErrors.push(err369)
            }
            errors++
          }
        }
        if (data353.dataSource !== undefined) {
          if (typeof data353.dataSource !== 'string') {
            const err370 = {
              instancePath: instancePath + '/database/dataSource',
              schemaPath: '#/properties/database/properties/dataSource/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err370]
            } else {
              vErrors.push(err370)
            }
            errors++
          }
        }
        if (data353.identityProvider !== undefined) {
          if (typeof data353.identityProvider !== 'string') {
            const err371 = {
              instancePath: instancePath + '/database/identityProvider',
              schemaPath: '#/properties/database/properties/identityProvider/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err371]
            } else {
              vErrors.push(err371)
            }
            errors++
          }
        }
        if (data353.keyFile !== undefined) {
          if (typeof data353.keyFile !== 'string') {
            const err372 = {
              instancePath: instancePath + '/database/keyFile',
              schemaPath: '#/properties/database/properties/keyFile/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err372]
            } else {
              vErrors.push(err372)
            }
            errors++
          }
        }
        if (data353.certFile !== undefined) {
          if (typeof data353.certFile !== 'string') {
            const err373 = {
              instancePath: instancePath + '/database/certFile',
              schemaPath: '#/properties/database/properties/certFile/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err373]
            } else {
              vErrors.push(err373)
            }
            errors++
          }
        }
        if (data353.caFile !== undefined) {
          if (typeof data353.caFile !== 'string') {
            const err374 = {
              instancePath: instancePath + '/database/caFile',
              schemaPath: '#/properties/database/properties/caFile/type',
              keyword: 'type',
              params: { type: 'string' },
            }
            if (vErrors === null) {
              vErrors = [err374]
            } else {
              vErrors.push(err374)
            }
            errors++
          }
        }
        if (data353.extraArgs !== undefined) {
          let data360 = data353.extraArgs
          if (Array.isArray(data360)) {
            const len50 = data360.length
            for (let i50 = 0; i50 < len50; i50++) {
              if (typeof data360[i50] !== 'string') {
                const err375 = {
                  instancePath: instancePath + '/database/extraArgs/' + i50,
                  schemaPath: '#/properties/database/properties/extraArgs/items/type',
                  keyword: 'type',
                  params: { type: 'string' },
                }
                if (vErrors === null) {
                  vErrors = [err375]
                } else {
                  vErrors.push(err375)
                }
                errors++
              }
            }
          } else {
            const err376 = {
              instancePath: instancePath + '/database/extraArgs',
              schemaPath: '#/properties/database/properties/extraArgs/type',
              keyword: 'type',
              params: { type: 'array' },
            }
            if (vErrors === null) {
              vErrors = [err376]
            } else {
              vErrors.push(err376)
            }
            errors++
          }
        }
      } else {
        const err377 = {
          instancePath: instancePath + '/database',
          schemaPath: '#/properties/database/type',
          keyword: 'type',
          params: { type: 'object' },
        }
        if (vErrors === null) {
          vErrors = [err377]
        } else {
          vErrors.push(err377)
        }
        errors++
      }
    }
  } else {
    const err378 = {
      instancePath,
      schemaPath: '#/type',
      keyword: 'type',
      params: { type: 'object' },
    }
    if (vErrors === null) {
      vErrors = [err378]
    } else {
      vErrors.push(err378)
    }
    errors++
  }
  validate10.errors = vErrors
  return errors === 0
}
