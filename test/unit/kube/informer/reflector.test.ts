import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { plantCanary, findCanaries } from '../../../support/canary.ts'
import { type Answer, type Received, breakOff, inTurn, refuse, thing } from './scripted-server.ts'
import {
  EXPIRED,
  added,
  bookmark,
  closing,
  cut,
  deleted,
  end,
  error,
  event,
  modified,
  open,
  page,
  watch,
  withoutWatchList,
} from './watched.ts'

interface Row {
  readonly name: string
  readonly answers: readonly Answer[]
  readonly world: readonly string[]
  readonly requests: readonly string[]
  readonly restarts: readonly string[]
}

/** Runs a row to the state it names. */
async function outcomeOf({ answers, world, requests }: Row) {
  const it = await watch(inTurn(...answers))
  await it.becomes({ world, requests })
  // A world without objects is there before the last answer has come.
  await it.until('it is all there', () => it.store.synced)
  return { restarts: it.restarts, isSynced: it.store.synced && it.served.at(-1) === true }
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
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

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
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

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
    const planted = plantCanary('watch')
    const it = await watch(inTurn(closing(end(5), `{"key":x"${planted.secret}"}\n`), open()))
    await it.becomes({ world: [], requests: ['stream', 'follow 5'] })
    const logged = it.lines.map(({ fields }) => String((fields['err'] as Error | undefined)?.stack))
    expect(logged.join()).toMatch(/is not valid JSON/)
    expect(findCanaries({ logged: logged.join('\n') }, [planted])).toEqual([])
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
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

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
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

  test('gives pages of 500', async () => {
    const it = await watch(inTurn(withoutWatchList, ...pages, open()), { fieldSelector: 'x=y' })
    await it.until('it follows', () => it.requests().includes('follow 9'))
    const query = { limit: '500', fieldSelector: 'x=y' }
    expect(it.server.received[1]?.query).toEqual(query)
    expect(it.server.received[2]?.query).toEqual({ ...query, continue: 'x' })
  })
})
