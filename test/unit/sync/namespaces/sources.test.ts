import { describe, expect, test } from 'vitest'
import { SECRETS, SERVICES } from '../../../../src/api/names.ts'
import type { KubeObject } from '../../../../src/api/objects.ts'
import type { InformerFactory } from '../../../../src/kube/informer/informers.ts'
import { type StoreSink, Store } from '../../../../src/kube/informer/store.ts'
import {
  BY_HOST_NAMESPACE,
  type HostAccess,
  SINGLE_NAMESPACE,
  hostNamespace,
  hostNamespaceSources,
  virtualNamespace,
} from '../../../../src/sync/namespaces/sources.ts'
import type { HostPlace, NamespaceMappings } from '../../../../src/sync/objects/host-name.ts'
import { hostNamespaceOf, namespaceMarks } from '../../../../src/sync/namespaces/marks.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { SEVERAL } from '../translation.ts'
import { syncedObject } from '../../../../src/sync/objects/synced-object.ts'

const MAPPINGS: NamespaceMappings = [
  ['cart', 'host-cart'],
  ['trolle*', 'host-cart'],
]
const place: HostPlace = { ...SEVERAL, namespaces: MAPPINGS }
const SHOP = 'vc-x-shop'
const creds = { name: 'creds', namespace: SHOP }

/** A namespace of the host, marked for this virtual one. */
const marked = (name: string, of: string, given: object = {}, by = place): KubeObject => {
  versions += 1
  const marks = of === '' ? {} : namespaceMarks({ name: of, uid: 'n1' }, true, by)
  const resourceVersion = String(versions)
  const creationTimestamp = '2026-01-01T00:00:00Z'
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid: `${name}-uid`, resourceVersion, creationTimestamp, ...marks, ...given },
  }
}
let versions = 0

/** A namespace of the virtual cluster. */
const objectNamed = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, uid: 'n1', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
})

const objectIn = (namespace: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'web',
    namespace,
    uid: 'u1',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
})

/** The sources of a host whose watches a test plays. */
function playedHost() {
  const watches: { readonly asked: string; readonly sink: StoreSink }[] = []
  const stores = {
    virtual: new Store(virtualNamespace, {
      [BY_HOST_NAMESPACE]: ({ name }) => hostNamespaceOf(name, place),
    }),
    host: new Store(hostNamespace(place)),
  }
  const { log } = memoryLog()
  const startInformer: InformerFactory['startInformer'] = ({ plural }, sink, query) => {
    const asked = [plural, query.namespace, query.fieldSelector].filter(Boolean).join(' ')
    watches.push({ asked, sink })
    return { relist: () => undefined, stop: () => void stopped.push(asked) }
  }
  const sources = hostNamespaceSources({ stores, place, startInformer, log })
  const stopped: string[] = []
  const told: string[] = []
  sources.subscribe((namespace) => told.push(namespace))
  return {
    ...stores,
    sources,
    services: sources.whole(SERVICES),
    secrets: sources.named(SECRETS, syncedObject(SECRETS.kind)),
    asked: () => watches.map(({ asked }) => asked),
    read: (at: number, ...objects: readonly KubeObject[]): void => {
      watches[at]?.sink.begin()
      for (const object of objects) watches[at]?.sink.put(object)
      watches[at]?.sink.end()
    },
    stopped,
    told: () => told.splice(0),
  }
}

const access = ({ isOpen, mayCreateIn }: HostAccess, namespace: string) => [
  isOpen(namespace),
  mayCreateIn(namespace),
]

