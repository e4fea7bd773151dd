import { describe, expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { UNKNOWN_KEY, checkKey } from '../../../src/authn/key-validity.ts'
import type { Caps } from '../../../src/domain/accesskey/lifetime.ts'
import { MAX_CHAIN_LENGTH } from '../../../src/domain/accesskey/owner-chain.ts'
import { after, t0, textAfter } from '../../support/key-builder.ts'
import { firstSeen, indexOf, key, ownedBy, secretOf } from './key-builder.ts'

const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }
const DELETING = { metadata: { deletionTimestamp: textAfter(0), finalizers: ['example.com/hold'] } }

interface Row {
  readonly name: string
  /** The key that is judged comes first. */
  readonly keys: readonly OwnedAccessKey[]
  readonly caps?: Partial<Caps>
  /** Seconds after t0. */
  readonly at?: number
  /** The end in seconds after t0, null = never; or why it does not work. */
  readonly is: number | null | string
}

function outcomeOf({ keys, caps, at = 0 }: Row): number | null | string {
  const index = indexOf(...keys)
  const judged = index.named(keys[0]?.metadata.name ?? '')
  if (!judged) throw new Error('the first key is not known')
  const verdict = checkKey(judged, index, { ...NO_CAPS, ...caps }, after(at))
  if (!verdict.ok) return verdict.because
  return verdict.expiresMs === null ? null : (verdict.expiresMs - t0) / 1000
}

