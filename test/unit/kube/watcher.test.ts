import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ListQuery } from '../../../src/kube/client.ts'
import { Store, whole } from '../../../src/kube/store.ts'
import { watchForever } from '../../../src/kube/watcher.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { canary, scan } from '../../support/canary.ts'
import { eventually } from '../../support/eventually.ts'
import { rememberingLog } from '../../support/log.ts'
import {
  type Answer,
  breakOff,
  connectTo,
  inTurn,
  json,
  type Received,
  refuse,
  stall,
  startScripted,
  THINGS,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'

const SOON = { withinMs: 10_000 }

const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`
const added = (name: string, version: number): string => event('ADDED', thing(name, version))
const modified = (name: string, version: number): string => event('MODIFIED', thing(name, version))
const deleted = (name: string, version: number): string => event('DELETED', thing(name, version))
const bookmark = (version: number, annotations?: object): string =>
  event('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion: String(version), annotations } })
const end = (version: number): string => bookmark(version, { 'k8s.io/initial-events-end': 'true' })
const error = (code: number, reason: string): string =>
  event('ERROR', { kind: 'Status', status: 'Failure', code, reason, message: 'because' })
const EXPIRED = error(410, 'Expired')

/** A watch that stays open behind these lines; more may be written to the response. */
const open =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    response.write(lines.join(''))
  }
/** One that ends behind them, as after a change of the CRD's schema. */
const closing =
  (...lines: readonly string[]): Answer =>
  (response) =>
    response.writeHead(200).end(lines.join(''))
/** One whose connection breaks behind them. */
const cut =
  (...lines: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200).write(lines.join(''))
    setImmediate(() => response.destroy())
  }
const page = (version: number, items: readonly object[], next = ''): Answer =>
  json(200, { metadata: { resourceVersion: String(version), continue: next }, items })
/** The words of a server whose feature gate WatchList is off. */
const withoutWatchList = refuse(422, {
  reason: 'Invalid',
  message: 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch',
  details: { causes: [{ reason: 'FieldValueForbidden', field: 'sendInitialEvents' }] },
})

/** A short name of what was asked: `stream`, `list`, `list x` (a later page) or `follow 5`. */
function asked({ query }: Pick<Received, 'query'>): string {
  const { watch, sendInitialEvents, resourceVersion, continue: next } = query
  if (watch === undefined) return next === undefined ? 'list' : `list ${next}`
  return sendInitialEvents === 'true' ? 'stream' : `follow ${resourceVersion}`
}

const SILENT_AFTER_MS = 95_000
const LONGEST_WAIT_MS = 5000

/** A watcher of one server and its store, with all that it told. */
async function watch(answer: Answer, query: ListQuery = {}) {
  const server = await startScripted(answer)
  const { client, clock } = await connectTo(await writeKubeconfig({ server: server.url }))
  const store = new Store(whole)
  const { log, lines } = rememberingLog()
  const restarts: string[] = []
  const served: boolean[] = []
  /** Back-offs: every wait but those of the watchdog, and when the last is over. */
  const waits: number[] = []
  let overMs = 0
  const noting: Clock = {
    ...clock,
    schedule: (delayMs, callback) => {
      if (delayMs <= LONGEST_WAIT_MS) {
        waits.push(delayMs)
        overMs = clock.monotonicMs() + delayMs
      }
      return clock.schedule(delayMs, callback)
    },
  }
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const ended = watchForever(
    {
      client,
      resource: THINGS,
      query,
      sink: store,
      clock: noting,
      log,
      restarted: (how) => void restarts.push(how),
      served: (is) => void served.push(is),
    },
    abort.signal,
  )
  const world = () => [...store.values()].map((item) => `${item.name}@${item.resourceVersion}`)
  const requests = () => server.received.map(asked)
  /** Lets time pass until it is so: that of back-offs, no other. */
  const until = (what: string, isSo: () => boolean): Promise<true> =>
    eventually(
      what,
      async () => {
        await clock.advance(Math.ceil(Math.max(overMs - clock.monotonicMs(), 0)))
        return isSo() || undefined
      },
      SOON,
    )
  /** Lets time pass until the store holds this and these were asked. */
  const becomes = async (state: {
    readonly world: readonly string[]
    readonly requests: readonly string[]
  }): Promise<void> => {
    const isSo = () =>
      requests().length >= state.requests.length && `${world()}` === `${state.world}`
    await until(`${state.world} after ${state.requests}`, isSo).catch(() => undefined)
    expect({ world: world(), requests: requests() }).toEqual(state)
  }
  return {
    server,
    clock,
    store,
    lines,
    restarts,
    served,
    waits,
    abort,
    ended,
    requests,
    until,
    becomes,
  }
}

interface Row {
  readonly name: string
  readonly answers: readonly Answer[]
  readonly world: readonly string[]
  readonly requests: readonly string[]
  readonly restarts: readonly string[]
}

const run = async ({ answers, world, requests, restarts }: Row): Promise<void> => {
  const it = await watch(inTurn(...answers))
  await it.becomes({ world, requests })
  expect(it.restarts).toEqual(restarts)
  expect(it.store.synced).toBe(true)
  expect(it.served.at(-1)).toBe(true)
}

describe('a stream of everything', () => {
  test.each<Row>([
    {
      name: 'brings what is there and what follows',
      answers: [
        open(
          added('a', 1),
          added('b', 2),
          end(5),
          modified('a', 6),
          deleted('b', 7),
          added('c', 8),
        ),
      ],
      world: ['a@6', 'c@8'],
      requests: ['stream'],
      restarts: [],
    },
    {
      name: 'may hold changes before its end',
      answers: [open(added('a', 1), added('b', 2), modified('a', 3), deleted('b', 4), end(4))],
      world: ['a@3'],
      requests: ['stream'],
      restarts: [],
    },
    {
      name: 'of nothing is complete too',
      answers: [open(end(5))],
      world: [],
      requests: ['stream'],
      restarts: [],
    },
    {
      name: 'that breaks half-way starts anew, and what only the first held is gone',
      answers: [cut(added('a', 1), added('b', 2)), open(added('b', 2), end(9))],
      world: ['b@2'],
      requests: ['stream', 'stream'],
      restarts: ['failed'],
    },
    {
      name: 'that ends half-way starts anew',
      answers: [closing(added('a', 1), bookmark(3)), open(added('b', 2), end(9))],
      world: ['b@2'],
      requests: ['stream', 'stream'],
      restarts: ['closed'],
    },
    {
      name: 'that is too old half-way starts anew',
      answers: [closing(added('a', 1), EXPIRED), open(added('b', 2), end(9))],
      world: ['b@2'],
      requests: ['stream', 'stream'],
      restarts: ['expired'],
    },
  ])('$name', run)

  test('asks for bookmarks, and for a part where that is wanted', async () => {
    const it = await watch(inTurn(closing(end(5)), open()), {
      namespace: 'n',
      fieldSelector: 'metadata.name=a',
    })
    await it.becomes({ world: [], requests: ['stream', 'follow 5'] })
    const always = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      fieldSelector: 'metadata.name=a',
    }
    expect(it.server.received).toMatchObject([
      {
        path: '/apis/g.io/v1/namespaces/n/things',
        query: { ...always, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
      },
      { path: '/apis/g.io/v1/namespaces/n/things', query: { ...always, resourceVersion: '5' } },
    ])
    expect(it.server.received[1]?.query).not.toHaveProperty('resourceVersionMatch')
  })

  test('is not complete before its end', async () => {
    const responses: ServerResponse[] = []
    const it = await watch((response) => {
      responses.push(response)
      open(added('a', 1), bookmark(3))(response, {} as Received)
    })
    await it.becomes({ world: ['a@1'], requests: ['stream'] })
    expect(it.store.synced).toBe(false)
    expect(it.served).toEqual([])
    responses[0]?.write(end(5))
    await it.until('it is complete', () => it.store.synced)
    expect(it.served).toEqual([true])
  })
})

describe('where it was, it goes on', () => {
  const first = (...lines: readonly string[]) => closing(added('a', 1), end(5), ...lines)
  test.each<Row>([
    {
      name: 'when the stream ends, as after a change of the schema',
      answers: [first(), open(modified('a', 6))],
      world: ['a@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['closed'],
    },
    {
      name: 'behind the last event',
      answers: [first(added('b', 7), deleted('a', 9)), open(added('c', 10))],
      world: ['b@7', 'c@10'],
      requests: ['stream', 'follow 9'],
      restarts: ['closed'],
    },
    {
      name: 'behind the last bookmark',
      answers: [first(added('b', 7), bookmark(70)), closing(bookmark(90)), open(added('c', 91))],
      world: ['a@1', 'b@7', 'c@91'],
      requests: ['stream', 'follow 70', 'follow 90'],
      restarts: ['closed', 'closed'],
    },
    {
      name: 'when the connection breaks',
      answers: [cut(added('a', 1), end(5), added('b', 6)), breakOff, open(added('c', 7))],
      world: ['a@1', 'b@6', 'c@7'],
      requests: ['stream', 'follow 6', 'follow 6'],
      restarts: ['failed', 'failed'],
    },
    {
      name: 'when a line is garbage: what came before it counts',
      answers: [first(added('b', 6), '{"type":"ADDED","obj\n', added('x', 7)), open(added('c', 7))],
      world: ['a@1', 'b@6', 'c@7'],
      requests: ['stream', 'follow 6'],
      restarts: ['failed'],
    },
    {
      name: 'when a line is cut short: it counts for nothing',
      answers: [first(added('b', 6).slice(0, -2)), open(added('b', 6))],
      world: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['closed'],
    },
    {
      name: 'when a line is JSON but no event',
      answers: [first('null\n'), closing('{}\n'), closing(event('ADDED', {})), open(added('b', 6))],
      world: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5', 'follow 5', 'follow 5'],
      restarts: ['failed', 'failed', 'failed'],
    },
    {
      name: 'when an event is of a type that nobody knows',
      answers: [first(event('RENAMED', thing('a', 9))), open(added('b', 6))],
      world: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['failed'],
    },
    {
      name: 'when the server reports an error of its own',
      answers: [first(error(500, 'InternalError')), open(added('b', 6))],
      world: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['failed'],
    },
    {
      name: 'when it is not served for a while',
      answers: [first(), refuse(503), refuse(500), refuse(403), refuse(429), open(added('b', 6))],
      world: ['a@1', 'b@6'],
      requests: ['stream', ...Array.from({ length: 5 }, () => 'follow 5')],
      restarts: ['closed', 'failed', 'failed', 'failed', 'failed'],
    },
  ])('$name', run)

  test('an error that the server reports is logged, with its words where those are safe', async () => {
    const it = await watch(inTurn(closing(end(5), error(504, 'Timeout')), open(added('b', 6))))
    await it.becomes({ world: ['b@6'], requests: ['stream', 'follow 5'] })
    expect(it.lines).toContainEqual({
      level: 'warn',
      sentence: 'watch failed, trying again',
      fields: {
        resource: 'things',
        err: expect.objectContaining({ message: 'WATCH things: 504 Timeout: because' }) as unknown,
      },
    })
  })

  test('garbage is not quoted in the log', async () => {
    const planted = canary('watch')
    const it = await watch(inTurn(closing(end(5), `{"key":x"${planted.secret}"}\n`), open()))
    await it.becomes({ world: [], requests: ['stream', 'follow 5'] })
    const logged = it.lines.map(({ fields }) => String((fields['err'] as Error | undefined)?.stack))
    expect(logged.join()).toMatch(/is not valid JSON/)
    expect(scan({ logged: logged.join('\n') }, [planted])).toEqual([])
  })
})

describe('what was missed for good costs a listing', () => {
  const first = closing(added('a', 1), added('b', 2), end(5))
  const again = open(added('b', 2), added('c', 30), end(40))
  test.each<Row>([
    {
      name: 'its resourceVersion is too old, said by an event',
      answers: [first, closing(EXPIRED), again],
      world: ['b@2', 'c@30'],
      requests: ['stream', 'follow 5', 'stream'],
      restarts: ['closed', 'expired'],
    },
    {
      name: 'its resourceVersion is too old, said by the answer',
      answers: [first, refuse(410, { reason: 'Gone' }), again],
      world: ['b@2', 'c@30'],
      requests: ['stream', 'follow 5', 'stream'],
      restarts: ['closed', 'expired'],
    },
    {
      name: 'the resource was away',
      answers: [first, refuse(404), again],
      world: ['b@2', 'c@30'],
      requests: ['stream', 'follow 5', 'stream'],
      restarts: ['closed', 'absent'],
    },
  ])('$name', run)

  test('a resourceVersion that is too old again and again is asked for with pauses', async () => {
    const it = await watch((response) =>
      closing(added('a', 1), end(5), EXPIRED)(response, {} as Received),
    )
    await it.until('ten listings', () => it.server.received.length >= 10)
    expect(it.waits.length).toBeGreaterThanOrEqual(9)
    expect(Math.min(...it.waits)).toBeGreaterThanOrEqual(100)
  })
})

describe('a server without WatchList', () => {
  const pages = [page(9, [thing('a', 1), thing('b', 2)], 'x'), page(9, [thing('c', 3)])]
  test.each<Row>([
    {
      name: 'is asked for pages, and then for what follows',
      answers: [withoutWatchList, ...pages, open(modified('a', 10))],
      world: ['a@10', 'b@2', 'c@3'],
      requests: ['stream', 'list', 'list x', 'follow 9'],
      restarts: ['refused'],
    },
    {
      name: 'that calls it a bad request, too',
      answers: [refuse(400, { reason: 'BadRequest' }), ...pages, open()],
      world: ['a@1', 'b@2', 'c@3'],
      requests: ['stream', 'list', 'list x', 'follow 9'],
      restarts: ['refused'],
    },
    {
      name: 'is not asked for a stream a second time',
      answers: [
        withoutWatchList,
        ...pages,
        closing(EXPIRED),
        page(20, [thing('b', 2)]),
        refuse(404),
        page(30, [thing('c', 29)]),
        open(),
      ],
      world: ['c@29'],
      requests: ['stream', 'list', 'list x', 'follow 9', 'list', 'follow 20', 'list', 'follow 30'],
      restarts: ['refused', 'expired', 'absent'],
    },
    {
      name: 'whose pages break starts with the first again',
      answers: [withoutWatchList, page(9, [thing('a', 1)], 'x'), breakOff, ...pages, open()],
      world: ['a@1', 'b@2', 'c@3'],
      requests: ['stream', 'list', 'list x', 'list', 'list x', 'follow 9'],
      restarts: ['refused', 'failed'],
    },
    {
      name: 'whose pages grow too old starts with the first again',
      answers: [
        withoutWatchList,
        page(9, [thing('a', 1)], 'x'),
        refuse(410, { reason: 'Expired' }),
        page(12, [thing('b', 2)]),
        open(),
      ],
      world: ['b@2'],
      requests: ['stream', 'list', 'list x', 'list', 'follow 12'],
      restarts: ['refused', 'expired'],
    },
  ])('$name', run)

  test('gives pages of 500', async () => {
    const it = await watch(inTurn(withoutWatchList, ...pages, open()), { fieldSelector: 'x=y' })
    await it.until('it follows', () => it.requests().includes('follow 9'))
    const query = { limit: '500', fieldSelector: 'x=y' }
    expect(it.server.received[1]?.query).toEqual(query)
    expect(it.server.received[2]?.query).toEqual({ ...query, continue: 'x' })
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
    const { log } = rememberingLog()
    const nothing = (): void => undefined
    await watchForever(
      {
        client,
        resource: THINGS,
        query: {},
        sink: new Store(whole),
        clock,
        log,
        restarted: nothing,
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
  await it.until('all are there', () => it.store.synced)
  clearInterval(interval)
  expect(it.store.size).toBe(100_000)
  expect(it.requests()).toEqual(['stream'])
  expect(ticks).toBeGreaterThan(10)
})

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
