import { afterAll, describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type Patched, applyPatches } from '../../../src/sync/patcher.ts'
import { checkPatches } from '../../../src/sync/rules/patch.ts'
import {
  type EvaluationRequest,
  type EvaluationResult,
  OVERRUN,
} from '../../../src/sync/sandbox/protocol.ts'
import { createSandbox } from '../../../src/sync/sandbox/sandbox.ts'
import type { PatchRow } from './expression-rows.ts'
import { ROWS } from './patch-rows.ts'

const sandbox = createSandbox(systemClock())
afterAll(() => sandbox.close())

const CONFIG = { sync: { toHost: { endpoints: { enabled: true } } }, region: 'north' }

async function patched(
  object: object,
  entries: readonly object[],
  { direction = 'forward', isMulti = false }: Partial<Pick<PatchRow, 'direction' | 'isMulti'>> = {},
): Promise<Patched> {
  const { patches, faults } = checkPatches(entries as never, 'p', [
    'metadata',
    'data',
    'spec',
    'list',
  ])
  expect(faults).toEqual([])
  const whole = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    ...object,
    metadata: { name: 'web', namespace: 'shop', ...(object as { metadata?: object }).metadata },
  }
  const context = {
    place: {
      virtualCluster: 'vc',
      hostNamespace: 'host',
      namespaces: isMulti ? [['shop', 'host-shop'] as const] : null,
    },
    namespace: 'shop',
    config: CONFIG,
    virtualObject: direction === 'forward' ? (whole as unknown as JsonMap) : null,
    hostObject: direction === 'reverse' ? (whole as unknown as JsonMap) : null,
    virtualNameOf: () => null,
  }
  return applyPatches(whole, patches, direction, context, sandbox)
}

/** The fields that are not the identity of the object, or the first failure in a text. */
function shown(outcome: Patched): unknown {
  if (!outcome.ok) return `${outcome.patch.entry} at ${outcome.path}: ${outcome.failure.because}`
  const { apiVersion, kind, metadata, ...rest } = outcome.object
  const { name, namespace, ...others } = metadata as JsonMap
  expect({ apiVersion, kind, name, namespace }).toEqual({
    apiVersion: 'v1',
    kind: 'Endpoints',
    name: 'web',
    namespace: 'shop',
  })
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others }
}

describe('patches of one object (19.2, 19.3, 19.5, 19.6)', () => {
  test('the table has at least 100 rows', () => {
    expect(ROWS.length).toBeGreaterThanOrEqual(100)
  })

  test.each(ROWS)('$name', async (row) => {
    const { object, patches, result } = row
    const given = structuredClone(object)
    const outcome = await patched(object, patches, row)
    expect(shown(outcome)).toEqual(result)
    expect(object).toEqual(given)
  })
})

describe('what changed', () => {
  test('lists each field that a patch has set or removed, and none that stays', async () => {
    const outcome = await patched({ list: [{ a: 1 }, { a: 2 }, { a: 3 }] }, [
      { path: 'list[*].a', expression: 'value === 2 ? undefined : value === 3 ? 4 : value' },
    ])
    expect(outcome).toMatchObject({
      ok: true,
      object: { list: [{ a: 1 }, {}, { a: 4 }] },
      changed: [
        { path: ['list', 2, 'a'], isRemoved: false },
        { path: ['list', 1, 'a'], isRemoved: true },
      ],
    })
  })
})

describe('what an expression is given (19.4)', () => {
  const metadata = { name: 'web', labels: { app: 'x' } }
  const read = {
    metadata: { ...metadata, resourceVersion: '7', managedFields: [{ manager: 'm' }] },
  }
  const { patches } = checkPatches([{ path: 'metadata.labels.*', expression: 'value' }], 'p', [])
  const context = {
    place: { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null },
    namespace: 'shop',
    config: CONFIG,
    virtualObject: read,
    hostObject: read,
    virtualNameOf: () => null,
  }

  /** A sandbox that gives these results in turn, with the inputs it got. */
  function answering(...results: readonly EvaluationResult[]) {
    const inputs: unknown[] = []
    const left = [...results]
    const evaluate = async ({ input }: EvaluationRequest): Promise<EvaluationResult> => {
      inputs.push(JSON.parse(input))
      return left.shift() ?? OVERRUN
    }
    return { inputs, evaluate, close: async () => undefined }
  }

  test('holds the objects without what changes with each write', async () => {
    const one = answering({ kind: 'remove' })
    await applyPatches(read, patches, 'forward', context, one)
    const virtualCluster = { name: 'vc', namespace: 'host', config: CONFIG }
    const [virtualObject, hostObject] = [{ metadata }, { metadata }]
    const path = 'metadata.labels.app'
    expect(one.inputs).toEqual([['x', true, { virtualCluster, virtualObject, hostObject, path }]])
  })

  test('an overrun is tried once more, and fails then', async () => {
    const once = answering(OVERRUN, { kind: 'value', json: '"y"' })
    expect(await applyPatches(read, patches, 'forward', context, once)).toMatchObject({
      ok: true,
      object: { metadata: { labels: { app: 'y' } } },
    })
    const twice = answering(OVERRUN, OVERRUN, { kind: 'value', json: '"y"' })
    const failed = await applyPatches(read, patches, 'forward', context, twice)
    expect(failed).toMatchObject({ ok: false, path: 'metadata.labels.app', failure: OVERRUN })
    expect(twice.inputs).toHaveLength(2)
  })
})
