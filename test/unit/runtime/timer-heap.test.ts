import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/runtime/clock.ts'
import { TimerHeap } from '../../../src/runtime/timer-heap.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { randomFrom } from '../../support/random.ts'

const T0 = Date.parse('2026-11-21T10:00:00Z')
const SECOND_MS = 1000
const DAY_MS = 86_400 * SECOND_MS

/** A timer heap on a manual clock, with the keys that fired and the delays of all timers. */
function timerHeapOnClock() {
  const clock = manualClock(T0)
  const delays: number[] = []
  const watched: Clock = {
    ...clock,
    schedule: (delayMs, callback) => {
      delays.push(delayMs)
      return clock.schedule(delayMs, callback)
    },
  }
  const fired: { key: string; afterMs: number }[] = []
  const deadlines = new TimerHeap(watched, (key) =>
    fired.push({ key, afterMs: clock.nowMs() - T0 }),
  )
  return { clock, delays, fired, deadlines, keys: () => fired.map(({ key }) => key) }
}

test('10,000 random settings, moves and deletions agree with a sorted list', async () => {
  const { clock, fired, deadlines } = timerHeapOnClock()
  const random = randomFrom(20_261_121)
  const model = new Map<string, number>()
  const expected: { key: string; afterMs: number }[] = []
  for (let step = 0; step < 10_000; step += 1) {
    const key = `key-${Math.floor(random.between(0, 500))}`
    const nowMs = clock.nowMs() - T0
    const act = random.pick(['set', 'set', 'set', 'delete', 'advance'])
    if (act === 'set') {
      const afterMs = Math.max(nowMs, Math.floor(nowMs + random.between(-1000, 100_000)))
      deadlines.set(key, T0 + afterMs)
      model.set(key, afterMs)
    } else if (act === 'delete') {
      deadlines.delete(key)
      model.delete(key)
    } else {
      const forMs = Math.floor(random.between(0, 300))
      const due = [...model].filter(([, afterMs]) => afterMs <= nowMs + forMs)
      for (const [dueKey, afterMs] of due) {
        model.delete(dueKey)
        expected.push({ key: dueKey, afterMs })
      }
      await clock.advance(forMs)
    }
    if (deadlines.size !== model.size) throw new Error(`step ${step}: ${deadlines.size} keys`)
  }
  const inOrder = (list: readonly { key: string; afterMs: number }[]) =>
    list.toSorted((a, b) => a.afterMs - b.afterMs || (a.key < b.key ? -1 : 1))
  expect(fired.length).toBeGreaterThan(1000)
  expect(fired.map(({ afterMs }) => afterMs)).toEqual(inOrder(fired).map((one) => one.afterMs))
  expect(inOrder(fired)).toEqual(inOrder(expected))
})

describe('a deadline fires on time', () => {
  test.each([
    { name: 'in a second', inMs: SECOND_MS },
    { name: 'later than the longest single timer', inMs: 61 * SECOND_MS },
    { name: 'in 30 days, more than setTimeout can wait', inMs: 30 * DAY_MS },
  ])('$name', async ({ inMs }) => {
    const { clock, fired, delays, deadlines } = timerHeapOnClock()
    deadlines.set('a', T0 + inMs)
    await clock.advance(inMs - 1)
    expect(fired).toEqual([])
    expect(clock.pending()).toBe(1)
    await clock.advance(1)
    expect(fired).toEqual([{ key: 'a', afterMs: inMs }])
    expect(Math.max(...delays)).toBeLessThanOrEqual(60 * SECOND_MS)
    expect(deadlines.size).toBe(0)
  })

  test('in the past fires soon, but not within the call', async () => {
    const { clock, fired, deadlines } = timerHeapOnClock()
    deadlines.set('a', T0 - DAY_MS)
    expect(fired).toEqual([])
    await clock.advance(0)
    expect(fired).toEqual([{ key: 'a', afterMs: 0 }])
  })

  test('fires within a minute after the wall clock steps a day forward', async () => {
    const { clock, keys, deadlines } = timerHeapOnClock()
    deadlines.set('a', T0 + DAY_MS)
    clock.setNow(T0 + DAY_MS)
    await clock.advance(60 * SECOND_MS)
    expect(keys()).toEqual(['a'])
  })

  test('overdue deadlines fire at once, earliest first', async () => {
    const { clock, keys, deadlines } = timerHeapOnClock()
    for (const [key, inMs] of Object.entries({ c: 300, a: 100, d: 400, b: 200 })) {
      deadlines.set(key, T0 + inMs)
    }
    clock.setNow(T0 + 1000)
    await clock.advance(100)
    expect(keys()).toEqual(['a', 'b', 'c', 'd'])
  })
})

describe('a deadline changes', () => {
  test.each([
    { name: 'moved earlier', act: (d: TimerHeap) => d.set('a', T0 + 10), afterMs: [10] },
    { name: 'moved later', act: (d: TimerHeap) => d.set('a', T0 + 9000), afterMs: [9000] },
    {
      name: 'set again to the same time',
      act: (d: TimerHeap) => d.set('a', T0 + 1000),
      afterMs: [1000],
    },
    { name: 'deleted', act: (d: TimerHeap) => d.delete('a'), afterMs: [] },
    { name: 'cleared with all deadlines', act: (d: TimerHeap) => d.clear(), afterMs: [] },
    {
      name: 'a key without a deadline is deleted',
      act: (d: TimerHeap) => d.delete('b'),
      afterMs: [1000],
    },
    {
      name: 'deleted and set again',
      act: (d: TimerHeap) => {
        d.delete('a')
        d.set('a', T0 + 20)
      },
      afterMs: [20],
    },
  ])('$name', async ({ act, afterMs }) => {
    const { clock, fired, deadlines } = timerHeapOnClock()
    deadlines.set('a', T0 + 1000)
    act(deadlines)
    await clock.advance(10_000)
    expect(fired.map((one) => one.afterMs)).toEqual(afterMs)
  })

  test('clear leaves no timer behind', () => {
    const { clock, deadlines } = timerHeapOnClock()
    deadlines.set('a', T0 + 1000)
    deadlines.clear()
    expect(clock.pending()).toBe(0)
    expect(deadlines.size).toBe(0)
  })

  test('a callback that sets its own deadline to the past does not spin', async () => {
    const clock = manualClock(T0)
    let wakes = 0
    const deadlines: TimerHeap = new TimerHeap(clock, (key) => {
      wakes += 1
      if (wakes < 1000) deadlines.set(key, clock.nowMs())
    })
    deadlines.set('a', T0)
    const advanced = clock.advance(0)
    // Each wake-up is a timer of its own: other work runs in between.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(wakes).toBeLessThan(10)
    await advanced
    expect(wakes).toBe(1000)
  })
})
