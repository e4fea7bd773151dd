import { describe, expect, test } from 'vitest'
import { REASONS } from '../../../../src/api/names.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  keyConflictKindOf,
  keyConflictOf,
  keyStateOf,
  oldestKeyOf,
} from '../../../../src/domain/accesskey/key-state.ts'
import { lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import { accessKey, after } from '../../../support/key-builder.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

const stateAt = (key: AccessKey, seconds: number, isInConflict = false): string =>
  keyStateOf(key, lifetimeOf(key, NO_CAPS, after(seconds)), isInConflict, after(seconds))

const everything: Partial<AccessKey> = {
  isDeleting: true,
  identity: null,
  ttl: 60,
  isDisabled: true,
}

describe('the state of a key is the first that applies (contract 4.1)', () => {
  // biome-ignore format: a table
  const rows = [
    { name: 'all at once: Terminating', differing: everything, isInConflict: true, state: 'Terminating' },
    { name: 'then NoIdentity', differing: { ...everything, isDeleting: false }, isInConflict: true, state: 'NoIdentity' },
    { name: 'then KeyConflict', differing: { ttl: 60, isDisabled: true }, isInConflict: true, state: 'KeyConflict' },
    { name: 'then Expired', differing: { ttl: 60, isDisabled: true }, state: 'Expired' },
    { name: 'then Disabled', differing: { ttl: 61, isDisabled: true }, state: 'Disabled' },
    { name: 'then Active', differing: { ttl: 61 }, state: 'Active' },
    { name: 'Active without an end', differing: {}, state: 'Active' },
    { name: 'Terminating whatever its finalizers', differing: { isDeleting: true, finalizers: [] }, state: 'Terminating' },
  ]
  test.each(rows)('$name', ({ differing, isInConflict = false, state }) => {
    expect(stateAt(accessKey(differing), 60, isInConflict)).toBe(state)
  })

  test('each state has a row in this table', () => {
    const own = REASONS.accessKeyReady.filter((state) => state !== 'OwnerNotReady')
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(own))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a millisecond before the end', seconds: 59.999, state: 'Active' },
    { name: 'exactly at the end', seconds: 60, state: 'Expired' },
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

describe('of several keys with the same secret the oldest works (contract 3.3)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'none', keys: [], eldest: undefined },
    { name: 'one alone', keys: [one('a', 0, '1')], eldest: 'a' },
    { name: 'the earlier creationTimestamp', keys: [one('a', 1, '1'), one('b', 0, '2')], eldest: 'b' },
    { name: 'in the same second the lower uid', keys: [one('a', 0, '2'), one('b', 0, '1')], eldest: 'b' },
    { name: 'of three, all in one second', keys: [one('a', 0, '2'), one('b', 0, '3'), one('c', 0, '1')], eldest: 'c' },
    { name: 'first seen does not count', keys: [one('a', 0, '1'), one('b', 1, '2', { firstSeenMs: after(-9) })], eldest: 'a' },
    { name: 'disabled, it still wins', keys: [one('a', 0, '1', { isDisabled: true }), one('b', 1, '2')], eldest: 'a' },
    { name: 'expired, it still wins', keys: [one('a', 0, '1', { ttl: 1 }), one('b', 1, '2')], eldest: 'a' },
    { name: 'without identity, it still wins', keys: [one('a', 0, '1', { identity: null }), one('b', 1, '2')], eldest: 'a' },
    { name: 'being deleted, it still wins', keys: [one('a', 0, '1', { isDeleting: true }), one('b', 1, '2')], eldest: 'a' },
  ])('$name', ({ keys, eldest }) => {
    expect(oldestKeyOf(keys)?.name).toBe(eldest)
    expect(oldestKeyOf(keys.toReversed())?.name).toBe(eldest)
  })
})

describe('the conflict that disables one of several keys with the same secret (contract 3.3)', () => {
  const digest = { holdsDigest: true }
  // biome-ignore format: a table
  test.each([
    { name: 'nothing where it is alone', sharing: [], is: null },
    { name: 'nothing where it is alone, and found', sharing: [one('key', 5, 'k')], is: null },
    { name: 'nothing where it is alone, and holds a digest', differing: digest, sharing: [one('key', 5, 'k', digest)], is: null },
    { name: 'nothing where all others are younger', sharing: [one('a', 6, '1'), one('b', 6, '2', digest)], is: null },
    { name: 'an older one', sharing: [one('a', 1, '1'), one('b', 6, '2')], is: { kind: 'elder', names: ['a'] } },
    { name: 'an older one, whose digest it holds', differing: digest, sharing: [one('a', 1, '1')], is: { kind: 'elder', names: ['a'] } },
    { name: 'an older one with the digest only', sharing: [one('b', 6, '2'), one('a', 1, '1', digest)], is: { kind: 'unproven', names: ['a', 'key', 'b'] } },
    { name: 'its own digest, where another has the key', differing: digest, sharing: [one('b', 6, '2')], is: { kind: 'unproven', names: ['key', 'b'] } },
    { name: 'its own digest, where another has the digest', differing: digest, sharing: [one('b', 6, '2', digest)], is: { kind: 'unproven', names: ['key', 'b'] } },
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
