/** @module-tag no-retry */
// The causes that revoke an issued token for good, and changes that do not (contract 2.5, 5.4, 7.3, 7.4).
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REASONS } from '../../../../src/api/reasons.ts'
import type { OwnerReference } from '../../../../src/api/objects.ts'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import {
  type TokenReadyState,
  readyStateOf,
} from '../../../../src/controllers/directclusterendpointtoken/ready-state.ts'
import type { Owner } from '../../../../src/controllers/indexes/tokens.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { after, capped, textAfter } from '../../../support/key-builder.ts'
import {
  UNDER_CI,
  claimsIn,
  issuedObject,
  owner,
  referenceTo,
  tampered,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  tokenText,
  withMetadata,
} from '../../../support/token-builder.ts'

type PartialCircumstances = Partial<TokenPlanInput>
type Change = (object: DirectClusterEndpointToken) => DirectClusterEndpointToken

/** Whether the user is in a team: in these alone. */
const isOneOf =
  (teams: readonly string[]) =>
  (team: string): boolean =>
    teams.includes(team)

const onCluster = (...names: readonly string[]): Scope => ({
  clusters: names.map((cluster) => ({ cluster })),
})

/** A scope with a list of a later schema version. */
const NEWER = { ...onCluster('a'), regions: [{ region: 'eu' }] } as Scope

/** Key ci of user ada, for clusters a and b; tokens are issued under it at t0 for ten minutes. */
const CI: Partial<AccessKey> = { groups: ['ops', 'dev'], scope: onCluster('a', 'b') }
const underCi = (
  spec: DirectClusterEndpointToken['spec'] = {},
  key: Partial<AccessKey> = CI,
): DirectClusterEndpointToken =>
  issuedObject({ metadata: UNDER_CI, spec: { ttl: 600, ...spec } }, { owner: owner(key) })
/** A token that was issued while the user was in these teams. */
const inTeams = (...teams: readonly string[]): DirectClusterEndpointToken =>
  issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner(CI), teams })
const ownerless = (): DirectClusterEndpointToken => issuedObject({ spec: { ttl: 600 } })

/** Circumstances a minute later; by default with the owner as at issue. */
const later = (circumstances: PartialCircumstances = {}): TokenPlanInput =>
  tokenCircumstances({ owner: owner(CI), nowMs: after(60), ...circumstances })

const readyStateFor = (
  object: DirectClusterEndpointToken,
  circumstances: PartialCircumstances = {},
): TokenReadyState => readyStateOf(tokenOf(object), later(circumstances))

const revokedBecause = (because: string): TokenReadyState => ({
  reason: 'Revoked',
  message: `The token was revoked for good, because ${because}; make a new object for another token.`,
})

const referring =
  (...ownerReferences: readonly OwnerReference[]): Change =>
  (object) =>
    withMetadata(object, { ownerReferences })
const same: Change = (object) => object
const CI_REF = referenceTo({ name: 'ci', uid: 'uid-ci' })

