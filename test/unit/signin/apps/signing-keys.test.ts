import { describe, expect, it } from 'vitest'
import {
  appSigningKind,
  publishedKeys,
  signerOf,
} from '../../../../src/signin/apps/signing-keys.ts'

const START_MS = Date.UTC(2026, 10, 21)
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]
const kind = appSigningKind(() => true)

/** Keys that were made so many milliseconds after the start, the newest last. */
function keysMade(...ages: readonly number[]) {
  const entries = ages.flatMap(
    (ageMs) => JSON.parse(kind.renewed(null, START_MS + ageMs) ?? '[]') as object[],
  )
  const keys = kind.read(JSON.stringify(entries))
  if (keys === null) throw new Error('no keys')
  return keys
}

const ages = (keys: readonly { readonly madeMs: number }[]): readonly number[] =>
  keys.map(({ madeMs }) => madeMs - START_MS)

describe('the keys that sign the tokens of apps (26.1)', () => {
  it('are made where apps are served, and only there', () => {
    expect(keysMade(0)).toHaveLength(1)
    expect(appSigningKind(() => false).renewed(null, START_MS)).toBeNull()
  })

  it.each([
    ['the only one signs at once', [0], 0, 0],
    ['the elder signs for five minutes', [0, 30 * DAY_MS], 30 * DAY_MS + 5 * MINUTE_MS - 1, 0],
    ['then the newer one', [0, 30 * DAY_MS], 30 * DAY_MS + 5 * MINUTE_MS, 30 * DAY_MS],
    ['of two young ones the elder', [0, 1], 2, 0],
  ])('%s', (_, made, afterMs, signs) => {
    expect(signerOf(keysMade(...made), START_MS + afterMs).madeMs - START_MS).toBe(signs)
  })

  it.each([
    ['both at first', 30 * DAY_MS, [30 * DAY_MS, 0]],
    [
      'both for 24 hours after the newer one signs',
      31 * DAY_MS + 5 * MINUTE_MS - 1,
      [30 * DAY_MS, 0],
    ],
    ['then the newer one alone', 31 * DAY_MS + 5 * MINUTE_MS, [30 * DAY_MS]],
  ])('are published: %s', (_, afterMs, shown) => {
    expect(ages(publishedKeys(keysMade(0, 30 * DAY_MS), START_MS + afterMs))).toEqual(shown)
  })

  it('are renewed after 30 days, and the elder is forgotten once it is not published', () => {
    const first = keysMade(0)
    expect(kind.renewed(first, START_MS + 30 * DAY_MS - 1)).toBeNull()
    const both = kind.read(kind.renewed(first, START_MS + 30 * DAY_MS))
    expect(both && ages(both)).toEqual([30 * DAY_MS, 0])
    expect(both && both[1]?.publicKey).toEqual(first[0].publicKey)
    expect(both && kind.renewed(both, START_MS + 31 * DAY_MS)).toBeNull()
    const one = both && kind.read(kind.renewed(both, START_MS + 31 * DAY_MS + HOUR_MS))
    expect(one && ages(one)).toEqual([30 * DAY_MS])
  })

  it.each([
    null,
    '',
    '{}',
    '[]',
    '[null]',
    JSON.stringify([{ jwk: { kty: 'RSA', n: 'a', e: 'AQAB', d: 'a' }, madeMs: 1 }]),
    JSON.stringify([{ jwk: { kty: 'EC', crv: 'P-256', x: 'a', y: 'b', d: 'c' }, madeMs: 1 }]),
    JSON.stringify([
      {
        jwk: {
          kty: 'EC',
          crv: 'P-256',
          ...Object.fromEntries(['x', 'y', 'd'].map((part) => [part, 'A'.repeat(43)])),
        },
        madeMs: 1,
      },
    ]),
  ])('are none in %s', (text) => {
    expect(kind.read(text)).toBeNull()
  })
})
