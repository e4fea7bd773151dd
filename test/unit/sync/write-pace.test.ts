import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { WritePace } from '../../../src/sync/write-pace.ts'
import { manualClock } from '../../support/manual-clock.ts'

/** A pace on a clock that only the test moves. */
function paced() {
  const clock = manualClock(1_000_000)
  const pace = new WritePace(clock)
  const writes = (key: string, count: number): void => {
    for (let at = 0; at < count; at += 1) pace.wrote(key)
  }
  return { clock, pace, writes }
}

describe('the pace of writes', () => {
  test.each([
    { name: 'no write', count: 0, afterMs: 0, delayMs: 0 },
    { name: 'one write', count: 1, afterMs: 0, delayMs: 0 },
    { name: '9 writes', count: 9, afterMs: 0, delayMs: 0 },
    { name: '10 writes', count: 10, afterMs: 0, delayMs: 60_000 },
    { name: '10 writes', count: 10, afterMs: 59_999, delayMs: 1 },
    { name: '10 writes', count: 10, afterMs: 59_999.5, delayMs: 1 },
    { name: '10 writes', count: 10, afterMs: 60_000, delayMs: 0 },
    { name: '10 writes', count: 10, afterMs: 90_000, delayMs: 0 },
    { name: '25 writes', count: 25, afterMs: 20_000, delayMs: 40_000 },
  ])('$afterMs ms after $name waits $delayMs ms (19.7)', async (row) => {
    const { clock, pace, writes } = paced()
    writes('a', row.count)
    clock.setMonotonic(row.afterMs)
    expect(pace.delayMs('a')).toBe(row.delayMs)
  })

  test('waits for the earliest of the last ten (19.7)', () => {
    const { clock, pace } = paced()
    for (let second = 0; second < 10; second += 1) {
      clock.setMonotonic(second * 1000)
      pace.wrote('a')
    }
    expect(pace.delayMs('a')).toBe(51_000)
    clock.setMonotonic(60_000)
    expect(pace.delayMs('a')).toBe(0)
    pace.wrote('a')
    expect(pace.delayMs('a')).toBe(1000)
  })

  test('lets ten writes pass in any 60 s, and loses none of the last states (19.7)', () => {
    const { clock, pace } = paced()
    const writtenMs: number[] = []
    // The object changes each 700 ms; a change in the meantime is written with the next one.
    for (let nowMs = 0; nowMs < 600_000; nowMs += 700) {
      clock.setMonotonic(nowMs)
      if (pace.delayMs('a') > 0) continue
      pace.wrote('a')
      writtenMs.push(nowMs)
    }
    const mostInAMinute = writtenMs.map(
      (startMs) => writtenMs.filter((ms) => ms >= startMs && ms < startMs + 60_000).length,
    )
    expect(Math.max(...mostInAMinute)).toBe(10)
    expect(writtenMs.length).toBeGreaterThanOrEqual(90)
  })

  test('is that of one object, whatever its name (19.7)', () => {
    const { pace, writes } = paced()
    writes('__proto__', 10)
    writes('a', 9)
    expect(['a', '__proto__', 'b', 'constructor'].map((key) => pace.delayMs(key))).toEqual([
      0, 60_000, 0, 0,
    ])
    pace.wrote('a')
    expect(pace.delayMs('a')).toBe(60_000)
  })

  test('does not follow a wall clock that is set (19.7)', () => {
    const { clock, pace, writes } = paced()
    writes('a', 10)
    clock.setNow(2_000_000_000)
    expect(pace.delayMs('a')).toBe(60_000)
  })

  test('of one object stays when others have not been written for long (19.7)', () => {
    const { clock, pace, writes } = paced()
    writes('old', 10)
    writes('a', 9)
    clock.setMonotonic(30_000)
    pace.wrote('a')
    clock.setMonotonic(59_999)
    pace.wrote('b')
    expect([pace.delayMs('old'), pace.delayMs('a')]).toEqual([1, 1])
    // The newest write of `a` keeps it, and `old` is forgotten.
    clock.setMonotonic(60_001)
    pace.wrote('b')
    expect([pace.delayMs('old'), pace.delayMs('a')]).toEqual([0, 0])
    writes('a', 8)
    expect(pace.delayMs('a')).toBe(0)
    pace.wrote('a')
    expect(pace.delayMs('a')).toBe(29_999)
  })

  test('forgets objects that were not written for a minute (19.7)', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const usedMiB = (): number => {
      collect()
      return process.memoryUsage().heapUsed / 1024 / 1024
    }
    const { clock, pace } = paced()
    const beforeMiB = usedMiB()
    // Ten a second: 600 of them are of the last minute. One of them is written again and again.
    for (let at = 0; at < 300_000; at += 1) {
      clock.setMonotonic(at * 100)
      pace.wrote(`shop/web-${at}`)
      if (at % 100 === 0) pace.wrote('shop/web-0')
    }
    expect(usedMiB() - beforeMiB).toBeLessThan(5)
    expect(pace.delayMs('shop/web-299999')).toBe(0)
  })
})
