import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { runReflector } from '../../../../src/kube/informer/reflector.ts'
import { Store, fullObject } from '../../../../src/kube/informer/store.ts'
import { eventually } from '../../../support/eventually.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import {
  type Answer,
  type ReceivedRequest,
  THINGS,
  answersInTurn,
  connectTo,
  dropConnection,
  neverAnswer,
  refuse,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'
import {
  EXPIRED_EVENT,
  WAIT_LIMIT,
  added,
  bookmark,
  brokenWatch,
  closedWatch,
  deleted,
  initialEventsEnd,
  listPage,
  modified,
  openWatch,
  requestName,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'

describe('a resource that the API server does not serve (404)', () => {
  test('is retried until it is served, then watched', async () => {
    const absent = refuse(404)
    const reflector = await startReflector(
      answersInTurn(absent, absent, absent, openWatch(added('a', 1), initialEventsEnd(5))),
    )
    await reflector.waitForState({
      objects: ['a@1'],
      requests: Array.from({ length: 4 }, () => 'stream'),
    })
    expect(reflector.served).toEqual([false, false, false, true])
    expect(reflector.restarts).toEqual(['absent', 'absent', 'absent'])
  })

  test('is retried after its CRD was deleted, and its objects are gone', async () => {
    const reflector = await startReflector(
      answersInTurn(
        closedWatch(added('a', 1), initialEventsEnd(5), deleted('a', 6)),
        refuse(404),
        refuse(404),
        openWatch(added('b', 9), initialEventsEnd(10)),
      ),
    )
    await reflector.waitForState({
      objects: ['b@9'],
      requests: ['stream', 'follow 6', 'stream', 'stream'],
    })
    expect(reflector.served).toEqual([true, false, false, true])
  })
})

test('the reflector closes the connection of a watch that failed', async () => {
  const closed: string[] = []
  const answer = answersInTurn(
    openWatch(initialEventsEnd(5), EXPIRED_EVENT),
    openWatch(initialEventsEnd(6), 'garbage\n'),
    openWatch(bookmark(7)),
  )
  const reflector = await startReflector((response, request) => {
    response.once('close', () => closed.push(requestName(request)))
    answer(response, request)
  })
  // The third request may leave before the server sees that the second is closed.
  await reflector.waitUntil(
    'two watches are closed',
    () => closed.length === 2 && reflector.requests().length === 3,
  )
  expect(closed).toEqual(['stream', 'stream'])
  expect(reflector.requests()).toEqual(['stream', 'stream', 'follow 6'])
})

describe('a failed watch is retried', () => {
  test.each<{ name: string; answer: Answer }>([
    { name: 'status 500', answer: refuse(500) },
    { name: 'broken connections', answer: dropConnection },
    { name: 'streams that end at once', answer: closedWatch() },
    { name: 'status 404', answer: refuse(404) },
  ])('after $name with growing back-off, at most 5 s, with jitter', async ({ answer }) => {
    const answers = Array.from({ length: 12 }, () => answer)
    const reflector = await startReflector(
      answersInTurn(...answers, openWatch(added('a', 1), initialEventsEnd(5))),
    )
    await reflector.waitForState({
      objects: ['a@1'],
      requests: Array.from({ length: 13 }, () => 'stream'),
    })
    const longest = [200, 400, 800, 1600, 3200, ...Array.from({ length: 7 }, () => 5000)]
    expect(reflector.waits).toHaveLength(12)
    for (const [turn, waitMs] of reflector.waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual((longest[turn] ?? 0) / 2)
      expect(waitMs).toBeLessThanOrEqual(longest[turn] ?? 0)
    }
    expect(new Set(reflector.waits).size).toBe(12)
  })

  test.each([
    { name: 'with Retry-After is retried after that time', seconds: '7', atLeastMs: 7000 },
    { name: 'with Retry-After 0 is retried soon', seconds: '0', atLeastMs: 100 },
  ])('a watch refused with 429 $name', async ({ seconds, atLeastMs }) => {
    const busy = refuse(429, {}, { 'retry-after': seconds })
    const reflector = await startReflector(
      answersInTurn(busy, busy, openWatch(added('a', 1), initialEventsEnd(5))),
    )
    await reflector.waitForState({ objects: ['a@1'], requests: ['stream', 'stream', 'stream'] })
    expect(reflector.waits).toHaveLength(2)
    for (const waitMs of reflector.waits) {
      expect(waitMs).toBeGreaterThanOrEqual(atLeastMs)
      expect(waitMs).toBeLessThanOrEqual(atLeastMs + 400)
    }
  })

  test('a 410 resets the back-off once: the first relist comes soon, further ones back off', async () => {
    const bad = Array.from({ length: 6 }, () => refuse(500))
    const gone = closedWatch(EXPIRED_EVENT)
    const reflector = await startReflector(
      answersInTurn(
        closedWatch(initialEventsEnd(5)),
        ...bad,
        gone,
        gone,
        gone,
        openWatch(added('a', 7), initialEventsEnd(9)),
      ),
    )
    const follows = Array.from({ length: 7 }, () => 'follow 5')
    await reflector.waitForState({
      objects: ['a@7'],
      requests: ['stream', ...follows, 'stream', 'stream', 'stream'],
    })
    const [first = 0, second = 0, third = 0] = reflector.waits.slice(-3)
    expect(first).toBeLessThanOrEqual(200)
    expect(second).toBeGreaterThanOrEqual(200)
    expect(third).toBeGreaterThanOrEqual(400)
  })

  test('lists in pages that end in 410 back off too, instead of looping', async () => {
    const round = [listPage(9, []), closedWatch(EXPIRED_EVENT)]
    const reflector = await startReflector(
      answersInTurn(
        withoutWatchList,
        ...round,
        ...round,
        ...round,
        ...round,
        listPage(9, [thing('a', 1)]),
      ),
    )
    await reflector.waitUntil('the object is in the store', () => reflector.store.size === 1)
    expect(reflector.waits).toHaveLength(4)
    expect(reflector.waits.at(-1)).toBeGreaterThanOrEqual(800)
  })

  test('an event resets the back-off', async () => {
    const bad = Array.from({ length: 8 }, () => refuse(500))
    const reflector = await startReflector(
      answersInTurn(
        closedWatch(initialEventsEnd(5)),
        ...bad,
        brokenWatch(bookmark(6)),
        refuse(500),
        openWatch(added('a', 7)),
      ),
    )
    await reflector.waitForState({
      objects: ['a@7'],
      requests: ['stream', ...Array.from({ length: 9 }, () => 'follow 5'), 'follow 6', 'follow 6'],
    })
    expect(reflector.waits.at(-3)).toBeGreaterThan(2000)
    expect(reflector.waits.at(-1)).toBeLessThanOrEqual(200)
  })
})

describe('an abort ends the reflector at once', () => {
  test.each<{
    name: string
    answers: readonly Answer[]
    reached: (reflector: Awaited<ReturnType<typeof startReflector>>) => boolean
  }>([
    {
      name: 'while it waits for an answer',
      answers: [neverAnswer],
      reached: ({ server }) => server.received.length === 1,
    },
    {
      name: 'during the initial events',
      answers: [openWatch(added('a', 1))],
      reached: ({ store }) => store.size === 1,
    },
    {
      name: 'while it watches',
      answers: [openWatch(initialEventsEnd(5))],
      reached: ({ store }) => store.synced,
    },
    {
      name: 'while it waits for a page',
      answers: [withoutWatchList, neverAnswer],
      reached: ({ server }) => server.received.length === 2,
    },
    {
      name: 'during a back-off',
      answers: [refuse(500)],
      reached: ({ waits }) => waits.length === 1,
    },
  ])('$name', async ({ answers, reached }) => {
    const closed: Promise<unknown>[] = []
    const answer = answersInTurn(...answers)
    const reflector = await startReflector((response, request) => {
      closed.push(new Promise((resolve) => response.once('close', resolve)))
      answer(response, request)
    })
    await eventually(
      'the reflector is at this point',
      () => reached(reflector) || undefined,
      WAIT_LIMIT,
    )
    reflector.abort.abort()
    await reflector.ended
    await Promise.all(closed)
    expect(reflector.clock.pending()).toBe(0)
    expect(reflector.server.received).toHaveLength(answers.length)
  })

  test('it ends before its first request', async () => {
    const abort = new AbortController()
    abort.abort()
    const server = await startScriptedServer(neverAnswer)
    const { client, clock } = await connectTo(await writeKubeconfig({ server: server.url }))
    const { log } = memoryLog()
    const nothing = (): void => undefined
    await runReflector(
      {
        client,
        resource: THINGS,
        query: {},
        sink: new Store(fullObject),
        clock,
        log,
        restarted: nothing,
        stuck: nothing,
        served: nothing,
      },
      abort.signal,
    )
    expect(server.received).toEqual([])
  })
})

test('timers keep running while 100,000 initial events arrive in one burst', async () => {
  const lines = Array.from({ length: 100_000 }, (_, n) => added(`thing-${n}`, n + 1))
  const reflector = await startReflector(openWatch(...lines, initialEventsEnd(100_001)))
  let ticks = 0
  const interval = setInterval(() => (ticks += 1), 1)
  await reflector.waitUntil('the store is synced', () => reflector.store.synced, {
    withinMs: 25_000,
  })
  clearInterval(interval)
  expect(reflector.store.size).toBe(100_000)
  expect(reflector.requests()).toEqual(['stream'])
  expect(ticks).toBeGreaterThan(10)
}, 30_000)

test('a relist in progress does not undo a write that was answered meanwhile', async () => {
  const responses: ServerResponse[] = []
  const reflector = await startReflector(
    answersInTurn(
      closedWatch(added('a', 1), initialEventsEnd(5)),
      closedWatch(EXPIRED_EVENT),
      (response) => {
        responses.push(response)
      },
    ),
  )
  await reflector.waitForState({ objects: ['a@1'], requests: ['stream', 'follow 5', 'stream'] })
  reflector.store.observe(thing('a', 8))
  openWatch(
    added('a', 1),
    initialEventsEnd(7),
    modified('a', 9),
  )(responses[0] as ServerResponse, {} as ReceivedRequest)
  const seen: string[] = []
  reflector.store.subscribe(({ before, after }) =>
    seen.push(`${before?.resourceVersion}>${after?.resourceVersion}`),
  )
  await reflector.waitForState({ objects: ['a@9'], requests: ['stream', 'follow 5', 'stream'] })
  expect(seen).toEqual(['8>9'])
})
