import { describe, expect, test } from 'vitest'
import type { ListQuery } from '../../../../src/kube/client/client.ts'
import { watchNamespaces } from '../../../../src/kube/informer/namespace-informers.ts'
import {
  type CachedObject,
  type StoreChange,
  type StoreSink,
  fullObject,
} from '../../../../src/kube/informer/store.ts'
import { THINGS, thing } from './scripted-server.ts'

const a = { name: 'a', namespace: 'shop' }
const inShop = (name: string, version: number) => thing(name, version, { namespace: 'shop' })
const inCart = (name: string, version: number) => thing(name, version, { namespace: 'cart' })

/** Informers of namespaces whose watches a test plays. */
function playedInformers() {
  const sinks: StoreSink[] = []
  const queries: ListQuery[] = []
  const stopped: StoreSink[] = []
  const informers = watchNamespaces({
    startInformer: (_, sink, query) => {
      sinks.push(sink)
      queries.push(query)
      return { relist: () => undefined, stop: () => void stopped.push(sink) }
    },
    resource: THINGS,
    project: fullObject,
  })
  /** Changes such as `shop/a >1 listed`, and `read shop`. */
  const changes: string[] = []
  informers.subscribe(({ key, before, after, listed }: StoreChange<CachedObject>) => {
    const versions = `${before?.resourceVersion ?? ''}>${after?.resourceVersion ?? ''}`
    changes.push(`${key} ${versions}${listed ? ' listed' : ''}`)
  })
  informers.subscribeRead((namespace) => changes.push(`read ${namespace}`))
  /** The sink of that watch, counted from the first. */
  const sink = (at: number): StoreSink => {
    const found = sinks[at]
    if (!found) throw new Error(`there is no watch ${at}`)
    return found
  }
  /** Plays a complete list of that watch. */
  const list = (at: number, ...objects: Parameters<StoreSink['put']>[0][]): void => {
    sink(at).begin()
    for (const object of objects) sink(at).put(object)
    sink(at).end()
  }
  return { informers, queries, stopped, changes, sink, list }
}

const names = (objects: Iterable<CachedObject>): readonly string[] =>
  [...objects].map((one) => `${one.namespace}/${one.name}@${one.resourceVersion}`)

describe('informers of single namespaces', () => {
  test('objects are unknown until the first list of their namespace is complete (17.5)', () => {
    const { informers, changes, sink } = playedInformers()
    expect(informers.isSynced(a)).toBe(false)
    informers.want('shop')
    sink(0).begin()
    sink(0).put(inShop('a', 1))
    expect([informers.isSynced(a), informers.getByKey('shop/a')]).toEqual([false, undefined])
    expect([names(informers.values()), changes]).toEqual([[], []])
    sink(0).end()
    expect(informers.getByKey('shop/a')?.resourceVersion).toBe('1')
    expect([informers.isSynced(a), names(informers.values())]).toEqual([true, ['shop/a@1']])
    expect(changes).toEqual(['shop/a >1 listed', 'read shop'])
  })

  test('an object that a read namespace lacks does not exist (17.5)', () => {
    const { informers, changes, list } = playedInformers()
    informers.want('shop')
    list(0)
    expect([informers.isSynced(a), informers.getByKey('shop/a')]).toEqual([true, undefined])
    expect(changes).toEqual(['read shop'])
  })

  test('listeners find the namespace known when they hear of its objects (17.5)', () => {
    const { informers, list } = playedInformers()
    const seen: unknown[] = []
    informers.subscribe(({ key }) => seen.push([informers.isSynced(a), informers.getByKey(key)]))
    informers.want('shop')
    list(0, inShop('a', 1))
    expect(seen).toEqual([[true, informers.getByKey('shop/a')]])
  })

  test('report later changes as they are (17.5)', () => {
    const { informers, changes, sink, list } = playedInformers()
    informers.want('shop')
    list(0)
    changes.length = 0
    sink(0).put(inShop('a', 2))
    informers.observe(inShop('a', 3))
    sink(0).remove(inShop('a', 4))
    list(0, inShop('a', 5))
    expect(changes).toEqual(['shop/a >2', 'shop/a 2>3', 'shop/a 3>', 'shop/a >5 listed'])
  })

  test('each namespace has a watch of its own, and one only (17.5)', () => {
    const { informers, queries, list } = playedInformers()
    informers.want('shop')
    informers.want('cart')
    informers.want('shop')
    list(1, inCart('b', 7))
    expect(queries).toEqual([{ namespace: 'shop' }, { namespace: 'cart' }])
    const known = ['shop', 'cart'].map((namespace) => informers.isSynced({ name: 'x', namespace }))
    expect([known, names(informers.values())]).toEqual([[false, true], ['cart/b@7']])
  })

  test('a released namespace is unknown, and its objects are not reported as removed (17.5)', () => {
    const { informers, stopped, changes, sink, list } = playedInformers()
    informers.want('shop')
    list(0, inShop('a', 1))
    changes.length = 0
    informers.release('shop')
    expect([stopped.length, informers.isSynced(a), names(informers.values())]).toEqual([
      1,
      false,
      [],
    ])
    // What was read before the watch ended.
    sink(0).put(inShop('a', 2))
    sink(0).remove(inShop('a', 3))
    list(0)
    informers.observe(inShop('a', 4))
    informers.release('shop')
    expect([changes, stopped.length]).toEqual([[], 1])
  })

  test('a namespace that is wanted again is unknown until it is listed again (17.5)', () => {
    const { informers, changes, list } = playedInformers()
    informers.want('shop')
    informers.release('shop')
    informers.want('shop')
    list(0, inShop('a', 1))
    expect([informers.isSynced(a), changes]).toEqual([false, []])
    list(1, inShop('a', 2))
    expect([names(informers.values()), changes]).toEqual([
      ['shop/a@2'],
      ['shop/a >2 listed', 'read shop'],
    ])
  })

  test('a cluster-scoped object is in none of them (17.5)', () => {
    const { informers, list } = playedInformers()
    informers.want('shop')
    list(0)
    expect([informers.isSynced({ name: 'a' }), informers.getByKey('a')]).toEqual([false, undefined])
  })

  test('can be read from the start (17.5)', () => {
    let isCalled = false
    playedInformers().informers.whenSynced(() => (isCalled = true))
    expect(isCalled).toBe(true)
  })
})
