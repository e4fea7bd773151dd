import { describe, expect, test } from 'vitest'
import {
  type KeepsLastWrite,
  type PacedWrite,
  sourceWritten,
  WritePace,
} from '../../../../src/sync/writes/write-pace.ts'
import { usedHeapMiB } from '../../../support/heap.ts'
import { manualClock } from '../../../support/manual-clock.ts'

/** A pace on a clock that only the test moves, with a record for each object. */
function paced() {
  const clock = manualClock(1_000_000)
  const times = new WritePace(clock)
  const records = new Map<string, KeepsLastWrite>()
  const recordOf = (key: string): KeepsLastWrite => {
    const record = records.get(key) ?? { lastWrite: null }
    records.set(key, record)
    return record
  }
  const pace = {
    waitOf: (key: string, write: PacedWrite | 'answer') => times.waitOf(key, write, recordOf(key)),
    wrote: (key: string, write: PacedWrite | 'answer') => times.wrote(key, write, recordOf(key)),
    sourceWritten: (key: string, before: { uid: string; resourceVersion: string }, after: string) =>
      sourceWritten(recordOf(key), before, after),
    /** The object is not synced any more. */
    forget: (key: string) => void records.delete(key),
  }
  const writes = (key: string, count: number): void => {
    for (let at = 0; at < count; at += 1) pace.wrote(key, 'answer')
  }
  const answerMs = (key: string): number => pace.waitOf(key, 'answer').delayMs
  return { clock, pace, writes, answerMs }
}

describe('the pace of answers', () => {
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
    const { clock, writes, answerMs } = paced()
    writes('a', row.count)
    clock.setMonotonic(row.afterMs)
    expect(answerMs('a')).toBe(row.delayMs)
  })

  test('waits for the earliest of the last ten (19.7)', () => {
    const { clock, pace, answerMs } = paced()
    for (let second = 0; second < 10; second += 1) {
      clock.setMonotonic(second * 1000)
      pace.wrote('a', 'answer')
    }
    expect(answerMs('a')).toBe(51_000)
    clock.setMonotonic(60_000)
    expect(answerMs('a')).toBe(0)
    pace.wrote('a', 'answer')
    expect(answerMs('a')).toBe(1000)
  })

  test('lets ten writes pass in any 60 s, and loses none of the last states (19.7)', () => {
    const { clock, pace, answerMs } = paced()
    const writtenMs: number[] = []
    // The object changes each 700 ms; a change in the meantime is written with the next one.
    for (let nowMs = 0; nowMs < 600_000; nowMs += 700) {
      clock.setMonotonic(nowMs)
      if (answerMs('a') > 0) continue
      pace.wrote('a', 'answer')
      writtenMs.push(nowMs)
    }
    const mostInAMinute = writtenMs.map(
      (startMs) => writtenMs.filter((ms) => ms >= startMs && ms < startMs + 60_000).length,
    )
    expect(Math.max(...mostInAMinute)).toBe(10)
    expect(writtenMs.length).toBeGreaterThanOrEqual(90)
  })

  test('counts the answers of each object apart, whatever its name (19.7)', () => {
    const { pace, writes, answerMs } = paced()
    writes('__proto__', 10)
    writes('a', 9)
    expect(['a', '__proto__', 'b', 'constructor'].map(answerMs)).toEqual([0, 60_000, 0, 0])
    pace.wrote('a', 'answer')
    expect(answerMs('a')).toBe(60_000)
  })

  test('does not follow a wall clock that is set (19.7)', () => {
    const { clock, writes, answerMs } = paced()
    writes('a', 10)
    clock.setNow(2_000_000_000)
    expect(answerMs('a')).toBe(60_000)
  })

  test('counts the answers of one object whenever others were last written (19.7)', () => {
    const { clock, pace, writes, answerMs } = paced()
    writes('old', 10)
    writes('a', 9)
    clock.setMonotonic(30_000)
    pace.wrote('a', 'answer')
    clock.setMonotonic(59_999)
    pace.wrote('b', 'answer')
    expect([answerMs('old'), answerMs('a')]).toEqual([1, 1])
    // The newest write of `a` keeps its times, and the times of `old` are over.
    clock.setMonotonic(60_001)
    pace.wrote('b', 'answer')
    expect([answerMs('old'), answerMs('a')]).toEqual([0, 0])
    writes('a', 8)
    expect(answerMs('a')).toBe(0)
    pace.wrote('a', 'answer')
    expect(answerMs('a')).toBe(29_999)
  })

  test('keeps no times of objects that are not written any more (19.7)', () => {
    const { clock, pace, answerMs } = paced()
    const beforeMiB = usedHeapMiB()
    // One of them is written again and again.
    for (let at = 0; at < 300_000; at += 1) {
      clock.setMonotonic(at * 100)
      pace.wrote(`shop/web-${at}`, 'answer')
      if (at % 100 === 0) pace.wrote('shop/web-0', 'answer')
      else pace.forget(`shop/web-${at}`)
    }
    expect(usedHeapMiB() - beforeMiB).toBeLessThan(5)
    expect(answerMs('shop/web-299999')).toBe(0)
  })
})

