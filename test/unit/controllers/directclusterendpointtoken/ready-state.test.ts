// The Ready reason of a token that is not issued yet (contract 2.4, 4.2, 5.4, 7.1, 7.2).
import { describe, expect, test } from 'vitest'
import { REASONS } from '../../../../src/api/reasons.ts'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import {
  type TokenReadyState,
  readyStateOf,
} from '../../../../src/controllers/directclusterendpointtoken/ready-state.ts'
import type { SigningAlgorithm } from '../../../../src/domain/token/token-claims.ts'
import { after, capped } from '../../../support/key-builder.ts'
import {
  type TokenParts,
  UNDER_CI,
  owner,
  referenceTo,
  token,
  tokenCircumstances,
  tokenText,
} from '../../../support/token-builder.ts'

interface Given {
  readonly parts?: TokenParts
  readonly circumstances?: Partial<TokenPlanInput>
  /** Seconds after its creation. */
  readonly now?: number
}

const readyStateFor = ({ parts = {}, circumstances = {}, now = 0 }: Given): TokenReadyState =>
  readyStateOf(token(parts), tokenCircumstances({ ...circumstances, nowMs: after(now) }))

const claimsOf = (given: Given) => {
  const found = readyStateFor(given)
  if (found.reason !== 'Issued' || !found.issue) throw new Error(`it is ${found.reason}`)
  return found.issue.claims
}

const under = { metadata: UNDER_CI }
const onCluster = (cluster: string): Scope => ({ clusters: [{ cluster }] })

describe('a token that may be issued (2.4, 5.4, 7.1)', () => {
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly ends: number })[] = [
    { name: 'without an owner', ends: 86_400 },
    { name: 'under an owner that never ends', parts: under, circumstances: { owner: owner() }, ends: 86_400 },
    { name: 'under an owner that ends', parts: under, circumstances: { owner: owner({}, { expiresMs: after(90) }) }, ends: 90 },
    { name: 'a millisecond before its end', parts: { spec: { ttl: 60 } }, now: 59.999, ends: 60 },
    { name: 'under a cap', circumstances: capped(90), ends: 90 },
    { name: 'its scope is that of its owner', parts: { ...under, spec: { scope: onCluster('a') } },
      circumstances: { owner: owner({ scope: onCluster('a') }) }, ends: 86_400 },
    { name: 'any scope without an owner', parts: { spec: { scope: onCluster('a') } }, ends: 86_400 },
  ]
  test.each(rows)('$name', ({ ends, ...given }) => {
    const endMs = after(ends)
    expect(readyStateFor(given)).toMatchObject({
      reason: 'Issued',
      endMs,
      issue: { lifetime: { expiresMs: endMs }, claims: { exp: endMs / 1000, jti: 'uid-deploy' } },
    })
  })

  test('has the identity, groups and scope of its owner (5.4, 7.1)', () => {
    const key = { identity: 'team:web', groups: ['ops', 'dev'], scope: onCluster('a') }
    expect(claimsOf({ parts: under, circumstances: { owner: owner(key) } })).toEqual({
      iss: 'https://platform.example.com/oidc',
      sub: 'team:web',
      groups: ['authenticated', 'team:web', 'group:ops', 'group:dev'],
      aud: ['https://platform.example.com/oidc/scoped/clusters/a'],
      jti: 'uid-deploy',
      iat: after(0) / 1000,
      nbf: after(0) / 1000,
      exp: after(86_400) / 1000,
      token_use: 'direct-cluster-endpoint',
      'platform.sh': {
        uid: 'uid-ci',
        name: 'ci',
        kind: 'Team',
        scope: '{"clusters":[{"cluster":"a"}]}',
      },
    })
  })

  test('without an owner has an identity of its own (5.4, 7.1)', () => {
    expect(claimsOf({})).toMatchObject({
      sub: 'token:deploy',
      groups: ['authenticated'],
      'platform.sh': { uid: 'uid-deploy', name: 'deploy', kind: 'Token', scope: '*' },
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'that of the token', own: onCluster('a'), owns: null, says: '{"clusters":[{"cluster":"a"}]}' },
    { name: 'that of the token, within that of the owner', own: onCluster('a'), owns: onCluster('*'), says: '{"clusters":[{"cluster":"a"}]}' },
    { name: 'that of the owner', own: undefined, owns: onCluster('*'), says: '{"clusters":[{"cluster":"*"}]}' },
    { name: 'none', own: undefined, owns: null, says: '*' },
  ])('scope claim: $name (5.4)', ({ own, owns, says }) => {
    const parts = { ...under, spec: own ? { scope: own } : {} }
    const claims = claimsOf({ parts, circumstances: { owner: owner({ scope: owns }) } })
    expect(claims['platform.sh'].scope).toBe(says)
  })

  test('has the same claims whenever it is issued: a delay extends nothing (2.4)', () => {
    const circumstances = { owner: owner() }
    const [first, later] = [0, 3600].map((now) => claimsOf({ parts: under, circumstances, now }))
    expect(later).toEqual(first)
  })
})

