import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { plantCanary, findCanaries } from '../../../support/canary.ts'
import {
  type ReceivedRequest,
  answersInTurn,
  dropConnection,
  refuse,
  thing,
} from './scripted-server.ts'
import {
  EXPIRED_EVENT,
  type RecoveryRow,
  added,
  bookmark,
  brokenWatch,
  closedWatch,
  deleted,
  errorEvent,
  event,
  initialEventsEnd,
  modified,
  openWatch,
  outcomeOf,
  startReflector,
} from './reflector-builder.ts'

describe('a WatchList stream', () => {
  test.each<RecoveryRow>([
    {
      name: 'brings existing objects and later events',
      answers: [
        openWatch(
          added('a', 1),
          added('b', 2),
          initialEventsEnd(5),
          modified('a', 6),
          deleted('b', 7),
          added('c', 8),
        ),
      ],
      objects: ['a@6', 'c@8'],
      requests: ['stream'],
      restarts: [],
    },
    {
      name: 'may have changes among its initial events',
      answers: [
        openWatch(
          added('a', 1),
          added('b', 2),
          modified('a', 3),
          deleted('b', 4),
          initialEventsEnd(4),
        ),
      ],
      objects: ['a@3'],
      requests: ['stream'],
      restarts: [],
    },
    {
      name: 'of an empty collection syncs the store',
      answers: [openWatch(initialEventsEnd(5))],
      objects: [],
      requests: ['stream'],
      restarts: [],
    },
    {
      name: 'that breaks during the initial events starts again, without the objects only the first had',
      answers: [
        brokenWatch(added('a', 1), added('b', 2)),
        openWatch(added('b', 2), initialEventsEnd(9)),
      ],
      objects: ['b@2'],
      requests: ['stream', 'stream'],
      restarts: ['failed'],
    },
    {
      name: 'that ends during the initial events starts again',
      answers: [
        closedWatch(added('a', 1), bookmark(3)),
        openWatch(added('b', 2), initialEventsEnd(9)),
      ],
      objects: ['b@2'],
      requests: ['stream', 'stream'],
      restarts: ['closed'],
    },
    {
      name: 'that expires during the initial events starts again',
      answers: [
        closedWatch(added('a', 1), EXPIRED_EVENT),
        openWatch(added('b', 2), initialEventsEnd(9)),
      ],
      objects: ['b@2'],
      requests: ['stream', 'stream'],
      restarts: ['expired'],
    },
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

  test('asks for bookmarks, and for the namespace and the selectors of the informer', async () => {
    const reflector = await startReflector(
      answersInTurn(closedWatch(initialEventsEnd(5)), openWatch()),
      {
        namespace: 'n',
        fieldSelector: 'metadata.name=a',
        labelSelector: 'g.io/a',
      },
    )
    await reflector.waitForState({ objects: [], requests: ['stream', 'follow 5'] })
    const always = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      fieldSelector: 'metadata.name=a',
      labelSelector: 'g.io/a',
    }
    expect(reflector.server.received).toMatchObject([
      {
        path: '/apis/g.io/v1/namespaces/n/things',
        query: { ...always, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
      },
      { path: '/apis/g.io/v1/namespaces/n/things', query: { ...always, resourceVersion: '5' } },
    ])
    expect(reflector.server.received[1]?.query).not.toHaveProperty('resourceVersionMatch')
  })

  test('leaves the store unsynced until its end', async () => {
    const responses: ServerResponse[] = []
    const reflector = await startReflector((response) => {
      responses.push(response)
      openWatch(added('a', 1), bookmark(3))(response, {} as ReceivedRequest)
    })
    await reflector.waitForState({ objects: ['a@1'], requests: ['stream'] })
    expect(reflector.store.synced).toBe(false)
    expect(reflector.served).toEqual([])
    responses[0]?.write(initialEventsEnd(5))
    await reflector.waitUntil('the store is synced', () => reflector.store.synced)
    expect(reflector.served).toEqual([true])
  })
})

describe('resumes the watch from the last resourceVersion', () => {
  const first = (...lines: readonly string[]) =>
    closedWatch(added('a', 1), initialEventsEnd(5), ...lines)
  test.each<RecoveryRow>([
    {
      name: 'when the stream ends, as after a change of the CRD',
      answers: [first(), openWatch(modified('a', 6))],
      objects: ['a@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['closed'],
    },
    {
      name: 'that of the last event',
      answers: [first(added('b', 7), deleted('a', 9)), openWatch(added('c', 10))],
      objects: ['b@7', 'c@10'],
      requests: ['stream', 'follow 9'],
      restarts: ['closed'],
    },
    {
      name: 'that of the last bookmark',
      answers: [
        first(added('b', 7), bookmark(70)),
        closedWatch(bookmark(90)),
        openWatch(added('c', 91)),
      ],
      objects: ['a@1', 'b@7', 'c@91'],
      requests: ['stream', 'follow 70', 'follow 90'],
      restarts: ['closed', 'closed'],
    },
    {
      name: 'when the connection breaks',
      answers: [
        brokenWatch(added('a', 1), initialEventsEnd(5), added('b', 6)),
        dropConnection,
        openWatch(added('c', 7)),
      ],
      objects: ['a@1', 'b@6', 'c@7'],
      requests: ['stream', 'follow 6', 'follow 6'],
      restarts: ['failed', 'failed'],
    },
    {
      name: 'when a line is not JSON; events before it count',
      answers: [
        first(added('b', 6), '{"type":"ADDED","obj\n', added('x', 7)),
        openWatch(added('c', 7)),
      ],
      objects: ['a@1', 'b@6', 'c@7'],
      requests: ['stream', 'follow 6'],
      restarts: ['failed'],
    },
    {
      name: 'when the last line is incomplete; it is dropped',
      answers: [first(added('b', 6).slice(0, -2)), openWatch(added('b', 6))],
      objects: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['closed'],
    },
    {
      name: 'when a line is JSON but not an event',
      answers: [
        first('null\n'),
        closedWatch('{}\n'),
        closedWatch(event('ADDED', {})),
        openWatch(added('b', 6)),
      ],
      objects: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5', 'follow 5', 'follow 5'],
      restarts: ['failed', 'failed', 'failed'],
    },
    {
      name: 'when an event has an unknown type',
      answers: [first(event('RENAMED', thing('a', 9))), openWatch(added('b', 6))],
      objects: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['failed'],
    },
    {
      name: 'when the server sends an ERROR event',
      answers: [first(errorEvent(500, 'InternalError')), openWatch(added('b', 6))],
      objects: ['a@1', 'b@6'],
      requests: ['stream', 'follow 5'],
      restarts: ['failed'],
    },
    {
      name: 'when the server refuses for a while',
      answers: [
        first(),
        refuse(503),
        refuse(500),
        refuse(403),
        refuse(429),
        openWatch(added('b', 6)),
      ],
      objects: ['a@1', 'b@6'],
      requests: ['stream', ...Array.from({ length: 5 }, () => 'follow 5')],
      restarts: ['closed', 'failed', 'failed', 'failed', 'failed'],
    },
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

  test('an ERROR event is logged with its message', async () => {
    const reflector = await startReflector(
      answersInTurn(
        closedWatch(initialEventsEnd(5), errorEvent(504, 'Timeout')),
        openWatch(added('b', 6)),
      ),
    )
    await reflector.waitForState({ objects: ['b@6'], requests: ['stream', 'follow 5'] })
    expect(reflector.lines).toContainEqual({
      level: 'warn',
      sentence: 'watch failed, trying again',
      fields: {
        resource: 'things',
        err: expect.objectContaining({ message: 'WATCH things: 504 Timeout: because' }) as unknown,
      },
    })
  })

  test('a line that is not JSON is not quoted in the log', async () => {
    const planted = plantCanary('watch')
    const reflector = await startReflector(
      answersInTurn(
        closedWatch(initialEventsEnd(5), `{"key":x"${planted.secret}"}\n`),
        openWatch(),
      ),
    )
    await reflector.waitForState({ objects: [], requests: ['stream', 'follow 5'] })
    const logged = reflector.lines.map(({ fields }) =>
      String((fields['err'] as Error | undefined)?.stack),
    )
    expect(logged.join()).toMatch(/is not valid JSON/)
    expect(findCanaries({ logged: logged.join('\n') }, [planted])).toEqual([])
  })
})

describe('relists', () => {
  const first = closedWatch(added('a', 1), added('b', 2), initialEventsEnd(5))
  const again = openWatch(added('b', 2), added('c', 30), initialEventsEnd(40))
  test.each<RecoveryRow>([
    {
      name: 'after an ERROR event of 410',
      answers: [first, closedWatch(EXPIRED_EVENT), again],
      objects: ['b@2', 'c@30'],
      requests: ['stream', 'follow 5', 'stream'],
      restarts: ['closed', 'expired'],
    },
    {
      name: 'after a response of 410',
      answers: [first, refuse(410, { reason: 'Gone' }), again],
      objects: ['b@2', 'c@30'],
      requests: ['stream', 'follow 5', 'stream'],
      restarts: ['closed', 'expired'],
    },
    {
      name: 'after a 404: the resource was not served',
      answers: [first, refuse(404), again],
      objects: ['b@2', 'c@30'],
      requests: ['stream', 'follow 5', 'stream'],
      restarts: ['closed', 'absent'],
    },
  ])('$name', async (row) => {
    expect(await outcomeOf(row)).toEqual({ restarts: row.restarts, isSynced: true })
  })

  test('backs off when every watch ends in 410', async () => {
    const reflector = await startReflector((response) =>
      closedWatch(
        added('a', 1),
        initialEventsEnd(5),
        EXPIRED_EVENT,
      )(response, {} as ReceivedRequest),
    )
    await reflector.waitUntil('ten relists', () => reflector.server.received.length >= 10)
    expect(reflector.waits.length).toBeGreaterThanOrEqual(9)
    expect(Math.min(...reflector.waits)).toBeGreaterThanOrEqual(100)
  })
})
