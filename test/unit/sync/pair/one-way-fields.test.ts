import { describe, expect, test } from 'vitest'
import { nestedMap } from '../../../../src/domain/json/field-path.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import type { SyncedKind } from '../../../../src/sync/objects/synced-kinds.ts'
import { ownerOf } from '../../../../src/sync/objects/host-metadata.ts'
import { MARK_KEYS } from '../../../../src/sync/objects/mark-keys.ts'
import { OWNER, webOf } from '../synced-pair.ts'
import { type Change, at, labelled, twice } from '../translated-twice.ts'
import { SINGLE } from '../translation.ts'

describe('a field that does not flow', () => {
  const portsOf = (object: JsonMap | null): Json | undefined => at(object, ['spec', 'ports'])
  const service = webOf('services', {
    spec: { type: 'NodePort', ports: [{ name: 'a', port: 80, protocol: 'TCP', nodePort: 31_080 }] },
    status: { conditions: ['mine'], loadBalancer: {} },
  })
  const hostPorts: Change = [
    ['spec', 'ports'],
    [{ name: 'a', port: 80, protocol: 'TCP', nodePort: 30_080 }],
  ]

  test.each([
    { path: 'spec.ports[*].*', keeps: { name: 'a', port: 80, protocol: 'TCP' } },
    { path: 'spec.ports[*].nodePort', keeps: { name: 'a', port: 80, protocol: 'TCP' } },
  ])('is not patched back by $path (18.5)', async ({ path, keeps }) => {
    const { after } = await twice({
      kind: 'services',
      patches: [{ path, reverseExpression: 'value + 1' }],
      virtual: service,
      host: [hostPorts],
    })
    expect(portsOf(after.virtual)).toEqual([{ ...keeps, nodePort: 30_081 }])
  })

  test('is not patched back by status.* (18.5)', async () => {
    const patches = [
      { path: 'status.*', reverseExpression: '({ ingress: [{ ip: "203.0.113.9" }] })' },
    ]
    const { after } = await twice({
      kind: 'services',
      patches,
      virtual: service,
      host: [hostPorts],
    })
    expect(at(after.virtual, ['status', 'conditions'])).toEqual(['mine'])
  })

  test('is not patched back by metadata.* (18.5, 19.6)', async () => {
    const patches = [{ path: 'metadata.*', reverseExpression: '"theirs"' }]
    const { pair, after } = await twice({
      patches,
      virtual: labelled,
      host: [[['metadata', 'generateName'], 'x']],
    })
    expect(after.virtual).toBe(pair.virtual)
  })

  test.each([
    { name: 'a reference', patch: { reference: { kind: 'Secret' } } },
    { name: 'labels', patch: { labels: {} } },
  ])('is not read as a name of the host by $name (18.5, 19.5)', async ({ patch }) => {
    // The virtual object has what would be the name of another on the host.
    const virtual = webOf('configMaps', { data: { ref: 'creds-x-shop-x-vc' } })
    const { pair, after } = await twice({
      kind: 'configMaps',
      patches: [{ path: 'data.ref', ...patch }],
      virtual,
    })
    expect(after.virtual).toBe(pair.virtual)
  })

  test.each<{ name: string; kind: SyncedKind; virtual: JsonMap; change: Change }>([
    {
      name: 'subsets',
      kind: 'endpoints',
      virtual: labelled,
      change: [['subsets'], [{ ports: [{ port: 1 }] }]],
    },
    {
      name: 'data',
      kind: 'secrets',
      virtual: webOf('secrets', { data: { a: 'eA==' } }),
      change: [['data', 'b'], 'eQ=='],
    },
    {
      name: 'type',
      kind: 'services',
      virtual: service,
      change: [['spec', 'externalTrafficPolicy'], 'Local'],
    },
    {
      name: 'finalizers',
      kind: 'endpoints',
      virtual: labelled,
      change: [['metadata', 'finalizers'], ['x']],
    },
    {
      name: 'owners',
      kind: 'endpoints',
      virtual: labelled,
      change: [['metadata', 'ownerReferences'], []],
    },
    {
      name: 'marks',
      kind: 'endpoints',
      virtual: labelled,
      change: [['metadata', 'annotations', 'vcluster.platform.sh/object-uid'], 'x'],
    },
    {
      name: 'deletion',
      kind: 'endpoints',
      virtual: labelled,
      change: [['metadata', 'deletionTimestamp'], 'x'],
    },
  ])(
    '$name of the host leaves the virtual object as it is (18.5)',
    async ({ kind, virtual, change }) => {
      const { pair, after } = await twice({
        kind,
        virtual,
        host: kind === 'services' ? [] : [change],
      })
      expect(kind === 'services' ? after.virtual : pair.virtual).toBe(after.virtual)
    },
  )

  test.each([
    { path: ['subsets'], value: [{ ports: [{ port: 1 }] }] },
    { path: ['metadata', 'annotations', 'vcluster.platform.sh/object-name'], value: 'other' },
    { path: ['metadata', 'ownerReferences'], value: [] },
  ])('$path of the host is overwritten (18.5, 19.6)', async ({ path, value }) => {
    const { before, after } = await twice({ virtual: labelled, host: [[path, value]] })
    expect(after.host).toEqual(before.host)
  })
})

