import { describe, expect, test } from 'vitest'
import { type Answer, breakOff, inTurn, stall } from './scripted-server.ts'
import {
  EXPIRED,
  added,
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

interface Row {
  readonly name: string
  readonly answers: readonly Answer[]
  readonly world: readonly string[]
  readonly requests: readonly string[]
  /** The world at each moment at which it was known to be all of it. */
  readonly heard: readonly (readonly string[])[]
}

const a1 = { metadata: { name: 'a', uid: 'a-uid', resourceVersion: '1' } }

describe('a watch is proven alive (contract 7.4)', () => {
  test.each<Row>([
    {
      name: 'by the end of the initial events, and by nothing before it',
      answers: [open(added('a', 1), bookmark(2), added('b', 2), end(5))],
      world: ['a@1', 'b@2'],
      requests: ['stream'],
      heard: [['a@1', 'b@2']],
    },
    {
      name: 'by each event and bookmark that follows, once it is taken in',
      answers: [open(added('a', 1), end(5), modified('a', 6), bookmark(7), deleted('a', 8))],
      world: [],
      requests: ['stream'],
      heard: [['a@1'], ['a@6'], ['a@6'], []],
    },
    {
      name: 'by the last page of a listing, and by no page before it',
      answers: [
        withoutWatchList,
        page(5, [a1], 'x'),
        page(5, [{ metadata: { ...a1.metadata, name: 'b', uid: 'b-uid' } }]),
        open(),
      ],
      world: ['a@1', 'b@1'],
      requests: ['stream', 'list', 'list x', 'follow 5'],
      heard: [['a@1', 'b@1']],
    },
    {
      name: 'not by a stream that breaks half-way',
      answers: [cut(added('a', 1)), closing(added('a', 1)), stall],
      world: ['a@1'],
      requests: ['stream', 'stream', 'stream'],
      heard: [],
    },
    {
      name: 'not by a connection that is opened anew and says nothing',
      answers: [closing(added('a', 1), end(5)), breakOff, open()],
      world: ['a@1'],
      requests: ['stream', 'follow 5', 'follow 5'],
      heard: [['a@1']],
    },
    {
      name: 'not by an error that comes in place of an event',
      answers: [closing(added('a', 1), end(5), EXPIRED), stall],
      world: ['a@1'],
      requests: ['stream', 'stream'],
      heard: [['a@1']],
    },
  ])('$name', async ({ answers, world, requests, heard }) => {
    const it = await watch(inTurn(...answers))
    await it.becomes({ world, requests })
    // The world may be this one already before the last answer has come.
    await it.until('it is proven', () => it.progress.length >= heard.length)
    expect(it.progress).toEqual(heard)
  })
})
