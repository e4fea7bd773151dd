// What observers of requests are told, in which order, and what one that fails does not harm.
import { describe, expect, test } from 'vitest'
import { ERRORS } from '../../../src/gateway/errors.ts'
import { newContext } from '../../../src/gateway/request-context.ts'
import {
  ObservedRequest,
  type RequestObserver,
  answerEnd,
} from '../../../src/gateway/request-observer.ts'
import { TERMINATION_REASONS } from '../../../src/gateway/streams/in-flight.ts'
import { refuse } from '../../../src/serving/http/answer.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { callTo } from './request-builder.ts'

const EVENTS = ['received', 'decided', 'ended'] as const

/** An observer that notes its events. @param failsAt the event at which it throws */
function observer(
  name: string,
  events: string[],
  failsAt?: (typeof EVENTS)[number],
): RequestObserver {
  const note = (event: (typeof EVENTS)[number]): void => {
    events.push(`${name} ${event}`)
    if (event === failsAt) throw new Error(`fails at ${event}`)
  }
  return {
    name,
    received: () => {
      note('received')
      return { decided: () => note('decided'), ended: () => note('ended') }
    },
  }
}

function observedBy(observers: readonly RequestObserver[]) {
  const { log, lines } = memoryLog()
  const http = callTo('/version')
  const observed = new ObservedRequest(http, observers, log)
  const answer = refuse(ERRORS.keyNotFound)
  observed.decided({ context: newContext(http), answer, failure: null })
  observed.ended('refused')
  return lines
}

test('each event reaches the observers in the order of their list', () => {
  const events: string[] = []
  const lines = observedBy([observer('first', events), observer('second', events)])
  expect(events).toEqual([
    'first received',
    'second received',
    'first decided',
    'second decided',
    'first ended',
    'second ended',
  ])
  expect(lines).toEqual([])
})

test.each([
  { failsAt: 'received', seen: ['first received'] },
  { failsAt: 'decided', seen: ['first received', 'first decided', 'first ended'] },
  { failsAt: 'ended', seen: ['first received', 'first decided', 'first ended'] },
] as const)('an observer that throws at $failsAt is logged, and the others observe on', (row) => {
  const events: string[] = []
  const lines = observedBy([observer('first', events, row.failsAt), observer('second', events)])
  expect(events.filter((event) => event.startsWith('first'))).toEqual(row.seen)
  expect(events.filter((event) => event.startsWith('second'))).toHaveLength(3)
  expect(lines).toMatchObject([
    { level: 'error', sentence: 'an observer of requests failed', fields: { observer: 'first' } },
  ])
})

describe('the end of an answer', () => {
  test.each([
    { delivery: 'complete', isRefusal: false, end: 'complete' },
    { delivery: 'complete', isRefusal: true, end: 'refused' },
    { delivery: 'clientGone', isRefusal: true, end: 'clientGone' },
    { delivery: 'clientStalled', isRefusal: false, end: 'clientStalled' },
    { delivery: 'bodyFailed', isRefusal: false, end: 'upstreamFailed' },
    { delivery: 'unsendable', isRefusal: false, end: 'unsendable' },
    { delivery: 'shutdown', isRefusal: false, end: 'shutdown' },
  ] as const)('is $end for $delivery, refusal: $isRefusal', ({ delivery, isRefusal, end }) => {
    expect(answerEnd(delivery, isRefusal, null)).toBe(end)
  })

  test('is the reason of a cut, however the connection ended', () => {
    const ends = TERMINATION_REASONS.map((reason) => answerEnd('clientGone', false, reason))
    expect(Object.fromEntries(TERMINATION_REASONS.map((reason, at) => [reason, ends[at]]))).toEqual(
      {
        expired: 'keyEnded',
        revoked: 'keyEnded',
        changed: 'keyEnded',
        stale: 'keyEnded',
        target: 'targetEnded',
        shutdown: 'shutdown',
      },
    )
  })
})