const EMPTY = '({})'
const FOREIGN =
  '({ ...value, name: "other", uid: "other", namespace: "kube-system", finalizers: ["x"], ownerReferences: [] })'

/** Results that are no value of the field, or of another one that the path names: nothing is written (19.3). */
const MISTYPED: Readonly<Record<string, readonly string[]>> = {
  metadata: ['"x"'],
  'metadata.*': ['"x"', FOREIGN],
  'metadata.labels': ['"x"', FOREIGN],
  'metadata.annotations': ['"x"', FOREIGN],
  'metadata.labels.*': [EMPTY, FOREIGN],
  'metadata.annotations.*': [EMPTY, FOREIGN],
}

describe('fields that no patch moves', () => {
  test.each([
    'metadata',
    'metadata.*',
    'metadata.labels',
    'metadata.annotations',
    'metadata.labels.*',
    'metadata.annotations.*',
    'metadata.ownerReferences[*].*',
    'kind',
    'apiVersion',
  ])('%s (19.6)', async (path) => {
    for (const expression of ['undefined', '"x"', EMPTY, FOREIGN]) {
      const patches = [{ path, expression }]
      const outcome = await twice({ virtual: labelled, patches }).catch(() => null)
      const isMistyped = MISTYPED[path]?.includes(expression) ?? false
      expect({ path, expression, isWritten: outcome !== null }).toMatchObject({
        isWritten: !isMistyped,
      })
      if (outcome === null) continue
      const { before, pair, after } = outcome
      const { host } = after
      expect(ownerOf(host ?? {}, 'Endpoints', SINGLE)).toEqual({
        name: 'web',
        namespace: 'shop',
        uid: 'u1',
      })
      for (const field of ['labels', 'annotations'] as const)
        for (const key of MARK_KEYS[field])
          expect(at(host, ['metadata', field, key])).toEqual(
            at(before.host, ['metadata', field, key]),
          )
      const { name, namespace, uid, resourceVersion, ownerReferences, finalizers } = nestedMap(
        host ?? {},
        ['metadata'],
      )
      expect({ name, namespace, uid, resourceVersion, ownerReferences, finalizers }).toEqual({
        name: 'web-x-shop-x-vc',
        namespace: 'host',
        uid: 'h1',
        resourceVersion: '9',
        ownerReferences: [{ ...OWNER, controller: false }],
        finalizers: undefined,
      })
      expect([host?.['kind'], host?.['apiVersion']]).toEqual(['Endpoints', 'v1'])
      expect(after.virtual).toBe(pair.virtual)
    }
  })
})
