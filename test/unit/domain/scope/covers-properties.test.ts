import { expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { firstUncoveredEntry } from '../../../../src/domain/scope/covers.ts'
import { randomFrom } from '../../../support/random.ts'
import { repeated, sampled } from '../../../support/tier.ts'
import { nearTo, oneEntry, pair, union } from './random-scopes.ts'
import { UNIVERSE, grants } from './reference-matcher.ts'

const isWithin = (child: Scope, parent: Scope): boolean =>
  firstUncoveredEntry(child, parent) === null

/** Values of the seeds from 0 on. */
const fromSeeds = <Value>(count: number, of: (seed: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, seed) => of(seed))

const PAIRS = fromSeeds(5000, (seed) => ({ seed, ...pair(randomFrom(seed)) }))
const WITHIN = PAIRS.filter(({ child, parent }) => isWithin(child, parent))

test('a covered scope grants no request that the covering scope does not (11.2 to 11.8)', () => {
  const tried = sampled(WITHIN, 5).map((one) => {
    const granted = UNIVERSE.filter((request) => grants(one.child, request))
    const more = granted.find((request) => !grants(one.parent, request))
    return { ...one, grantsSome: granted.length > 0, more }
  })
  expect(tried.find(({ more }) => more)).toBeUndefined()
  expect(tried.filter(({ grantsSome }) => grantsSome).length).toBeGreaterThan(repeated(200, 1000))
})

test('the random pairs reach every way in which one entry covers another', () => {
  // Scopes of several fields do not show which entry covers which.
  const ways = WITHIN.map(({ child, parent }) =>
    [child, parent].map((scope) => Object.keys(scope).join()).join(' by '),
  )
  const rare = [
    'roles by roles',
    'roles by allowPlatformCli',
    'allowPlatformCli by roles',
    'projects by projects',
    'spaces by projects',
    'spaces by spaces',
    'virtualClusters by projects',
    'virtualClusters by virtualClusters',
    'clusters by clusters',
    'rules by clusters',
    'rules by rules',
  ].filter((way) => ways.filter((one) => one === way).length < 5)
  expect(rare).toEqual([])
})

test('most uncovered pairs have a request that only the child grants', () => {
  const others = PAIRS.filter((one) => !WITHIN.includes(one)).slice(0, 500)
  const shown = others.filter(({ child, parent }) =>
    UNIVERSE.some((request) => grants(child, request) && !grants(parent, request)),
  )
  expect(shown.length).toBeGreaterThan(375)
})

test('every valid scope is covered by itself, and by itself with more entries (11.8)', () => {
  const wrong = fromSeeds(3000, (seed) => {
    const random = randomFrom(seed)
    const scope = union(oneEntry(random), oneEntry(random))
    const wider = union(oneEntry(random), scope)
    return isWithin(scope, scope) && isWithin(scope, wider) ? null : scope
  })
  expect(wrong.filter((scope) => scope !== null)).toEqual([])
})

test('coverage is transitive (11.8)', () => {
  const chains = fromSeeds(5000, (seed) => {
    const random = randomFrom(seed)
    const widest = oneEntry(random)
    const middle = nearTo(widest, random)
    return [nearTo(middle, random), middle, widest] as const
  }).filter(([low, middle, high]) => isWithin(low, middle) && isWithin(middle, high))
  expect(chains.length).toBeGreaterThan(500)
  expect(chains.filter(([low, , high]) => !isWithin(low, high))).toEqual([])
})
