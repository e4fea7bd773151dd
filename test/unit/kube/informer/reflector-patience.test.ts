import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { runReflector } from '../../../../src/kube/informer/reflector.ts'
import { Store, fullObject } from '../../../../src/kube/informer/store.ts'
import { eventually } from '../../../support/eventually.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import {
  type Answer,
  type Received,
  THINGS,
  breakOff,
  connectTo,
  inTurn,
  refuse,
  stall,
  startScripted,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'
import {
  EXPIRED,
  SILENT_AFTER_MS,
  SOON,
  added,
  asked,
  bookmark,
  closing,
  cut,
  deleted,
  end,
  modified,
  open,
  page,
  watch,
  withoutWatchList,
} from './watched.ts'

describe('a stream that says nothing', () => {
  /** Answers in turn, and keeps the responses to write to later. */
  const keeping = (responses: ServerResponse[], answer: Answer): Answer => {
    return (response, request) => {
      responses.push(response)
      answer(response, request)
    }
  }
  const asks = async (it: Awaited<ReturnType<typeof watch>>, count: number): Promise<void> => {
    await eventually(`${count} requests`, () => it.server.received[count - 1], SOON)
  }

  test('for 95 s is given up, and taken up where it was', async () => {
    const it = await watch(inTurn(open(added('a', 1), end(5)), open(added('b', 6))))
    await it.becomes({ world: ['a@1'], requests: ['stream'] })
    await it.clock.advance(SILENT_AFTER_MS)
    await asks(it, 2)
    await it.becomes({ world: ['a@1', 'b@6'], requests: ['stream', 'follow 5'] })
    expect(it.restarts).toEqual(['silent'])
  })

  test('is not given up while bytes come, be it half a line', async () => {
    const responses: ServerResponse[] = []
    const it = await watch(keeping(responses, inTurn(open(end(5)), open())))
    await it.until('it is complete', () => it.store.synced)
    const line = added('a', 6)
    for (const [from, to] of [
      [0, 5],
      [5, 10],
      [10, line.length],
    ] as const) {
      await it.clock.advance(SILENT_AFTER_MS - 30_000)
      responses[0]?.write(line.slice(from, to))
      await new Promise(setImmediate)
      await it.until('the bytes arrive', () => true)
    }
    await it.becomes({ world: ['a@6'], requests: ['stream'] })
    expect(it.restarts).toEqual([])
    await it.clock.advance(SILENT_AFTER_MS)
    await asks(it, 2)
    expect(it.requests()).toEqual(['stream', 'follow 6'])
  })

  test('from the start is not trusted: the server may have been restored to an earlier state', async () => {
    const it = await watch(
      inTurn(closing(added('a', 90), end(100)), open(), open(added('a', 40), end(50))),
    )
    await it.becomes({ world: ['a@90'], requests: ['stream', 'follow 100'] })
    await it.clock.advance(SILENT_AFTER_MS)
    await asks(it, 3)
    await it.becomes({ world: ['a@40'], requests: ['stream', 'follow 100', 'stream'] })
    expect(it.restarts).toEqual(['closed', 'silent'])
  })

  test.each<{ name: string; answers: readonly Answer[]; requests: readonly string[] }>([
    { name: 'not even that it is one', answers: [stall, open()], requests: ['stream', 'stream'] },
    { name: 'half-way', answers: [open(added('a', 1)), open()], requests: ['stream', 'stream'] },
    {
      name: 'a page',
      answers: [withoutWatchList, stall, stall],
      requests: ['stream', 'list', 'list'],
    },
  ])('$name', async ({ answers, requests }) => {
    const it = await watch(inTurn(...answers))
    await asks(it, requests.length - 1)
    await it.clock.advance(SILENT_AFTER_MS)
    await asks(it, requests.length)
    expect(it.requests()).toEqual(requests)
    expect(it.restarts.at(-1)).toBe('silent')
  })
})

