import { expect, onTestFinished, test } from 'vitest'
import { FRESH_FOR_MS, RENEW_AFTER_MS } from '../../../../src/authn/staleness.ts'
import { currentMoment, msBetween } from '../../../../src/runtime/clock.ts'
import { startPoller } from '../../../../src/runtime/concurrency/poller.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

/** A poller of a server that a test can stop. */
function polling() {
  const clock = manualClock(t0)
  const { log, lines } = memoryLog()
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const server = { isDown: false, takesMs: 0, reads: 0 }
  const read = async (): Promise<void> => {
    server.reads += 1
    if (server.takesMs > 0)
      await new Promise<void>((resolve) => void clock.schedule(server.takesMs, resolve))
    if (server.isDown) throw new Error('no connection')
  }
  const polled = startPoller({
    name: 'settings',
    clock,
    log,
    read,
    signal: abort.signal,
    everyMs: RENEW_AFTER_MS,
    freshForMs: FRESH_FOR_MS,
    reuseForMs: 1000,
    timeoutMs: 2000,
  })
  return {
    clock,
    server,
    polled,
    age: () => msBetween(polled.provenAt(), currentMoment(clock)) / 1000,
    stop: () => abort.abort(),
    logged: () => lines.map(({ level }) => level),
  }
}

test('a poller reads at once, and every 5 seconds (10.4)', async () => {
  const { clock, server, age } = polling()
  await clock.advance(0)
  expect([server.reads, age()]).toEqual([1, 0])
  await clock.advance(4999)
  expect([server.reads, age()]).toEqual([1, 4.999])
  await clock.advance(10_001)
  expect([server.reads, age()]).toEqual([4, 0])
})

test('the time of a result is the start of its read, not its answer', async () => {
  const { clock, server, age } = polling()
  server.takesMs = 1500
  await clock.advance(6400)
  expect(age()).toBe(6.4)
  await clock.advance(200)
  expect(age()).toBe(1.6)
})

test('a request that finds a fresh result starts no read', async () => {
  const { clock, server, polled } = polling()
  await clock.advance(4000)
  expect(await polled.refreshed()).toBe(true)
  expect(server.reads).toBe(1)
})

test('a request that finds a stale result starts a read, at most once a second (10.4)', async () => {
  const { clock, server, polled, logged } = polling()
  await clock.advance(1000)
  server.isDown = true
  await clock.advance(15_500)
  const { reads } = server
  expect(await Promise.all([polled.refreshed(), polled.refreshed()])).toEqual([false, false])
  expect(server.reads - reads).toBeLessThanOrEqual(1)
  server.isDown = false
  await clock.advance(1000)
  expect(await polled.refreshed()).toBe(true)
  expect(logged()).toEqual(['warn', 'info'])
})

test('a poller stops when its signal aborts', async () => {
  const { clock, server, stop } = polling()
  await clock.advance(1000)
  stop()
  await clock.advance(60_000)
  expect(server.reads).toBe(1)
  expect(clock.pending()).toBe(0)
})
