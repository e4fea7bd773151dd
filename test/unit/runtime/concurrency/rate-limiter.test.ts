import { expect, test } from 'vitest'
import { sleep } from '../../../../src/runtime/clock.ts'
import { createRateLimiter } from '../../../../src/runtime/concurrency/rate-limiter.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'

/** Tasks that take so long each, and the times at which they began. */
function limited(most: number, tookMs: number) {
  const clock = manualClock(t0)
  const stop = new AbortController()
  const limiter = createRateLimiter(clock, { maxTasks: most, perMs: 1000 }, stop.signal)
  const beganMs: number[] = []
  const run = (): Promise<void> =>
    limiter(async () => {
      beganMs.push(clock.monotonicMs())
      await sleep(clock, tookMs, new AbortController().signal)
    })
  return { clock, stop, limiter, beganMs, run }
}

test.each([
  { most: 1, tookMs: 0, began: [0, 1000, 2000, 3000] },
  { most: 2, tookMs: 0, began: [0, 0, 1000, 1000] },
  { most: 1, tookMs: 300, began: [0, 1300, 2600, 3900] },
  { most: 2, tookMs: 300, began: [0, 300, 1300, 1600] },
  { most: 1, tookMs: 5000, began: [0, 6000, 12_000, 18_000] },
])(
  '$most a second of $tookMs ms each: a task counts from its end',
  async ({ most, tookMs, began }) => {
    const { clock, beganMs, run } = limited(most, tookMs)
    for (const _ of began) void run()
    await clock.advance(60_000)
    expect(beganMs).toEqual(began)
  },
)

test('a task that fails counts as well, and the next one runs', async () => {
  const { clock, limiter, beganMs, run } = limited(1, 0)
  const failed = limiter(() => Promise.reject(new Error('refused')))
  void run()
  await expect(failed).rejects.toThrow('refused')
  await clock.advance(5000)
  expect(beganMs).toEqual([1000])
})

test('tasks that wait run at once when the signal aborts', async () => {
  const { clock, stop, beganMs, run } = limited(1, 0)
  for (let task = 0; task < 3; task += 1) void run()
  await clock.advance(10)
  stop.abort()
  await clock.advance(0)
  expect(beganMs).toEqual([0, 10, 10])
})
