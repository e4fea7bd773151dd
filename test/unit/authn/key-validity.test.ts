import { describe, expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { UNKNOWN_KEY, checkKey } from '../../../src/authn/key-validity.ts'
import type { Caps } from '../../../src/domain/accesskey/lifetime.ts'
import { MAX_CHAIN_LENGTH } from '../../../src/domain/accesskey/owner-chain.ts'
import { after, t0, textAfter } from '../../support/key-builder.ts'
import { firstSeen, indexOf, key, ownedBy, secretOf } from './test-authenticator.ts'

const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }
const DELETING = { metadata: { deletionTimestamp: textAfter(0), finalizers: ['example.com/hold'] } }

interface Row {
  readonly name: string
  /** The key under test comes first. */
  readonly keys: readonly OwnedAccessKey[]
  readonly caps?: Partial<Caps>
  /** Seconds after t0. */
  readonly at?: number
  /** The expiry in seconds after t0, null = never; or why the key is invalid. */
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

describe('a key without owners (10.3)', () => {
  test.each<Row>([
    { name: 'without a lifetime', keys: [key('a')], is: null },
    { name: 'of a team without a user', keys: [key('a', { user: '', team: 'red' })], is: null },
    { name: 'disabled', keys: [key('a', { disabled: true })], is: 'disabled' },
    { name: 'disabled: false', keys: [key('a', { disabled: false })], is: null },
    {
      name: 'being deleted, held by a finalizer (C6)',
      keys: [key('a', {}, DELETING)],
      is: 'deleted',
    },
    { name: 'without an identity', keys: [key('a', { user: '' })], is: 'noIdentity' },
    { name: 'of two identities', keys: [key('a', { team: 'red' })], is: 'noIdentity' },
    {
      name: 'of a reserved user name',
      keys: [key('a', { user: 'System:admin' })],
      is: 'noIdentity',
    },
    { name: 'of type Refresh', keys: [key('a', { type: 'OIDCRefreshToken' })], is: 'purpose' },
    { name: 'of type Reset', keys: [key('a', { type: 'Reset' })], is: 'purpose' },
    ...(['Login', 'User', 'Other', 'NetworkPeer', 'Workspace'] as const).map((type) => ({
      name: `of type ${type}`,
      keys: [key('a', { type, ttl: 60 })],
      is: 60,
    })),
    {
      name: 'status is ignored',
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

describe('expiry is computed from the spec, not read from status (2.6, C7)', () => {
  test.each<Row>([
    {
      name: 'a second before its expiry it is valid',
      keys: [key('a', { ttl: 60 })],
      at: 59.999,
      is: 60,
    },
    { name: 'at its expiry it is invalid', keys: [key('a', { ttl: 60 })], at: 60, is: 'expired' },
    { name: 'ttl 0 means no expiry', keys: [key('a', { ttl: 0 })], at: 1e9, is: null },
    ...[2_147_483, 2_147_484, 2_592_000, 2_147_483_647].map((ttl) => ({
      name: `ttl ${ttl}`,
      keys: [key('a', { ttl })],
      at: ttl - 1,
      is: ttl,
    })),
    {
      name: 'the cap shortens a ttl',
      keys: [key('a', { ttl: 60 })],
      caps: { maxTtlSeconds: 30 },
      is: 30,
    },
    {
      name: 'the cap applies without a ttl',
      keys: [key('a')],
      caps: { maxTtlSeconds: 30 },
      at: 30,
      is: 'expired',
    },
    {
      name: 'a Login key without a ttl has the default',
      keys: [key('a', { type: 'Login' })],
      is: 1_728_000,
    },
    {
      name: 'the ttl counts from when the key was first seen',
      keys: [key('a', { ttl: 60 }, firstSeen(-50))],
      is: 10,
    },
    {
      name: 'the ttl of a Login key restarts with each use',
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
      name: 'disabled and expired: refused as disabled (10.2)',
      keys: [key('a', { ttl: 60, disabled: true })],
      at: 60,
      is: 'disabled',
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toBe(row.is)
  })
})

describe('of two keys with the same secret the older wins, whatever its state (3.3)', () => {
  const same = { key: secretOf('same') }
  const digest = { key: `sha256:${secretDigest(same.key)}` }
  test.each<Row>([
    { name: 'the older is valid', keys: [key('a', same), key('b', same, {}, 1)], is: null },
    {
      name: 'the younger conflicts',
      keys: [key('b', same, {}, 1), key('a', same)],
      is: 'conflict',
    },
    {
      name: 'the younger conflicts with a disabled one',
      keys: [key('b', same, {}, 1), key('a', { ...same, disabled: true })],
      is: 'conflict',
    },
    {
      name: 'the younger conflicts with an expired one',
      keys: [key('b', same, {}, 1), key('a', { ...same, ttl: 1 })],
      at: 9,
      is: 'conflict',
    },
    {
      name: 'the younger conflicts with one being deleted',
      keys: [key('b', same, {}, 1), key('a', same, DELETING)],
      is: 'conflict',
    },
    {
      name: 'created in the same second: the lower uid wins',
      keys: [key('b', same), key('a', same)],
      is: 'conflict',
    },
    { name: 'a key that holds only its digest', keys: [key('a', digest)], is: null },
    {
      name: 'beside an older key in clear',
      keys: [key('a', same), key('b', digest, {}, 1)],
      is: null,
    },
    {
      name: 'beside an older key that holds only the digest',
      keys: [key('a', digest), key('b', same, {}, 1)],
      is: 'conflict',
    },
    {
      name: 'the younger conflicts with one that holds only the digest',
      keys: [key('b', same, {}, 1), key('a', digest)],
      is: 'conflict',
    },
  ])('$name', (row) => {
    expect(outcomeOf(row)).toBe(row.is)
  })
})

describe('an owned key is valid while its owner is (10.3, 12.3)', () => {
  const same = { key: secretOf('same') }
  const line = (length: number): readonly OwnedAccessKey[] =>
    Array.from({ length }, (_, at) =>
      key(`k${at}`, {}, at + 1 < length ? ownedBy(`k${at + 1}`) : {}),
    )
  const child = key('child', {}, ownedBy('owner'))
  test.each<Row>([
    { name: 'expires with its owner', keys: [child, key('owner', { ttl: 60 })], is: 60 },
    {
      name: 'may expire before its owner',
      keys: [key('child', { ttl: 5 }, ownedBy('owner')), key('owner', { ttl: 60 })],
      is: 5,
    },
    {
      name: 'an expired owner makes it expired',
      keys: [child, key('owner', { ttl: 60 })],
      at: 60,
      is: 'expired',
    },
    { name: 'the owner is unknown', keys: [child], is: 'owner' },
    {
      name: 'the owner has another uid',
      keys: [key('child', {}, ownedBy('owner', 'gone')), key('owner')],
      is: 'owner',
    },
    { name: 'disabled', keys: [child, key('owner', { disabled: true })], is: 'owner' },
    { name: 'being deleted', keys: [child, key('owner', {}, DELETING)], is: 'owner' },
    { name: 'of type Reset', keys: [child, key('owner', { type: 'Reset' })], is: 'owner' },
    { name: 'without an identity', keys: [child, key('owner', { user: '' })], is: 'owner' },
    {
      name: 'the owner is in conflict with an older key',
      keys: [child, key('owner', same, {}, 1), key('elder', same)],
      is: 'owner',
    },
    {
      name: 'a cap ends the owner',
      keys: [key('child', {}, ownedBy('owner')), key('owner', {}, firstSeen(-20))],
      caps: { maxTtlSeconds: 30 },
      is: 10,
    },
    { name: 'the longest chain of owners', keys: line(MAX_CHAIN_LENGTH), is: null },
    { name: 'a chain of owners that is too long', keys: line(MAX_CHAIN_LENGTH + 1), is: 'owner' },
    { name: 'owned by itself', keys: [key('a', {}, ownedBy('a'))], is: 'owner' },
    {
      name: 'a circle of owners',
      keys: [key('a', {}, ownedBy('b')), key('b', {}, ownedBy('a'))],
      is: 'owner',
    },
    {
      name: 'an owner reference without controller is ignored',
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

test('the stand-in for unknown secrets is invalid as unknown', () => {
  expect(checkKey(UNKNOWN_KEY, indexOf(), NO_CAPS, t0)).toEqual({ ok: false, because: 'unknown' })
})