describe('a token stays issued (5.4)', () => {
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly change?: Change
    readonly circumstances?: PartialCircumstances
    readonly spec?: DirectClusterEndpointToken['spec']
    /** The owner, at issue and now. */
    readonly key?: Partial<AccessKey>
    /** Seconds after its creation. */
    readonly ends?: number
  }[] = [
    { name: 'nothing has changed' },
    { name: 'its owner was not confirmed by the sign-in provider for a day (24.5)', circumstances: { owner: owner(CI, { state: 'IdentityStale' }) } },
    { name: 'its owner’s person has to sign in again (24.5)', circumstances: { owner: owner(CI, { state: 'SignInAgain' }) } },
    { name: 'its user gained a team (24.2)', circumstances: { teams: ['sre'], isInTeam: isOneOf(['sre']) } },
    { name: 'a millisecond before its exp', circumstances: { nowMs: after(599.999) } },
    { name: 'its owner was widened', circumstances: { owner: owner({ ...CI, scope: null }) } },
    { name: 'its owner was widened by a cluster', circumstances: { owner: owner({ ...CI, scope: onCluster('a', 'b', 'c') }) } },
    { name: 'its owner was narrowed to the scope of the token', spec: { scope: onCluster('a') }, circumstances: { owner: owner({ ...CI, scope: onCluster('a') }) } },
    { name: 'entries of its owner’s scope have another order', circumstances: { owner: owner({ ...CI, scope: onCluster('b', 'a') }) } },
    { name: 'groups of its owner have another order', circumstances: { owner: owner({ ...CI, groups: ['dev', 'ops'] }) } },
    { name: 'a group of its owner is listed twice', circumstances: { owner: owner({ ...CI, groups: ['ops', 'dev', 'ops'] }) } },
    { name: 'a reference to another kind was added', change: referring(CI_REF, { ...CI_REF, kind: 'Deployment', controller: false, uid: 'x' }) },
    { name: 'its owner’s unchanged scope has a list of a later schema version', key: { ...CI, scope: NEWER } },
    { name: 'its owner ends later now', circumstances: { owner: owner(CI, { expiresMs: after(9999) }) } },
    { name: 'its owner ends earlier now', circumstances: { owner: owner(CI, { expiresMs: after(90) }) }, ends: 90 },
    { name: 'a lowered cap ends it later', circumstances: capped(90), ends: 90 },
    { name: 'a lowered cap and an earlier end of its owner', circumstances: { ...capped(80), owner: owner(CI, { expiresMs: after(90) }) }, ends: 80 },
    { name: 'a millisecond before a lowered cap ends it', circumstances: { ...capped(90), nowMs: after(89.999) }, ends: 90 },
    { name: 'a cap longer than its lifetime', circumstances: capped(601) },
    { name: '--token-max-ttl was lowered', circumstances: { maxTtlMs: 1000 } },
    { name: 'the issuer is no longer known', circumstances: { issuer: null } },
    { name: 'no signing key', circumstances: { signing: null } },
    { name: 'records fail', circumstances: { recordFault: 'the API server answered 500' } },
  ]
  test.each(rows)('$name', ({ change = same, circumstances, spec, key = CI, ends = 600 }) => {
    const object = change(underCi(spec, key))
    const issuedStill = { reason: 'Issued', issue: null, endMs: after(ends) }
    expect(readyStateFor(object, { owner: owner(key), ...circumstances })).toEqual(issuedStill)
  })

  test('a token stays issued while its user is in every team of its groups, and beyond them (24.2)', () => {
    const isInTeam = isOneOf(['ops', 'dev', 'sre'])
    const issuedStill = { reason: 'Issued', issue: null, endMs: after(600) }
    expect(readyStateFor(inTeams('ops', 'sre'), { isInTeam })).toEqual(issuedStill)
  })

  // biome-ignore format: a table
  test.each<{ name: string; change: Change }>([
    { name: 'nothing has changed', change: same },
    { name: 'another client wrote status.owner', change: (object) => tampered(object, { owner: { name: 'ci', uid: 'uid-ci' } }) },
  ])('a token without an owner stays issued: $name', ({ change }) => {
    const issuedStill = { reason: 'Issued', issue: null, endMs: after(600) }
    expect(readyStateFor(change(ownerless()), { owner: null })).toEqual(issuedStill)
  })
})

const STATES = {
  Terminating: 'is being deleted',
  NoIdentity: 'names no user, team or subject',
  KeyConflict: 'has the same key as another object',
  UserDisabled: 'acts as a user who is disabled or being deleted',
  TeamGone: 'acts as a team that is being deleted',
  IdentityGone: 'acts as a person who is gone at the sign-in provider',
  Expired: 'has expired',
  Disabled: 'is disabled',
} as const

const OTHER_REFERENCE = 'its owner reference no longer names access key ci'
const NARROWED = 'its scope exceeds that of access key ci now'
const OTHER_IDENTITY = 'the identity or the groups of access key ci changed'
const RECORDED = 'its id is recorded as revoked'
const DAMAGED = 'status no longer holds the token that was issued'

/** The only cause after which status does not have the end of the token. */
const UNKNOWN_END = 'status.expirationTimestamp written by another client'

interface Cause {
  readonly name: string
  readonly object?: DirectClusterEndpointToken
  readonly change?: Change
  readonly circumstances?: PartialCircumstances
  readonly because: string
}