describe('a resource that is not served', () => {
  test('is awaited, and followed once it is there', async () => {
    const absent = refuse(404)
    const it = await watch(inTurn(absent, absent, absent, open(added('a', 1), end(5))))
    await it.becomes({ world: ['a@1'], requests: Array.from({ length: 4 }, () => 'stream') })
    expect(it.served).toEqual([false, false, false, true])
    expect(it.restarts).toEqual(['absent', 'absent', 'absent'])
  })

  test('any more, is awaited as well: its objects went before it', async () => {
    const it = await watch(
      inTurn(
        closing(added('a', 1), end(5), deleted('a', 6)),
        refuse(404),
        refuse(404),
        open(added('b', 9), end(10)),
      ),
    )
    await it.becomes({ world: ['b@9'], requests: ['stream', 'follow 6', 'stream', 'stream'] })
    expect(it.served).toEqual([true, false, false, true])
  })
})

test('pages that come slowly are not taken for silence', async () => {
  const held: ServerResponse[] = []
  const hold: Answer = (response) => void held.push(response)
  const it = await watch(inTurn(withoutWatchList, hold, hold, open()))
  const pages = [page(9, [thing('a', 1)], 'x'), page(9, [thing('b', 2)])]
  for (const [turn, answer] of pages.entries()) {
    const response = await eventually('a page is asked for', () => held[turn], SOON)
    await it.clock.advance(SILENT_AFTER_MS - 30_000)
    answer(response, {} as Received)
  }
  await it.becomes({ world: ['a@1', 'b@2'], requests: ['stream', 'list', 'list x', 'follow 9'] })
  expect(it.restarts).toEqual(['refused'])
})

test('a stream that is given up is closed', async () => {
  const closed: string[] = []
  const answer = inTurn(open(end(5), EXPIRED), open(end(6), 'garbage\n'), open(bookmark(7)))
  const it = await watch((response, request) => {
    response.once('close', () => closed.push(asked(request)))
    answer(response, request)
  })
  // The third leaves when the second has ended, and may be on its way while that one's end is heard of.
  await it.until('two are closed', () => closed.length === 2 && it.requests().length === 3)
  expect(closed).toEqual(['stream', 'stream'])
  expect(it.requests()).toEqual(['stream', 'stream', 'follow 6'])
})

describe('it never gives up', () => {
  test.each<{ name: string; answer: Answer }>([
    { name: 'answers of 500', answer: refuse(500) },
    { name: 'broken connections', answer: breakOff },
    { name: 'streams that end at once', answer: closing() },
    { name: '404', answer: refuse(404) },
  ])('$name: it waits longer each time, 5 s at most, never in step', async ({ answer }) => {
    const answers = Array.from({ length: 12 }, () => answer)
    const it = await watch(inTurn(...answers, open(added('a', 1), end(5))))
    await it.becomes({ world: ['a@1'], requests: Array.from({ length: 13 }, () => 'stream') })
    const longest = [200, 400, 800, 1600, 3200, ...Array.from({ length: 7 }, () => 5000)]
    expect(it.waits).toHaveLength(12)
    for (const [turn, waitMs] of it.waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual((longest[turn] ?? 0) / 2)
      expect(waitMs).toBeLessThanOrEqual(longest[turn] ?? 0)
    }
    expect(new Set(it.waits).size).toBe(12)
  })

  test.each([
    { name: 'with a time, comes again after it', seconds: '7', atLeastMs: 7000 },
    { name: 'without one, comes again soon', seconds: '0', atLeastMs: 100 },
  ])('a watch refused $name', async ({ seconds, atLeastMs }) => {
    const busy = refuse(429, {}, { 'retry-after': seconds })
    const it = await watch(inTurn(busy, busy, open(added('a', 1), end(5))))
    await it.becomes({ world: ['a@1'], requests: ['stream', 'stream', 'stream'] })
    expect(it.waits).toHaveLength(2)
    for (const waitMs of it.waits) {
      expect(waitMs).toBeGreaterThanOrEqual(atLeastMs)
      expect(waitMs).toBeLessThanOrEqual(atLeastMs + 400)
    }
  })

  test('a version that is too old (410) is an answer: the listing it costs is soon, a second one not', async () => {
    const bad = Array.from({ length: 6 }, () => refuse(500))
    const gone = closing(EXPIRED)
    const it = await watch(
      inTurn(closing(end(5)), ...bad, gone, gone, gone, open(added('a', 7), end(9))),
    )
    const follows = Array.from({ length: 7 }, () => 'follow 5')
    await it.becomes({
      world: ['a@7'],
      requests: ['stream', ...follows, 'stream', 'stream', 'stream'],
    })
    const [first = 0, second = 0, third = 0] = it.waits.slice(-3)
    expect(first).toBeLessThanOrEqual(200)
    expect(second).toBeGreaterThanOrEqual(200)
    expect(third).toBeGreaterThanOrEqual(400)
  })

  test('the same where it lists in pages: listings that end in 410 do not follow each other in a loop', async () => {
    const round = [page(9, []), closing(EXPIRED)]
    const it = await watch(
      inTurn(withoutWatchList, ...round, ...round, ...round, ...round, page(9, [thing('a', 1)])),
    )
    await it.until('it is there', () => it.store.size === 1)
    expect(it.waits).toHaveLength(4)
    expect(it.waits.at(-1)).toBeGreaterThanOrEqual(800)
  })

  test('once it read something the next wait is short again', async () => {
    const bad = Array.from({ length: 8 }, () => refuse(500))
    const it = await watch(
      inTurn(closing(end(5)), ...bad, cut(bookmark(6)), refuse(500), open(added('a', 7))),
    )
    await it.becomes({
      world: ['a@7'],
      requests: ['stream', ...Array.from({ length: 9 }, () => 'follow 5'), 'follow 6', 'follow 6'],
    })
    expect(it.waits.at(-3)).toBeGreaterThan(2000)
    expect(it.waits.at(-1)).toBeLessThanOrEqual(200)
  })
})

