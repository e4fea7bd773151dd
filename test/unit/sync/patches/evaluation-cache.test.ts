import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { PairStates } from '../../../../src/sync/pair/state.ts'
import { applyPatches } from '../../../../src/sync/patches/apply.ts'
import { cachedEvaluation } from '../../../../src/sync/patches/evaluation-cache.ts'
import { checkPatches } from '../../../../src/sync/patches/parse.ts'
import { WITHOUT_CLUSTERS } from '../../../../src/sync/patches/reference.ts'
import {
  type Evaluate,
  type EvaluationRequest,
  failed,
  failedForNow,
  OVERRUN,
} from '../../../../src/sync/sandbox/protocol.ts'
import { repeated } from '../../../support/tier.ts'
import { countingSandbox, PLACE } from '../counting-sandbox.ts'

const asked = (part: Partial<EvaluationRequest> = {}): EvaluationRequest => ({
  source: 'value + 1',
  value: '1',
  context: '{}',
  path: 'data.a',
  place: PLACE,
  object: 'a',
  ...part,
})

/** Passes over objects by their keys, each with the record of its pair. */
function cacheOf(evaluate: Evaluate) {
  const states = new PairStates()
  return {
    of: (key: string) => cachedEvaluation(states.of(key), evaluate),
    forget: (key: string) => states.forget(key),
  }
}

describe('an evaluation in a second pass', () => {
  test.each<{ readonly name: string; readonly part: Partial<EvaluationRequest> }>([
    { name: 'source', part: { source: 'value + 2' } },
    { name: 'value', part: { value: '2' } },
    { name: 'context', part: { context: '{"a":1}' } },
    { name: 'path', part: { path: 'data.b' } },
    { name: 'virtual cluster', part: { place: { ...PLACE, virtualCluster: 'other' } } },
    { name: 'host namespace', part: { place: { ...PLACE, hostNamespace: 'other' } } },
    { name: 'mapping', part: { place: { ...PLACE, namespaces: [['a', 'b']] } } },
  ])('is another one with another $name (19.4)', async ({ part }) => {
    const { evaluate, requests } = countingSandbox()
    const memory = cacheOf(evaluate)
    await memory.of('a')(asked())
    const again = memory.of('a')
    expect(await again(asked())).toEqual({ kind: 'value', json: '2' })
    expect(requests).toHaveLength(1)
    await again(asked(part))
    expect(requests).toEqual([asked(), asked(part)])
    await again(asked())
    expect(requests).toHaveLength(2)
  })

  test.each([
    { name: 'a value', source: 'value', times: 1 },
    { name: 'a removal', source: 'undefined', times: 1 },
    { name: 'an error of the expression', source: 'value.a.b', times: 1 },
    { name: 'an overrun', answers: [OVERRUN], times: 2 },
    { name: 'a failure of the sandbox', answers: [failedForNow('it ended the sandbox')], times: 2 },
    { name: 'a failure for good', answers: [failed('it needs too much')], times: 1 },
  ])('happens after $name: $times in all (19.7, 19.8)', async (row) => {
    const { source = 'value', answers = [], times } = row
    const { evaluate, requests } = countingSandbox(...answers)
    const memory = cacheOf(evaluate)
    const first = await memory.of('a')(asked({ source }))
    const second = await memory.of('a')(asked({ source }))
    expect(requests).toHaveLength(times)
    expect(second).toEqual(times === 1 ? first : { kind: 'value', json: '1' })
  })
})

describe('a memory', () => {
  /** The number of evaluations, after the values of each pass over the object. */
  async function evaluations(...passes: readonly (readonly number[])[]): Promise<number> {
    const { evaluate, requests } = countingSandbox()
    const memory = cacheOf(evaluate)
    for (const pass of passes) {
      const once = memory.of('a')
      for (const value of pass) await once(asked({ value: String(value) }))
    }
    return requests.length
  }

  test.each([
    { name: 'once for each value', passes: [[1, 2, 3]], count: 3 },
    { name: 'once for a value that comes twice', passes: [[1, 1]], count: 1 },
    { name: 'nothing of the pass before', passes: [[1, 2], [2, 1], [1]], count: 2 },
    {
      name: 'what has changed',
      passes: [
        [1, 2, 3],
        [1, 4, 3],
      ],
      count: 4,
    },
    { name: 'again what the pass before did not use', passes: [[1, 2], [2], [1, 2]], count: 3 },
    { name: 'all after a pass without evaluations', passes: [[1], [], [1]], count: 2 },
  ])('evaluates $name (19.7)', async ({ passes, count }) => {
    expect(await evaluations(...passes)).toBe(count)
  })

  test('keeps the results of each object apart (19.7)', async () => {
    const { evaluate, requests } = countingSandbox()
    const memory = cacheOf(evaluate)
    for (const key of ['a', 'b', '__proto__', 'a', 'b', '__proto__']) await memory.of(key)(asked())
    expect(requests).toHaveLength(3)
    memory.forget('a')
    await memory.of('b')(asked())
    expect(requests).toHaveLength(3)
    await memory.of('a')(asked())
    expect(requests).toHaveLength(4)
  })

  test.each([
    { name: 'two of three long results', values: [1, 2, 3], again: 1 },
    { name: 'both long results, one of which was used twice', values: [1, 1, 2], again: 0 },
  ])('of one object keeps $name (19.4)', async ({ values, again }) => {
    const source = '"x".repeat(500_000 + value)'
    const { evaluate, requests } = countingSandbox()
    const memory = cacheOf(evaluate)
    const counts: number[] = []
    for (const _ of [1, 2, 3]) {
      const before = requests.length
      const once = memory.of('a')
      for (const value of values) await once(asked({ source, value: String(value) }))
      counts.push(requests.length - before)
    }
    expect(counts).toEqual([new Set(values).size, again, again])
  })

  test('counts short results, too (19.4)', async () => {
    const { evaluate, requests } = countingSandbox(
      ...Array<typeof OVERRUN>(12_000).fill(failed('')),
    )
    const memory = cacheOf(evaluate)
    for (const _ of [1, 2]) {
      const once = memory.of('a')
      for (let value = 0; value < 6000; value += 1)
        await once(asked({ source: 'x', value: String(value) }))
    }
    expect(requests.length).toBeGreaterThan(6500)
    expect(requests.length).toBeLessThan(7500)
  })
})

