import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import type { ObjectEvent } from '../../../src/kube/event-recorder.ts'
import { Store } from '../../../src/kube/informer/store.ts'
import { namespaceReport } from '../../../src/sync/namespace-report.ts'
import {
  BY_HOST_NAMESPACE,
  hostNamespace,
  virtualNamespace,
} from '../../../src/sync/namespace-sources.ts'
import { namespaceController } from '../../../src/sync/namespaces.ts'
import type { HostPlace } from '../../../src/sync/rules/host-name.ts'
import { hostNamespaceOf, namespaceMarks } from '../../../src/sync/rules/namespace-marks.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { refusal } from './memory-cluster.ts'
import { SEVERAL } from './translation.ts'

const place: HostPlace = {
  ...SEVERAL,
  namespaces: [
    ['cart', 'existing'],
    ['trolle*', 'existin*'],
  ],
}
const HOST = 'vc-x-shop'

const namespace = (name: string, given: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    uid: `${name}-uid`,
    resourceVersion: '5',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...given,
  },
})
const marksFor = (name: string, isMade = true) =>
  namespaceMarks({ name, uid: `${name}-uid` }, isMade, place)
const made = namespace(HOST, marksFor('shop'))

interface World {
  /** As cached. */
  readonly virtual?: readonly KubeObject[]
  readonly host?: readonly KubeObject[]
  /** As the clusters have them by now; absent: as cached. */
  readonly virtualNow?: readonly KubeObject[]
  readonly hostNow?: readonly KubeObject[]
  /** What is in every host namespace. */
  readonly pods?: readonly string[]
  readonly refused?: Error
}

function worldOf(world: World) {
  const { virtual = [], host = [], pods = [] } = world
  const stores = {
    virtual: new Store(virtualNamespace, {
      [BY_HOST_NAMESPACE]: ({ name }) => hostNamespaceOf(name, place),
    }),
    host: new Store(hostNamespace(place)),
  }
  const writes: unknown[] = []
  const write =
    (verb: string) =>
    async (_: unknown, ...call: readonly unknown[]) => {
      writes.push([verb, ...call])
      if (world.refused) throw world.refused
    }
  const clientOf = (objects: readonly KubeObject[]): KubeClient =>
    ({
      get: async (_: unknown, { name }: { readonly name: string }) =>
        objects.find(({ metadata }) => metadata.name === name) ?? null,
      create: write('create'),
      patch: write('patch'),
      delete: write('delete'),
    }) as unknown as KubeClient
  const events: ObjectEvent[] = []
  const failed: string[] = []
  const clock = manualClock(0)
  const report = namespaceReport({
    events: {
      record: (event) => void events.push(event),
      flush: async () => undefined,
      stop: () => undefined,
    },
    failed: (reason) => void failed.push(reason),
    log: memoryLog().log,
  })
  const kinds = [{ group: '', version: 'v1', plural: 'pods', kind: 'Pod' }]
  const spec = namespaceController({
    place,
    clients: {
      virtual: clientOf(world.virtualNow ?? virtual),
      host: clientOf(world.hostNow ?? host),
    },
    stores,
    content: {
      resources: async () => ({ resources: kinds, unknown: [] }),
      list: async ({ plural }) =>
        plural === 'pods' ? pods.map((name) => namespace(name).metadata) : [],
    },
    report,
    clock,
  })
  const queued: string[] = []
  for (const store of [stores.virtual, stores.host]) store.begin()
  for (const one of virtual) stores.virtual.put(one)
  for (const one of host) stores.host.put(one)
  for (const store of [stores.virtual, stores.host]) store.end()
  for (const watch of spec.watches) watch((key) => queued.push(key))
  return { ...spec, stores, writes, events, failed, queued }
}

