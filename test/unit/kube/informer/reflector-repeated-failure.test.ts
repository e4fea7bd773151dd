// A watch event that the store can't read, and that the API server sends again each time.
import { expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { createInformerFactory } from '../../../../src/kube/informer/informers.ts'
import { Store, fullObject } from '../../../../src/kube/informer/store.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import {
  THINGS,
  connectTo,
  answersInTurn,
  startScriptedServer,
  writeKubeconfig,
} from './scripted-server.ts'
import {
  added,
  closedWatch,
  brokenWatch,
  initialEventsEnd,
  event,
  modified,
  openWatch,
  listPage,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'

/** An object without metadata: no projection of a store can read it. */
const UNREADABLE = event('MODIFIED', { kind: 'Thing' })

test('the reflector relists and reports stuck after the same fault three times at one resourceVersion (8.2)', async () => {
  const reflector = await startReflector(
    answersInTurn(
      openWatch(added('a', 1), initialEventsEnd(5), UNREADABLE),
      openWatch(UNREADABLE),
      openWatch(UNREADABLE),
      openWatch(added('a', 7), initialEventsEnd(8), modified('a', 9)),
    ),
  )
  await reflector.waitForState({
    objects: ['a@9'],
    requests: ['stream', 'follow 5', 'follow 5', 'stream'],
  })
  expect(reflector.stuck).toEqual([true, false])
  expect(reflector.restarts).toEqual(['failed', 'failed', 'failed'])
})

test('the reflector relists in pages where the server has no WatchList (8.2)', async () => {
  const reflector = await startReflector(
    answersInTurn(
      withoutWatchList,
      listPage(5, []),
      openWatch(UNREADABLE),
      openWatch(UNREADABLE),
      openWatch(UNREADABLE),
      listPage(8, []),
      openWatch(added('a', 9)),
    ),
  )
  const follows = ['follow 5', 'follow 5', 'follow 5']
  await reflector.waitForState({
    objects: ['a@9'],
    requests: ['stream', 'list', ...follows, 'list', 'follow 8'],
  })
  expect(reflector.stuck).toEqual([true, false])
})

test('stays stuck while the relist has the same fault (8.2)', async () => {
  const reflector = await startReflector(
    answersInTurn(
      ...Array.from({ length: 5 }, () => openWatch(UNREADABLE)),
      openWatch(added('a', 1), initialEventsEnd(5)),
    ),
  )
  await reflector.waitForState({
    objects: ['a@1'],
    requests: Array.from({ length: 6 }, () => 'stream'),
  })
  expect(reflector.stuck).toEqual([true, false])
})

test('broken connections never count as a repeated fault (8.2)', async () => {
  const reflector = await startReflector(
    answersInTurn(
      closedWatch(added('a', 1), initialEventsEnd(5)),
      ...Array.from({ length: 5 }, () => brokenWatch()),
      openWatch(modified('a', 6)),
    ),
  )
  const follows = Array.from({ length: 6 }, () => 'follow 5')
  await reflector.waitForState({ objects: ['a@6'], requests: ['stream', ...follows] })
  expect(reflector.stuck).toEqual([])
})

test('the informer factory names each stuck resource once (8.2)', async () => {
  const server = await startScriptedServer(openWatch(UNREADABLE))
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
