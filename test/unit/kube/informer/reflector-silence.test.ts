import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import {
  type Answer,
  type ReceivedRequest,
  answersInTurn,
  neverAnswer,
  thing,
} from './scripted-server.ts'
import {
  SILENT_AFTER_MS,
  WAIT_LIMIT,
  added,
  closedWatch,
  initialEventsEnd,
  listPage,
  openWatch,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'
describe('a silent watch', () => {
  /** Keeps the responses, so that a test can write to them later. */
  const capturingResponses = (responses: ServerResponse[], answer: Answer): Answer => {
    return (response, request) => {
      responses.push(response)
      answer(response, request)
    }
  }
  const waitForRequests = async (
    reflector: Awaited<ReturnType<typeof startReflector>>,
    count: number,
  ): Promise<void> => {
    await eventually(`${count} requests`, () => reflector.server.received[count - 1], WAIT_LIMIT)
  }

  test('is reopened from the last resourceVersion after 95 s', async () => {
    const reflector = await startReflector(
      answersInTurn(openWatch(added('a', 1), initialEventsEnd(5)), openWatch(added('b', 6))),
    )
    await reflector.waitForState({ objects: ['a@1'], requests: ['stream'] })
    await reflector.clock.advance(SILENT_AFTER_MS)
    await waitForRequests(reflector, 2)
    await reflector.waitForState({ objects: ['a@1', 'b@6'], requests: ['stream', 'follow 5'] })
    expect(reflector.restarts).toEqual(['silent'])
  })

  test('is not silent while bytes arrive, even half a line', async () => {
    const responses: ServerResponse[] = []
    const reflector = await startReflector(
      capturingResponses(responses, answersInTurn(openWatch(initialEventsEnd(5)), openWatch())),
    )
    await reflector.waitUntil('the store is synced', () => reflector.store.synced)
    const line = added('a', 6)
    for (const [from, to] of [
      [0, 5],
      [5, 10],
      [10, line.length],
    ] as const) {
      await reflector.clock.advance(SILENT_AFTER_MS - 30_000)
      responses[0]?.write(line.slice(from, to))
      await new Promise(setImmediate)
      await reflector.waitUntil('the bytes arrive', () => true)
    }
    await reflector.waitForState({ objects: ['a@6'], requests: ['stream'] })
    expect(reflector.restarts).toEqual([])
    await reflector.clock.advance(SILENT_AFTER_MS)
    await waitForRequests(reflector, 2)
    expect(reflector.requests()).toEqual(['stream', 'follow 6'])
  })

  test('without a single event leads to a relist: the server may have been restored from a backup', async () => {
    const reflector = await startReflector(
      answersInTurn(
        closedWatch(added('a', 90), initialEventsEnd(100)),
        openWatch(),
        openWatch(added('a', 40), initialEventsEnd(50)),
      ),
    )
    await reflector.waitForState({ objects: ['a@90'], requests: ['stream', 'follow 100'] })
    await reflector.clock.advance(SILENT_AFTER_MS)
    await waitForRequests(reflector, 3)
    await reflector.waitForState({
      objects: ['a@40'],
      requests: ['stream', 'follow 100', 'stream'],
    })
    expect(reflector.restarts).toEqual(['closed', 'silent'])
  })

  test.each<{ name: string; answers: readonly Answer[]; requests: readonly string[] }>([
    {
      name: 'reopens a stream that never answers',
      answers: [neverAnswer, openWatch()],
      requests: ['stream', 'stream'],
    },
    {
      name: 'reopens a stream that falls silent during the initial events',
      answers: [openWatch(added('a', 1)), openWatch()],
      requests: ['stream', 'stream'],
    },
    {
      name: 'asks again for a page that never comes',
      answers: [withoutWatchList, neverAnswer, neverAnswer],
      requests: ['stream', 'list', 'list'],
    },
  ])('$name', async ({ answers, requests }) => {
    const reflector = await startReflector(answersInTurn(...answers))
    await waitForRequests(reflector, requests.length - 1)
    await reflector.clock.advance(SILENT_AFTER_MS)
    await waitForRequests(reflector, requests.length)
    expect(reflector.requests()).toEqual(requests)
    expect(reflector.restarts.at(-1)).toBe('silent')
  })
})

test('slow pages do not count as silence', async () => {
  const responses: ServerResponse[] = []
  const captureResponse: Answer = (response) => void responses.push(response)
  const reflector = await startReflector(
    answersInTurn(withoutWatchList, captureResponse, captureResponse, openWatch()),
  )
  const pages = [listPage(9, [thing('a', 1)], 'x'), listPage(9, [thing('b', 2)])]
  for (const [turn, answer] of pages.entries()) {
    const response = await eventually(
      'the reflector asks for a page',
      () => responses[turn],
      WAIT_LIMIT,
    )
    await reflector.clock.advance(SILENT_AFTER_MS - 30_000)
    answer(response, {} as ReceivedRequest)
  }
  await reflector.waitForState({
    objects: ['a@1', 'b@2'],
    requests: ['stream', 'list', 'list x', 'follow 9'],
  })
  expect(reflector.restarts).toEqual(['refused'])
})
