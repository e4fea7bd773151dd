/** @module-tag no-retry */
// What becomes of a token that is out: it stays, or it ends for good (contract 2.5, 5.4, 7.3, 7.4).
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REASONS } from '../../../../src/api/names.ts'
import type { OwnerReference } from '../../../../src/api/objects.ts'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import {
  type TokenPlanCircumstances,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import {
  type Owner,
  type TokenReadyState,
  readyStateOf,
} from '../../../../src/controllers/directclusterendpointtoken/ready-state.ts'
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

type Around = Partial<TokenPlanCircumstances>
type Change = (object: DirectClusterEndpointToken) => DirectClusterEndpointToken

const onCluster = (...names: readonly string[]): Scope => ({
  clusters: names.map((cluster) => ({ cluster })),
})

/** As a later version of the schema may have it. */
const NEWER = { ...onCluster('a'), regions: [{ region: 'eu' }] } as Scope

/** Issued at t0 for ten minutes under key ci; the key is that of ada, on cluster a and b. */
const CI: Partial<AccessKey> = { groups: ['ops', 'dev'], scope: onCluster('a', 'b') }
const underCi = (
  spec: DirectClusterEndpointToken['spec'] = {},
  key: Partial<AccessKey> = CI,
): DirectClusterEndpointToken =>
  issuedObject({ metadata: UNDER_CI, spec: { ttl: 600, ...spec } }, { owner: owner(key) })
const ownerless = (): DirectClusterEndpointToken => issuedObject({ spec: { ttl: 600 } })

/** As it is a minute later, its owner as it was at issue. */
const later = (around: Around = {}): TokenPlanCircumstances =>
  tokenCircumstances({ owner: owner(CI), nowMs: after(60), ...around })

const fate = (object: DirectClusterEndpointToken, around: Around = {}): TokenReadyState =>
  readyStateOf(tokenOf(object), later(around))

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

describe('it stays issued (5.4)', () => {
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly change?: Change
    readonly around?: Around
    readonly spec?: DirectClusterEndpointToken['spec']
    /** Its owner, at issue and now. */
    readonly key?: Partial<AccessKey>
    /** Seconds after its creation. */
    readonly ends?: number
  }[] = [
    { name: 'nothing has changed' },
    { name: 'a moment before its exp', around: { nowMs: after(599.999) } },
    { name: 'its owner was widened', around: { owner: owner({ ...CI, scope: null }) } },
    { name: 'its owner was widened by a cluster', around: { owner: owner({ ...CI, scope: onCluster('a', 'b', 'c') }) } },
    { name: 'its owner was narrowed to what it has itself', spec: { scope: onCluster('a') }, around: { owner: owner({ ...CI, scope: onCluster('a') }) } },
    { name: 'entries of its owner’s scope have another order', around: { owner: owner({ ...CI, scope: onCluster('b', 'a') }) } },
    { name: 'groups of its owner have another order', around: { owner: owner({ ...CI, groups: ['dev', 'ops'] }) } },
    { name: 'a group of its owner is there twice', around: { owner: owner({ ...CI, groups: ['ops', 'dev', 'ops'] }) } },
    { name: 'a reference to something else came', change: referring(CI_REF, { ...CI_REF, kind: 'Deployment', controller: false, uid: 'x' }) },
    { name: 'its owner’s scope, unchanged, has a list that this version does not know', key: { ...CI, scope: NEWER } },
    { name: 'its owner ends later now', around: { owner: owner(CI, { expiresMs: after(9999) }) } },
    { name: 'its owner ends earlier now', around: { owner: owner(CI, { expiresMs: after(90) }) }, ends: 90 },
    { name: 'a lowered cap ends it later', around: capped(90), ends: 90 },
    { name: 'the nearest of all ends', around: { ...capped(80), owner: owner(CI, { expiresMs: after(90) }) }, ends: 80 },
    { name: 'a moment before a lowered cap ends it', around: { ...capped(90), nowMs: after(89.999) }, ends: 90 },
    { name: 'a cap above it', around: capped(601) },
    { name: 'the limit was lowered', around: { maxTtlMs: 1000 } },
    { name: 'the issuer is not known any more', around: { issuer: null } },
    { name: 'no key signs now', around: { signing: null } },
    { name: 'records fail', around: { recordFault: 'the API server answered 500' } },
  ]
  test.each(rows)('$name', ({ change = same, around, spec, key = CI, ends = 600 }) => {
    const object = change(underCi(spec, key))
    const issuedStill = { reason: 'Issued', issue: null, endMs: after(ends) }
    expect(fate(object, { owner: owner(key), ...around })).toEqual(issuedStill)
  })

  // biome-ignore format: a table
  test.each<{ name: string; change: Change }>([
    { name: 'nothing has changed', change: same },
    { name: 'somebody else wrote status.owner', change: (object) => tampered(object, { owner: { name: 'ci', uid: 'uid-ci' } }) },
  ])('without an owner: $name', ({ change }) => {
    const issuedStill = { reason: 'Issued', issue: null, endMs: after(600) }
    expect(fate(change(ownerless()), { owner: null })).toEqual(issuedStill)
  })
})

