import { describe, expect, test } from 'vitest'
import {
  type Ending,
  NOT_BEGUN,
  RESTART_REASONS,
  type ReflectorState,
  recoveryAfter,
} from '../../../../src/kube/informer/reflector-state.ts'

const stream: ReflectorState = { at: 'stream' }
const list: ReflectorState = { at: 'list' }
const streamed = (resourceVersion: string): ReflectorState => ({
  at: 'follow',
  resourceVersion,
  relist: 'stream',
})
const paged = (resourceVersion: string): ReflectorState => ({
  at: 'follow',
  resourceVersion,
  relist: 'list',
})

const states = { stream, list, streamed: streamed('5'), paged: paged('5') }

const endings = {
  listed: { how: 'listed', resourceVersion: '9' },
  closed: { how: 'closed', served: false },
  'closed after events': { how: 'closed', served: true },
  silent: { how: 'silent', served: false },
  'silent after events': { how: 'silent', served: true },
  expired: { how: 'expired' },
  absent: { how: 'absent' },
  refused: { how: 'refused' },
  failed: { how: 'failed', served: false },
  'failed after events': { how: 'failed', served: true },
} satisfies Readonly<Record<string, Ending>>

type Cell = readonly [ReflectorState, 'at once' | 'wait']

/** The next state for every state (columns) and every ending (rows). */
const table: Readonly<Record<keyof typeof endings, Readonly<Record<keyof typeof states, Cell>>>> = {
  listed: {
    stream: [streamed('9'), 'at once'],
    list: [paged('9'), 'at once'],
    streamed: [streamed('9'), 'at once'],
    paged: [paged('9'), 'at once'],
  },
  closed: {
    stream: [stream, 'wait'],
    list: [list, 'wait'],
    streamed: [streamed('5'), 'wait'],
    paged: [paged('5'), 'wait'],
  },
  'closed after events': {
    stream: [stream, 'wait'],
    list: [list, 'wait'],
    streamed: [streamed('5'), 'at once'],
    paged: [paged('5'), 'at once'],
  },
  silent: {
    stream: [stream, 'at once'],
    list: [list, 'at once'],
    streamed: [stream, 'at once'],
    paged: [list, 'at once'],
  },
  'silent after events': {
    stream: [stream, 'at once'],
    list: [list, 'at once'],
    streamed: [streamed('5'), 'at once'],
    paged: [paged('5'), 'at once'],
  },
  expired: {
    stream: [stream, 'wait'],
    list: [list, 'wait'],
    streamed: [stream, 'wait'],
    paged: [list, 'wait'],
  },
  absent: {
    stream: [stream, 'wait'],
    list: [list, 'wait'],
    streamed: [stream, 'wait'],
    paged: [list, 'wait'],
  },
  refused: {
    stream: [list, 'at once'],
    list: [list, 'at once'],
    streamed: [list, 'at once'],
    paged: [list, 'at once'],
  },
  failed: {
    stream: [stream, 'wait'],
    list: [list, 'wait'],
    streamed: [streamed('5'), 'wait'],
    paged: [paged('5'), 'wait'],
  },
  'failed after events': {
    stream: [stream, 'wait'],
    list: [list, 'wait'],
    streamed: [streamed('5'), 'wait'],
    paged: [paged('5'), 'wait'],
  },
}

describe.each(Object.entries(table))('the ending %s', (ending, row) => {
  test.each(Object.entries(row))('has its own next state in %s', (state, [next, when]) => {
    const { progress, backOffAfter } = recoveryAfter(
      { ...NOT_BEGUN, state: states[state as keyof typeof states] },
      endings[ending as keyof typeof endings],
    )
    const transition = { state: progress.state, wait: backOffAfter !== null }
    expect(transition).toEqual({ state: next, wait: when === 'wait' })
  })
})

test('every ending but a finished list is a restart reason', () => {
  const hows = new Set<string>(Object.values(endings).map(({ how }) => how))
  hows.delete('listed')
  expect(new Set(RESTART_REASONS)).toEqual(hows)
})

