import { describe, expect, onTestFinished, test } from 'vitest'
import type { ListQuery, ObjectRef } from '../../../../src/kube/client/client.ts'
import { createInformerFactory } from '../../../../src/kube/informer/informers.ts'
import { watchByName } from '../../../../src/kube/informer/named-informers.ts'
import {
  type CachedObject,
  type StoreChange,
  type StoreSink,
  fullObject,
} from '../../../../src/kube/informer/store.ts'
import { eventually } from '../../../support/eventually.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import {
  WAIT_LIMIT,
  added,
  event,
  initialEventsEnd,
  openWatch,
  withoutWatchList,
} from './reflector-builder.ts'
import {
  type Answer,
  THINGS,
  connectTo,
  refuse,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'

const a: ObjectRef = { name: 'a', namespace: 'shop' }
const b: ObjectRef = { name: 'b', namespace: 'shop' }
const inShop = (name: string, version: number) => thing(name, version, { namespace: 'shop' })

/** Records changes such as `shop/a >1 listed`. */
function recorder() {
  const changes: string[] = []
  const listener = ({ key, before, after, listed }: StoreChange<CachedObject>): void => {
    const versions = `${before?.resourceVersion ?? ''}>${after?.resourceVersion ?? ''}`
    changes.push(`${key} ${versions}${listed ? ' listed' : ''}`)
  }
  return { changes, listener }
}

/** Named informers whose watches a test plays. */
function playedInformers() {
  const sinks: StoreSink[] = []
  const queries: ListQuery[] = []
  const stopped: StoreSink[] = []
  const { log, lines } = memoryLog()
  const informers = watchByName({
    startInformer: (_, sink, query) => {
      sinks.push(sink)
      queries.push(query)
      return { relist: () => undefined, stop: () => void stopped.push(sink) }
    },
    resource: THINGS,
    project: fullObject,
    log,
  })
  const { changes, listener } = recorder()
  informers.subscribe(listener)
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
  return { informers, queries, stopped, changes, sink, list, lines }
}

const names = (objects: Iterable<CachedObject>): readonly string[] =>
  [...objects].map((one) => `${one.name}@${one.resourceVersion}`)

describe('informers of single objects', () => {
  test('an object is unknown until its first list is complete (20)', () => {
    const { informers, changes, sink } = playedInformers()
    expect(informers.isSynced(a)).toBe(false)
    informers.want(a)
    sink(0).begin()
    sink(0).put(inShop('a', 1))
    expect(informers.getByKey('shop/a')).toBeUndefined()
    expect([names(informers.values()), informers.isSynced(a), changes]).toEqual([[], false, []])
    sink(0).end()
    expect(informers.getByKey('shop/a')?.resourceVersion).toBe('1')
    expect([names(informers.values()), informers.isSynced(a)]).toEqual([['a@1'], true])
    expect(changes).toEqual(['shop/a >1 listed'])
  })

  test('listeners learn that an object does not exist, and find it known then (20)', () => {
    const { informers, list } = playedInformers()
    const seen: unknown[] = []
    informers.subscribe((change) =>
      seen.push([change, informers.isSynced(a), informers.getByKey('shop/a')]),
    )
    informers.want(a)
    list(0)
    const change = { key: 'shop/a', name: 'a', before: undefined, after: undefined, listed: true }
    expect(seen).toEqual([[change, true, undefined]])
  })

  test('report later changes as they are (20)', () => {
    const { informers, changes, sink, list } = playedInformers()
    informers.want(a)
    list(0)
    changes.length = 0
    sink(0).put(inShop('a', 2))
    sink(0).put(inShop('a', 3))
    informers.observe(inShop('a', 4))
    sink(0).remove(inShop('a', 5))
    list(0, inShop('a', 6))
    expect(changes).toEqual([
      'shop/a >2',
      'shop/a 2>3',
      'shop/a 3>4',
      'shop/a 4>',
      'shop/a >6 listed',
    ])
  })

  test('let an object wait for a release beyond 1,000 watches; the log says so once (20)', () => {
    const { informers, queries, stopped, lines, sink } = playedInformers()
    const refs = Array.from({ length: 1003 }, (_, at) => ({ namespace: 'shop', name: `n-${at}` }))
    for (const ref of refs) informers.want(ref)
    expect(queries.length).toBe(1000)
    expect(refs.filter((ref) => informers.isWaiting(ref))).toEqual(refs.slice(1000))
    expect(lines.map(({ sentence }) => sentence)).toEqual([
      'too many objects are read by their names, the others wait',
    ])
    const [first, second] = refs
    const [gone, next] = refs.slice(1000)
    if (!first || !second || !gone || !next) throw new Error('there are more')
    informers.release(gone)
    informers.release(first)
    expect(stopped).toEqual([sink(0)])
    expect(refs.filter((ref) => informers.isWaiting(ref))).toEqual(refs.slice(1002))
    expect(queries.slice(1000)).toEqual([
      { namespace: 'shop', fieldSelector: `metadata.name=${next.name}` },
    ])
    informers.release(next)
    expect(queries.at(-1)?.fieldSelector).toBe('metadata.name=n-1002')
    expect(queries.length).toBe(1002)
  })

  test('each object has a watch of its own, and one only (20)', () => {
    const { informers, queries, list } = playedInformers()
    informers.want(a)
    informers.want(b)
    informers.want(a)
    informers.want({ name: 'c' })
    list(1, inShop('b', 7))
    expect(queries).toEqual([
      { namespace: 'shop', fieldSelector: 'metadata.name=a' },
      { namespace: 'shop', fieldSelector: 'metadata.name=b' },
      { fieldSelector: 'metadata.name=c' },
    ])
    expect([informers.isSynced(a), informers.isSynced(b)]).toEqual([false, true])
    expect(names(informers.values())).toEqual(['b@7'])
  })

  test('a released object is unknown, and is not reported as removed (20)', () => {
    const { informers, stopped, changes, sink, list } = playedInformers()
    informers.want(a)
    list(0, inShop('a', 1))
    changes.length = 0
    informers.release(a)
    expect(stopped).toEqual([sink(0)])
    expect([
      informers.getByKey('shop/a'),
      informers.isSynced(a),
      names(informers.values()),
    ]).toEqual([undefined, false, []])
    // What was read before the watch ended.
    sink(0).put(inShop('a', 2))
    sink(0).remove(inShop('a', 3))
    list(0)
    informers.observe(inShop('a', 4))
    informers.release(a)
    informers.release(b)
    expect([changes, stopped.length]).toEqual([[], 1])
  })

  test('an object that is wanted again is unknown until it is listed again (20)', () => {
    const { informers, changes, sink, list } = playedInformers()
    informers.want(a)
    informers.release(a)
    informers.want(a)
    list(0, inShop('a', 1))
    expect([informers.isSynced(a), changes]).toEqual([false, []])
    list(1, inShop('a', 2))
    sink(0).put(inShop('a', 3))
    expect([names(informers.values()), changes]).toEqual([['a@2'], ['shop/a >2 listed']])
  })

  test.each([
    { name: 'x,metadata.namespace!=y', namespace: 'shop' },
    { name: 'x/y', namespace: 'shop' },
    { name: '', namespace: 'shop' },
    { name: '..', namespace: 'shop' },
    { name: 'X', namespace: 'shop' },
    { name: 'x'.repeat(254), namespace: 'shop' },
    { name: 'x', namespace: 'shop/../kube-system' },
    { name: 'x', namespace: '' },
    { name: 'x', namespace: 'a.b' },
  ])('$namespace/$name is no name of an object, and is not asked for (20)', (ref) => {
    const { informers, queries, changes } = playedInformers()
    informers.want(ref)
    expect([queries, informers.isSynced(ref), [...informers.values()]]).toEqual([[], true, []])
    expect(changes).toEqual([`${ref.namespace}/${ref.name} > listed`])
    informers.release(ref)
    expect(informers.isSynced(ref)).toBe(false)
  })

  test('can be read from the start (20)', () => {
    const { informers } = playedInformers()
    informers.want(a)
    let isCalled = false
    informers.whenSynced(() => (isCalled = true))
    expect(isCalled).toBe(true)
  })
})

/** Named informers on a server that answers by the field selector of the request. */
async function connectedInformers(answers: Readonly<Record<string, Answer>>) {
  const closed: string[] = []
  const server = await startScriptedServer((response, request) => {
    const selector = request.query['fieldSelector'] ?? ''
    response.on('close', () => closed.push(selector))
    answers[selector]?.(response, request)
  })
  const { client, clock } = await connectTo(await writeKubeconfig({ server: server.url }))
  const { log, lines } = memoryLog()
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const factory = createInformerFactory({
    client,
    clock,
    log,
    restarted: () => undefined,
    signal: abort.signal,
  })
  const informers = watchByName({ ...factory, resource: THINGS, project: fullObject, log })
  const { changes, listener } = recorder()
  informers.subscribe(listener)
  const waitUntil = (what: string, isSo: () => boolean): Promise<true> =>
    eventually(
      what,
      async () => {
        await clock.advance(5_000)
        return isSo() || undefined
      },
      WAIT_LIMIT,
    )
  return { server, clock, factory, informers, changes, closed, lines, waitUntil }
}

describe('informers of single objects on an API server', () => {
  test('watch each object by its name, and list none (20)', async () => {
    const { server, informers, changes, waitUntil } = await connectedInformers({
      'metadata.name=a': openWatch(event('ADDED', inShop('a', 1)), initialEventsEnd(9)),
      'metadata.name=b': openWatch(initialEventsEnd(9)),
    })
    informers.want(a)
    informers.want(b)
    await waitUntil('both are known', () => informers.isSynced(a) && informers.isSynced(b))
    expect(changes.toSorted()).toEqual(['shop/a >1 listed', 'shop/b > listed'])
    expect(server.received.map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => '/apis/g.io/v1/namespaces/shop/things'),
    )
    for (const { query } of server.received) expect(query).toMatchObject({ watch: 'true' })
  })

  test('a release ends one watch, and no other (20)', async () => {
    const { server, informers, closed, waitUntil } = await connectedInformers({
      'metadata.name=a': openWatch(added('a', 1), initialEventsEnd(9)),
      'metadata.name=b': openWatch(initialEventsEnd(9)),
    })
    informers.want(a)
    informers.want(b)
    await waitUntil('both are known', () => informers.isSynced(a) && informers.isSynced(b))
    informers.release(a)
    await waitUntil('a watch has ended', () => closed.length > 0)
    expect([closed, server.received.length]).toEqual([['metadata.name=a'], 2])
  })

  test('an object that may not be read stays unknown, is logged, and holds up no other (20)', async () => {
    const forbidden = refuse(403, { reason: 'Forbidden', message: 'cannot list things' })
    const { server, informers, changes, lines, waitUntil } = await connectedInformers({
      'metadata.name=a': (response, request) =>
        request.query['watch'] === 'true'
          ? withoutWatchList(response, request)
          : forbidden(response, request),
      'metadata.name=b': openWatch(initialEventsEnd(9)),
    })
    informers.want(a)
    informers.want(b)
    const isRefused = () => server.received.filter(({ query }) => !query['watch']).length > 2
    await waitUntil(
      'the list of a is refused, and b is known',
      () => isRefused() && informers.isSynced(b),
    )
    expect([informers.isSynced(a), informers.getByKey('shop/a'), changes]).toEqual([
      false,
      undefined,
      ['shop/b > listed'],
    ])
    expect(JSON.stringify(lines)).toContain('watch failed, trying again')
  })

  test('a stopped informer with a repeated fault is not stuck any more (8.2)', async () => {
    const { server, clock, factory, informers, waitUntil } = await connectedInformers({
      'metadata.name=a': openWatch('no JSON\n'),
    })
    informers.want(a)
    await waitUntil('it is stuck', () => factory.stuck().length > 0)
    informers.release(a)
    expect(factory.stuck()).toEqual([])
    const { length } = server.received
    for (let times = 0; times < 5; times += 1) await clock.advance(5_000)
    expect(server.received).toHaveLength(length)
  })
})
