import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import type { SyncedKind } from '../../../../src/sync/objects/synced-kinds.ts'
import { planImport } from '../../../../src/sync/imports/plan.ts'
import {
  isImportOf,
  isImportable,
  isMarkedAsImport,
  isUnchangedImport,
} from '../../../../src/sync/kinds/imported-copy.ts'

type ImportFacts = Parameters<typeof planImport>[0]

const P = 'vcluster.platform.sh'
const FROM = `${P}/imported-from`

interface Metadata {
  readonly name?: string
  readonly namespace?: string
  readonly uid?: string
  readonly labels?: JsonMap
  readonly annotations?: JsonMap
  readonly deletionTimestamp?: string
}

/** The host Secret `host/db`, which the virtual cluster `vc` may import. */
const hostSecret = (fields: JsonMap = {}, metadata: Metadata = {}): JsonMap => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'db',
    namespace: 'host',
    uid: 'h1',
    labels: { [`${P}/import`]: 'vc', app: 'x' },
    ...metadata,
  },
  type: 'Opaque',
  data: { password: 'b25l' },
  ...fields,
})

const facts = (given: Partial<ImportFacts> = {}): ImportFacts => ({
  kind: 'secrets',
  name: { name: 'db', namespace: 'shop' },
  virtualCluster: 'vc',
  isReferenced: true,
  virtual: null,
  host: hostSecret(),
  ...given,
})

/** The copy of the host object as the virtual cluster stores it. */
function copyOf(host: JsonMap, kind: SyncedKind = 'secrets'): JsonMap {
  const plan = planImport(facts({ kind, host }))
  if (plan.step !== 'create') throw new Error(`${plan.step} is not a create`)
  const { metadata, ...fields } = plan.object
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...(metadata as JsonMap), uid: 'v1', resourceVersion: '7' },
    ...fields,
  }
}

const withMetadata = (object: JsonMap, metadata: JsonMap): JsonMap => ({
  ...object,
  metadata: { ...(object['metadata'] as JsonMap), ...metadata },
})