const STATES = {
  Terminating: 'is being deleted',
  NoIdentity: 'names no user, team or subject',
  KeyConflict: 'has the same key as another object',
  Expired: 'has expired',
  Disabled: 'is disabled',
} as const

const OTHER_REFERENCE = 'its owner reference no longer names access key ci'
const NARROWED = 'its scope exceeds that of access key ci now'
const OTHER_IDENTITY = 'the identity or the groups of access key ci changed'
const RECORDED = 'its id is recorded as revoked'
const DAMAGED = 'status no longer holds the token that was issued'

/** Only of this one status does not say when it ends. */
const UNKNOWN_END = 'status.expirationTimestamp written by somebody else'

interface Cause {
  readonly name: string
  readonly object?: DirectClusterEndpointToken
  readonly change?: Change
  readonly around?: Around
  readonly because: string
}

// biome-ignore format: a table
const CAUSES: readonly Cause[] = [
  { name: 'reference stripped', change: referring(), because: OTHER_REFERENCE },
  { name: 'reference re-pointed', change: referring(referenceTo({ name: 'old', uid: 'uid-old' })), around: { owner: owner({ ...CI, name: 'old', uid: 'uid-old' }) },
    because: OTHER_REFERENCE },
  { name: 'reference to the new object of the same name', change: referring(referenceTo({ name: 'ci', uid: 'uid-new' })),
    around: { owner: owner({ ...CI, uid: 'uid-new' }) }, because: OTHER_REFERENCE },
  { name: 'reference controls no more', change: referring({ ...CI_REF, controller: false }), around: { owner: null }, because: OTHER_REFERENCE },
  { name: 'reference without controller', change: referring({ apiVersion: CI_REF.apiVersion, kind: CI_REF.kind, name: 'ci', uid: 'uid-ci' }), because: OTHER_REFERENCE },
  { name: 'reference of another kind', change: referring({ ...CI_REF, kind: 'Config' }), because: OTHER_REFERENCE },
  { name: 'reference of another group', change: referring({ ...CI_REF, apiVersion: 'management.example.com/v1' }), because: OTHER_REFERENCE },
  { name: 'reference of a group that begins alike', change: referring({ ...CI_REF, apiVersion: 'management.platform.shop/v1' }), because: OTHER_REFERENCE },
  { name: 'reference added to a token without one', object: ownerless(), change: referring(CI_REF), because: 'it was issued without an owner and has one now' },
  { name: 'reference added, to nothing', object: ownerless(), change: referring(CI_REF), around: { owner: null },
    because: 'it was issued without an owner and has one now' },
  { name: 'owner gone, or re-created', around: { owner: null }, because: 'access key ci is gone' },
  ...REASONS.accessKeyReady.filter((state) => state !== 'Active' && state !== 'OwnerNotReady').map((state) => ({
    name: `owner ${state}`, around: { owner: owner(CI, { state }) }, because: `access key ci ${STATES[state]}`,
  })),
  { name: 'owner of another identity', around: { owner: owner({ ...CI, identity: 'user:eve' }) }, because: OTHER_IDENTITY },
  { name: 'owner of another kind of identity', around: { owner: owner({ ...CI, identity: 'subject:ada' }) }, because: OTHER_IDENTITY },
  { name: 'owner with a group more', around: { owner: owner({ ...CI, groups: ['ops', 'dev', 'x'] }) }, because: OTHER_IDENTITY },
  { name: 'owner with a group less', around: { owner: owner({ ...CI, groups: ['ops'] }) }, because: OTHER_IDENTITY },
  { name: 'owner with another group', around: { owner: owner({ ...CI, groups: ['ops', 'root'] }) }, because: OTHER_IDENTITY },
  { name: 'owner without groups', around: { owner: owner({ ...CI, groups: [] }) }, because: OTHER_IDENTITY },
  { name: 'owner narrowed, the scope inherited', around: { owner: owner({ ...CI, scope: onCluster('a') }) }, because: NARROWED },
  { name: 'owner narrowed, the scope its own', object: underCi({ scope: onCluster('b') }), around: { owner: owner({ ...CI, scope: onCluster('a') }) }, because: NARROWED },
  { name: 'owner narrowed, the scope inherited from an unrestricted one',
    object: issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner({ ...CI, scope: null }) }), because: NARROWED },
  { name: 'owner narrowed to a scope that sets nothing', around: { owner: owner({ ...CI, scope: {} }) }, because: NARROWED },
  { name: 'owner given a scope that covers it, but for which it has not the audience (7.1)',
    object: issuedObject({ metadata: UNDER_CI, spec: { ttl: 600, scope: onCluster('a') } }, { owner: owner({ ...CI, scope: null }) }), around: { owner: owner({ ...CI, scope: onCluster('a') }) },
    because: 'access key ci has a scope now, which servers in its audience need not enforce' },
  { name: 'cap lowered below its age', around: capped(30), because: 'accessKeyMaxTTLSeconds of Config platform-manager-config ended it 30 s after its creation' },
  { name: 'cap lowered to its age', around: { ...capped(60), configName: 'mine' }, because: 'accessKeyMaxTTLSeconds of Config mine ended it 60 s after its creation' },
  { name: 'signing key withdrawn', around: { isKeyWithdrawn: true }, because: 'signing key kid-1 was withdrawn' },
  { name: 'signing key withdrawn, no owner', object: ownerless(), around: { isKeyWithdrawn: true, owner: null }, because: 'signing key kid-1 was withdrawn' },
  { name: 'recorded by hand', around: { isRecorded: true }, because: RECORDED },
  { name: 'status.token taken out', change: (object) => tampered(object, { token: undefined }), because: DAMAGED },
  { name: 'status.token emptied', change: (object) => tampered(object, { token: '' }), because: DAMAGED },
  { name: 'status.token damaged', change: (object) => tampered(object, { token: 'x.y.z' }), because: DAMAGED },
  { name: 'status.token of another object', change: (object) => tampered(object, { token: withClaims(object, { jti: 'uid-other' }) }), because: DAMAGED },
  { name: 'status.token written by somebody else', change: (object) => tampered(object, { token: withClaims(object, {}) }), because: DAMAGED },
  { name: 'somebody else’s token with a later exp', change: (object) => tampered(object, { token: withClaims(object, { exp: after(9e6) / 1000 }) }), because: DAMAGED },
  { name: 'somebody else’s token with an exp that is over', change: (object) => tampered(object, { token: withClaims(object, { exp: 1 }) }), because: DAMAGED },
  { name: 'status.owner taken out', change: (object) => tampered(object, { owner: undefined }), because: DAMAGED },
  { name: 'status.owner and the reference taken out', change: (object) => referring()(tampered(object, { owner: undefined })), around: { owner: null }, because: DAMAGED },
  { name: 'status.keyID written by somebody else', change: (object) => tampered(object, { keyID: 'kid-2' }), because: DAMAGED },
  { name: UNKNOWN_END, change: (object) => tampered(object, { expirationTimestamp: textAfter(1) }), because: DAMAGED },
]

