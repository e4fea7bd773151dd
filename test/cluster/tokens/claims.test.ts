// The claims of tokens, which the published keys verify (contract 7.1).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { ISSUER } from '../../support/command-process.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { conditionIn } from '../../support/object-client.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { claimsIn, platformStateOf, verified } from './platform-state.ts'
import { bornMs, bornPlus, tokenClientOf, under } from './token-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)

const HOUR = 3600

interface Owner {
  readonly name: string
  readonly key: OwnedAccessKeySpec
  readonly sub: string
  readonly groups: readonly string[]
  readonly kind: 'User' | 'Team' | 'Subject'
}

// biome-ignore format: a table
const OWNERS: readonly Owner[] = [
  { name: 'a user with groups', key: { user: 'ada', groups: ['dev', 'on:call'] }, sub: 'user:ada', groups: ['authenticated', 'user:ada', 'group:dev', 'group:on:call'], kind: 'User' },
  { name: 'a team', key: { user: '', team: 'ops' }, sub: 'team:ops', groups: ['authenticated', 'team:ops'], kind: 'Team' },
  { name: 'a subject', key: { user: '', subject: 'robot:1', groups: ['ci'] }, sub: 'subject:robot:1', groups: ['authenticated', 'group:ci'], kind: 'Subject' },
]

describe.concurrent('a token', () => {
  test.each(OWNERS)(
    'that a key of $name owns has the identity of the key and no other claims (1.5, 7.1)',
    async (row) => {
      const owner = await keys.shown(await keys.create(row.key), 'Active')
      const token = await tokens.issue({ ttl: HOUR }, under(owner))
      const { header, claims } = await verified(token, await platform.jwks())
      const { name, uid } = owner.metadata
      const iat = bornMs(token) / 1000
      expect(claims).toEqual({
        iss: ISSUER,
        sub: row.sub,
        groups: row.groups,
        aud: [ISSUER],
        jti: token.metadata.uid,
        iat,
        nbf: iat,
        exp: iat + HOUR,
        token_use: 'direct-cluster-endpoint',
        'platform.sh': { uid, name, kind: row.kind, scope: '*' },
      })
      const { keyID, owner: issuedUnder, ...status } = token.status
      expect(header).toEqual({ alg: 'ES256', kid: keyID, typ: 'JWT' })
      expect(issuedUnder).toEqual({ name, uid })
      expect(status).toMatchObject({
        issuedTimestamp: bornPlus(token, 0),
        expirationTimestamp: bornPlus(token, HOUR),
      })
      expect(token.status.conditions).toHaveLength(1)
      expect(conditionIn(token, 'Ready')).toMatchObject({
        status: 'True',
        message: `The token is valid until ${bornPlus(token, HOUR)}, issued under access key ${name}.`,
      })
    },
  )

  test('without an owner has its own identity (5.4, 7.1)', async () => {
    const token = await tokens.issue()
    const { claims } = await verified(token, await platform.jwks())
    const { name, uid } = token.metadata
    expect(claims).toMatchObject({ sub: `token:${name}`, groups: ['authenticated'], aud: [ISSUER] })
    expect(claims['platform.sh']).toEqual({ uid, name, kind: 'Token', scope: '*' })
    expect(token.status).not.toHaveProperty('owner')
    expect(conditionIn(token, 'Ready').message).toContain(', issued without an owner.')
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly scope: Scope; readonly aud: readonly string[] }>([
    { name: 'clusters', scope: { clusters: [{ cluster: 'a' }, { cluster: 'b' }] }, aud: [`${ISSUER}/clusters/a`, `${ISSUER}/clusters/b`] },
    { name: 'a duplicate cluster', scope: { clusters: [{ cluster: 'a' }, { cluster: 'a' }] }, aud: [`${ISSUER}/clusters/a`] },
    { name: 'all clusters', scope: { clusters: [{ cluster: 'a' }, { cluster: '*' }] }, aud: [ISSUER] },
    { name: 'a role', scope: { roles: [{ role: 'agent' }] }, aud: [`${ISSUER}/scoped`] },
    { name: 'a project of a cluster', scope: { projects: [{ project: 'p' }], clusters: [{ cluster: 'a' }] }, aud: [`${ISSUER}/scoped/clusters/a`] },
    { name: 'rules', scope: { rules: [{ verbs: ['get'] }] }, aud: [`${ISSUER}/scoped`] },
  ])('with the scope $name has the audiences that enforce it (7.1)', async ({ scope, aud }) => {
    const claims = claimsIn(await tokens.issue({ scope }))
    expect(claims.aud).toEqual(aud)
    const text = claims['platform.sh'].scope
    expect(JSON.parse(text)).toEqual(scope)
    expect(text).toBe(JSON.stringify(JSON.parse(text)))
  })

  test('inherits the scope of its owner, with the audiences that enforce it (5.4, 7.1)', async () => {
    const scope = { clusters: [{ cluster: 'a' }], roles: [{ role: 'agent' }] }
    const owner = await keys.shown(await keys.create({ scope }), 'Active')
    const inherits = claimsIn(await tokens.issue({}, under(owner)))
    expect(inherits.aud).toEqual([`${ISSUER}/scoped/clusters/a`])
    expect(JSON.parse(inherits['platform.sh'].scope)).toEqual(scope)
    const narrower = { clusters: [{ cluster: 'a' }] }
    const narrowed = claimsIn(await tokens.issue({ scope: narrower }, under(owner)))
    expect(narrowed.aud).toEqual([`${ISSUER}/scoped/clusters/a`])
  })

  test('is not signed when it would exceed 8 KiB (4.2, 7.1)', async () => {
    const clusters = Array.from({ length: 60 }, (_, at) => ({
      cluster: `${at}-${'c'.repeat(100)}`,
    }))
    const token = await tokens.shown(await tokens.create({ scope: { clusters } }), 'ScopeTooLarge')
    const reported = {
      reason: 'ScopeTooLarge',
      message: expect.stringMatching(
        /^The token would have \d+ bytes \(groups: 1\), more than 8192: shorten spec\.scope/,
      ),
    }
    expect(conditionIn(token, 'Ready')).toMatchObject({ status: 'False', ...reported })
    expect(conditionIn(token, 'Stalled')).toMatchObject({ status: 'True', ...reported })
    expect(token.status).not.toHaveProperty('token')
  })
})
