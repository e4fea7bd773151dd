import { describe, expect, onTestFinished, test } from 'vitest'
import { countObjects } from '../../../../src/commands/manager/metrics.ts'
import {
  EventLoopShare,
  forEachYielding,
  forEachYieldingByTime,
} from '../../../../src/runtime/concurrency/event-loop.ts'
import { eventually } from '../../../support/eventually.ts'
import { manyKeys, settledKeys } from '../../../support/key-controller-at-scale.ts'
import { countPerTurn, manualClock, tickingClock } from '../../../support/manual-clock.ts'
import { repeated } from '../../../support/tier.ts'

const T0 = Date.parse('2026-11-21T10:00:00Z')
const SOON = { withinMs: 30_000 }

describe('work yields after its share of a turn', () => {
  test('it continues in the next turn when its time is over', async () => {
    const eventLoop = new EventLoopShare(tickingClock(T0, 1))
    const seen = countPerTurn()
    await forEachYielding(eventLoop, Array.from({ length: 5000 }), seen.count)
    // The clock is read once for 50 items; a turn has 10 ms.
    expect(seen.all()).toBe(5000)
    expect(seen.most()).toBeLessThanOrEqual(1000)
    expect(seen.most()).toBeGreaterThanOrEqual(250)
  })

  test('two workloads share one budget', async () => {
    const eventLoop = new EventLoopShare(tickingClock(T0, 1))
    const seen = countPerTurn()
    const items = Array.from({ length: 5000 })
    await Promise.all([
      forEachYielding(eventLoop, items, seen.count),
      forEachYielding(eventLoop, items, seen.count),
    ])
    expect(seen.most()).toBeLessThanOrEqual(1100)
  })

  test('work that takes no time finishes in one turn', async () => {
    const eventLoop = new EventLoopShare(manualClock(T0))
    const seen = countPerTurn()
    await forEachYielding(eventLoop, Array.from({ length: 5000 }), seen.count)
    expect(seen.most()).toBe(5000)
  })

  test('items run by time, earliest first, those without a time last', async () => {
    const eventLoop = new EventLoopShare(tickingClock(T0, 1))
    const never = Number.POSITIVE_INFINITY
    const items = Array.from({ length: 3000 }, (_, n) => ({
      n,
      atMs: n % 3 === 0 ? never : (n * 7919) % 1000,
    }))
    const seen: typeof items = []
    await forEachYieldingByTime(
      eventLoop,
      items,
      ({ atMs }) => atMs,
      (item) => void seen.push(item),
    )
    expect(seen).toEqual(
      items.toSorted((a, b) => (a.atMs === b.atMs ? a.n - b.n : a.atMs - b.atMs)),
    )
  })
})

const COUNT = repeated(5_000, 20_000)

describe(`${COUNT} keys block no turn for seconds`, () => {
  const MOST = 2000

  /** All keys, with the numbers of reconciles and of additions to the queue in each turn. */
  function keyController(ttlOf: (n: number) => number) {
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
    const keys = manyKeys(settledKeys(COUNT, T0, ttlOf), clock, metrics)
    onTestFinished(async () => {
      await keys.stop()
    })
    const until = (what: string, seen: typeof added, count: number): Promise<true> =>
      eventually(`${what} ${count}`, () => seen.all() >= count || undefined, SOON)
    return { ...keys, clock, reconciled, added, until }
  }

  test('a process starts, and the cap changes (2.5)', async () => {
    const keys = keyController(() => 0)
    keys.list()
    await keys.until('reconciled', keys.reconciled, COUNT)
    expect(keys.reconciled.most()).toBeLessThanOrEqual(MOST)
    expect(keys.added.most()).toBeLessThanOrEqual(MOST)
    // With a cap of a century, each key is reconciled once more to publish its status.
    keys.cap(3_000_000_000)
    await keys.until('reconciled', keys.reconciled, COUNT * 1.25)
    expect(keys.reconciled.most()).toBeLessThanOrEqual(MOST)
    expect(keys.added.most()).toBeLessThanOrEqual(MOST)
  })

  test('all end in one second (2.7)', async () => {
    const keys = keyController(() => 3600)
    keys.list()
    await keys.until('reconciled', keys.reconciled, COUNT)
    await keys.clock.advance(3_600_000)
    await keys.until('reconciled', keys.reconciled, COUNT * 1.25)
    expect(keys.reconciled.most()).toBeLessThanOrEqual(MOST)
    expect(keys.added.most()).toBeLessThanOrEqual(MOST)
  })

  test('the metrics are read meanwhile, without waiting for workers (8.4)', async () => {
    const keys = keyController(() => 0)
    const counts = countObjects(keys.options)
    keys.list()
    await counts.refresh()
    expect(counts.counts('OwnedAccessKey')?.byState).toEqual({ active: COUNT })
    expect(keys.reconciled.all()).toBeLessThan(COUNT)
    await keys.until('reconciled', keys.reconciled, COUNT)
    expect(keys.reconciled.most()).toBeLessThanOrEqual(MOST)
  })
})
