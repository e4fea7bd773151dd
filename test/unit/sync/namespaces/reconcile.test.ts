import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { namespaceReport } from '../../../../src/sync/namespaces/report.ts'
import {
  BY_HOST_NAMESPACE,
  hostNamespace,
  virtualNamespace,
} from '../../../../src/sync/namespaces/sources.ts'
import { namespaceController } from '../../../../src/sync/namespaces/setup.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import { hostNamespaceOf, namespaceMarks } from '../../../../src/sync/namespaces/marks.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { contextIn } from '../../../support/reconcile-context.ts'
import { refusal } from '../memory-cluster.ts'
import { SEVERAL } from '../translation.ts'

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
  /** What each write is refused with, at the moment. */
  refused?: Error | undefined
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
  const { log, lines } = memoryLog()
  const clock = manualClock(0)
  const report = namespaceReport({
    events: {
      record: (event) => void events.push(event),
      flush: async () => undefined,
      stop: () => undefined,
    },
    failed: (reason) => void failed.push(reason),
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
  const reconcile = (key: string) => spec.reconcile(key, contextIn(spec, key, log))
  return { ...spec, reconcile, stores, writes, events, failed, queued, lines }
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

  test('tries again after a stale cache, and reports nothing (17.5, 18.3)', async () => {
    const refused = refusal(409, 'AlreadyExists')
    const world = worldOf({ virtual: [namespace('shop')], refused })
    await expect(world.reconcile(HOST)).rejects.toBe(refused)
    expect([world.failed, world.lines]).toEqual([[], []])
  })

  test.each<{ name: string; world: World; key: string }>([
    { name: 'a create', world: { virtual: [namespace('shop')] }, key: HOST },
    {
      name: 'a mark',
      world: { virtual: [namespace('cart')], host: [namespace('existing')] },
      key: 'existing',
    },
    { name: 'a delete', world: { host: [made] }, key: HOST },
    {
      name: 'the end of a mark',
      world: { host: [namespace('existing', marksFor('cart', false))] },
      key: 'existing',
    },
  ])(
    '$name that is refused is tried again, and is one Event and one line until it ends (17.5, 18.3, 19.8)',
    async ({ world: given, key }) => {
      const answer = (seconds: number): StatusError =>
        new StatusError({
          code: 422,
          reason: 'Invalid',
          message: 'WRITE namespaces: 422 Invalid',
          retryAfterMs: 2000,
          isTestFailed: false,
          words: `no more than 9 namespaces, waited ${seconds} s`,
        })
      const world: World = { ...given, refused: answer(0) }
      const { reconcile, events, failed, lines } = worldOf(world)
      for (let i = 1; i <= 3; i++) {
        await expect(reconcile(key)).rejects.toMatchObject({
          name: 'ReportedFailure',
          message: 'WRITE namespaces: 422 Invalid',
          retryAfterMs: 2000,
        })
        world.refused = answer(i)
      }
      expect(failed).toEqual(['NotWritten', 'NotWritten', 'NotWritten'])
      expect(events).toMatchObject([
        {
          reason: 'NotWritten',
          regarding: { kind: 'Namespace' },
          note: 'The host refuses a write for it: WRITE namespaces: 422 Invalid: no more than 9 namespaces, waited 0 s.',
        },
      ])
      expect(lines).toMatchObject([{ level: 'warn', sentence: 'a namespace is not in step' }])
      expect(JSON.stringify(lines)).not.toContain('no more than 9')

      world.refused = undefined
      await reconcile(key)
      await reconcile(key)
      expect(lines.filter(({ level }) => level === 'info')).toMatchObject([
        { sentence: 'the host refuses a namespace no more', fields: { hostNamespace: key } },
      ])
    },
  )

  test('the line and the Event of a report have the ID of their reconcile and the host namespace (17.5, 19.8)', async () => {
    const world: World = { host: [made], refused: refusal(422, 'Invalid') }
    const { reconcile, events, lines } = worldOf(world)
    await expect(reconcile(HOST)).rejects.toThrow('Invalid')
    world.refused = undefined
    await reconcile(HOST)
    const [refused, ended] = lines.map(({ fields }) => fields)
    const reconcileID = refused?.['reconcileID']
    expect(reconcileID).toMatch(/^[0-9a-f-]{36}$/)
    expect(events).toMatchObject([{ reason: 'NotWritten', reconcileID }])
    const line = {
      controller: 'sync-namespaces',
      object: { name: HOST, uid: `${HOST}-uid`, resourceVersion: '5' },
    }
    expect(refused).toMatchObject({ ...line, namespace: 'shop', reason: 'NotWritten' })
    expect(ended).toEqual({
      ...line,
      hostNamespace: HOST,
      reconcileID: expect.not.stringContaining(String(reconcileID)) as unknown,
    })
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
