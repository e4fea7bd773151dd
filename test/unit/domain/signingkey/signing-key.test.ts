import { describe, expect, test } from 'vitest'
import {
  type PublishedKeyRecord,
  type SigningKeySecret,
  LONGEST_TOKEN_TTL_MS,
  signsFromMs,
  deleteRecordAtMs,
  hasUsableKey,
  keyEndMs,
  unpublishAtMs,
  eligibleSigners,
  currentSigner,
} from '../../../../src/domain/signingkey/signing-key.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Key of that generation: kid `k<generation>`, created, published and to be used at 0. */
function key(generation: number, times: Partial<PublishedKeyRecord> = {}): PublishedKeyRecord {
  const start = { createdMs: 0, publishedMs: 0, useFromMs: 0, withdrawnMs: null }
  return { kid: `k${generation}`, generation, ...start, ...times }
}

test("the longest token lives a sixth of its signing key's life (2.4)", () => {
  expect(LONGEST_TOKEN_TTL_MS).toBe(5 * DAY)
  expect(keyEndMs({ createdMs: 0 })).toBe(30 * DAY)
})

describe('the current signer (7.3)', () => {
  test.each<{
    readonly name: string
    readonly signers: readonly PublishedKeyRecord[]
    readonly nowMs: number
    readonly signs: string | null
  }>([
    { name: 'none', signers: [], nowMs: DAY, signs: null },
    { name: 'the only key, from the start', signers: [key(1)], nowMs: 0, signs: 'k1' },
    {
      name: 'the old key until a millisecond before useFrom of the new one',
      signers: [key(1), key(2, { publishedMs: DAY, useFromMs: 2 * DAY })],
      nowMs: 2 * DAY - 1,
      signs: 'k1',
    },
    {
      name: 'the new key from its useFrom',
      signers: [key(1), key(2, { publishedMs: DAY, useFromMs: 2 * DAY })],
      nowMs: 2 * DAY,
      signs: 'k2',
    },
    {
      name: 'the old key while the new one is published for less than ten minutes',
      signers: [key(1), key(2, { publishedMs: DAY, useFromMs: HOUR })],
      nowMs: DAY + 10 * MINUTE - 1,
      signs: 'k1',
    },
    {
      name: 'the new key after ten minutes',
      signers: [key(1), key(2, { publishedMs: DAY, useFromMs: HOUR })],
      nowMs: DAY + 10 * MINUTE,
      signs: 'k2',
    },
    {
      name: 'a key before its useFrom, when there is no other',
      signers: [key(2, { useFromMs: 9 * DAY })],
      nowMs: DAY,
      signs: 'k2',
    },
    {
      name: 'a published key before its useFrom, rather than a newly published one',
      signers: [key(2, { useFromMs: 9 * DAY }), key(3, { publishedMs: DAY, useFromMs: DAY })],
      nowMs: DAY,
      signs: 'k2',
    },
    {
      name: 'the key with the earliest useFrom, when all are in the future',
      signers: [key(2, { useFromMs: 9 * DAY }), key(3, { useFromMs: 8 * DAY })],
      nowMs: DAY,
      signs: 'k3',
    },
    {
      name: 'the newest key past its useFrom, when all are newly published',
      signers: [key(1, { useFromMs: -1 }), key(2, { useFromMs: 0 }), key(3, { useFromMs: 1 })],
      nowMs: 0,
      signs: 'k2',
    },
    {
      name: 'the newest key past its useFrom, not the latest useFrom',
      signers: [key(1, { useFromMs: 2 * HOUR }), key(2, { useFromMs: HOUR })],
      nowMs: DAY,
      signs: 'k2',
    },
    {
      name: 'the only key, published in the future by a clock that was ahead',
      signers: [key(1, { publishedMs: 9 * DAY, useFromMs: 9 * DAY })],
      nowMs: DAY,
      signs: 'k1',
    },
  ])('$name', ({ signers, nowMs, signs }) => {
    expect(currentSigner(signers, nowMs)?.kid ?? null).toBe(signs)
  })

  test('is one of the published, usable keys that are not withdrawn, oldest first', () => {
    const notes = [key(4), key(3, { withdrawnMs: 1 }), key(2), key(1), key(5)]
    const published = new Set(['k1', 'k3', 'k4', 'k5'])
    const sound = new Set(['k1', 'k2', 'k3', 'k4'])
    expect(eligibleSigners(notes, published, sound).map(({ kid }) => kid)).toEqual(['k1', 'k4'])
  })
})

test('a key becomes the signer at its useFrom, after verifiers have fetched it (7.3)', () => {
  expect(signsFromMs(key(2, { publishedMs: DAY, useFromMs: HOUR }))).toBe(DAY + 10 * MINUTE)
  expect(signsFromMs(key(2, { publishedMs: DAY, useFromMs: 2 * DAY }))).toBe(2 * DAY)
})

describe('the time at which a public key is unpublished (7.3)', () => {
  const next = key(2, { useFromMs: 25 * DAY })
  test.each<{
    readonly name: string
    readonly signers: readonly PublishedKeyRecord[]
    readonly maxTtl: number
    readonly lastExp: number | null
    readonly leaves: number | null
  }>([
    {
      name: 'never, without a newer key',
      signers: [key(1)],
      maxTtl: DAY,
      lastExp: 0,
      leaves: null,
    },
    {
      name: '24 h after the last possible exp of its tokens',
      signers: [key(1), next],
      maxTtl: HOUR,
      lastExp: null,
      leaves: 26 * DAY + HOUR,
    },
    {
      name: '24 h after a known exp beyond a lowered bound',
      signers: [key(1), next],
      maxTtl: HOUR,
      lastExp: 29 * DAY,
      leaves: 30 * DAY,
    },
    {
      name: 'by the first of several newer keys',
      signers: [next, key(3, { useFromMs: 20 * DAY })],
      maxTtl: DAY,
      lastExp: null,
      leaves: 22 * DAY,
    },
    {
      name: 'ignores older keys',
      signers: [key(0)],
      maxTtl: DAY,
      lastExp: null,
      leaves: null,
    },
  ])('$name', ({ signers, maxTtl, lastExp, leaves }) => {
    expect(unpublishAtMs(key(1), signers, maxTtl, lastExp)).toBe(leaves)
  })
})

test.each([
  { name: 'during its life', withdrawnMs: DAY, forgotten: 36 * DAY },
  { name: 'after its life', withdrawnMs: 31 * DAY, forgotten: 37 * DAY },
])(
  'a key withdrawn $name is remembered until no token of it lives (7.3)',
  ({ withdrawnMs, forgotten }) => {
    expect(deleteRecordAtMs(key(1, { withdrawnMs }))).toBe(forgotten)
  },
)

test('a Secret can sign while it is valid and not being deleted (7.3)', () => {
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: '',
    y: '',
    kid: 'k1',
    alg: 'ES256',
    use: 'sig',
  } as const
  const secret: SigningKeySecret = {
    name: 'platform-signing-key-1',
    uid: 'u-1',
    resourceVersion: '1',
    generation: 1,
    kid: 'k1',
    createdMs: 0,
    isDeleting: false,
    jwk,
    fault: null,
  }
  expect(hasUsableKey(secret)).toBe(true)
  expect(hasUsableKey({ ...secret, isDeleting: true })).toBe(false)
  expect(hasUsableKey({ ...secret, jwk: null })).toBe(false)
  expect(hasUsableKey({ ...secret, fault: 'is a copy' })).toBe(false)
})