const OWNER_SENTENCES = {
  Terminating: 'is being deleted',
  NoIdentity: 'names no user, team or subject',
  KeyConflict: 'has the same key as another object',
  UserDisabled: 'acts as a user who is disabled or being deleted',
  TeamGone: 'acts as a team that is being deleted',
  IdentityGone: 'acts as a person who is gone at the sign-in provider',
  IdentityStale: 'was not refreshed at the sign-in provider for 24 hours',
  SignInAgain: 'needs its person to sign in again',
  Expired: 'has expired',
  Disabled: 'is disabled',
} as const

describe('a token that waits has the cause in Ready (4.2, 4.4)', () => {
  const NO_OWNER = 'The owner reference names access key ci with a uid that no access key has.'
  // biome-ignore format: a table
  const rows: readonly (Given & {
    readonly name: string
    readonly reason: TokenReadyState['reason']
    readonly says: string
    /** Seconds after its creation; null = time alone changes nothing. */
    readonly ends: number | null
  })[] = [
    { name: 'the owner is not in the store yet', parts: under, reason: 'Pending', says: 'The token is about to be issued.', ends: 5 },
    { name: 'a millisecond before the missing owner is reported', parts: under, now: 4.999, reason: 'Pending', says: 'The token is about to be issued.', ends: 5 },
    { name: 'its reference has no controller', parts: { metadata: { ownerReferences: [{ ...referenceTo({ name: 'ci', uid: 'uid-ci' }), controller: false }] } }, now: 90_000, reason: 'OwnerNotReady', says: 'The owner references name access keys, and none of them as the controller: set controller: true on the owner, or leave the reference out.', ends: null },
    { name: 'there is no such owner', parts: under, now: 5, reason: 'OwnerNotReady', says: NO_OWNER, ends: null },
    { name: 'there is no such owner a day later', parts: under, now: 90_000, reason: 'OwnerNotReady', says: NO_OWNER, ends: null },
    ...REASONS.accessKeyReady.filter((state) => state !== 'Active' && state !== 'OwnerNotReady').map((state) => ({
      name: `the owner is ${state}`, parts: under, circumstances: { owner: owner({}, { state }) },
      reason: 'OwnerNotReady' as const, says: `Access key ci ${OWNER_SENTENCES[state]}.`, ends: null,
    })),
    { name: 'a key that owns the owner is disabled', parts: under, circumstances: { owner: owner({}, { state: 'Disabled', above: 'login' }) },
      reason: 'OwnerNotReady', says: 'Access key login, which access key ci depends on, is disabled.', ends: null },
    { name: 'a key that owns the owner is gone', parts: under, circumstances: { owner: owner({}, { state: 'Gone', above: 'login' }) },
      reason: 'OwnerNotReady', says: 'Access key login, which access key ci depends on, does not exist, or is beyond the 16 keys that may own each other in a row.', ends: null },
    { name: 'its scope is wider', parts: { ...under, spec: { scope: onCluster('b') } }, circumstances: { owner: owner({ scope: onCluster('a') }) },
      reason: 'ScopeExceedsOwner', says: 'The scope grants more than that of access key ci: scope.clusters[0]: cluster "b".', ends: null },
    { name: 'its scope is wider, and its owner ends',
      parts: { ...under, spec: { scope: onCluster('b') } }, circumstances: { owner: owner({ scope: onCluster('a') }, { expiresMs: after(90) }) },
      reason: 'ScopeExceedsOwner', says: 'The scope grants more than that of access key ci: scope.clusters[0]: cluster "b".', ends: 90 },
    { name: 'no issuer', circumstances: { issuer: null }, reason: 'IssuerUnknown',
      says: "The issuer is not known: set platformHost in Config, or the operator's flag --issuer-url.", ends: 86_400 },
    { name: 'no signing key', circumstances: { signing: null, ...capped(90) }, reason: 'SigningKeyUnavailable',
      says: 'No signing key may be used now; see the events of ConfigMap platform-jwks.', ends: 90 },
  ]
  test.each(rows)('$name: $reason', ({ reason, says, ends, ...given }) => {
    const endMs = ends === null ? null : after(ends)
    expect(readyStateFor(given)).toEqual({ reason, message: says, endMs })
  })

  // biome-ignore format: a table
  const ended: readonly (Given & { readonly name: string; readonly ended: string })[] = [
    { name: 'its ttl', parts: { spec: { ttl: 60 } }, now: 60, ended: '2026-11-21T10:01:00Z' },
    { name: 'the default', now: 86_400, ended: '2026-11-22T10:00:00Z' },
    { name: 'the cap', circumstances: capped(60), now: 60, ended: '2026-11-21T10:01:00Z' },
    { name: '--token-max-ttl', circumstances: { maxTtlMs: 60_000 }, now: 99, ended: '2026-11-21T10:01:00Z' },
    { name: 'its owner, in whole seconds', parts: under, circumstances: { owner: owner({}, { expiresMs: after(60.5) }) }, now: 60,
      ended: '2026-11-21T10:01:00Z' },
  ]
  test.each(ended)(
    'a token that could not be issued in time expires by $name (2.4)',
    ({ ended: at, ...given }) => {
      expect(readyStateFor(given)).toEqual({
        reason: 'Expired',
        message: `The token expired ${at}.`,
      })
    },
  )

  test('a recorded token is never issued (7.4)', () => {
    expect(readyStateFor({ circumstances: { isRecorded: true } })).toMatchObject({
      reason: 'Revoked',
      message: expect.stringContaining('its id is recorded as revoked'),
    })
  })
})

