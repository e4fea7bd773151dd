import { expect, onTestFinished, test } from 'vitest'
import { Rounds } from '../../../../src/runtime/concurrency/rounds.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const PAUSE_MS = 60_000

/** Rounds that a test counts; each takes `takesMs`. */
function running(settleMs?: number) {
  const clock = manualClock(0)
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const seen = { rounds: 0, takesMs: 0 }
  const settle = settleMs === undefined ? {} : { settleMs }
  const rounds = new Rounds({ clock, signal: abort.signal, ...settle })
  const ended = rounds.run(async () => {
    seen.rounds += 1
    if (seen.takesMs > 0)
      await new Promise<void>((resolve) => void clock.schedule(seen.takesMs, resolve))
    return PAUSE_MS
  })
  return { clock, abort, seen, rounds, ended }
}

test('a round begins at once, and the next one after the pause', async () => {
  const { clock, seen } = running()
  expect(seen.rounds).toBe(1)
  await clock.advance(PAUSE_MS - 1)
  expect(seen.rounds).toBe(1)
  await clock.advance(1)
  expect(seen.rounds).toBe(2)
})

test('an event ends the pause', async () => {
  const { clock, seen, rounds } = running()
  await clock.advance(1000)
  rounds.wake()
  await clock.advance(0)
  expect(seen.rounds).toBe(2)
})

test('an event during a round is followed by one more round, however many there are', async () => {
  const { clock, seen, rounds } = running()
  seen.takesMs = 500
  await clock.advance(PAUSE_MS)
  rounds.wake()
  rounds.wake()
  await clock.advance(499)
  expect(seen.rounds).toBe(2)
  await clock.advance(1)
  expect(seen.rounds).toBe(3)
  await clock.advance(PAUSE_MS)
  expect(seen.rounds).toBe(3)
})

test('the events of one change cause one round, after they have settled', async () => {
  const { clock, seen, rounds } = running(200)
  await clock.advance(1000)
  rounds.wake()
  await clock.advance(100)
  rounds.wake()
  expect(seen.rounds).toBe(1)
  await clock.advance(100)
  expect(seen.rounds).toBe(2)
  await clock.advance(PAUSE_MS - 1)
  expect(seen.rounds).toBe(2)
})

test('rounds end with the signal, also in a pause', async () => {
  const { clock, abort, seen, ended } = running()
  await clock.advance(1000)
  abort.abort()
  await ended
  expect([seen.rounds, clock.pending()]).toEqual([1, 0])
})