describe('the same fault three times at one resourceVersion is stuck (8.2)', () => {
  const odd: Ending = { how: 'failed', served: true, fault: 'TypeError: odd' }
  const other: Ending = { how: 'failed', served: true, fault: 'TypeError: other' }
  const at5 = streamed('5')
  test.each<{
    name: string
    endings: readonly (readonly [ReflectorState, Ending])[]
    stuck: boolean
  }>([
    {
      name: 'three times',
      endings: [
        [at5, odd],
        [at5, odd],
        [at5, odd],
      ],
      stuck: true,
    },
    {
      name: 'twice',
      endings: [
        [at5, odd],
        [at5, odd],
      ],
      stuck: false,
    },
    {
      name: 'three relists',
      endings: [
        [stream, odd],
        [stream, odd],
        [stream, odd],
      ],
      stuck: true,
    },
    {
      name: 'another fault in between',
      endings: [
        [at5, odd],
        [at5, other],
        [at5, odd],
      ],
      stuck: false,
    },
    {
      name: 'at another resourceVersion',
      endings: [
        [at5, odd],
        [at5, odd],
        [streamed('6'), odd],
      ],
      stuck: false,
    },
    {
      name: 'broken connections in between',
      endings: [
        [at5, odd],
        [at5, endings.failed],
        [at5, odd],
        [at5, endings.closed],
        [at5, odd],
      ],
      stuck: true,
    },
    {
      name: 'only broken connections',
      endings: [
        [at5, endings.failed],
        [at5, endings.failed],
        [at5, endings.failed],
      ],
      stuck: false,
    },
  ])('$name', (row) => {
    expect(recoveriesAfter(row.endings).at(-1)?.isStuck).toBe(row.stuck)
  })

  test('a stuck reflector lists again, and the fault may occur three times more', () => {
    const recoveries = recoveriesAfter([
      [at5, odd],
      [at5, odd],
      [at5, odd],
      [stream, { how: 'listed', resourceVersion: '9' }],
      [streamed('9'), odd],
    ])
    expect(recoveries.map(({ isStuck }) => isStuck)).toEqual([false, false, true, false, false])
    expect(recoveries[2]?.progress.state).toEqual(stream)
  })
})

/** How a reflector goes on after each of the endings, one after the other, in the state that ended. */
function recoveriesAfter(sequence: readonly (readonly [ReflectorState, Ending])[]) {
  let before = NOT_BEGUN
  return sequence.map(([state, ending]) => {
    const recovery = recoveryAfter({ ...before, state }, ending)
    before = recovery.progress
    return recovery
  })
}

describe('the back-off of a watch grows until it works (8.2)', () => {
  const { failed, closed, expired, absent, refused, listed } = endings
  const served = endings['failed after events']
  const at5 = streamed('5')
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly of: readonly (readonly [ReflectorState, Ending])[]
    /** The number of retries that each back-off is of; null = at once. */
    readonly waits: readonly (number | null)[]
  }[] = [
    { name: 'failures in a row', of: [[at5, failed], [at5, failed], [at5, failed]], waits: [0, 1, 2] },
    { name: 'lists that fail', of: [[list, failed], [list, failed], [list, failed]], waits: [0, 1, 2] },
    { name: 'an empty watch that closes', of: [[at5, closed], [at5, closed]], waits: [0, 1] },
    { name: 'a resource that is not served', of: [[stream, absent], [stream, absent]], waits: [0, 1] },
    { name: 'a failure after events begins again', of: [[at5, failed], [at5, served], [at5, failed]], waits: [0, 1, 0] },
    { name: 'events of a list do not begin again', of: [[stream, served], [stream, served]], waits: [0, 1] },
    { name: 'a watch that closes after events begins again', of: [[at5, failed], [at5, endings['closed after events']], [at5, failed]], waits: [0, null, 0] },
    { name: 'a silent watch begins again', of: [[at5, failed], [at5, endings.silent], [stream, failed]], waits: [0, null, 0] },
    { name: 'a refused WatchList begins again', of: [[stream, failed], [stream, refused], [list, failed]], waits: [0, null, 0] },
    { name: 'a list begins again', of: [[list, failed], [list, listed], [at5, failed]], waits: [0, null, 0] },
    { name: 'a 410 begins again', of: [[at5, failed], [at5, failed], [at5, expired]], waits: [0, 1, 0] },
    { name: 'a second 410 does not', of: [[at5, expired], [stream, expired], [stream, expired]], waits: [0, 1, 2] },
    { name: 'a list between two of them does not', of: [[paged('5'), expired], [list, listed], [paged('9'), expired]], waits: [0, null, 1] },
    { name: 'a failure between two of them does', of: [[at5, expired], [at5, failed], [at5, expired]], waits: [0, 1, 0] },
  ]
  test.each(rows)('$name', ({ of, waits }) => {
    expect(recoveriesAfter(of).map(({ backOffAfter }) => backOffAfter)).toEqual(waits)
  })
})