function withClaims(object: DirectClusterEndpointToken, claims: object): string {
  return tokenText({ ...claimsIn(object.status?.token ?? ''), ...claims })
}

describe('it is revoked for good, and says why (5.4, 7.3, 7.4)', () => {
  test.each(CAUSES)('$name', ({ object = underCi(), change = same, around, because }) => {
    expect(fate(change(object), around)).toEqual(revokedBecause(because))
  })
})

describe('the cause that status says (4.4)', () => {
  const isRecord = ({ because }: Cause): boolean => because === RECORDED

  test.each(CAUSES.filter((cause) => !isRecord(cause)))(
    'recorded by then, it is still said: $name',
    ({ object = underCi(), change = same, around, because }) => {
      expect(fate(change(object), { ...around, isRecorded: true })).toEqual(revokedBecause(because))
    },
  )

  const keyWith =
    (key: Partial<AccessKey>, state?: Owner['state']) =>
    (around: Around): Around => {
      const before = around.owner ?? owner(CI)
      return {
        ...around,
        owner: { ...before, key: { ...before.key, ...key }, ...(state ? { state } : {}) },
      }
    }
  interface Makes {
    readonly because: string
    readonly change?: Change
    readonly around?: (around: Around) => Around
  }
  // biome-ignore format: a table
  const ORDER: readonly Makes[] = [
    { because: DAMAGED, change: (object) => tampered(object, { token: undefined }) },
    { because: 'signing key kid-1 was withdrawn', around: (around) => ({ ...around, isKeyWithdrawn: true }) },
    { because: OTHER_REFERENCE, change: referring() },
    { because: 'access key ci is disabled', around: keyWith({}, 'Disabled') },
    { because: OTHER_IDENTITY, around: keyWith({ identity: 'user:eve' }) },
    { because: NARROWED, around: keyWith({ scope: onCluster('a') }) },
    { because: 'accessKeyMaxTTLSeconds of Config platform-manager-config ended it 30 s after its creation', around: (around) => ({ ...around, ...capped(30) }) },
    { because: RECORDED, around: (around) => ({ ...around, isRecorded: true }) },
  ]
  const pairs = ORDER.flatMap((first, at) =>
    ORDER.slice(at + 1).map((second) => ({ first, second })),
  )
  test.each(pairs)(
    'the first that holds: $first.because, before $second.because',
    ({ first, second }) => {
      const change: Change = (object) => (first.change ?? same)((second.change ?? same)(object))
      const unchanged = (around: Around): Around => around
      const around = (first.around ?? unchanged)((second.around ?? unchanged)({}))
      expect(fate(change(underCi()), around)).toEqual(revokedBecause(first.because))
    },
  )
})