// biome-ignore format: a table
const CAUSES: readonly Cause[] = [
  { name: 'reference stripped', change: referring(), because: OTHER_REFERENCE },
  { name: 'reference to another key', change: referring(referenceTo({ name: 'old', uid: 'uid-old' })), circumstances: { owner: owner({ ...CI, name: 'old', uid: 'uid-old' }) },
    because: OTHER_REFERENCE },
  { name: 'reference to the new object of the same name', change: referring(referenceTo({ name: 'ci', uid: 'uid-new' })),
    circumstances: { owner: owner({ ...CI, uid: 'uid-new' }) }, because: OTHER_REFERENCE },
  { name: 'reference with controller: false', change: referring({ ...CI_REF, controller: false }), circumstances: { owner: null }, because: OTHER_REFERENCE },
  { name: 'reference without controller', change: referring({ apiVersion: CI_REF.apiVersion, kind: CI_REF.kind, name: 'ci', uid: 'uid-ci' }), because: OTHER_REFERENCE },
  { name: 'reference of another kind', change: referring({ ...CI_REF, kind: 'Config' }), because: OTHER_REFERENCE },
  { name: 'reference of another group', change: referring({ ...CI_REF, apiVersion: 'management.example.com/v1' }), because: OTHER_REFERENCE },
  { name: 'reference of a group with the same prefix', change: referring({ ...CI_REF, apiVersion: 'management.platform.shop/v1' }), because: OTHER_REFERENCE },
  { name: 'reference added to a token without one', object: ownerless(), change: referring(CI_REF), because: 'it was issued without an owner and has one now' },
  { name: 'reference added to a missing key', object: ownerless(), change: referring(CI_REF), circumstances: { owner: null },
    because: 'it was issued without an owner and has one now' },
  { name: 'owner deleted, or created again', circumstances: { owner: null }, because: 'access key ci is gone' },
  ...REASONS.accessKeyReady.filter((state) => Object.hasOwn(STATES, state)).map((state) => ({
    name: `owner ${state} (24.5)`, circumstances: { owner: owner(CI, { state: state as keyof typeof STATES }) },
    because: `access key ci ${STATES[state as keyof typeof STATES]}`,
  })),
  { name: 'the user lost one of two teams (24.2)', object: inTeams('sre', 'ops'), circumstances: { isInTeam: isOneOf(['ops']) },
    because: 'the user of access key ci is not in team sre any more' },
  { name: 'the user lost every team (24.2)', object: inTeams('sre'), because: 'the user of access key ci is not in team sre any more' },
  { name: 'owner of another identity', circumstances: { owner: owner({ ...CI, identity: 'user:eve' }) }, because: OTHER_IDENTITY },
  { name: 'owner of another kind of identity', circumstances: { owner: owner({ ...CI, identity: 'subject:ada' }) }, because: OTHER_IDENTITY },
  { name: 'owner with an added group', circumstances: { owner: owner({ ...CI, groups: ['ops', 'dev', 'x'] }) }, because: OTHER_IDENTITY },
  { name: 'owner with a removed group', circumstances: { owner: owner({ ...CI, groups: ['ops'] }) }, because: OTHER_IDENTITY },
  { name: 'owner with another group', circumstances: { owner: owner({ ...CI, groups: ['ops', 'root'] }) }, because: OTHER_IDENTITY },
  { name: 'owner without groups', circumstances: { owner: owner({ ...CI, groups: [] }) }, because: OTHER_IDENTITY },
  { name: 'owner narrowed, the scope inherited', circumstances: { owner: owner({ ...CI, scope: onCluster('a') }) }, because: NARROWED },
  { name: 'owner narrowed, the scope its own', object: underCi({ scope: onCluster('b') }), circumstances: { owner: owner({ ...CI, scope: onCluster('a') }) }, because: NARROWED },
  { name: 'owner narrowed, the scope inherited from an unrestricted one',
    object: issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner({ ...CI, scope: null }) }), because: NARROWED },
  { name: 'owner narrowed to an empty scope', circumstances: { owner: owner({ ...CI, scope: {} }) }, because: NARROWED },
  { name: 'owner given a scope that covers the token, but not its audience (7.1)',
    object: issuedObject({ metadata: UNDER_CI, spec: { ttl: 600, scope: onCluster('a') } }, { owner: owner({ ...CI, scope: null }) }), circumstances: { owner: owner({ ...CI, scope: onCluster('a') }) },
    because: 'access key ci has a scope now, which servers in its audience need not enforce' },
  { name: 'cap lowered below its age', circumstances: capped(30), because: 'accessKeyMaxTTLSeconds of Config platform-manager-config ended it 30 s after its creation' },
  { name: 'cap lowered to its age', circumstances: { ...capped(60), configName: 'mine' }, because: 'accessKeyMaxTTLSeconds of Config mine ended it 60 s after its creation' },
  { name: 'signing key withdrawn', circumstances: { isKeyWithdrawn: true }, because: 'signing key kid-1 was withdrawn' },
  { name: 'signing key withdrawn, no owner', object: ownerless(), circumstances: { isKeyWithdrawn: true, owner: null }, because: 'signing key kid-1 was withdrawn' },
  { name: 'recorded by an administrator', circumstances: { isRecorded: true }, because: RECORDED },
  { name: 'status.token removed', change: (object) => tampered(object, { token: undefined }), because: DAMAGED },
  { name: 'status.token emptied', change: (object) => tampered(object, { token: '' }), because: DAMAGED },
  { name: 'status.token damaged', change: (object) => tampered(object, { token: 'x.y.z' }), because: DAMAGED },
  { name: 'status.token of another object', change: (object) => tampered(object, { token: withClaims(object, { jti: 'uid-other' }) }), because: DAMAGED },
  { name: 'status.token written by another client', change: (object) => tampered(object, { token: withClaims(object, {}) }), because: DAMAGED },
  { name: 'status.token written by another client, with a later exp', change: (object) => tampered(object, { token: withClaims(object, { exp: after(9e6) / 1000 }) }), because: DAMAGED },
  { name: 'status.token written by another client, with a past exp', change: (object) => tampered(object, { token: withClaims(object, { exp: 1 }) }), because: DAMAGED },
  { name: 'status.owner removed', change: (object) => tampered(object, { owner: undefined }), because: DAMAGED },
  { name: 'status.owner and the reference removed', change: (object) => referring()(tampered(object, { owner: undefined })), circumstances: { owner: null }, because: DAMAGED },
  { name: 'status.keyID written by another client', change: (object) => tampered(object, { keyID: 'kid-2' }), because: DAMAGED },
  { name: UNKNOWN_END, change: (object) => tampered(object, { expirationTimestamp: textAfter(1) }), because: DAMAGED },
]

