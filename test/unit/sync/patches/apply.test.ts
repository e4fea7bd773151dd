import { afterAll, describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { type Patched, applyPatches } from '../../../../src/sync/patches/apply.ts'
import { checkPatches } from '../../../../src/sync/patches/parse.ts'
import { WITHOUT_CLUSTERS } from '../../../../src/sync/patches/reference.ts'
import { NOT_STABLE } from '../../../../src/sync/objects/server-fields.ts'
import { OVERRUN, failed } from '../../../../src/sync/sandbox/protocol.ts'
import { createPatientSandbox } from '../../../support/patient-sandbox.ts'
import { PLACE, countingSandbox, variablesOf } from '../counting-sandbox.ts'
import type { PatchRow } from '../expression-rows.ts'
import { ROWS } from '../patch-rows.ts'

const sandbox = createPatientSandbox()
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
    ...WITHOUT_CLUSTERS,
  }
  return applyPatches(whole, patches, direction, context, sandbox.evaluate)
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

describe('what an expression is given', () => {
  const metadata = { name: 'web', labels: { app: 'x' } }
  const version = { resourceVersion: '7', generation: 3, managedFields: [{ manager: 'm' }] }
  const [virtualObject, hostObject] = [
    { kind: 'Service', metadata },
    { kind: 'Service', metadata: { ...metadata, annotations: { a: 'b' } } },
  ]
  const context = {
    place: PLACE,
    namespace: 'shop',
    config: CONFIG,
    virtualObject: { ...virtualObject, metadata: { ...metadata, ...version } },
    hostObject: {
      ...hostObject,
      metadata: { ...metadata, ...version, annotations: { a: 'b', [NOT_STABLE]: 'digest' } },
    },
    ...WITHOUT_CLUSTERS,
  }
  const read = context.virtualObject
  const checked = (path: string, expression: string) =>
    checkPatches([{ path, expression }], 'p', []).patches
  const labels = checked('metadata.labels.*', 'value')

  test.each([
    { expression: 'value', sees: {} },
    { expression: 'context.path', sees: {} },
    { expression: 'context.hostObject.kind', sees: { hostObject } },
    { expression: 'context.virtualObject.kind', sees: { virtualObject } },
    { expression: 'context.virtualCluster.config.region', sees: { config: CONFIG } },
    {
      expression: 'JSON.stringify(context)',
      sees: { hostObject, virtualObject, config: CONFIG },
    },
  ])(
    '$expression: only what it reads, without what changes with each write (19.4)',
    async (row) => {
      const { evaluate, requests } = countingSandbox()
      const patches = checked('metadata.labels.app', row.expression)
      expect(await applyPatches(read, patches, 'forward', context, evaluate)).toMatchObject({
        ok: true,
      })
      const { config, ...objects } = {
        config: {},
        hostObject: null,
        virtualObject: null,
        ...row.sees,
      }
      const virtualCluster = { name: 'vc', namespace: 'host', config }
      const path = 'metadata.labels.app'
      expect(requests.map(variablesOf)).toEqual([['x', true, { virtualCluster, ...objects, path }]])
    },
  )

  test('each expression of an object is given its own (19.4)', async () => {
    const { evaluate, requests } = countingSandbox()
    const patches = [
      ...checked('metadata.labels.app', 'context.hostObject.kind'),
      ...checked('metadata.missing', 'value'),
      ...checked('kind', 'context.hostObject.kind + context.virtualObject.kind'),
    ]
    await applyPatches(read, patches, 'forward', context, evaluate)
    const inputs = requests.map((request) => variablesOf(request)[2])
    expect(inputs).toMatchObject([
      { hostObject, virtualObject: null, path: 'metadata.labels.app' },
      { hostObject, virtualObject, path: 'kind' },
    ])
  })

  test.each([
    { path: 'metadata', expression: '{ ...value, labels: { app: Object.keys(value).join() } }' },
    { path: 'metadata.*', expression: 'value?.app ? { app: "name,labels" } : value' },
    {
      path: 'metadata',
      expression:
        '{ ...value, generation: 9, resourceVersion: "9", managedFields: [], labels: { app: "name,labels" } }',
    },
  ])(
    '$path: no version is a value, and none is changed (19.6, 19.7)',
    async ({ path, expression }) => {
      const { evaluate } = countingSandbox()
      const patches = checked(path, expression)
      const outcome = await applyPatches(read, patches, 'forward', context, evaluate)
      expect(outcome).toMatchObject({ ok: true })
      if (!outcome.ok) return
      const wanted = { ...read.metadata, labels: { app: 'name,labels' } }
      expect(outcome.object).toEqual({ kind: 'Service', metadata: wanted })
    },
  )

  test.each(['resourceVersion', 'generation', 'managedFields'])(
    'metadata.%s is missing for patches (19.7)',
    async (name) => {
      const { evaluate, requests } = countingSandbox()
      const patches = checked(`metadata.${name}`, 'value + "1"')
      const outcome = await applyPatches(read, patches, 'forward', context, evaluate)
      expect(outcome).toMatchObject({ ok: true, object: read, changed: [] })
      expect(requests).toEqual([])
    },
  )

  test('the verdict on a host object is no value, and stays (19.7)', async () => {
    const { evaluate, requests } = countingSandbox()
    const patches = checked('metadata.annotations.*', 'value + "1"')
    const host = context.hostObject
    const outcome = await applyPatches(host, patches, 'forward', context, evaluate)
    const annotations = { a: 'b1', [NOT_STABLE]: 'digest' }
    expect(outcome).toMatchObject({ ok: true, object: { metadata: { annotations } } })
    expect(requests).toHaveLength(1)
  })

  test('an object without patches stays the same, and costs nothing (19.3)', async () => {
    const { evaluate } = countingSandbox()
    const outcome = await applyPatches(read, [], 'forward', context, evaluate)
    expect(outcome).toEqual({ ok: true, object: read, changed: [] })
    expect(outcome.ok && outcome.object).toBe(read)
  })

  test('an overrun is tried once more, and fails then (19.8)', async () => {
    const once = countingSandbox(OVERRUN, { kind: 'value', json: '"y"' })
    expect(await applyPatches(read, labels, 'forward', context, once.evaluate)).toMatchObject({
      ok: true,
      object: { metadata: { labels: { app: 'y' } } },
    })
    const twice = countingSandbox(OVERRUN, OVERRUN, { kind: 'value', json: '"y"' })
    const outcome = await applyPatches(read, labels, 'forward', context, twice.evaluate)
    expect(outcome).toMatchObject({ ok: false, path: 'metadata.labels.app', failure: OVERRUN })
    expect(twice.requests).toHaveLength(2)
  })

  test('an error of the expression is not tried again (19.8)', async () => {
    const { evaluate, requests } = countingSandbox(failed('it threw an error'))
    const outcome = await applyPatches(read, labels, 'forward', context, evaluate)
    expect(outcome).toMatchObject({ ok: false, failure: { because: 'it threw an error' } })
    expect(requests).toHaveLength(1)
  })
})