describe('its own exp comes first: it has expired, whatever else would end it (4.2)', () => {
  test.each(CAUSES.filter(({ name }) => name !== UNKNOWN_END))(
    '$name',
    ({ object = underCi(), change = same, around }) => {
      expect(fate(change(object), { ...around, nowMs: after(600) })).toEqual({
        reason: 'Expired',
        message: 'The token expired 2026-11-21T10:10:00Z.',
      })
    },
  )
})

describe('ended is ended, whatever comes back (2.5, 5.4)', () => {
  /** As it is there once the end has been published. */
  function ended({ object = underCi(), change = same, around }: Omit<Cause, 'name' | 'because'>) {
    const changed = change(object)
    const step = plan(tokenOf(changed), later({ isRecorded: true, ...around }))
    return tokenAfter(changed, step) ?? changed
  }

  /** Everything as it was at issue: the reference, the owner, no cap, no record. */
  const restored = (object: DirectClusterEndpointToken): DirectClusterEndpointToken =>
    referring(...(object.status?.owner ? [CI_REF] : []))(object)

  test.each(CAUSES)('revoked: $name', ({ because, ...cause }) => {
    expect(fate(restored(ended(cause)), { isRecorded: false })).toEqual(revokedBecause(because))
  })

  test.each(CAUSES)('its exp comes, it stays revoked: $name', ({ because, ...cause }) => {
    expect(fate(ended(cause), { nowMs: after(90_000) })).toEqual(revokedBecause(because))
  })

  // biome-ignore format: a table
  const rows: readonly (Omit<Cause, 'because'> & { readonly ends: number })[] = [
    { name: 'by its exp', around: { nowMs: after(600) }, ends: 600 },
    { name: 'long ago', around: { nowMs: after(90_000) }, ends: 600 },
    { name: 'before it was issued, by its ttl', object: tokenObject({ spec: { ttl: 30 } }), around: { owner: null, isRecorded: false }, ends: 30 },
    { name: 'before it was issued, by the cap', object: tokenObject(), around: { owner: null, isRecorded: false, ...capped(30) }, ends: 30 },
  ]
  test.each(rows)('expired $name: a raised cap revives no token', ({ ends, ...given }) => {
    const message = `The token expired ${textAfter(ends)}.`
    const object = ended(given)
    for (const around of [{}, { isRecorded: true }, { isKeyWithdrawn: true }, { nowMs: after(1) }])
      expect(fate(object, { owner: null, ...around })).toEqual({ reason: 'Expired', message })
  })

  test('the end that somebody else wrote into status is none (4.2)', () => {
    const object = ended({ around: { nowMs: after(600) } })
    const { conditions } = object.status ?? {}
    const forged = tampered(underCi(), { conditions })
    expect(fate(forged)).toMatchObject({ reason: 'Issued' })
  })
})
