import { describe, expect, test } from 'vitest'
import type { PublicJwk } from '../../../../src/domain/signingkey/signing-key.ts'
import {
  type KnownKeys,
  NO_KEYS,
  mergedMissing,
  sameKeys,
  withPublished,
} from '../../../../src/domain/token/known-keys.ts'

const jwk = (kid: string): PublicJwk => ({
  kty: 'EC',
  crv: 'P-256',
  x: '',
  y: '',
  kid,
  alg: 'ES256',
  use: 'sig',
})
const kidsOf = ({ keys }: KnownKeys): readonly string[] => [...keys.keys()]

/** What is known after these sets, each with its seconds. */
const after = (...sets: readonly (readonly [seconds: number, kids: string])[]) =>
  sets.reduce<ReturnType<typeof withPublished>>(
    ({ known }, [seconds, kids]) => withPublished(known, kids.split('').map(jwk), seconds * 1000),
    { known: NO_KEYS, refused: [] },
  )

describe('keys that the platform publishes (9.2)', () => {
  test.each([
    {
      name: 'a key is added',
      sets: [
        [0, 'a'],
        [5, 'ab'],
      ],
      kids: 'ab',
    },
    {
      name: 'a key is withdrawn',
      sets: [
        [0, 'ab'],
        [5, 'b'],
      ],
      kids: 'b',
    },
    {
      name: 'back after 599 s',
      sets: [
        [0, 'ab'],
        [5, 'b'],
        [604, 'ab'],
      ],
      kids: 'ab',
    },
    {
      name: 'back after ten minutes',
      sets: [
        [0, 'ab'],
        [5, 'b'],
        [605, 'ab'],
      ],
      kids: 'b',
      refused: 'a',
    },
    {
      name: 'back after ten minutes, and a day later',
      sets: [
        [0, 'ab'],
        [5, 'b'],
        [605, 'ab'],
        [610, 'ab'],
        [86_400, 'ab'],
      ],
      kids: 'b',
      refused: 'a',
    },
    {
      name: 'twice away for less than ten minutes',
      sets: [
        [0, 'ab'],
        [5, 'b'],
        [500, 'ab'],
        [505, 'b'],
        [1000, 'ab'],
      ],
      kids: 'ab',
    },
    {
      name: 'all are replaced',
      sets: [
        [0, 'ab'],
        [5, 'c'],
      ],
      kids: 'c',
    },
    {
      name: 'all are back too late',
      sets: [
        [0, 'a'],
        [5, 'b'],
        [700, 'a'],
      ],
      kids: '',
      refused: 'a',
    },
  ] as const)('$name', ({ sets, kids, ...rest }) => {
    const { known, refused } = after(...sets)
    expect(kidsOf(known)).toEqual(kids.split(''))
    expect(refused).toEqual('refused' in rest ? [rest.refused] : [])
  })

  test('only so many missing keys are remembered, the latest', () => {
    const many = new Map(Array.from({ length: 1500 }, (_, at) => [`kid-${at}`, at] as const))
    const { missingSinceMs } = withPublished({ keys: new Map(), missingSinceMs: many }, [], 0).known
    expect(missingSinceMs.size).toBe(1000)
    expect(missingSinceMs.has('kid-1499')).toBe(true)
    expect(missingSinceMs.has('kid-499')).toBe(false)
  })

  test('of several memories of missing keys the earliest time counts', () => {
    const merged = mergedMissing([new Map([['a', 5]]), new Map([['a', 3]]), new Map([['b', 9]])])
    expect(merged).toEqual(
      new Map([
        ['a', 3],
        ['b', 9],
      ]),
    )
  })

  test('two sets are the same if they have the same kids', () => {
    const [{ known: a }, { known: other }, { known: more }] = [
      after([0, 'ab']),
      after([0, 'ac']),
      after([0, 'abc']),
    ]
    expect(sameKeys(a, after([9, 'ba']).known)).toBe(true)
    expect([sameKeys(a, other), sameKeys(a, more), sameKeys(more, a)]).toEqual([
      false,
      false,
      false,
    ])
  })
})
