// Generated from crds/ by `make generate`: do not edit.

/** A plain JSON schema without bounds. Unknown fields pass: the validator reports them itself. */
export interface SettingsSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  readonly properties?: Readonly<Record<string, SettingsSchema>>
  readonly additionalProperties?: SettingsSchema
  readonly items?: SettingsSchema
  readonly anyOf?: readonly SettingsSchema[]
}

/** What spec, status and Secret of a Config share: types only (contract 6.2, 6.5). */
export const configSettingsSchema: SettingsSchema = {
  type: 'object',
  properties: {
    auth: {
      type: 'object',
      properties: {
        oidc: {
          type: 'object',
          properties: {
            issuerUrl: { type: 'string' },
            clientId: { type: 'string' },
            clientSecret: { type: 'string' },
            redirectURI: { type: 'string' },
            postLogoutRedirectURI: { type: 'string' },
            caFile: { type: 'string' },
            insecureCa: { type: 'boolean' },
            preferredUsername: { type: 'string' },
            platformUsernameClaim: { type: 'string' },
            usernameClaim: { type: 'string' },
            emailClaim: { type: 'string' },
            allowedExtraClaims: { type: 'array', items: { type: 'string' } },
            usernamePrefix: { type: 'string' },
            groupsClaim: { type: 'string' },
            groups: { type: 'array', items: { type: 'string' } },
            scopes: { type: 'array', items: { type: 'string' } },
            getUserInfo: { type: 'boolean' },
            groupsPrefix: { type: 'string' },
            type: { type: 'string' },
            resource: { type: 'string' },
          },
        },
        sourceHostA: {
          type: 'object',
          properties: {
            clientId: { type: 'string' },
            clientSecret: { type: 'string' },
            redirectURI: { type: 'string' },
            orgs: {
              type: 'array',
              items: {
                type: 'object',
                properties: {
                  name: { type: 'string' },
                  teams: { type: 'array', items: { type: 'string' } },
                },
              },
            },
            hostName: { type: 'string' },
            rootCA: { type: 'string' },
          },
        },
        sourceHostB: {
          type: 'object',
          properties: {
            baseURL: { type: 'string' },
            clientId: { type: 'string' },
            clientSecret: { type: 'string' },
            redirectURI: { type: 'string' },
            groups: { type: 'array', items: { type: 'string' } },
          },
        },
        idpA: {
          type: 'object',
          properties: {
            clientId: { type: 'string' },
            clientSecret: { type: 'string' },
            redirectURI: { type: 'string' },
            scopes: { type: 'array', items: { type: 'string' } },
            hostedDomains: { type: 'array', items: { type: 'string' } },
            groups: { type: 'array', items: { type: 'string' } },
            serviceAccountFilePath: { type: 'string' },
            adminEmail: { type: 'string' },
          },
        },
        idpB: {
          type: 'object',
          properties: {
            clientId: { type: 'string' },
            clientSecret: { type: 'string' },
            redirectURI: { type: 'string' },
            tenant: { type: 'string' },
            groups: { type: 'array', items: { type: 'string' } },
            onlySecurityGroups: { type: 'boolean' },
            useGroupsAsWhitelist: { type: 'boolean' },
          },
        },
        saml: {
          type: 'object',
          properties: {
            redirectURI: { type: 'string' },
            ssoURL: { type: 'string' },
            caData: { type: 'string' },
            ca: { type: 'string' },
            insecureSkipSignatureValidation: { type: 'boolean' },
            usernameAttr: { type: 'string' },
            emailAttr: { type: 'string' },
            groupsAttr: { type: 'string' },
            entityIssuer: { type: 'string' },
            ssoIssuer: { type: 'string' },
            groupsDelim: { type: 'string' },
            allowedGroups: { type: 'array', items: { type: 'string' } },
            filterGroups: { type: 'boolean' },
            nameIDPolicyFormat: { type: 'string' },
          },
        },
        password: { type: 'object', properties: { disabled: { type: 'boolean' } } },
        connectors: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              id: { type: 'string' },
              displayName: { type: 'string' },
              oidc: {
                type: 'object',
                properties: {
                  issuerUrl: { type: 'string' },
                  clientId: { type: 'string' },
                  clientSecret: { type: 'string' },
                  redirectURI: { type: 'string' },
                  postLogoutRedirectURI: { type: 'string' },
                  caFile: { type: 'string' },
                  insecureCa: { type: 'boolean' },
                  preferredUsername: { type: 'string' },
                  platformUsernameClaim: { type: 'string' },
                  usernameClaim: { type: 'string' },
                  emailClaim: { type: 'string' },
                  allowedExtraClaims: { type: 'array', items: { type: 'string' } },
                  usernamePrefix: { type: 'string' },
                  groupsClaim: { type: 'string' },
                  groups: { type: 'array', items: { type: 'string' } },
                  scopes: { type: 'array', items: { type: 'string' } },
                  getUserInfo: { type: 'boolean' },
                  groupsPrefix: { type: 'string' },
                  type: { type: 'string' },
                  resource: { type: 'string' },
                },
              },
              sourceHostA: {
                type: 'object',
                properties: {
                  clientId: { type: 'string' },
                  clientSecret: { type: 'string' },
                  redirectURI: { type: 'string' },
                  orgs: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: {
                        name: { type: 'string' },
                        teams: { type: 'array', items: { type: 'string' } },
                      },
                    },
                  },
                  hostName: { type: 'string' },
                  rootCA: { type: 'string' },
                },
              },
              sourceHostB: {
                type: 'object',
                properties: {
                  baseURL: { type: 'string' },
                  clientId: { type: 'string' },
                  clientSecret: { type: 'string' },
                  redirectURI: { type: 'string' },
                  groups: { type: 'array', items: { type: 'string' } },
                },
              },
              idpA: {
                type: 'object',
                properties: {
                  clientId: { type: 'string' },
                  clientSecret: { type: 'string' },
                  redirectURI: { type: 'string' },
                  scopes: { type: 'array', items: { type: 'string' } },
                  hostedDomains: { type: 'array', items: { type: 'string' } },
                  groups: { type: 'array', items: { type: 'string' } },
                  serviceAccountFilePath: { type: 'string' },
                  adminEmail: { type: 'string' },
                },
              },
              idpB: {
                type: 'object',
                properties: {
                  clientId: { type: 'string' },
                  clientSecret: { type: 'string' },
                  redirectURI: { type: 'string' },
                  tenant: { type: 'string' },
                  groups: { type: 'array', items: { type: 'string' } },
                  onlySecurityGroups: { type: 'boolean' },
                  useGroupsAsWhitelist: { type: 'boolean' },
                },
              },
              saml: {
                type: 'object',
                properties: {
                  redirectURI: { type: 'string' },
                  ssoURL: { type: 'string' },
                  caData: { type: 'string' },
                  ca: { type: 'string' },
                  insecureSkipSignatureValidation: { type: 'boolean' },
                  usernameAttr: { type: 'string' },
                  emailAttr: { type: 'string' },
                  groupsAttr: { type: 'string' },
                  entityIssuer: { type: 'string' },
                  ssoIssuer: { type: 'string' },
                  groupsDelim: { type: 'string' },
                  allowedGroups: { type: 'array', items: { type: 'string' } },
                  filterGroups: { type: 'boolean' },
                  nameIDPolicyFormat: { type: 'string' },
                },
              },
              disableTeamCreation: { type: 'boolean' },
              disableUserCreation: { type: 'boolean' },
            },
          },
        },
        disableTeamCreation: { type: 'boolean' },
        disableUserCreation: { type: 'boolean' },
        accessKeyMaxTTLSeconds: { type: 'integer' },
        loginAccessKeyTTLSeconds: { type: 'integer' },
        customHttpHeaders: { type: 'object', additionalProperties: { type: 'string' } },
        groupsFilters: { type: 'array', items: { type: 'string' } },
      },
    },
    oidc: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        wildcardRedirect: { type: 'boolean' },
        clients: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              clientId: { type: 'string' },
              clientSecret: { type: 'string' },
              redirectURIs: { type: 'array', items: { type: 'string' } },
            },
          },
        },
      },
    },
    apps: {
      type: 'object',
      properties: {
        noDefault: { type: 'boolean' },
        repositories: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              url: { type: 'string' },
              username: { type: 'string' },
              password: { type: 'string' },
              insecure: { type: 'boolean' },
            },
          },
        },
        predefinedApps: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              chart: { type: 'string' },
              initialVersion: { type: 'string' },
              initialValues: { type: 'string' },
              clusters: { type: 'array', items: { type: 'string' } },
              title: { type: 'string' },
              iconUrl: { type: 'string' },
              readmeUrl: { type: 'string' },
            },
          },
        },
      },
    },
    audit: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        disableAgentSyncBack: { type: 'boolean' },
        level: { type: 'integer' },
        policy: {
          type: 'object',
          properties: {
            rules: {
              type: 'array',
              items: {
                type: 'object',
                properties: {
                  level: { type: 'string' },
                  users: { type: 'array', items: { type: 'string' } },
                  userGroups: { type: 'array', items: { type: 'string' } },
                  verbs: { type: 'array', items: { type: 'string' } },
                  resources: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: {
                        group: { type: 'string' },
                        resources: { type: 'array', items: { type: 'string' } },
                        resourceNames: { type: 'array', items: { type: 'string' } },
                      },
                    },
                  },
                  namespaces: { type: 'array', items: { type: 'string' } },
                  nonResourceURLs: { type: 'array', items: { type: 'string' } },
                  omitStages: { type: 'array', items: { type: 'string' } },
                  requestTargets: { type: 'array', items: { type: 'string' } },
                  clusters: { type: 'array', items: { type: 'string' } },
                },
              },
            },
            omitStages: { type: 'array', items: { type: 'string' } },
          },
        },
        dataStoreEndpoint: { type: 'string' },
        dataStoreTTL: { type: 'integer' },
        path: { type: 'string' },
        maxAge: { type: 'integer' },
        maxBackups: { type: 'integer' },
        maxSize: { type: 'integer' },
        compress: { type: 'boolean' },
      },
    },
    platformHost: { type: 'string' },
    projectNamespacePrefix: { type: 'string' },
    devPodSubDomain: { type: 'string' },
    uiSettings: {
      type: 'object',
      properties: {
        platformVersion: { type: 'string' },
        logoURL: { type: 'string' },
        faviconURL: { type: 'string' },
        smallLogoURL: { type: 'string' },
        logoBackgroundColor: { type: 'string' },
        primaryColor: { type: 'string' },
        sidebarColor: { type: 'string' },
        accentColor: { type: 'string' },
        legalTemplate: { type: 'string' },
        customCss: { type: 'array', items: { type: 'string' } },
        customJavaScript: { type: 'array', items: { type: 'string' } },
        navBarButtons: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              position: { type: 'string' },
              text: { type: 'string' },
              link: { type: 'string' },
              icon: { type: 'string' },
            },
          },
        },
        externalURLs: {
          type: 'object',
          properties: {
            block: { type: 'boolean' },
            allow: { type: 'array', items: { type: 'string' } },
          },
        },
      },
    },
    secretStore: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        address: { type: 'string' },
        skipTLSVerify: { type: 'boolean' },
        namespace: { type: 'string' },
        auth: {
          type: 'object',
          properties: {
            token: { type: 'string' },
            tokenSecretRef: {
              type: 'object',
              properties: {
                name: { type: 'string' },
                key: { type: 'string' },
                optional: { type: 'boolean' },
              },
            },
          },
        },
        syncInterval: { type: 'string' },
      },
    },
    disableConfigEndpoint: { type: 'boolean' },
    authenticateVersionEndpoint: { type: 'boolean' },
    cloud: {
      type: 'object',
      properties: {
        releaseChannel: { type: 'string' },
        maintenanceWindow: {
          type: 'object',
          properties: { dayOfWeek: { type: 'string' }, timeWindow: { type: 'string' } },
        },
      },
    },
    costControl: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        global: {
          type: 'object',
          properties: {
            metrics: {
              type: 'object',
              properties: {
                replicas: { type: 'integer' },
                resources: {
                  type: 'object',
                  properties: {
                    limits: {
                      type: 'object',
                      additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
                    },
                    requests: {
                      type: 'object',
                      additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
                    },
                    claims: {
                      type: 'array',
                      items: {
                        type: 'object',
                        properties: { name: { type: 'string' }, request: { type: 'string' } },
                      },
                    },
                  },
                },
                retention: { type: 'string' },
                storage: {
                  type: 'object',
                  properties: { storageClass: { type: 'string' }, size: { type: 'string' } },
                },
              },
            },
          },
        },
        cluster: {
          type: 'object',
          properties: {
            metrics: {
              type: 'object',
              properties: {
                replicas: { type: 'integer' },
                resources: {
                  type: 'object',
                  properties: {
                    limits: {
                      type: 'object',
                      additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
                    },
                    requests: {
                      type: 'object',
                      additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
                    },
                    claims: {
                      type: 'array',
                      items: {
                        type: 'object',
                        properties: { name: { type: 'string' }, request: { type: 'string' } },
                      },
                    },
                  },
                },
                retention: { type: 'string' },
                storage: {
                  type: 'object',
                  properties: { storageClass: { type: 'string' }, size: { type: 'string' } },
                },
              },
            },
            costEstimator: {
              type: 'object',
              properties: {
                replicas: { type: 'integer' },
                resources: {
                  type: 'object',
                  properties: {
                    limits: {
                      type: 'object',
                      additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
                    },
                    requests: {
                      type: 'object',
                      additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
                    },
                    claims: {
                      type: 'array',
                      items: {
                        type: 'object',
                        properties: { name: { type: 'string' }, request: { type: 'string' } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
        settings: {
          type: 'object',
          properties: {
            priceCurrency: { type: 'string' },
            averageCPUPricePerNode: { type: 'object' },
            averageRAMPricePerNode: { type: 'object' },
          },
        },
      },
    },
    platformDB: { type: 'object', properties: { storageClass: { type: 'string' } } },
    imageBuilder: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        replicas: { type: 'integer' },
        resources: {
          type: 'object',
          properties: {
            limits: {
              type: 'object',
              additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
            },
            requests: {
              type: 'object',
              additionalProperties: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
            },
            claims: {
              type: 'array',
              items: {
                type: 'object',
                properties: { name: { type: 'string' }, request: { type: 'string' } },
              },
            },
          },
        },
      },
    },
    database: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        dataSource: { type: 'string' },
        identityProvider: { type: 'string' },
        keyFile: { type: 'string' },
        certFile: { type: 'string' },
        caFile: { type: 'string' },
        extraArgs: { type: 'array', items: { type: 'string' } },
      },
    },
  },
}
