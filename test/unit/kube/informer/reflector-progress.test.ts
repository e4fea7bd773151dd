import { describe, expect, test } from 'vitest'
import { type Answer, dropConnection, answersInTurn, neverAnswer } from './scripted-server.ts'
import {
  EXPIRED_EVENT,
  added,
  bookmark,
  closedWatch,
  brokenWatch,
  deleted,
  initialEventsEnd,
  modified,
  openWatch,
  listPage,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'

interface Row {
  readonly name: string
  readonly answers: readonly Answer[]
  readonly objects: readonly string[]
  readonly requests: readonly string[]
  /** The objects in the store at each call of onProgress. */
  readonly progress: readonly (readonly string[])[]
}

const a1 = { metadata: { name: 'a', uid: 'a-uid', resourceVersion: '1' } }

describe('the reflector reports progress (contract 7.4)', () => {
  test.each<Row>([
    {
      name: 'at the end of the initial events, not before',
      answers: [openWatch(added('a', 1), bookmark(2), added('b', 2), initialEventsEnd(5))],
      objects: ['a@1', 'b@2'],
      requests: ['stream'],
      progress: [['a@1', 'b@2']],
    },
    {
      name: 'after each following event and bookmark, once the store has it',
      answers: [
        openWatch(
          added('a', 1),
          initialEventsEnd(5),
          modified('a', 6),
          bookmark(7),
          deleted('a', 8),
        ),
      ],
      objects: [],
      requests: ['stream'],
      progress: [['a@1'], ['a@6'], ['a@6'], []],
    },
    {
      name: 'after the last page of a list, not after earlier pages',
      answers: [
        withoutWatchList,
        listPage(5, [a1], 'x'),
        listPage(5, [{ metadata: { ...a1.metadata, name: 'b', uid: 'b-uid' } }]),
        openWatch(),
      ],
      objects: ['a@1', 'b@1'],
      requests: ['stream', 'list', 'list x', 'follow 5'],
      progress: [['a@1', 'b@1']],
    },
    {
      name: 'not for a stream that breaks during the initial events',
      answers: [brokenWatch(added('a', 1)), closedWatch(added('a', 1)), neverAnswer],
      objects: ['a@1'],
      requests: ['stream', 'stream', 'stream'],
      progress: [],
    },
    {
      name: 'not for a reopened watch without events',
      answers: [closedWatch(added('a', 1), initialEventsEnd(5)), dropConnection, openWatch()],
      objects: ['a@1'],
      requests: ['stream', 'follow 5', 'follow 5'],
      progress: [['a@1']],
    },
    {
      name: 'not for an ERROR event',
      answers: [closedWatch(added('a', 1), initialEventsEnd(5), EXPIRED_EVENT), neverAnswer],
      objects: ['a@1'],
      requests: ['stream', 'stream'],
      progress: [['a@1']],
    },
  ])('$name', async ({ answers, objects, requests, progress }) => {
    const reflector = await startReflector(answersInTurn(...answers))
    await reflector.waitForState({ objects, requests })
    // The store may hold these objects already before the last answer arrives.
    await reflector.waitUntil(
      'all progress is reported',
      () => reflector.progress.length >= progress.length,
    )
    expect(reflector.progress).toEqual(progress)
  })
})
