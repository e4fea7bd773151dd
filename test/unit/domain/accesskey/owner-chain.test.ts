// Owned keys: none lives longer or grants more than a key that owns it (contract 10.3, 11.8, 12.3).
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  MAX_CHAIN_LENGTH,
  chainBoundsOf,
  keysAffectedBy,
  ownerChainOf,
} from '../../../../src/domain/accesskey/owner-chain.ts'
import { accessKey, after } from '../../../support/key-builder.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }
const clusters = (...names: readonly string[]): Scope => ({
  clusters: names.map((cluster) => ({ cluster })),
})

/** Keys `k0`, `k1`, …: each is owned by the next. */
const ownedInTurn = (...parts: readonly Partial<AccessKey>[]): readonly AccessKey[] =>
  parts.map((part, at) =>
    accessKey({
      name: `k${at}`,
      uid: `uid-k${at}`,
      ownerRef: at + 1 < parts.length ? { name: `k${at + 1}`, uid: `uid-k${at + 1}` } : null,
      ...part,
    }),
  )

const among = (keys: readonly AccessKey[]) => ({
  named: (name: string) => keys.find((key) => key.name === name),
})

const first = ([key]: readonly AccessKey[]): AccessKey => key ?? accessKey()

describe('the owner chain of a key (10.3)', () => {
  test.each([1, 2, 3, MAX_CHAIN_LENGTH])('has %i keys, itself included', (length) => {
    const keys = ownedInTurn(...Array.from({ length }, () => ({})))
    expect(ownerChainOf(first(keys), among(keys))).toEqual({ keys, brokenAt: null })
  })

  test('has a maximum length', () => {
    const keys = ownedInTurn(...Array.from({ length: MAX_CHAIN_LENGTH + 1 }, () => ({})))
    const ownerChain = ownerChainOf(first(keys), among(keys))
    expect(ownerChain.keys).toHaveLength(MAX_CHAIN_LENGTH)
    expect(ownerChain.brokenAt).toBe(`k${MAX_CHAIN_LENGTH}`)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'an owner is deleted', keys: ownedInTurn({}, { ownerRef: { name: 'gone', uid: 'uid-gone' } }), brokenAt: 'gone' },
    { name: 'an owner was created again', keys: ownedInTurn({}, {}, { uid: 'uid-new' }), brokenAt: 'k2' },
    { name: 'a key owns itself', keys: ownedInTurn({ ownerRef: { name: 'k0', uid: 'uid-k0' } }), brokenAt: 'k0' },
    { name: 'two keys own each other', keys: ownedInTurn({}, { ownerRef: { name: 'k0', uid: 'uid-k0' } }), brokenAt: 'k0' },
  ])('is broken at $brokenAt: $name', ({ keys, brokenAt }) => {
    expect(ownerChainOf(first(keys), among(keys)).brokenAt).toBe(brokenAt)
  })
})

describe('the bounds that owners set on a key (2.3, 11.8, 12.3)', () => {
  // biome-ignore format: a table
  test.each<{ name: string, keys: readonly Partial<AccessKey>[], ends?: number, scope?: Scope, exceeded?: string }>([
    { name: 'no bound', keys: [{}, {}, {}] },
    { name: 'its own expiry', keys: [{ ttl: 60 }, { ttl: 90 }], ends: 60 },
    { name: 'an earlier expiry of an owner', keys: [{ ttl: 90 }, {}, { ttl: 60 }], ends: 60 },
    { name: 'the expiry of an owner', keys: [{}, { ttl: 60 }], ends: 60 },
    { name: 'the scope of its owner', keys: [{}, { scope: clusters('a') }], scope: clusters('a') },
    { name: 'the scope of the nearest owner', keys: [{}, {}, { scope: clusters('a') }, { scope: clusters('a', 'b') }], scope: clusters('a') },
    { name: 'its own scope', keys: [{ scope: clusters('a') }, { scope: clusters('a', 'b') }, {}], scope: clusters('a') },
    { name: "invalid: its own scope is wider than its owner's", keys: [{ scope: clusters('a', 'b') }, { scope: clusters('a') }], scope: clusters('a', 'b'), exceeded: 'k1' },
    { name: 'invalid: the scope of an owner between is wider', keys: [{}, { scope: clusters('a', 'b') }, {}, { scope: clusters('a') }], scope: clusters('a', 'b'), exceeded: 'k3' },
    { name: 'groups that its owner also has', keys: [{ groups: ['dev'] }, { groups: ['dev', 'ops'] }] },
    { name: 'invalid: a group that its owner lost', keys: [{ groups: ['dev', 'ops'] }, { groups: ['dev'] }], exceeded: 'k1' },
    { name: 'invalid: a group that an owner further up lost', keys: [{ groups: ['dev'] }, { groups: ['dev'] }, {}], exceeded: 'k2' },
    { name: 'other groups for a key of another user', keys: [{ identity: 'subject:ci', groups: ['ops'] }, {}] },
  ])('$name', ({ keys, ends, scope = null, exceeded }) => {
    const bounds = chainBoundsOf(ownedInTurn(...keys), NO_CAPS, after(1))
    expect(bounds.expiresMs).toBe(ends === undefined ? null : after(ends))
    expect(bounds.scope).toEqual(scope)
    expect(bounds.exceeded?.name).toBe(exceeded)
  })

  test('include the cap on each owner (2.2)', () => {
    const keys = ownedInTurn({ creationMs: after(50) }, { creationMs: after(0) })
    expect(chainBoundsOf(keys, { ...NO_CAPS, maxTtlSeconds: 60 }, after(51)).expiresMs).toBe(
      after(60),
    )
  })
})

test('a change of a key affects all keys that it owns, directly or through others', () => {
  const keys = ownedInTurn({}, {}, {}, {})
  const relations = {
    sharing: () => [],
    ownedBy: (uid: string) => keys.filter(({ ownerRef }) => ownerRef?.uid === uid),
  }
  const [, , owner] = keys
  const touched = keysAffectedBy({ before: owner, after: owner }, relations)
  expect(touched.map(({ uid }) => uid)).toEqual(['uid-k2', 'uid-k1', 'uid-k0'])
  const [one] = ownedInTurn({ ownerRef: { name: 'k0', uid: 'uid-k0' } })
  const circle = { sharing: () => [], ownedBy: () => (one ? [one] : []) }
  const itself = keysAffectedBy({ before: one, after: one }, circle)
  expect(itself.map(({ uid }) => uid)).toEqual(['uid-k0'])
})