describe('the controller of host namespaces', () => {
  test('makes a missing one with its marks (17.5)', async () => {
    const { reconcile, writes, events } = worldOf({ virtual: [namespace('shop')] })
    await reconcile(HOST)
    const metadata = { name: HOST, ...marksFor('shop') }
    expect(writes).toEqual([
      ['create', { apiVersion: 'v1', kind: 'Namespace', metadata }, 'create'],
    ])
    expect(events).toEqual([])
  })

  test('marks a named one as it was read, and keeps what others have set (17.5)', async () => {
    const existing = namespace('existing', { labels: { team: 'a' } })
    const { reconcile, writes } = worldOf({ virtual: [namespace('cart')], host: [existing] })
    await reconcile('existing')
    const { labels, annotations } = marksFor('cart', false)
    expect(writes).toEqual([
      [
        'patch',
        { name: 'existing' },
        [
          { op: 'test', path: '/metadata/resourceVersion', value: '5' },
          { op: 'add', path: '/metadata/labels', value: { team: 'a', ...labels } },
          { op: 'add', path: '/metadata/annotations', value: annotations },
        ],
        'mark',
      ],
    ])
  })

  test('does not mark one that has changed since it was read (17.5)', async () => {
    const { reconcile, writes } = worldOf({
      virtual: [namespace('cart')],
      host: [namespace('existing')],
      hostNow: [namespace('existing', { resourceVersion: '6' })],
    })
    await reconcile('existing')
    expect(writes).toEqual([])
  })

  test('deletes one whose virtual one is gone, as it was read (17.5)', async () => {
    const { reconcile, writes, events } = worldOf({ host: [made] })
    await reconcile(HOST)
    const { uid, resourceVersion } = made.metadata
    expect([writes, events]).toEqual([
      [['delete', { name: HOST }, { uid, resourceVersion }, 'delete']],
      [],
    ])
  })

  test('deletes nothing while the virtual cluster has the namespace after all (17.5)', async () => {
    const { reconcile, writes } = worldOf({ host: [made], virtualNow: [namespace('shop')] })
    expect(await reconcile(HOST)).toEqual({ result: 'later', atMs: 1000 })
    expect(writes).toEqual([])
  })

  test('keeps one with something in it, and looks again later (17.5)', async () => {
    const { reconcile, writes, events, failed } = worldOf({ host: [made], pods: ['web'] })
    expect(await reconcile(HOST)).toEqual({ result: 'later', atMs: 300_000 })
    expect([writes, failed]).toEqual([[], ['NamespaceKept']])
    expect(events).toMatchObject([
      {
        regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'shop', uid: 'shop-uid' },
        reason: 'NamespaceKept',
        type: 'Warning',
      },
    ])
    expect(events[0]?.note).toContain('it has pods web.')
  })

  test('keeps one that another waits for, and says so to both (17.5)', async () => {
    const before: HostPlace = { ...place, namespaces: [['old', 'existing']] }
    const marks = namespaceMarks({ name: 'old', uid: 'old-uid' }, true, before)
    const { reconcile, writes, events } = worldOf({
      virtual: [namespace('cart')],
      host: [namespace('existing', marks)],
      pods: ['web'],
    })
    await reconcile('existing')
    expect(writes).toEqual([])
    expect(events.map(({ reason, regarding }) => [reason, regarding.name])).toEqual([
      ['NamespaceKept', 'old'],
      ['NamespaceTaken', 'cart'],
    ])
  })

  test('takes the marks from one that it has not made (17.5)', async () => {
    const used = namespace('existing', marksFor('cart', false))
    const { reconcile, writes, failed } = worldOf({ host: [used], pods: ['web'] })
    await reconcile('existing')
    expect(failed).toEqual(['NamespaceKept'])
    expect(writes).toEqual([
      [
        'patch',
        { name: 'existing' },
        [
          { op: 'test', path: '/metadata/resourceVersion', value: '5' },
          { op: 'add', path: '/metadata/labels', value: {} },
          { op: 'add', path: '/metadata/annotations', value: {} },
        ],
        'unmark',
      ],
    ])
  })

  test('reports every virtual one that is left out, and writes nothing (17.5)', async () => {
    const { reconcile, writes, events } = worldOf({
      virtual: [namespace('shop')],
      host: [namespace(HOST)],
    })
    await reconcile(HOST)
    expect(writes).toEqual([])
    expect(events.map(({ reason, regarding }) => [reason, regarding.name])).toEqual([
      ['NamespaceTaken', 'shop'],
    ])
    expect(events[0]?.regarding).not.toHaveProperty('namespace')
  })

  test.each([
    { name: 'a refusal', refused: refusal(403, 'Forbidden'), failed: ['NotWritten'] },
    { name: 'a name that is too long', refused: refusal(422, 'Invalid'), failed: ['NotWritten'] },
    { name: 'a stale cache', refused: refusal(409, 'AlreadyExists'), failed: [] },
  ])('tries again after $name (17.5, 18.3)', async ({ refused, failed }) => {
    const world = worldOf({ virtual: [namespace('shop')], refused })
    await expect(world.reconcile(HOST)).rejects.toBe(refused)
    expect(world.failed).toEqual(failed)
  })

  test('examines all at start (17.5)', () => {
    const { queued } = worldOf({ virtual: [namespace('shop'), namespace('cart')], host: [made] })
    expect(queued).toEqual([HOST, 'existing', HOST])
  })

  test('examines what a namespace of either cluster leads to when it changes (17.5)', () => {
    const { stores, queued } = worldOf({ host: [made] })
    queued.length = 0
    stores.virtual.put(namespace('trolley', { resourceVersion: '7' }))
    expect(queued.splice(0)).toEqual(['existiny'])
    stores.host.remove(namespace(HOST, { resourceVersion: '8' }))
    expect(new Set(queued)).toEqual(new Set([HOST]))
  })
})