function withClaims(object: DirectClusterEndpointToken, claims: object): string {
  return tokenText({ ...claimsIn(object.status?.token ?? ''), ...claims })
}

describe('a token is revoked for good, with the cause in Ready (5.4, 7.3, 7.4)', () => {
  test.each(CAUSES)('$name', ({ object = underCi(), change = same, circumstances, because }) => {
    expect(readyStateFor(change(object), circumstances)).toEqual(revokedBecause(because))
  })
})

describe('the cause in Ready (4.4)', () => {
  const isRecord = ({ because }: Cause): boolean => because === RECORDED

  test.each(CAUSES.filter((cause) => !isRecord(cause)))(
    'stays the same once recorded: $name',
    ({ object = underCi(), change = same, circumstances, because }) => {
      expect(readyStateFor(change(object), { ...circumstances, isRecorded: true })).toEqual(
        revokedBecause(because),
      )
    },
  )

  const keyWith =
    (key: Partial<AccessKey>, state?: Owner['state']) =>
    (circumstances: PartialCircumstances): PartialCircumstances => {
      const before = circumstances.owner ?? owner(CI)
      const { expiresMs } = before
      const changed = owner({ ...before.key, ...key }, { expiresMs, state: state ?? before.state })
      return { ...circumstances, owner: changed }
    }
  interface Makes {
    readonly because: string
    readonly change?: Change
    readonly circumstances?: (circumstances: PartialCircumstances) => PartialCircumstances
  }
  // biome-ignore format: a table
  const ORDER: readonly Makes[] = [
    { because: DAMAGED, change: (object) => tampered(object, { token: undefined }) },
    { because: 'signing key kid-1 was withdrawn', circumstances: (circumstances) => ({ ...circumstances, isKeyWithdrawn: true }) },
    { because: OTHER_REFERENCE, change: referring() },
    { because: 'access key ci is disabled', circumstances: keyWith({}, 'Disabled') },
    { because: OTHER_IDENTITY, circumstances: keyWith({ identity: 'user:eve' }) },
    { because: NARROWED, circumstances: keyWith({ scope: onCluster('a') }) },
    { because: 'accessKeyMaxTTLSeconds of Config platform-manager-config ended it 30 s after its creation', circumstances: (circumstances) => ({ ...circumstances, ...capped(30) }) },
    { because: RECORDED, circumstances: (circumstances) => ({ ...circumstances, isRecorded: true }) },
  ]
  const pairs = ORDER.flatMap((first, at) =>
    ORDER.slice(at + 1).map((second) => ({ first, second })),
  )
  test.each(pairs)(
    'is the first that applies: $first.because, before $second.because',
    ({ first, second }) => {
      const change: Change = (object) => (first.change ?? same)((second.change ?? same)(object))
      const unchanged = (circumstances: PartialCircumstances): PartialCircumstances => circumstances
      const circumstances = (first.circumstances ?? unchanged)(
        (second.circumstances ?? unchanged)({}),
      )
      expect(readyStateFor(change(underCi()), circumstances)).toEqual(revokedBecause(first.because))
    },
  )
})