describe('an abort ends it without time passing', () => {
  test.each<{
    name: string
    answers: readonly Answer[]
    reached: (it: Awaited<ReturnType<typeof watch>>) => boolean
  }>([
    {
      name: 'while it connects',
      answers: [stall],
      reached: ({ server }) => server.received.length === 1,
    },
    {
      name: 'within a stream',
      answers: [open(added('a', 1))],
      reached: ({ store }) => store.size === 1,
    },
    { name: 'while it follows', answers: [open(end(5))], reached: ({ store }) => store.synced },
    {
      name: 'within a page',
      answers: [withoutWatchList, stall],
      reached: ({ server }) => server.received.length === 2,
    },
    { name: 'while it waits', answers: [refuse(500)], reached: ({ waits }) => waits.length === 1 },
  ])('$name', async ({ answers, reached }) => {
    const closed: Promise<unknown>[] = []
    const answer = inTurn(...answers)
    const it = await watch((response, request) => {
      closed.push(new Promise((resolve) => response.once('close', resolve)))
      answer(response, request)
    })
    await eventually('it gets there', () => reached(it) || undefined, SOON)
    it.abort.abort()
    await it.ended
    await Promise.all(closed)
    expect(it.clock.pending()).toBe(0)
    expect(it.server.received).toHaveLength(answers.length)
  })

  test('before it began', async () => {
    const abort = new AbortController()
    abort.abort()
    const server = await startScripted(stall)
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

test('100,000 objects come in one burst, and timers run in between', async () => {
  const lines = Array.from({ length: 100_000 }, (_, n) => added(`thing-${n}`, n + 1))
  const it = await watch(open(...lines, end(100_001)))
  let ticks = 0
  const interval = setInterval(() => (ticks += 1), 1)
  await it.until('all are there', () => it.store.synced, { withinMs: 25_000 })
  clearInterval(interval)
  expect(it.store.size).toBe(100_000)
  expect(it.requests()).toEqual(['stream'])
  expect(ticks).toBeGreaterThan(10)
}, 30_000)

test('a write answered while a listing is under way is not undone by it', async () => {
  const responses: ServerResponse[] = []
  const it = await watch(
    inTurn(closing(added('a', 1), end(5)), closing(EXPIRED), (response) => {
      responses.push(response)
    }),
  )
  await it.becomes({ world: ['a@1'], requests: ['stream', 'follow 5', 'stream'] })
  it.store.observe(thing('a', 8))
  open(added('a', 1), end(7), modified('a', 9))(responses[0] as ServerResponse, {} as Received)
  const seen: string[] = []
  it.store.subscribe(({ before, after }) =>
    seen.push(`${before?.resourceVersion}>${after?.resourceVersion}`),
  )
  await it.becomes({ world: ['a@9'], requests: ['stream', 'follow 5', 'stream'] })
  expect(seen).toEqual(['8>9'])
})
