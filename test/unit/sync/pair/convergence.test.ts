import { describe, expect, test } from 'vitest'
import { type JsonMap, sameJson } from '../../../../src/domain/json/json.ts'
import { applyPatches } from '../../../../src/sync/patches/apply.ts'
import { type Patch, checkPatches } from '../../../../src/sync/patches/parse.ts'
import { WITHOUT_CLUSTERS } from '../../../../src/sync/patches/reference.ts'
import { mustSimulate, settle } from '../../../../src/sync/pair/convergence.ts'
import { failed } from '../../../../src/sync/sandbox/protocol.ts'
import { PLACE, countingSandbox } from '../counting-sandbox.ts'

function checked(...entries: readonly object[]): readonly Patch[] {
  const { patches, faults } = checkPatches(entries as never, 'p', ['metadata', 'data'])
  expect(faults).toEqual([])
  return patches
}

describe('a state', () => {
  /** The next state after each one. */
  const rounds: readonly {
    readonly name: string
    readonly next: (state: number) => number
    readonly start: number
    readonly settled: object
    readonly rounds: number
  }[] = [
    {
      name: 'at rest',
      next: (n) => n,
      start: 5,
      settled: { isStable: true, state: 5 },
      rounds: 1,
    },
    {
      name: 'at rest after one round',
      next: () => 1,
      start: 0,
      settled: { isStable: true, state: 1 },
      rounds: 2,
    },
    {
      name: 'at rest after three rounds',
      next: (n) => Math.min(n + 1, 3),
      start: 0,
      settled: { isStable: true, state: 3 },
      rounds: 4,
    },
    {
      name: 'that changes in the fourth round',
      next: (n) => Math.min(n + 1, 4),
      start: 0,
      settled: { isStable: false },
      rounds: 4,
    },
    {
      name: 'that grows',
      next: (n) => n + 1,
      start: 0,
      settled: { isStable: false },
      rounds: 4,
    },
    {
      name: 'that swaps',
      next: (n) => 1 - n,
      start: 0,
      settled: { isStable: false },
      rounds: 4,
    },
    {
      name: 'that repeats after three rounds',
      next: (n) => (n + 1) % 3,
      start: 0,
      settled: { isStable: false },
      rounds: 4,
    },
  ]

  test.each(rounds)('$name (19.7)', async ({ next, start, settled, rounds: count }) => {
    const seen: number[] = []
    const round = async (state: number) => {
      seen.push(state)
      return { ok: true as const, state: next(state) }
    }
    const outcome = await settle(start, round, (before, after) => before === after)
    expect(outcome).toEqual({ ok: true, ...settled })
    expect(seen).toHaveLength(count)
    expect(seen[0]).toBe(start)
  })

  test.each([0, 1, 3])('ends with a failure after %s rounds (19.8)', async (good) => {
    let count = 0
    const round = async (state: number) =>
      count++ < good
        ? { ok: true as const, state: state + 1 }
        : { ok: false as const, because: 'it failed' }
    const outcome = await settle(0, round, (before, after) => before === after)
    expect(outcome).toEqual({ ok: false, because: 'it failed' })
    expect(count).toBe(good + 1)
  })
})