describe('what may be imported', () => {
  const rows: readonly { readonly name: string; readonly host: JsonMap; readonly is: boolean }[] = [
    { name: 'an object with the label of this virtual cluster', host: hostSecret(), is: true },
    { name: 'one without labels', host: hostSecret({}, { labels: {} }), is: false },
    {
      name: 'one with the label of another virtual cluster',
      host: hostSecret({}, { labels: { [`${P}/import`]: 'other' } }),
      is: false,
    },
    {
      name: 'one with an annotation in place of the label',
      host: hostSecret({}, { labels: {}, annotations: { [`${P}/import`]: 'vc' } }),
      is: false,
    },
    {
      name: 'one that is being deleted',
      host: hostSecret({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      is: false,
    },
    ...['object-name', 'object-uid', 'managed-annotations', 'skip-sync', 'import'].map((mark) => ({
      name: `one with the annotation ${mark}, of whatever virtual cluster`,
      host: hostSecret({}, { annotations: { [`${P}/${mark}`]: 'x' } }),
      is: false,
    })),
    ...['managed-by', 'namespace', 'controlled-by'].map((mark) => ({
      name: `one with the label ${mark}, of whatever virtual cluster`,
      host: hostSecret({}, { labels: { [`${P}/import`]: 'vc', [`${P}/${mark}`]: 'other' } }),
      is: false,
    })),
  ]
  test.each(rows)('$name: $is (19.5)', ({ host, is }) => {
    expect(isImportable(host, 'vc')).toBe(is)
  })
})

interface PlanRow {
  readonly name: string
  readonly given: Partial<ImportFacts>
  readonly step: string
}

const copy = copyOf(hostSecret())
const changed: JsonMap = { ...copy, data: { password: 'dHdv' } }
const newer = hostSecret({ data: { password: 'dGhyZWU=' } })
const unlabelled = hostSecret({}, { labels: {} })
const own: JsonMap = { metadata: { name: 'db', namespace: 'shop' }, data: { password: 'b25l' } }

const PLANS: readonly PlanRow[] = [
  { name: 'a labelled object that a reference names', given: {}, step: 'create' },
  { name: 'one that nothing names', given: { isReferenced: false }, step: 'nothing' },
  { name: 'one without the label', given: { host: unlabelled }, step: 'nothing' },
  { name: 'one that does not exist', given: { host: null }, step: 'nothing' },
  { name: 'a name that the virtual cluster has', given: { virtual: own }, step: 'nothing' },
  {
    name: 'a name that the virtual cluster has, without an object on the host',
    given: { virtual: own, host: null, isReferenced: false },
    step: 'nothing',
  },
  { name: 'a copy of the same data', given: { virtual: copy }, step: 'nothing' },
  {
    name: 'a copy with labels and annotations of the tenant',
    given: {
      virtual: withMetadata(copy, {
        labels: { a: 'b' },
        annotations: {
          ...((copy['metadata'] as JsonMap)['annotations'] as JsonMap),
          note: 'mine',
        },
      }),
    },
    step: 'nothing',
  },
  {
    name: 'a copy whose host object has changed',
    given: { virtual: copy, host: newer },
    step: 'update',
  },
  {
    name: 'a copy whose host object was deleted and created again',
    given: { virtual: copy, host: hostSecret({}, { uid: 'h2' }) },
    step: 'update',
  },
  {
    name: 'a copy whose host object has another type, which is immutable',
    given: { virtual: copy, host: hostSecret({ type: 'example.com/other' }) },
    step: 'delete',
  },
  {
    name: 'an immutable copy whose host object has other data',
    given: {
      virtual: copyOf(hostSecret({ immutable: true })),
      host: hostSecret({ immutable: true, data: { password: 'dHdv' } }, { uid: 'h2' }),
    },
    step: 'delete',
  },
  {
    name: 'a copy whose label is gone',
    given: { virtual: copy, host: unlabelled },
    step: 'delete',
  },
  {
    name: 'a copy whose host object is gone',
    given: { virtual: copy, host: null },
    step: 'delete',
  },
  {
    name: 'a copy whose host object has got marks',
    given: { virtual: copy, host: hostSecret({}, { annotations: { [`${P}/object-name`]: 'x' } }) },
    step: 'delete',
  },
  {
    name: 'a copy that nothing names any more',
    given: { virtual: copy, isReferenced: false },
    step: 'delete',
  },
  {
    name: 'a copy that terminates',
    given: {
      virtual: withMetadata(copy, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      host: null,
    },
    step: 'nothing',
  },
  {
    name: 'a copy that is to be left alone',
    given: { virtual: withMetadata(copy, { labels: { [`${P}/skip-sync`]: 'true' } }), host: newer },
    step: 'nothing',
  },
  {
    name: 'a copy that a user changed, and whose host object has changed',
    given: { virtual: changed, host: newer },
    step: 'nothing',
  },
  {
    name: 'a copy that a user changed, and whose label is gone',
    given: { virtual: changed, host: unlabelled },
    step: 'nothing',
  },
  {
    name: 'a copy of a copy: its annotation is of another name',
    given: {
      name: { name: 'mine', namespace: 'shop' },
      virtual: withMetadata(copy, { name: 'mine' }),
      host: null,
      isReferenced: false,
    },
    step: 'nothing',
  },
]

describe('the plan of an import', () => {
  test.each(PLANS)('$name: $step (19.5)', ({ given, step }) => {
    expect(planImport(facts(given)).step).toBe(step)
  })

  test('creates the data under the name, with where they are from, and no label of the host (19.5)', () => {
    expect(planImport(facts())).toEqual({
      step: 'create',
      object: {
        metadata: {
          name: 'db',
          namespace: 'shop',
          annotations: { [FROM]: expect.stringMatching(/^h1\/[0-9a-f]{64}$/) as string },
        },
        type: 'Opaque',
        data: { password: 'b25l' },
      },
    })
  })

  test('updates the object that was read, so that the write is conditional, and comes to rest (19.5)', () => {
    const kept = withMetadata(copy, { labels: { a: 'b' } })
    const plan = planImport(facts({ virtual: kept, host: newer }))
    if (plan.step !== 'update') throw new Error(`${plan.step} is not an update`)
    expect(plan.object).toMatchObject({
      metadata: { uid: 'v1', resourceVersion: '7', labels: { a: 'b' } },
      data: { password: 'dGhyZWU=' },
    })
    expect(planImport(facts({ virtual: plan.object, host: newer })).step).toBe('nothing')
  })

  test('removes what the host object has no more (19.5)', () => {
    const { data: _, ...empty } = hostSecret()
    const plan = planImport(facts({ virtual: copy, host: empty }))
    expect(plan.step === 'update' && Object.keys(plan.object)).not.toContain('data')
  })
})

describe('a virtual object with the annotation of an import', () => {
  const rows = [
    { name: 'the copy', virtual: copy, host: hostSecret(), unchanged: true, is: true },
    { name: 'a changed copy', virtual: changed, host: hostSecret(), unchanged: false, is: true },
    {
      name: 'the copy of an object that was created again',
      virtual: copy,
      host: hostSecret({}, { uid: 'h2' }),
      unchanged: true,
      is: true,
    },
    {
      name: 'a changed copy of an object that was created again',
      virtual: changed,
      host: hostSecret({}, { uid: 'h2' }),
      unchanged: false,
      is: false,
    },
    {
      name: 'a forged annotation',
      virtual: withMetadata(own, { annotations: { [FROM]: `h9/${'0'.repeat(64)}` } }),
      host: hostSecret(),
      unchanged: false,
      is: false,
    },
    ...['', 'h1', 'h1/', '/'].map((text) => ({
      name: `the annotation ${JSON.stringify(text)}`,
      virtual: withMetadata(own, { annotations: { [FROM]: text } }),
      host: hostSecret(),
      unchanged: false,
      is: false,
    })),
    { name: 'none', virtual: own, host: hostSecret(), unchanged: false, is: false },
  ]
  test.each(rows)('$name is an import: $is, unchanged: $unchanged (19.5)', (row) => {
    expect(isUnchangedImport('secrets', row.virtual)).toBe(row.unchanged)
    expect(isImportOf('secrets', row.virtual, row.host)).toBe(row.is)
  })
})

test.each([
  { annotation: 'h1/d1', is: true },
  { annotation: 'h1/d1/more', is: false },
  { annotation: '/d1', is: false },
  { annotation: 'h1/', is: false },
  { annotation: 'h1', is: false },
  { annotation: '', is: false },
])('the annotation $annotation marks an import: $is (19.5)', ({ annotation, is }) => {
  expect(isMarkedAsImport({ metadata: { annotations: { [FROM]: annotation } } })).toBe(is)
})