describe('a change of an object', () => {
  const ADDRESSES = repeated(100, 1000)
  const object = (version: number, changes: Readonly<Record<number, string>> = {}): JsonMap => ({
    kind: 'Endpoints',
    metadata: {
      name: 'web',
      resourceVersion: String(version),
      generation: version,
      managedFields: [{ time: version }],
    },
    subsets: [
      {
        addresses: Array.from({ length: ADDRESSES }, (_, at) => ({
          ip: changes[at] ?? `10.0.0.${at}`,
        })),
      },
    ],
  })
  const first = object(1)

  test.each([
    { name: 'of nothing', expression: 'value', change: { virtual: first }, evaluates: 0 },
    { name: 'of the version', expression: 'value', change: { virtual: object(2) }, evaluates: 0 },
    {
      name: 'of the version, to one that reads both objects',
      expression: 'String([context.virtualObject.kind, context.hostObject].length)',
      change: { virtual: object(2), host: object(3) },
      evaluates: 0,
    },
    {
      name: `of one of ${ADDRESSES} addresses`,
      expression: 'value + "0"',
      change: { virtual: object(2, { 7: '10.0.1.7' }) },
      evaluates: 1,
    },
    {
      name: 'of the host object, to one that does not read it',
      expression: 'context.virtualObject.kind + context.virtualCluster.config.a',
      change: { host: object(2, { 7: '10.0.1.7' }) },
      evaluates: 0,
    },
    {
      name: 'of the host object, to one that reads it',
      expression: 'context.hostObject.kind',
      change: { host: object(2, { 7: '10.0.1.7' }) },
      evaluates: ADDRESSES,
    },
    {
      name: 'of the configuration, to one that does not read it',
      expression: 'context.virtualObject.kind + context.hostObject.kind',
      change: { config: { a: 2 } },
      evaluates: 0,
    },
    {
      name: 'of the configuration, to one that reads it',
      expression: 'String(context.virtualCluster.config.a)',
      change: { config: { a: 2 } },
      evaluates: ADDRESSES,
    },
    {
      name: 'of another field, to one that does not read it',
      expression: 'value',
      change: { virtual: { ...first, other: 1 } },
      evaluates: 0,
    },
    {
      name: 'of another field, to one that may read it',
      expression: 'context.virtualObject.kind',
      change: { virtual: { ...first, other: 1 } },
      evaluates: ADDRESSES,
    },
  ])('$name evaluates $evaluates times (19.7)', async ({ expression, change, evaluates }) => {
    const entry = { path: 'subsets[*].addresses[*].ip', expression, reverseExpression: expression }
    const { patches, faults } = checkPatches([entry], 'p', ['subsets'])
    expect(faults).toEqual([])
    const { evaluate, requests } = countingSandbox()
    const memory = cacheOf(evaluate)
    const counts: number[] = []
    const start = { virtual: first, host: first, config: { a: 1 } }
    for (const { virtual, host, config } of [start, { ...start, ...change }]) {
      const before = requests.length
      const context = {
        place: PLACE,
        namespace: 'shop',
        config,
        ...WITHOUT_CLUSTERS,
        hostObject: host,
        virtualObject: virtual,
      }
      const once = memory.of('shop/web')
      // The other direction, of the same object, finds the same inputs.
      for (const direction of ['forward', 'reverse'] as const)
        expect(await applyPatches(virtual, patches, direction, context, once)).toMatchObject({
          ok: true,
        })
      counts.push(requests.length - before)
    }
    expect(counts).toEqual([ADDRESSES, evaluates])
  })
})