describe('a token past its exp is Expired, whatever else would revoke it (4.2)', () => {
  test.each(CAUSES.filter(({ name }) => name !== UNKNOWN_END))(
    '$name',
    ({ object = underCi(), change = same, circumstances }) => {
      expect(readyStateFor(change(object), { ...circumstances, nowMs: after(600) })).toEqual({
        reason: 'Expired',
        message: 'The token expired 2026-11-21T10:10:00Z.',
      })
    },
  )
})

describe('an ended token stays ended after its cause is undone (2.5, 5.4)', () => {
  /** The object after its end was published. */
  function ended({
    object = underCi(),
    change = same,
    circumstances,
  }: Omit<Cause, 'name' | 'because'>) {
    const changed = change(object)
    const step = plan(tokenOf(changed), later({ isRecorded: true, ...circumstances }))
    return tokenAfter(changed, step) ?? changed
  }

  /** Everything as at issue: the reference, the owner, no cap, no record. */
  const restored = (object: DirectClusterEndpointToken): DirectClusterEndpointToken =>
    referring(...(object.status?.owner ? [CI_REF] : []))(object)

  test.each(CAUSES)('a revoked token: $name', ({ because, ...cause }) => {
    expect(readyStateFor(restored(ended(cause)), { isRecorded: false })).toEqual(
      revokedBecause(because),
    )
  })

  test.each(CAUSES)('a revoked token after its exp, too: $name', ({ because, ...cause }) => {
    expect(readyStateFor(ended(cause), { nowMs: after(90_000) })).toEqual(revokedBecause(because))
  })

  // biome-ignore format: a table
  const rows: readonly (Omit<Cause, 'because'> & { readonly ends: number })[] = [
    { name: 'at its exp', circumstances: { nowMs: after(600) }, ends: 600 },
    { name: 'long ago', circumstances: { nowMs: after(90_000) }, ends: 600 },
    { name: 'before it was issued, by its ttl', object: tokenObject({ spec: { ttl: 30 } }), circumstances: { owner: null, isRecorded: false }, ends: 30 },
    { name: 'before it was issued, by the cap', object: tokenObject(), circumstances: { owner: null, isRecorded: false, ...capped(30) }, ends: 30 },
  ]
  test.each(rows)('expired $name, also after a raised cap', ({ ends, ...given }) => {
    const message = `The token expired ${textAfter(ends)}.`
    const object = ended(given)
    for (const circumstances of [
      {},
      { isRecorded: true },
      { isKeyWithdrawn: true },
      { nowMs: after(1) },
    ])
      expect(readyStateFor(object, { owner: null, ...circumstances })).toEqual({
        reason: 'Expired',
        message,
      })
  })

  test('conditions that another client wrote do not end a token (4.2)', () => {
    const object = ended({ circumstances: { nowMs: after(600) } })
    const { conditions } = object.status ?? {}
    const forged = tampered(underCi(), { conditions })
    expect(readyStateFor(forged)).toMatchObject({ reason: 'Issued' })
  })
})