test('an object that is deleted and created again gets no new budget before a minute has passed (19.7)', () => {
  const { clock, pace, writes, answerMs } = paced()
  writes('a', 10)
  pace.forget('a')
  expect(answerMs('a')).toBe(60_000)
  expect(pace.waitOf('a', { source: 'v1', wanted: 'c1' })).toEqual({
    delayMs: 1000,
    isAnswer: false,
  })
  clock.setMonotonic(60_000)
  expect(answerMs('a')).toBe(0)
})

describe('the pace of changes of the other side', () => {
  const write = (source: string, wanted: string): PacedWrite => ({ source, wanted })

  test('is one write a second for each object, also after ten answers (19.7)', () => {
    const { clock, pace, writes } = paced()
    writes('a', 10)
    clock.setMonotonic(1000)
    const writtenMs: number[] = []
    // The object changes each 100 ms; what changes meanwhile is written together.
    for (let nowMs = 1000; nowMs < 61_000; nowMs += 100) {
      clock.setMonotonic(nowMs)
      const change = write(`v${nowMs}`, `c${nowMs}`)
      if (pace.waitOf('a', change).delayMs > 0) continue
      pace.wrote('a', change)
      writtenMs.push(nowMs)
    }
    expect(writtenMs).toEqual(Array.from({ length: 60 }, (_, at) => (at + 1) * 1000))
  })

  test.each([
    { name: 'another version with another content', next: write('v2', 'c2'), isAnswer: false },
    { name: 'another version with the same content', next: write('v2', 'c1'), isAnswer: true },
    { name: 'the same version with another content', next: write('v1', 'c2'), isAnswer: true },
  ])('$name of the other side: an answer is $isAnswer (19.7)', ({ next, isAnswer }) => {
    const { pace } = paced()
    pace.wrote('a', write('v1', 'c1'))
    expect(pace.waitOf('a', next).isAnswer).toBe(isAnswer)
  })

  test('does not count what the syncer itself has written there, but what a user wrote before (19.7)', () => {
    const { pace } = paced()
    const before = { uid: 'u', resourceVersion: '1' }
    pace.wrote('a', write('u 1', 'c1'))
    pace.sourceWritten('a', before, '2')
    expect(pace.waitOf('a', write('u 2', 'c2')).isAnswer).toBe(true)
    // A user has written 3, which is not on this side yet.
    pace.sourceWritten('a', { ...before, resourceVersion: '3' }, '4')
    expect(pace.waitOf('a', write('u 4', 'c2')).isAnswer).toBe(false)
  })

  test('takes nothing from the ten answers of a minute (19.7)', () => {
    const { clock, pace, writes, answerMs } = paced()
    for (let at = 0; at < 30; at += 1) {
      clock.setMonotonic(at * 1000)
      pace.wrote('a', write(`v${at}`, `c${at}`))
    }
    writes('a', 9)
    expect(answerMs('a')).toBe(0)
    writes('a', 1)
    expect(answerMs('a')).toBe(60_000)
  })
})
