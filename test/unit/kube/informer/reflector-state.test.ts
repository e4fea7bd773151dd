import { describe, expect, test } from 'vitest'
import {
  type Ending,
  RESTART_REASONS,
  type Repeated,
  type ReflectorState,
  afterEnding,
  isStuck,
  repeatedAfter,
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
    const transition = afterEnding(
      states[state as keyof typeof states],
      endings[ending as keyof typeof endings],
    )
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
    const repeated = row.endings.reduce<Repeated | null>(
      (before, [state, ending]) => repeatedAfter(before, state, ending),
      null,
    )
    expect(isStuck(repeated)).toBe(row.stuck)
  })
})
