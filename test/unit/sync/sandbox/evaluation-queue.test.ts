import { expect, test } from 'vitest'
import { BOUNDS, type EvaluationRequest } from '../../../../src/sync/sandbox/protocol.ts'
import { EvaluationQueue } from '../../../../src/sync/sandbox/evaluation-queue.ts'
import { PLACE } from '../counting-sandbox.ts'

const requestOf = (object: string): EvaluationRequest => ({
  source: 'value',
  value: '1',
  context: '{}',
  path: 'data.a',
  place: PLACE,
  object,
})

const OTHER_EVERY_MS = 10
const OTHER_TAKES_MS = 2
const PAUSE_MS = 100
const WHOLE_MS = 60_000

/** Milliseconds that each of the others waited, beside objects that overrun again and again, on a clock of its own. */
function waitsBeside(overrunning: number): readonly number[] {
  const queue = new EvaluationQueue(BOUNDS.sliceMs)
  const sinceMs = new Map<EvaluationRequest, number>()
  const waits: number[] = []
  let due = Array.from({ length: overrunning }, (_, at) => ({ atMs: 0, object: `overruns-${at}` }))
  let nextOtherMs = 0
  let nowMs = 0
  const arrive = (): void => {
    for (const { object } of due.filter(({ atMs }) => atMs <= nowMs)) queue.add(requestOf(object))
    due = due.filter(({ atMs }) => atMs > nowMs)
    for (; nextOtherMs <= nowMs; nextOtherMs += OTHER_EVERY_MS) {
      const request = requestOf(`other-${nextOtherMs % 1000}`)
      sinceMs.set(request, nextOtherMs)
      queue.add(request)
    }
  }
  while (nowMs < WHOLE_MS) {
    arrive()
    const queued = queue.shift()
    if (queued === null) {
      nowMs = nextOtherMs
      continue
    }
    const { request, sliceMs } = queued
    const askedMs = sinceMs.get(request)
    if (askedMs !== undefined) {
      nowMs += OTHER_TAKES_MS
      queue.kept(request)
      waits.push(nowMs - askedMs)
    } else if (sliceMs === null) {
      nowMs += BOUNDS.wallMs
      queue.broke(request)
      due.push({ atMs: nowMs + PAUSE_MS, object: request.object })
    } else {
      nowMs += sliceMs
      queue.addAgain(request)
    }
  }
  return waits.toSorted((a, b) => a - b)
}

test('50 objects whose patches overrun add at most 1 s to 99 of 100 others, from their first time on (19.4)', () => {
  const [alone, beside] = [waitsBeside(0), waitsBeside(50)]
  const [slow, slower] = [alone, beside].map(
    (waits) => waits[Math.floor(waits.length * 0.99)] ?? Infinity,
  ) as [number, number]
  expect(beside.length).toBeGreaterThan(5000)
  expect(slower - slow).toBeLessThanOrEqual(1000)
  // Nobody waits longer than for a slice of each of them, and for one that had its turn.
  expect((beside.at(-1) ?? Infinity) - slow).toBeLessThanOrEqual(
    50 * BOUNDS.sliceMs + 2 * BOUNDS.wallMs,
  )
})

test('an expression that broke a bound waits behind those that never did, until it succeeds (19.4)', () => {
  const queue = new EvaluationQueue(20)
  const [bad, slow, quick] = ['bad', 'slow', 'quick'].map(requestOf) as [
    EvaluationRequest,
    EvaluationRequest,
    EvaluationRequest,
  ]
  const taken = () => [queue.shift(), queue.shift(), queue.shift()]
  queue.broke(bad)
  expect([queue.add(bad), queue.add(quick)]).toEqual([true, false])
  queue.addAgain(slow)
  expect(taken()).toEqual([
    { request: quick, sliceMs: 20 },
    { request: slow, sliceMs: null },
    { request: bad, sliceMs: null },
  ])
  // Another expression of the same object is not known.
  expect(queue.add({ ...bad, source: 'value + 1' })).toBe(false)
  queue.kept(bad)
  expect(queue.add(bad)).toBe(false)
})
