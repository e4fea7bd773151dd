import { describe, expect, onTestFinished, test } from 'vitest'
import { countObjects } from '../../../../src/commands/manager/metrics.ts'
import {
  EventLoopShare,
  forEachYielding,
  forEachYieldingByTime,
} from '../../../../src/runtime/concurrency/event-loop.ts'
import { manualClock } from '../../../support/clock.ts'
import { countPerTurn, tickingClock } from '../../../support/event-loop-turns.ts'
import { eventually } from '../../../support/eventually.ts'
import { manyKeys, settledKeys } from '../../../support/key-controller-at-scale.ts'

const T0 = Date.parse('2026-11-21T10:00:00Z')
const SOON = { withinMs: 30_000 }

describe('work yields after its share of a turn', () => {
  test('it goes on in the next turn when the time is over', async () => {
    const turns = new EventLoopShare(tickingClock(T0, 1))
    const seen = countPerTurn()
    await forEachYielding(turns, Array.from({ length: 5000 }), seen.count)
    // One read of the clock for each 50 items, 10 ms in each turn.
    expect(seen.all()).toBe(5000)
    expect(seen.most()).toBeLessThanOrEqual(1000)
    expect(seen.most()).toBeGreaterThanOrEqual(250)
  })

  test('two kinds of work have one share', async () => {
    const turns = new EventLoopShare(tickingClock(T0, 1))
    const seen = countPerTurn()
    const items = Array.from({ length: 5000 })
    await Promise.all([
      forEachYielding(turns, items, seen.count),
      forEachYielding(turns, items, seen.count),
    ])
    expect(seen.most()).toBeLessThanOrEqual(1100)
  })

  test('work without duration takes one turn', async () => {
    const turns = new EventLoopShare(manualClock(T0))
    const seen = countPerTurn()
    await forEachYielding(turns, Array.from({ length: 5000 }), seen.count)
    expect(seen.most()).toBe(5000)
  })

  test('items run by time, earliest first, those without one last', async () => {
    const turns = new EventLoopShare(tickingClock(T0, 1))
    const never = Number.POSITIVE_INFINITY
    const items = Array.from({ length: 3000 }, (_, n) => ({
      n,
      atMs: n % 3 === 0 ? never : (n * 7919) % 1000,
    }))
    const seen: typeof items = []
    await forEachYieldingByTime(
      turns,
      items,
      ({ atMs }) => atMs,
      (item) => void seen.push(item),
    )
    expect(seen).toEqual(
      items.toSorted((a, b) => (a.atMs === b.atMs ? a.n - b.n : a.atMs - b.atMs)),
    )
  })
})

describe('20,000 keys block no turn for seconds', () => {
  const COUNT = 20_000
  const MOST = 2000

  /** All keys, and how many were reconciled and put into the queue in one turn. */
  function stage(ttlOf: (n: number) => number) {
    const clock = tickingClock(T0, 0.01)
    const reconciled = countPerTurn()
    const added = countPerTurn()
    const ignore = (): void => undefined
    const metrics = {
      keyExpired: ignore,
      controller: () => ({
        queue: { added: added.count, retried: ignore, waited: ignore, worked: ignore },
        loop: { started: reconciled.count, finished: ignore },
        follow: ignore,
      }),
    }
    const it = manyKeys(settledKeys(COUNT, T0, ttlOf), clock, metrics)
    onTestFinished(async () => {
      await it.stop()
    })
    const until = (what: string, seen: typeof added, count: number): Promise<true> =>
      eventually(`${what} ${count}`, () => seen.all() >= count || undefined, SOON)
    return { ...it, clock, reconciled, added, until }
  }

  test('when a process starts, and when the cap changes (2.5)', async () => {
    const it = stage(() => 0)
    it.list()
    await it.until('reconciled', it.reconciled, COUNT)
    expect(it.reconciled.most()).toBeLessThanOrEqual(MOST)
    expect(it.added.most()).toBeLessThanOrEqual(MOST)
    // No key ends within a century: each is reconciled once more, and its status is published.
    it.cap(3_000_000_000)
    await it.until('reconciled', it.reconciled, COUNT + 5000)
    expect(it.reconciled.most()).toBeLessThanOrEqual(MOST)
    expect(it.added.most()).toBeLessThanOrEqual(MOST)
  })

  test('when all end in one second (2.7)', async () => {
    const it = stage(() => 3600)
    it.list()
    await it.until('reconciled', it.reconciled, COUNT)
    await it.clock.advance(3_600_000)
    await it.until('reconciled', it.reconciled, COUNT + 5000)
    expect(it.reconciled.most()).toBeLessThanOrEqual(MOST)
    expect(it.added.most()).toBeLessThanOrEqual(MOST)
  })

  test('when the metrics are read meanwhile, which wait for no worker (8.4)', async () => {
    const it = stage(() => 0)
    const counts = countObjects(it.options)
    it.list()
    await counts.refresh()
    expect(counts.keysByState()).toEqual({ active: COUNT })
    expect(it.reconciled.all()).toBeLessThan(COUNT)
    await it.until('reconciled', it.reconciled, COUNT)
    expect(it.reconciled.most()).toBeLessThanOrEqual(MOST)
  })
})
