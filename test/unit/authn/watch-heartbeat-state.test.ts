import { describe, expect, test } from 'vitest'
import {
  afterHeartbeatEvent,
  dueInMs,
  type HeartbeatEvent,
  initialHeartbeatState,
  isUnseen,
} from '../../../src/authn/watch-heartbeat-state.ts'
import type { Moment } from '../../../src/runtime/clock.ts'
import { after, textAfter } from '../../support/key-builder.ts'

type HeartbeatState = ReturnType<typeof initialHeartbeatState>

/** That many seconds after t0, on both clocks. */
const at = (seconds: number): Moment => ({
  wallMs: after(seconds),
  monotonicMs: 1_000_000 + seconds * 1000,
})

const initial = initialHeartbeatState(0)
const listed: HeartbeatState = { ...initial, isListed: true }
const observed = (writtenS: number, beforeS: number | null, nowS: number, uid = 'a') =>
  ({
    kind: 'observed',
    heartbeat: {
      uid,
      annotation: textAfter(writtenS),
      before: beforeS === null ? '' : textAfter(beforeS),
    },
    now: at(nowS),
  }) as const
const writing = (seconds: number) =>
  ({
    kind: 'writing',
    heartbeat: { written: textAfter(seconds), sent: at(seconds) },
    jitterMs: 0,
  }) as const
const stored = (sentS: number, nowS: number, isOurs = true) =>
  ({ kind: 'stored', sent: at(sentS), isOurs, now: at(nowS) }) as const

/** The state after these events, and the effects that were not `none`. */
function afterAll(events: readonly HeartbeatEvent[], from = listed) {
  let state = from
  const effects: unknown[] = []
  for (const event of events) {
    const next = afterHeartbeatEvent(state, event)
    state = next.state
    if (next.effect.kind !== 'none') effects.push(next.effect)
  }
  return { state, effects }
}

describe('the heartbeat state after events (10.4)', () => {
  const gap = { kind: 'relist', because: 'gap' }
  const distrust = { kind: 'distrusted' } as const
  const distrusted = { kind: 'relist', because: 'distrusted' }
  const missed = { kind: 'relist', because: 'missedWrite' }

  // biome-ignore format: a table
  test.each<{
    readonly name: string
    readonly events: readonly HeartbeatEvent[]
    /** Seconds after t0; null = nothing is proven. */
    readonly proven: number | null
    readonly effects?: readonly object[]
  }>([
    { name: 'none', events: [], proven: null },
    { name: 'a heartbeat of another gateway proves the moment of its time', events: [observed(3, null, 4)], proven: 3 },
    { name: 'a heartbeat of a clock that is ahead proves nothing', events: [observed(9, null, 4)], proven: null },
    { name: 'a heartbeat of this gateway proves the moment of its sending', events: [writing(3), observed(3, null, 4)], proven: 3, effects: [{ kind: 'delivered', tookMs: 1000 }] },
    { name: 'the same heartbeat of this gateway again is not reported as delivered', events: [writing(3), observed(3, null, 4), observed(3, null, 5)], proven: 3, effects: [{ kind: 'delivered', tookMs: 1000 }] },
    { name: 'a heartbeat with an earlier time takes no proof back', events: [observed(3, null, 4), observed(2, 3, 5)], proven: 3 },
    { name: 'an incomplete list proves nothing', events: [{ kind: 'listStarted' }, observed(3, null, 4)], proven: null },
    { name: 'a complete list proves the time of its heartbeat', events: [{ kind: 'listStarted' }, observed(3, null, 4), { kind: 'listComplete' }], proven: 3 },
    { name: 'a list that starts again drops its heartbeat', events: [{ kind: 'listStarted' }, observed(3, null, 4), { kind: 'listStarted' }, { kind: 'listComplete' }], proven: null },
    { name: 'a heartbeat that does not follow the previous one is a gap', events: [observed(1, null, 1), observed(3, 2, 4)], proven: null, effects: [gap] },
    { name: 'a gap is reported once, and nothing is proven after it', events: [observed(1, null, 1), observed(3, 2, 4), observed(5, 4, 6)], proven: null, effects: [gap] },
    { name: 'a list closes a gap', events: [observed(1, null, 1), observed(3, 2, 4), { kind: 'listStarted' }, observed(3, 2, 5), { kind: 'listComplete' }], proven: 3, effects: [gap] },
    { name: 'a list may differ from the last heartbeat', events: [observed(1, null, 1), { kind: 'listStarted' }, observed(3, 2, 4), { kind: 'listComplete' }], proven: 3 },
    { name: 'another object of the same name is a gap', events: [observed(1, null, 1), observed(3, 1, 4, 'b')], proven: null, effects: [gap] },
    { name: 'another object after a delete makes no gap', events: [observed(1, null, 1), { kind: 'removed', uid: 'a' }, observed(3, null, 4, 'b')], proven: 3 },
    { name: 'the delete of another key changes nothing', events: [observed(1, null, 1), { kind: 'removed', uid: 'x' }, observed(3, 2, 4)], proven: null, effects: [gap] },
    { name: 'a gap in another watch takes the proof back, once', events: [observed(1, null, 1), distrust, distrust, observed(3, 1, 4)], proven: null, effects: [distrusted] },
    { name: 'a gap in another watch adds nothing to one in this', events: [observed(1, null, 1), observed(3, 2, 4), distrust], proven: null, effects: [gap] },
    { name: 'a list closes the gap of another watch', events: [observed(1, null, 1), distrust, { kind: 'listStarted' }, observed(3, 2, 5), { kind: 'listComplete' }], proven: 3, effects: [distrusted] },
    { name: 'a list under way closes the gap of another watch', events: [observed(1, null, 1), { kind: 'listStarted' }, observed(3, 2, 5), distrust, { kind: 'listComplete' }], proven: 3, effects: [distrusted] },
    { name: 'a stored write may take 10 seconds to arrive', events: [writing(1), stored(1, 10)], proven: null },
    { name: 'a stored write that has not arrived after 10 seconds is missed', events: [writing(1), stored(1, 1), stored(6, 11)], proven: null, effects: [missed] },
    { name: 'a missed write is reported once', events: [stored(1, 1), stored(6, 11), stored(11, 12)], proven: null, effects: [missed] },
    { name: 'a later heartbeat counts as its delivery', events: [stored(1, 1), observed(2, null, 3), stored(8, 11)], proven: 2 },
    { name: 'a list counts as its delivery', events: [stored(1, 1), { kind: 'listStarted' }, { kind: 'listComplete' }, stored(8, 11)], proven: null },
  ])('$name', ({ events, proven, effects: expected = [] }) => {
    const { state, effects } = afterAll(events)
    expect(state.provenAt).toEqual(proven === null ? null : at(proven))
    expect(effects).toEqual(expected)
  })

  test('only the latest writes of this process are kept, however many fail', () => {
    const { state } = afterAll(Array.from({ length: 100 }, (_, seconds) => writing(seconds)))
    expect(state.sent.length).toBeLessThan(10)
    expect(state.sent.at(-1)?.written).toBe(textAfter(99))
  })
})

