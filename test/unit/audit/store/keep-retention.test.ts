/** @module-tag no-retry */
import { expect, onTestFinished, test } from 'vitest'
import { keepRetention } from '../../../../src/audit/store/keep-retention.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const HOUR_MS = 3_600_000

test('old events are deleted at start and every ten minutes, by the setting in force, none at 0 (22.3)', async () => {
  const clock = manualClock(100 * HOUR_MS)
  const before: number[] = []
  const failures: unknown[] = []
  let hours = 24
  const store = {
    deleteEventsBefore: (beforeMs: number): Promise<number> => {
      before.push(beforeMs)
      return before.length === 2 ? Promise.reject(new Error('away')) : Promise.resolve(0)
    },
  }
  const stop = new AbortController()
  const running = keepRetention(
    { store, ttlHours: () => hours, clock, failed: (cause) => failures.push(cause) },
    stop.signal,
  )
  onTestFinished(() => stop.abort())
  await clock.advance(599_000)
  expect(before).toEqual([76 * HOUR_MS])
  hours = 1
  await clock.advance(1000)
  expect(before).toEqual([76 * HOUR_MS, 99 * HOUR_MS + 600_000])
  expect(failures).toHaveLength(1)
  hours = 0
  await clock.advance(600_000)
  expect(before).toHaveLength(2)
  hours = 1
  await clock.advance(600_000)
  expect(before).toHaveLength(3)
  stop.abort()
  await running
})