describe('precedence of reasons (4.2)', () => {
  const wide = 'a'.repeat(8000)
  type Makes = (given: Required<Given>) => Required<Given>
  const circumstances =
    (differing: Partial<TokenPlanInput>): Makes =>
    (given) => ({ ...given, circumstances: { ...given.circumstances, ...differing } })
  const keyWith =
    (key: Parameters<typeof owner>[0], rest: Parameters<typeof owner>[1]): Makes =>
    (given) => {
      const before = given.circumstances.owner ?? owner()
      return circumstances({ owner: { ...before, ...rest, key: { ...before.key, ...key } } })(given)
    }
  // biome-ignore format: a table
  const ORDER: readonly { readonly reason: TokenReadyState['reason']; readonly makes: Makes }[] = [
    { reason: 'OwnerNotReady', makes: keyWith({}, { state: 'Disabled' }) },
    { reason: 'ScopeExceedsOwner', makes: keyWith({ scope: onCluster('other') }, {}) },
    { reason: 'Expired', makes: (given) => ({ ...given, now: 90_000 }) },
    { reason: 'IssuerUnknown', makes: circumstances({ issuer: null }) },
    { reason: 'SigningKeyUnavailable', makes: circumstances({ signing: null }) },
    { reason: 'ScopeTooLarge', makes: (given) => given },
  ]
  const base: Required<Given> = {
    parts: { ...under, spec: { scope: onCluster(wide) } },
    circumstances: { owner: owner() },
    now: 0,
  }
  const pairs = ORDER.flatMap((first, at) =>
    ORDER.slice(at + 1).map((second) => ({ first, second })),
  )
  test.each(pairs)('$first.reason before $second.reason', ({ first, second }) => {
    expect(readyStateFor(first.makes(second.makes(base))).reason).toBe(first.reason)
  })
})

describe('a token above 8 KiB is not signed (7.1)', () => {
  const named = (length: number, letter: string): Given => ({
    parts: { spec: { scope: { spaces: [{ project: 'p', space: letter.repeat(length) }] } } },
  })
  /** Length of a real token in bytes; an RS256 signature has 384 bytes instead of 64. */
  const lengthOf = (given: Given, algorithm: SigningAlgorithm): number =>
    tokenText(claimsOf(given), 'k'.repeat(43)).length + (algorithm === 'RS256' ? 512 - 86 : 0)

  // biome-ignore format: a table
  test.each([
    { name: 'one byte per character', algorithm: 'ES256', letter: 'x', bytes: 1, longest: 8192, next: 8193 },
    { name: 'bytes count, not characters', algorithm: 'ES256', letter: 'é', bytes: 2, longest: 8192, next: 8194 },
    // Unpadded base64 never has 4n + 1 characters.
    { name: 'with a longer signature', algorithm: 'RS256', letter: 'x', bytes: 1, longest: 8192, next: 8194 },
  ] as const)('$algorithm, $name: $longest bytes are signed, $next are not', (row) => {
    const { algorithm, letter, bytes, longest, next } = row
    const circumstances = { signing: { algorithm } }
    const room = 8192 - lengthOf(named(0, letter), algorithm)
    const size = Math.floor((room * 3) / 4 / bytes) - 3
    const sizes = Array.from({ length: 6 }, (_, more) => named(size + more, letter))
    const at = sizes.findIndex((given) => readyStateFor({ ...given, circumstances }).reason !== 'Issued')
    const [last, first] = [sizes[at - 1], sizes[at]]
    expect(last && lengthOf(last, algorithm)).toBe(longest)
    expect(readyStateFor({ ...first, circumstances })).toEqual({
      reason: 'ScopeTooLarge',
      message: `The token would have ${next} bytes (groups: 1), more than 8192: shorten spec.scope or the groups of its owner, or take its user out of Teams.`,
      endMs: after(86_400),
    })
  })

  test('the teams of its user count too, and the message has the number of groups (24.5)', () => {
    const teams = Array.from({ length: 198 }, (_, at) => `${at}`.padEnd(40, 'x'))
    const circumstances = { owner: owner(), teams }
    expect(readyStateFor({ parts: under, circumstances })).toMatchObject({
      reason: 'ScopeTooLarge',
      message: expect.stringContaining(' bytes (groups: 200), ') as string,
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'scope', key: { scope: { spaces: [{ project: 'p', space: 'x'.repeat(8000) }] } } },
    { name: 'groups', key: { groups: Array.from({ length: 128 }, (_, at) => `${at}`.padEnd(60, 'x')) } },
  ])('the $name of its owner counts too (5.4)', ({ key }) => {
    const circumstances = { owner: owner(key) }
    expect(readyStateFor({ parts: under, circumstances }).reason).toBe('ScopeTooLarge')
  })
})