describe('the next write of the heartbeat (10.4)', () => {
  // biome-ignore format: a table
  test.each<{
    readonly name: string
    readonly events: readonly HeartbeatEvent[]
    readonly from?: HeartbeatState
    readonly nowS: number
    readonly dueInS: number
  }>([
    { name: 'is not due before the first list', events: [], from: initial, nowS: 0, dueInS: 0.25 },
    { name: 'is due at once while nothing is proven', events: [], nowS: 0, dueInS: Number.NEGATIVE_INFINITY },
    { name: 'is due 5 seconds after the previous one', events: [observed(2, null, 2)], nowS: 3, dueInS: 4 },
    { name: 'is due 5 seconds and the jitter later', events: [observed(2, null, 2)], from: { ...listed, jitterMs: 500 }, nowS: 3, dueInS: 4.5 },
    { name: 'is retried after a second', events: [writing(2)], nowS: 2, dueInS: 1 },
    { name: 'is retried after a second when another gateway wrote', events: [writing(2), stored(2, 2, false)], nowS: 2, dueInS: 1 },
    { name: 'is due 5 seconds after a write of this gateway', events: [writing(2), stored(2, 2)], nowS: 3, dueInS: 4 },
  ])('$name', ({ events, from = listed, nowS, dueInS }) => {
    const { state } = afterAll(events, from)
    const waitMs = dueInMs(state, at(nowS))
    expect(dueInS < 0 ? waitMs <= 0 : waitMs / 1000).toBe(dueInS < 0 ? true : dueInS)
  })

  // biome-ignore format: a table
  test.each<{
    readonly name: string
    readonly events: readonly HeartbeatEvent[]
    readonly annotation: string | undefined
    readonly unseen: boolean
  }>([
    { name: 'a missing annotation does not mean a write of another gateway', events: [], annotation: undefined, unseen: false },
    { name: 'an annotation that the watch has not delivered is one', events: [], annotation: textAfter(1), unseen: true },
    { name: 'an annotation that the watch has delivered is none', events: [observed(1, null, 1)], annotation: textAfter(1), unseen: false },
    { name: 'an annotation that was read before is none', events: [{ kind: 'read', annotation: textAfter(1), written: textAfter(2) }], annotation: textAfter(1), unseen: false },
    { name: 'an annotation of this gateway is none', events: [{ kind: 'read', annotation: undefined, written: textAfter(2) }], annotation: textAfter(2), unseen: false },
  ])('$name', ({ events, annotation, unseen }) => {
    expect(isUnseen(afterAll(events).state, annotation)).toBe(unseen)
  })
})