describe('a set of patches', () => {
  const path = 'metadata.labels.a'

  test.each([
    { name: 'no patches', entries: [], must: false },
    { name: 'an expression', entries: [{ path, expression: 'value' }], must: false },
    {
      name: 'one that reads the virtual object and the configuration',
      entries: [
        { path, expression: 'context.virtualObject.kind + context.virtualCluster.config.a' },
      ],
      must: false,
    },
    {
      name: 'one that reads the host object',
      entries: [{ path, expression: 'context.hostObject.kind' }],
      must: true,
    },
    { name: 'one that may read it', entries: [{ path, expression: 'context' }], must: true },
    { name: 'a reverse expression', entries: [{ path, reverseExpression: 'value' }], must: true },
    {
      name: 'both expressions',
      entries: [{ path, expression: '1', reverseExpression: '2' }],
      must: true,
    },
    { name: 'a reference', entries: [{ path, reference: { kind: 'Secret' } }], must: true },
    { name: 'labels', entries: [{ path, labels: {} }], must: true },
    {
      name: 'the second of two',
      entries: [
        { path, expression: 'value' },
        { path: 'metadata.labels.b', reverseExpression: 'value' },
      ],
      must: true,
    },
  ])('$name must be simulated: $must (19.7)', ({ entries, must }) => {
    expect(mustSimulate(checked(...entries))).toBe(must)
  })

  interface Pair {
    readonly virtual: JsonMap
    readonly host: JsonMap
  }
  const samePair = (one: Pair, other: Pair): boolean =>
    sameJson(one.virtual, other.virtual) && sameJson(one.host, other.host)
  const labelled = (labels: JsonMap): JsonMap => ({ kind: 'Service', metadata: { labels } })

  test.each([
    { name: 'one that cancels out', forward: '"x" + value', reverse: 'value.slice(1)', is: true },
    { name: 'a constant', forward: '"x"', reverse: '"v"', is: true },
    { name: 'one that grows back', forward: 'value', reverse: 'value + "x"', is: false },
    { name: 'one that grows on both sides', forward: '"x" + value', reverse: 'value', is: false },
    {
      name: 'one that swaps',
      forward: 'value',
      reverse: 'value === "v" ? "w" : "v"',
      is: false,
    },
    {
      name: 'one that comes to rest',
      forward: 'value',
      reverse: 'value.slice(0, 3).padEnd(3, "v").toUpperCase()',
      is: true,
    },
    {
      name: 'one that adds to the host object',
      forward: 'context.hostObject.metadata.labels.a + value',
      is: false,
    },
    {
      name: 'one that follows the host version',
      forward: 'value + (context.hostObject.metadata.resourceVersion ?? "")',
      is: true,
    },
    {
      name: 'one that follows the virtual generation',
      forward: 'value + (context.virtualObject.metadata.generation ?? "")',
      reverse: '"v"',
      is: true,
    },
  ])('$name is stable: $is (19.7)', async ({ forward, reverse, is }) => {
    const patches = checked({
      path,
      expression: forward,
      ...(reverse === undefined ? {} : { reverseExpression: reverse }),
    })
    const { evaluate } = countingSandbox()
    let version = 0
    /** What the API server makes of a write. */
    const stored = (object: JsonMap): JsonMap => {
      version += 1
      const metadata = { ...(object['metadata'] as JsonMap), resourceVersion: String(version) }
      return { ...object, metadata: { ...metadata, generation: version } }
    }
    const round = async ({ virtual, host }: Pair) => {
      const context = {
        place: PLACE,
        namespace: 'shop',
        config: {},
        ...WITHOUT_CLUSTERS,
      }
      const read = { ...context, virtualObject: stored(virtual), hostObject: stored(host) }
      const given = reverse === undefined ? virtual : host
      const back = await applyPatches(given, patches, 'reverse', read, evaluate)
      if (!back.ok) return back
      const again = { ...read, virtualObject: stored(back.object) }
      const forth = await applyPatches(back.object, patches, 'forward', again, evaluate)
      return forth.ok
        ? { ok: true as const, state: { virtual: back.object, host: forth.object } }
        : forth
    }
    const start = { virtual: labelled({ a: 'v' }), host: labelled({ a: 'v' }) }
    expect(await settle(start, round, samePair)).toMatchObject({ ok: true, isStable: is })
  })

  test('fails as its expression does (19.8)', async () => {
    const patches = checked({ path, expression: 'value' })
    const { evaluate } = countingSandbox(failed('it threw an error'))
    const context = {
      place: PLACE,
      namespace: 'shop',
      config: {},
      ...WITHOUT_CLUSTERS,
    }
    const round = async (object: JsonMap) => {
      const both = { ...context, virtualObject: object, hostObject: null }
      const patched = await applyPatches(object, patches, 'forward', both, evaluate)
      return patched.ok ? { ok: true as const, state: patched.object } : patched
    }
    const outcome = await settle(labelled({ a: 'v' }), round, sameJson)
    expect(outcome).toMatchObject({
      ok: false,
      path,
      failure: { because: 'it threw an error' },
    })
  })
})
