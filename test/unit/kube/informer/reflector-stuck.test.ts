// A watch that reads what it can't take in, again and again.
import { expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { createInformerFactory } from '../../../../src/kube/informer/informers.ts'
import { Store, fullObject } from '../../../../src/kube/informer/store.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { THINGS, connectTo, inTurn, startScripted, writeKubeconfig } from './scripted-server.ts'
import {
  added,
  closing,
  cut,
  end,
  event,
  modified,
  open,
  page,
  watch,
  withoutWatchList,
} from './watched.ts'

/** What no projection of ours reads: an object without metadata. */
const UNREADABLE = event('MODIFIED', { kind: 'Thing' })

test('three times the same fault at one place: it lists anew, and says that it is stuck (8.2)', async () => {
  const it = await watch(
    inTurn(
      open(added('a', 1), end(5), UNREADABLE),
      open(UNREADABLE),
      open(UNREADABLE),
      open(added('a', 7), end(8), modified('a', 9)),
    ),
  )
  await it.becomes({ world: ['a@9'], requests: ['stream', 'follow 5', 'follow 5', 'stream'] })
  expect(it.stuck).toEqual([true, false])
  expect(it.restarts).toEqual(['failed', 'failed', 'failed'])
})

test('in pages where the server has no WatchList (8.2)', async () => {
  const it = await watch(
    inTurn(
      withoutWatchList,
      page(5, []),
      open(UNREADABLE),
      open(UNREADABLE),
      open(UNREADABLE),
      page(8, []),
      open(added('a', 9)),
    ),
  )
  const follows = ['follow 5', 'follow 5', 'follow 5']
  await it.becomes({
    world: ['a@9'],
    requests: ['stream', 'list', ...follows, 'list', 'follow 8'],
  })
  expect(it.stuck).toEqual([true, false])
})

test('a fault that the listing has as well keeps it stuck until it is gone (8.2)', async () => {
  const it = await watch(
    inTurn(...Array.from({ length: 5 }, () => open(UNREADABLE)), open(added('a', 1), end(5))),
  )
  await it.becomes({ world: ['a@1'], requests: Array.from({ length: 6 }, () => 'stream') })
  expect(it.stuck).toEqual([true, false])
})

test('what breaks is no fault of what was read, however often it does (8.2)', async () => {
  const it = await watch(
    inTurn(
      closing(added('a', 1), end(5)),
      ...Array.from({ length: 5 }, () => cut()),
      open(modified('a', 6)),
    ),
  )
  const follows = Array.from({ length: 6 }, () => 'follow 5')
  await it.becomes({ world: ['a@6'], requests: ['stream', ...follows] })
  expect(it.stuck).toEqual([])
})

test('a factory names what is stuck, once for each resource (8.2)', async () => {
  const server = await startScripted(open(UNREADABLE))
  const { client, clock } = await connectTo(await writeKubeconfig({ server: server.url }))
  const { log } = memoryLog()
  const abort = new AbortController()
  const factory = createInformerFactory({
    client,
    clock,
    log,
    restarted: () => undefined,
    signal: abort.signal,
  })
  const project = (object: KubeObject) => fullObject(object)
  factory.startInformer(THINGS, new Store(project), {})
  factory.startInformer(THINGS, new Store(project), { fieldSelector: 'metadata.name=a' })
  while (server.received.length < 8) await clock.advance(5_000)
  expect(factory.stuck()).toEqual([THINGS.plural])
  abort.abort()
})
