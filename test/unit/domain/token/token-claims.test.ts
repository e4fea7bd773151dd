import { CompactSign, generateKeyPair } from 'jose'
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import {
  audiencesOf,
  claimsOf,
  groupsClaimOf,
  LONGEST_TOKEN_BYTES,
  SIGNING_ALGORITHMS,
  scopeClaimOf,
  type TokenClaims,
  type TokenSubject,
  tokenLength,
} from '../../../../src/domain/token/token-claims.ts'

type IssueParameters = Parameters<typeof claimsOf>[1]

const ISSUER = 'https://platform.example.com/oidc'
const SECONDS = Date.parse('2026-11-21T10:00:00Z') / 1000

const issue: IssueParameters = {
  issuer: ISSUER,
  jti: 'uid-token',
  creationMs: SECONDS * 1000,
  expiresMs: (SECONDS + 86_400) * 1000,
}

/** Key `ci` of user ada, unrestricted. */
const bearerOf = (parts: Partial<TokenSubject> = {}): TokenSubject => ({
  identity: 'user:ada',
  groups: [],
  teams: [],
  name: 'ci',
  uid: 'uid-ci',
  scope: null,
  isOwnerScoped: false,
  ...parts,
})

describe('the claims of a token (7.1)', () => {
  test('of a token under a key are complete', () => {
    const scope: Scope = { clusters: [{ cluster: 'east' }] }
    expect(claimsOf(bearerOf({ groups: ['dev', 'ops'], scope }), issue)).toEqual({
      iss: ISSUER,
      sub: 'user:ada',
      groups: ['authenticated', 'user:ada', 'group:dev', 'group:ops'],
      aud: [`${ISSUER}/clusters/east`],
      jti: 'uid-token',
      iat: SECONDS,
      nbf: SECONDS,
      exp: SECONDS + 86_400,
      token_use: 'direct-cluster-endpoint',
      'platform.sh': {
        uid: 'uid-ci',
        name: 'ci',
        kind: 'User',
        scope: '{"clusters":[{"cluster":"east"}]}',
      },
    })
  })

  test.each([
    { identity: 'user:ada', kind: 'User', groups: ['authenticated', 'user:ada'] },
    { identity: 'team:core', kind: 'Team', groups: ['authenticated', 'team:core'] },
    { identity: 'subject:robot', kind: 'Subject', groups: ['authenticated'] },
    { identity: 'token:my-token', kind: 'Token', groups: ['authenticated'] },
    { identity: 'subject:user:ada', kind: 'Subject', groups: ['authenticated'] },
    { identity: 'user:a:b', kind: 'User', groups: ['authenticated', 'user:a:b'] },
    {
      identity: 'user:https://idp#ada',
      kind: 'User',
      groups: ['authenticated', 'user:https://idp#ada'],
    },
  ])('contain sub, kind and groups of $identity', ({ identity, kind, groups }) => {
    const claims = claimsOf(bearerOf({ identity }), issue)
    expect([claims.sub, claims['platform.sh'].kind, claims.groups]).toEqual([
      identity,
      kind,
      groups,
    ])
  })

  test('have a group for each team of the user (24.5)', () => {
    const subject = bearerOf({ groups: ['dev'], teams: ['ops', 'saml:all staff'] })
    expect(claimsOf(subject, issue).groups).toEqual([
      'authenticated',
      'user:ada',
      'team:ops',
      'team:saml:all staff',
      'group:dev',
    ])
  })

  test('contain the groups of the key with a prefix, whatever their names (D7)', () => {
    const groups = ['system:masters', 'user:root', 'authenticated', '__proto__']
    expect(groupsClaimOf('subject:robot', groups, [])).toEqual([
      'authenticated',
      'group:system:masters',
      'group:user:root',
      'group:authenticated',
      'group:__proto__',
    ])
  })

  test('contain times in whole seconds, rounded down (2.4)', () => {
    const claims = claimsOf(bearerOf(), {
      ...issue,
      creationMs: SECONDS * 1000 + 999,
      expiresMs: (SECONDS + 60) * 1000 + 999,
    })
    expect([claims.iat, claims.nbf, claims.exp]).toEqual([SECONDS, SECONDS, SECONDS + 60])
  })

  test('are the same for the same object under the same owner (2.4)', () => {
    const text = (): string =>
      JSON.stringify(claimsOf(bearerOf({ scope: { clusters: [{ cluster: 'east' }] } }), issue))
    expect(text()).toBe(text())
  })
})

test.each<{ readonly scope: Scope | null; readonly text: string }>([
  { scope: null, text: '*' },
  { scope: {}, text: '{}' },
  { scope: { allowPlatformCli: true }, text: '{"allowPlatformCli":true}' },
])('the scope claim is never empty: $text (7.1)', ({ scope, text }) => {
  expect(scopeClaimOf(scope)).toBe(text)
})