describe('a key by itself (10.3)', () => {
  test.each<Row>([
    { name: 'without a lifetime', keys: [key('a')], is: null },
    { name: 'of a team', keys: [key('a', { user: '', team: 'red' })], is: null },
    { name: 'disabled', keys: [key('a', { disabled: true })], is: 'disabled' },
    { name: 'disabled: false', keys: [key('a', { disabled: false })], is: null },
    {
      name: 'being deleted, held by a finalizer (C6)',
      keys: [key('a', {}, DELETING)],
      is: 'deleted',
    },
    { name: 'without an identity', keys: [key('a', { user: '' })], is: 'noIdentity' },
    { name: 'of two', keys: [key('a', { team: 'red' })], is: 'noIdentity' },
    { name: 'of a reserved name', keys: [key('a', { user: 'System:admin' })], is: 'noIdentity' },
    { name: 'for a refresh', keys: [key('a', { type: 'OIDCRefreshToken' })], is: 'purpose' },
    { name: 'for a reset', keys: [key('a', { type: 'Reset' })], is: 'purpose' },
    ...(['Login', 'User', 'Other', 'NetworkPeer', 'Workspace'] as const).map((type) => ({
      name: `of type ${type}`,
      keys: [key('a', { type, ttl: 60 })],
      is: 60,
    })),
    {
      name: 'what status says counts for nothing',
      keys: [
        key(
          'a',
          { ttl: 60 },
          {
            status: { expirationTimestamp: textAfter(9000), effectiveTTLSeconds: 9000 },
          },
        ),
      ],
      at: 60,
      is: 'expired',
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toBe(row.is)
  })
})

describe('its lifetime, by our own comparison (2.6, C7)', () => {
  test.each<Row>([
    { name: 'before its end', keys: [key('a', { ttl: 60 })], at: 59.999, is: 60 },
    { name: 'at its end', keys: [key('a', { ttl: 60 })], at: 60, is: 'expired' },
    { name: '0 is no ttl', keys: [key('a', { ttl: 0 })], at: 1e9, is: null },
    ...[2_147_483, 2_147_484, 2_592_000, 2_147_483_647].map((ttl) => ({
      name: `ttl ${ttl}`,
      keys: [key('a', { ttl })],
      at: ttl - 1,
      is: ttl,
    })),
    { name: 'the cap', keys: [key('a', { ttl: 60 })], caps: { maxTtlSeconds: 30 }, is: 30 },
    {
      name: 'the cap without a ttl',
      keys: [key('a')],
      caps: { maxTtlSeconds: 30 },
      at: 30,
      is: 'expired',
    },
    { name: 'Login without a ttl', keys: [key('a', { type: 'Login' })], is: 1_728_000 },
    {
      name: 'counts from when it was first seen',
      keys: [key('a', { ttl: 60 }, firstSeen(-50))],
      is: 10,
    },
    {
      name: 'slides with its use',
      keys: [
        key(
          'a',
          { ttl: 60, ttlAfterLastActivity: true },
          { status: { lastActivity: textAfter(40) } },
        ),
      ],
      at: 99,
      is: 100,
    },
    {
      name: 'disabled and expired: the answer does not reveal that the secret was right (10.2)',
      keys: [key('a', { ttl: 60, disabled: true })],
      at: 60,
      is: 'disabled',
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toBe(row.is)
  })
})

describe('of two with the same secret the elder wins, whatever its state (3.3)', () => {
  const same = { key: secretOf('same') }
  const digest = { key: `sha256:${secretDigest(same.key)}` }
  test.each<Row>([
    { name: 'the elder', keys: [key('a', same), key('b', same, {}, 1)], is: null },
    { name: 'the younger', keys: [key('b', same, {}, 1), key('a', same)], is: 'conflict' },
    {
      name: 'the younger of a disabled one',
      keys: [key('b', same, {}, 1), key('a', { ...same, disabled: true })],
      is: 'conflict',
    },
    {
      name: 'the younger of an expired one',
      keys: [key('b', same, {}, 1), key('a', { ...same, ttl: 1 })],
      at: 9,
      is: 'conflict',
    },
    {
      name: 'the younger of one that is being deleted',
      keys: [key('b', same, {}, 1), key('a', same, DELETING)],
      is: 'conflict',
    },
    {
      name: 'of the same second, the lower uid',
      keys: [key('b', same), key('a', same)],
      is: 'conflict',
    },
    { name: 'a digest alone', keys: [key('a', digest)], is: null },
    { name: 'an elder in clear', keys: [key('a', same), key('b', digest, {}, 1)], is: null },
    {
      name: 'an elder that holds the digest only',
      keys: [key('a', digest), key('b', same, {}, 1)],
      is: 'conflict',
    },
    {
      name: 'the younger of one that holds the digest only',
      keys: [key('b', same, {}, 1), key('a', digest)],
      is: 'conflict',
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toBe(row.is)
  })
})

describe('a key that another owns works while that one does (10.3, 12.3)', () => {
  const same = { key: secretOf('same') }
  const line = (length: number): readonly OwnedAccessKey[] =>
    Array.from({ length }, (_, at) =>
      key(`k${at}`, {}, at + 1 < length ? ownedBy(`k${at + 1}`) : {}),
    )
  const child = key('child', {}, ownedBy('owner'))
  test.each<Row>([
    { name: 'and no longer than it', keys: [child, key('owner', { ttl: 60 })], is: 60 },
    {
      name: 'or ends before it',
      keys: [key('child', { ttl: 5 }, ownedBy('owner')), key('owner', { ttl: 60 })],
      is: 5,
    },
    {
      name: 'its end counts as expiry',
      keys: [child, key('owner', { ttl: 60 })],
      at: 60,
      is: 'expired',
    },
    { name: 'unknown', keys: [child], is: 'owner' },
    {
      name: 'of another uid',
      keys: [key('child', {}, ownedBy('owner', 'gone')), key('owner')],
      is: 'owner',
    },
    { name: 'disabled', keys: [child, key('owner', { disabled: true })], is: 'owner' },
    { name: 'being deleted', keys: [child, key('owner', {}, DELETING)], is: 'owner' },
    { name: 'for a reset', keys: [child, key('owner', { type: 'Reset' })], is: 'owner' },
    { name: 'without an identity', keys: [child, key('owner', { user: '' })], is: 'owner' },
    {
      name: 'in conflict',
      keys: [child, key('owner', same, {}, 1), key('elder', same)],
      is: 'owner',
    },
    {
      name: 'under a cap',
      keys: [key('child', {}, ownedBy('owner')), key('owner', {}, firstSeen(-20))],
      caps: { maxTtlSeconds: 30 },
      is: 10,
    },
    { name: 'the longest line', keys: line(MAX_CHAIN_LENGTH), is: null },
    { name: 'a longer line', keys: line(MAX_CHAIN_LENGTH + 1), is: 'owner' },
    { name: 'itself', keys: [key('a', {}, ownedBy('a'))], is: 'owner' },
    {
      name: 'a circle',
      keys: [key('a', {}, ownedBy('b')), key('b', {}, ownedBy('a'))],
      is: 'owner',
    },
    {
      name: 'an owner that does not control it is none',
      keys: [
        key(
          'a',
          {},
          {
            metadata: {
              ownerReferences: [
                {
                  apiVersion: 'management.platform.sh/v1',
                  kind: 'OwnedAccessKey',
                  name: 'x',
                  uid: 'x',
                },
              ],
            },
          },
        ),
      ],
      is: null,
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toBe(row.is)
  })
})

test('the unknown key is invalid as unknown', () => {
  expect(checkKey(UNKNOWN_KEY, indexOf(), NO_CAPS, t0)).toEqual({ ok: false, because: 'unknown' })
})
