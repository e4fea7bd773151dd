import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runOnSchedule } from '../../../src/runtime/schedule.ts'
import { memoryLog } from '../../support/memory-log.ts'

const MINUTE_MS = 60_000

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T10:03:00Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A job every ten minutes, and the times of its runs. */
function scheduledJob(job: () => void = () => undefined) {
  const { log, lines } = memoryLog()
  const ran: string[] = []
  const stop = runOnSchedule('*/10 * * * *', log, () => {
    ran.push(new Date().toISOString().slice(11, 16))
    job()
  })
  return { lines, ran, stop }
}

describe('a scheduled job (7.3)', () => {
  test('runs on time, until it is stopped', async () => {
    const { lines, ran, stop } = scheduledJob()
    await vi.advanceTimersByTimeAsync(7 * MINUTE_MS - 1000)
    expect(ran).toEqual([])
    await vi.advanceTimersByTimeAsync(20 * MINUTE_MS + 2000)
    expect(ran).toEqual(['10:10', '10:20', '10:30'])
    stop()
    await vi.advanceTimersByTimeAsync(60 * MINUTE_MS)
    expect(ran).toHaveLength(3)
    expect(vi.getTimerCount()).toBe(0)
    expect(lines).toEqual([])
  })

  test('that throws is logged, and runs again', async () => {
    const err = new Error('out of order')
    const { lines, ran, stop } = scheduledJob(() => {
      throw err
    })
    await vi.advanceTimersByTimeAsync(20 * MINUTE_MS)
    expect(ran).toEqual(['10:10', '10:20'])
    expect(lines).toEqual(
      ran.map(() => ({ level: 'error', fields: { err }, sentence: 'scheduled job failed' })),
    )
    stop()
  })

  test('that is due while the process is busy runs when it can', async () => {
    const { lines, ran, stop } = scheduledJob()
    await vi.advanceTimersByTimeAsync(6 * MINUTE_MS)
    // The timers of the next minute fire five seconds late.
    vi.setSystemTime(Date.now() + 5000)
    await vi.advanceTimersByTimeAsync(MINUTE_MS)
    expect(ran).toEqual(['10:10'])
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS)
    expect(ran).toEqual(['10:10', '10:20'])
    expect(lines).toEqual([])
    stop()
  })

  test('that was missed while the process slept is skipped without a log line', async () => {
    const { lines, ran, stop } = scheduledJob()
    vi.setSystemTime(Date.parse('2026-11-21T12:05:00Z'))
    await vi.advanceTimersByTimeAsync(15 * MINUTE_MS)
    expect(ran.filter((at) => at < '12')).toEqual([])
    expect(ran.length).toBeGreaterThan(0)
    expect(lines).toEqual([])
    stop()
  })

  test('needs a valid expression', () => {
    const { log } = memoryLog()
    expect(() => runOnSchedule('every day', log, () => undefined)).toThrow('expected 5 or 6 fields')
  })
})
