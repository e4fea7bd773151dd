import { describe, expect, test } from 'vitest'
import { REASONS } from '../../../../src/api/reasons.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  keyConflictKindOf,
  keyConflictOf,
  keyStateOf,
  oldestKeyOf,
} from '../../../../src/domain/accesskey/key-state.ts'
import { lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import type { IdentityFault } from '../../../../src/domain/people/people.ts'
import { accessKey, after } from '../../../support/key-builder.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

const stateAt = (
  key: AccessKey,
  seconds: number,
  isInConflict = false,
  identityFault: IdentityFault | null = null,
): string => {
  const faults = { isInConflict, identityFault }
  return keyStateOf(key, lifetimeOf(key, NO_CAPS, after(seconds)), faults, after(seconds))
}

const everything: Partial<AccessKey> = {
  isDeleting: true,
  identity: null,
  ttl: 60,
  isDisabled: true,
}

describe('the state of a key is the first that applies (contract 4.1)', () => {
  // biome-ignore format: a table
  const rows = [
    { name: 'all conditions at once: Terminating', differing: everything, isInConflict: true, state: 'Terminating' },
    { name: 'without a deletion: NoIdentity', differing: { ...everything, isDeleting: false }, isInConflict: true, state: 'NoIdentity' },
    { name: 'with an identity: KeyConflict', differing: { ttl: 60, isDisabled: true }, isInConflict: true, state: 'KeyConflict' },
    { name: 'without a conflict: UserDisabled (24.5)', differing: { ttl: 60, isDisabled: true }, fault: 'UserDisabled' as const, state: 'UserDisabled' },
    { name: 'of a deleted Team: TeamGone (24.5)', differing: { ttl: 60, isDisabled: true }, fault: 'TeamGone' as const, state: 'TeamGone' },
    { name: 'of a person who is gone: IdentityGone (24.5)', differing: { ttl: 60, isDisabled: true }, fault: 'IdentityGone' as const, state: 'IdentityGone' },
    { name: 'of a person who was not confirmed: IdentityStale (24.5)', differing: { ttl: 60, isDisabled: true }, fault: 'IdentityStale' as const, state: 'IdentityStale' },
    { name: 'of a person who has to sign in: SignInAgain (24.5)', differing: { ttl: 60, isDisabled: true }, fault: 'SignInAgain' as const, state: 'SignInAgain' },
    { name: 'with a conflict of a disabled user: KeyConflict (24.5)', differing: {}, isInConflict: true, fault: 'UserDisabled' as const, state: 'KeyConflict' },
    { name: 'with an enabled user: Expired', differing: { ttl: 60, isDisabled: true }, state: 'Expired' },
    { name: 'before its expiry: Disabled', differing: { ttl: 61, isDisabled: true }, state: 'Disabled' },
    { name: 'enabled: Active', differing: { ttl: 61 }, state: 'Active' },
    { name: 'without an expiry: Active', differing: {}, state: 'Active' },
    { name: 'being deleted without finalizers: Terminating', differing: { isDeleting: true, finalizers: [] }, state: 'Terminating' },
  ]
  test.each(rows)('$name', ({ differing, isInConflict = false, fault = null, state }) => {
    expect(stateAt(accessKey(differing), 60, isInConflict, fault)).toBe(state)
  })

  test('each state has a row in this table', () => {
    const own = REASONS.accessKeyReady.filter((state) => state !== 'OwnerNotReady')
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(own))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a millisecond before its expiry', seconds: 59.999, state: 'Active' },
    { name: 'exactly at its expiry', seconds: 60, state: 'Expired' },
  ])('$name: $state', ({ seconds, state }) => {
    expect(stateAt(accessKey({ ttl: 60 }), seconds)).toBe(state)
  })
})

const one = (
  name: string,
  created: number,
  uid: string,
  differing: Partial<AccessKey> = {},
): AccessKey => accessKey({ name, uid, creationMs: after(created), ...differing })

describe('of several keys with the same secret the oldest is valid (contract 3.3)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'no key', keys: [], oldest: undefined },
    { name: 'a single key', keys: [one('a', 0, '1')], oldest: 'a' },
    { name: 'the earlier creationTimestamp', keys: [one('a', 1, '1'), one('b', 0, '2')], oldest: 'b' },
    { name: 'created in the same second: the lower uid', keys: [one('a', 0, '2'), one('b', 0, '1')], oldest: 'b' },
    { name: 'three created in the same second: the lowest uid', keys: [one('a', 0, '2'), one('b', 0, '3'), one('c', 0, '1')], oldest: 'c' },
    { name: 'the annotation of its creation does not count', keys: [one('a', 0, '1'), one('b', 1, '2', { firstSeenMs: after(-9) })], oldest: 'a' },
    { name: 'disabled, it still wins', keys: [one('a', 0, '1', { isDisabled: true }), one('b', 1, '2')], oldest: 'a' },
    { name: 'expired, it still wins', keys: [one('a', 0, '1', { ttl: 1 }), one('b', 1, '2')], oldest: 'a' },
    { name: 'without identity, it still wins', keys: [one('a', 0, '1', { identity: null }), one('b', 1, '2')], oldest: 'a' },
    { name: 'being deleted, it still wins', keys: [one('a', 0, '1', { isDeleting: true }), one('b', 1, '2')], oldest: 'a' },
  ])('$name', ({ keys, oldest }) => {
    expect(oldestKeyOf(keys)?.name).toBe(oldest)
    expect(oldestKeyOf(keys.toReversed())?.name).toBe(oldest)
  })
})

describe('the conflict that disables one of several keys with the same secret (contract 3.3)', () => {
  const digest = { holdsDigest: true }
  // biome-ignore format: a table
  test.each([
    { name: 'no conflict for a single key', sharing: [], is: null },
    { name: 'no conflict for a single key that is in the list', sharing: [one('key', 5, 'k')], is: null },
    { name: 'no conflict for a single key with a digest', differing: digest, sharing: [one('key', 5, 'k', digest)], is: null },
    { name: 'no conflict with younger keys', sharing: [one('a', 6, '1'), one('b', 6, '2', digest)], is: null },
    { name: 'an older key', sharing: [one('a', 1, '1'), one('b', 6, '2')], is: { kind: 'elder', names: ['a'] } },
    { name: 'an older key, whose digest it holds', differing: digest, sharing: [one('a', 1, '1')], is: { kind: 'elder', names: ['a'] } },
    { name: 'an older key that holds only the digest', sharing: [one('b', 6, '2'), one('a', 1, '1', digest)], is: { kind: 'unproven', names: ['a', 'key', 'b'] } },
    { name: 'its own digest, when another holds the secret', differing: digest, sharing: [one('b', 6, '2')], is: { kind: 'unproven', names: ['key', 'b'] } },
    { name: 'its own digest, when another holds the digest', differing: digest, sharing: [one('b', 6, '2', digest)], is: { kind: 'unproven', names: ['key', 'b'] } },
  ])('$name', ({ differing, sharing, is }) => {
    const key = one('key', 5, 'k', differing)
    const all = [key, ...sharing.filter(({ uid }) => uid !== 'k')]
    const holders = {
      sharing: () => all,
      eldest: () => oldestKeyOf(all),
      isShared: () => all.length > 1,
    }
    expect(keyConflictOf(key, holders)).toEqual(is)
    expect(keyConflictKindOf(key, holders)).toBe(is?.kind ?? null)
  })
})