describe('a namespace of the host', () => {
  test('is read from when it is marked, until it is no more (17.5)', () => {
    const { host, asked, stopped } = playedHost()
    host.begin()
    host.put(marked(SHOP, ''))
    host.end()
    expect(asked()).toEqual([])
    host.put(marked(SHOP, 'shop'))
    expect(asked()).toEqual([`services ${SHOP}`])
    host.put(marked(SHOP, 'shop', { labels: {} }))
    expect(stopped).toEqual([`services ${SHOP}`])
  })

  test.each([
    { name: 'of nobody', object: () => marked(SHOP, '') },
    { name: 'with copied marks', object: () => marked('copy', 'shop') },
    {
      name: 'that its virtual one does not lead to any more',
      object: () => marked('vc-x-cart', 'cart', {}, { ...place, namespaces: [] }),
    },
  ])('$name is not read, and nothing is created in it (17.5)', ({ object }) => {
    const { host, sources, secrets, asked } = playedHost()
    const namespace = object()
    secrets.want({ name: 'creds', namespace: namespace.metadata.name })
    host.put(namespace)
    expect(asked()).toEqual([])
    expect(access(sources, 'shop')).toEqual([false, false])
    expect(access(sources, 'cart')).toEqual([false, false])
  })

  test.each<{ name: string; host: () => readonly KubeObject[]; isOpening: boolean }>([
    { name: 'that is not there yet', host: () => [], isOpening: true },
    { name: 'that is marked', host: () => [marked(SHOP, 'shop')], isOpening: false },
    { name: 'of another user', host: () => [marked(SHOP, '')], isOpening: false },
    {
      name: 'that terminates',
      host: () => [marked(SHOP, '', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      isOpening: true,
    },
  ])('$name: is it to open? $isOpening (17.5, 19.5)', ({ host, isOpening }) => {
    const played = playedHost()
    const { virtual } = played
    virtual.put(objectNamed('shop'))
    for (const namespace of host()) played.host.put(namespace)
    expect(played.sources.isOpening('shop')).toBe(isOpening)
    // Nothing of the virtual cluster leads there.
    expect(played.sources.isOpening('absent')).toBe(false)
  })

  test('that is marked is open, and one that terminates takes nothing new (17.5)', () => {
    const { host, sources } = playedHost()
    host.put(marked(SHOP, 'shop'))
    expect([access(sources, 'shop'), access(sources, 'other')]).toEqual([
      [true, true],
      [false, false],
    ])
    host.put(marked(SHOP, 'shop', { deletionTimestamp: '2026-01-01T00:00:00Z' }))
    expect(access(sources, 'shop')).toEqual([true, false])
  })

  test('is open to the one that it is marked for, not to another one that leads there (17.5)', () => {
    const { host, sources } = playedHost()
    host.put(marked('host-cart', 'cart'))
    expect([access(sources, 'cart'), access(sources, 'trolley')]).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('has its objects examined when it changes, and when it is read (17.5)', () => {
    const { host, services, read, told } = playedHost()
    const readOf: string[] = []
    services.subscribeRead((namespace) => readOf.push(namespace))
    host.put(marked(SHOP, 'shop'))
    expect([told(), services.isSynced({ name: 'web', namespace: SHOP })]).toEqual([['shop'], false])
    read(0, objectIn(SHOP))
    expect([told(), readOf]).toEqual([[], ['shop']])
    expect(services.getByKey(`${SHOP}/web`)?.name).toBe('web')
  })
})

test.each([
  { name: 'is marked', after: () => marked(SHOP, 'shop'), told: ['shop'] },
  {
    name: 'terminates',
    before: () => marked(SHOP, 'shop'),
    after: () => marked(SHOP, 'shop', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    told: ['shop'],
  },
  {
    name: 'loses its marks',
    before: () => marked(SHOP, 'shop'),
    after: () => marked(SHOP, ''),
    told: ['shop'],
  },
  {
    name: 'changes otherwise',
    before: () => marked(SHOP, 'shop'),
    after: () => marked(SHOP, 'shop'),
    told: [],
  },
  { name: 'is foreign', after: () => marked(SHOP, ''), told: [] },
])('a namespace that $name has objects of $told examined (17.5)', ({ before, after, told }) => {
  const { host, told: heard } = playedHost()
  if (before) host.put(before())
  heard()
  host.put(after())
  expect(heard()).toEqual(told)
})

describe('a single object', () => {
  test('is read once its namespace is open (17.5)', () => {
    const { host, secrets, asked } = playedHost()
    secrets.want(creds)
    expect(asked()).toEqual([])
    host.put(marked(SHOP, 'shop'))
    const named = `secrets ${SHOP} metadata.name=creds`
    expect(asked()).toEqual([`services ${SHOP}`, named])
    secrets.want({ name: 'other', namespace: SHOP })
    expect(asked()).toContain(`secrets ${SHOP} metadata.name=other`)
  })

  test('that is not wanted any more is not read when its namespace opens (17.5)', () => {
    const { host, secrets, asked } = playedHost()
    secrets.want(creds)
    secrets.release(creds)
    host.put(marked(SHOP, 'shop'))
    expect(asked()).toEqual([`services ${SHOP}`])
  })

  test('is unknown when its namespace closes, and is read again when it opens (17.5)', () => {
    const { host, secrets, asked, read } = playedHost()
    secrets.want(creds)
    host.put(marked(SHOP, 'shop'))
    read(1)
    expect(secrets.isSynced(creds)).toBe(true)
    host.put(marked(SHOP, ''))
    expect(secrets.isSynced(creds)).toBe(false)
    host.put(marked(SHOP, 'shop'))
    expect(asked().filter((one) => one.startsWith('secrets'))).toHaveLength(2)
  })
})

test('every namespace is open in single-namespace mode (17.5)', () => {
  expect(access(SINGLE_NAMESPACE, 'shop')).toEqual([true, true])
})
