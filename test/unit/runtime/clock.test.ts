import { expect, test } from 'vitest'
import { sleep, systemClock } from '../../../src/runtime/clock.ts'
import { manualClock } from '../../support/manual-clock.ts'

const never = new AbortController().signal

test('a sleep of 30 days ends after 30 days', async () => {
  const days30Ms = 30 * 86_400_000
  const clock = manualClock(0)
  let awake = false
  void sleep(clock, days30Ms, never).then(() => {
    awake = true
  })
  await clock.advance(days30Ms - 1)
  expect(awake).toBe(false)
  await clock.advance(1)
  expect(awake).toBe(true)
  expect(clock.pending()).toBe(0)
})

test('a sleep ends when its signal aborts, and leaves no timer', async () => {
  const clock = manualClock(0)
  const abort = new AbortController()
  const slept = sleep(clock, 60_000, abort.signal)
  abort.abort()
  await slept
  expect(clock.pending()).toBe(0)
})

test('a stepped wall clock neither wakes nor delays a sleeper', async () => {
  const clock = manualClock(1_000_000)
  let awake = false
  void sleep(clock, 1000, never).then(() => {
    awake = true
  })
  clock.setNow(9_000_000)
  await clock.advance(999)
  expect(awake).toBe(false)
  clock.setNow(0)
  await clock.advance(1)
  expect(awake).toBe(true)
})

test('the system clock fires, cancels, and is never behind its start', async () => {
  const startMs = Date.now()
  const clock = systemClock()
  const fired: string[] = []
  clock.schedule(0, () => fired.push('cancelled'))()
  await new Promise<void>((resolve) => clock.schedule(1, resolve))
  expect(fired).toEqual([])
  expect(clock.nowMs()).toBeGreaterThanOrEqual(startMs)
})