describe('the audience of a token (7.1)', () => {
  const east = { cluster: 'east' }
  const west = { cluster: 'west' }
  const scoped = `${ISSUER}/scoped`
  test.each<{
    readonly name: string
    readonly scope: Scope | null
    readonly aud: readonly string[]
  }>([
    { name: 'no scope', scope: null, aud: [ISSUER] },
    { name: 'every cluster', scope: { clusters: [{ cluster: '*' }] }, aud: [ISSUER] },
    {
      name: 'one cluster and every cluster',
      scope: { clusters: [east, { cluster: '*' }] },
      aud: [ISSUER],
    },
    { name: 'one cluster', scope: { clusters: [east] }, aud: [`${ISSUER}/clusters/east`] },
    {
      name: 'two clusters',
      scope: { clusters: [east, west] },
      aud: [`${ISSUER}/clusters/east`, `${ISSUER}/clusters/west`],
    },
    {
      name: 'a repeated cluster',
      scope: { clusters: [east, east] },
      aud: [`${ISSUER}/clusters/east`],
    },
    {
      name: 'a cluster beside empty fields',
      scope: { clusters: [east], allowPlatformCli: false, rules: [] },
      aud: [`${ISSUER}/clusters/east`],
    },
    { name: 'rules', scope: { rules: [{ verbs: ['get'] }] }, aud: [scoped] },
    { name: 'a role', scope: { roles: [{ role: 'workspace' }] }, aud: [scoped] },
    { name: 'a project', scope: { projects: [{ project: '*' }] }, aud: [scoped] },
    { name: 'a space', scope: { spaces: [{ project: 'p', space: 's' }] }, aud: [scoped] },
    {
      name: 'a virtual cluster',
      scope: { virtualClusters: [{ project: 'p', virtualCluster: 'v' }] },
      aud: [scoped],
    },
    { name: 'the command line', scope: { allowPlatformCli: true }, aud: [scoped] },
    {
      name: 'rules in one cluster',
      scope: { clusters: [east], rules: [{ verbs: ['get'] }] },
      aud: [`${scoped}/clusters/east`],
    },
    {
      name: 'rules in every cluster',
      scope: { clusters: [{ cluster: '*' }], rules: [{ verbs: ['get'] }] },
      aud: [scoped],
    },
    { name: 'an empty scope, which the schema rejects', scope: {}, aud: [scoped] },
    { name: 'an empty list of clusters', scope: { clusters: [] }, aud: [scoped] },
    {
      name: 'a field that this version does not know',
      scope: { clusters: [east], future: { only: 'this' } } as Scope,
      aud: [`${scoped}/clusters/east`],
    },
  ])('$name', ({ scope, aud }) => {
    expect(audiencesOf(ISSUER, scope, false)).toEqual(aud)
  })

  test.each([
    { name: 'one cluster', scope: { clusters: [east] }, aud: [`${scoped}/clusters/east`] },
    { name: 'every cluster', scope: { clusters: [{ cluster: '*' }] }, aud: [scoped] },
    { name: 'rules', scope: { rules: [{ verbs: ['get'] }] }, aud: [scoped] },
  ])(
    'of a token under a key with a scope is that of verifiers that enforce scopes: $name',
    ({ scope, aud }) => {
      expect(audiencesOf(ISSUER, scope, true)).toEqual(aud)
      expect(claimsOf(bearerOf({ scope, isOwnerScoped: true }), issue).aud).toEqual(aud)
    },
  )
})

describe.each(SIGNING_ALGORITHMS)('the length of a token, %s (7.1)', (alg) => {
  const sign = async (claims: TokenClaims): Promise<string> => {
    const { privateKey } = await generateKeyPair(alg, { modulusLength: 3072 })
    return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg, kid: 'k'.repeat(43), typ: 'JWT' })
      .sign(privateKey)
  }

  test.each([
    { name: 'ascii', groups: [] },
    { name: 'one byte more', groups: ['a'] },
    { name: 'two bytes more', groups: ['ab'] },
    { name: 'characters of several bytes', groups: ['é', '🔑', '日本'] },
    { name: 'characters that JSON escapes', groups: ['"\\\n\u2028\u0000'] },
  ])('$name', async ({ groups }) => {
    const claims = claimsOf(bearerOf({ groups }), issue)
    expect(tokenLength(claims, alg)).toBe(Buffer.byteLength(await sign(claims)))
  })

  test('is exact to the byte at the limit', async () => {
    const claimsWith = (length: number) => claimsOf(bearerOf({ name: 'n'.repeat(length) }), issue)
    let length = 1
    while (tokenLength(claimsWith(length + 1), alg) <= LONGEST_TOKEN_BYTES) length += 1
    const longest = await sign(claimsWith(length))
    expect(longest.length).toBe(tokenLength(claimsWith(length), alg))
    expect(LONGEST_TOKEN_BYTES - longest.length).toBeLessThan(2)
    expect((await sign(claimsWith(length + 1))).length).toBeGreaterThan(LONGEST_TOKEN_BYTES)
  })
})
