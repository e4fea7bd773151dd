import { describe, expect, test } from 'vitest'
import type { Priority, WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { randomFrom } from '../../../support/random.ts'
import { T0, workQueueOnClock } from './work-queue-builder.ts'

describe('order of keys, each queued once', () => {
  test.each<{ name: string; adds: readonly [string, Priority][]; order: readonly string[] }>([
    {
      name: 'keys of one priority come in the order of arrival',
      adds: [
        ['b', 'change'],
        ['a', 'change'],
        ['c', 'change'],
      ],
      order: ['b', 'a', 'c'],
    },
    {
      name: 'a key added repeatedly is queued once',
      adds: [
        ['a', 'change'],
        ['b', 'change'],
        ['a', 'change'],
        ['a', 'resync'],
      ],
      order: ['a', 'b'],
    },
    {
      name: 'change comes before resync',
      adds: [
        ['a', 'resync'],
        ['b', 'resync'],
        ['c', 'change'],
      ],
      order: ['c', 'a', 'b'],
    },
    {
      name: 'a resync key added as change moves to change',
      adds: [
        ['a', 'resync'],
        ['b', 'resync'],
        ['b', 'change'],
        ['b', 'resync'],
      ],
      order: ['b', 'a'],
    },
    {
      name: 'change comes before due, due before resync',
      adds: [
        ['a', 'resync'],
        ['b', 'due'],
        ['c', 'change'],
      ],
      order: ['c', 'b', 'a'],
    },
    {
      name: 'a resync key added as due moves to due, a change stays one',
      adds: [
        ['a', 'resync'],
        ['b', 'resync'],
        ['c', 'change'],
        ['b', 'due'],
        ['c', 'due'],
      ],
      order: ['c', 'b', 'a'],
    },
  ])('$name', async ({ adds, order }) => {
    const { queue, observed, drain } = workQueueOnClock()
    for (const [key, priority] of adds) queue.add(key, priority)
    expect(queue.depth).toBe(order.length)
    expect(await drain()).toEqual(order)
    expect(observed.added).toBe(order.length)
  })

  test('every tenth key is a resync key, so that changed keys do not starve them', async () => {
    const { queue } = workQueueOnClock()
    queue.add('old', 'resync')
    queue.add('older', 'resync')
    const taken: (string | null)[] = []
    for (let n = 0; n < 20; n += 1) {
      for (let more = 0; more < 2; more += 1) queue.add(`new-${2 * n + more}`, 'change')
      taken.push(await queue.take())
    }
    expect([taken.indexOf('old'), taken.indexOf('older')]).toEqual([9, 19])
  })
})

describe('the longest wait of a key (8.4)', () => {
  test('counts from its arrival until a worker gets it, across priorities', async () => {
    const { clock, queue } = workQueueOnClock()
    const waited: number[] = []
    const recordWait = (): void => void waited.push(queue.longestWaitSeconds)
    recordWait()
    queue.add('old', 'resync')
    await clock.advance(2000)
    queue.add('new', 'change')
    recordWait()
    queue.add('old', 'change')
    await clock.advance(1000)
    recordWait()
    await queue.take()
    recordWait()
    await queue.take()
    recordWait()
    expect(waited).toEqual([0, 2, 3, 3, 0])
  })

  test('excludes keys whose time has not come and keys in back-off', async () => {
    const { clock, queue } = workQueueOnClock()
    queue.addAt('a', T0 + 60_000)
    queue.retry('b', 30_000)
    await clock.advance(20_000)
    expect(queue.longestWaitSeconds).toBe(0)
  })
})

describe('a key runs on one worker at a time', () => {
  test('a running key that is added is queued again once after done', async () => {
    const { queue } = workQueueOnClock()
    queue.add('a', 'change')
    expect(await queue.take()).toBe('a')
    queue.add('a', 'resync')
    queue.add('a', 'change')
    expect(queue.depth).toBe(0)
    queue.done('a')
    expect(queue.depth).toBe(1)
    expect(await queue.take()).toBe('a')
    queue.done('a')
    expect(queue.depth).toBe(0)
  })

  test.each<{ name: string; priorities: readonly Priority[]; first: string }>([
    {
      name: 'as change, if one add was a change',
      priorities: ['change', 'resync'],
      first: 'a',
    },
    { name: 'as resync, if none was', priorities: ['resync'], first: 'b' },
  ])('it is queued again $name', async ({ priorities, first }) => {
    const { queue } = workQueueOnClock()
    queue.add('a', 'change')
    await queue.take()
    for (const priority of priorities) queue.add('a', priority)
    queue.done('a')
    queue.add('b', 'change')
    expect(await queue.take()).toBe(first)
  })

  test('a time that comes while the key runs queues it again', async () => {
    const { clock, queue } = workQueueOnClock()
    queue.add('a', 'change')
    await queue.take()
    queue.addAt('a', T0 + 10)
    await clock.advance(10)
    expect(queue.depth).toBe(0)
    queue.done('a')
    expect(queue.depth).toBe(1)
  })

  test('taking a key cancels its earlier time', async () => {
    const { clock, queue } = workQueueOnClock()
    queue.addAt('a', T0 + 10)
    queue.add('a', 'change')
    await queue.take()
    await clock.advance(10)
    queue.done('a')
    expect(queue.depth).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  test('10,000 random steps of 8 workers never run a key twice at once, and lose none', async () => {
    const { clock, queue } = workQueueOnClock({ resyncsAtOnce: 4 })
    const random = randomFrom(7)
    /** What ends the reconcile of each running key. */
    const running = new Map<string, () => void>()
    const expectedKeys = new Set<string>()
    const work = async (): Promise<void> => {
      for (let key = await queue.take(); key !== null; key = await queue.take()) {
        if (running.has(key)) throw new Error(`${key} runs on two workers`)
        const { promise, resolve } = Promise.withResolvers<void>()
        running.set(key, resolve)
        expectedKeys.delete(key)
        await promise
        running.delete(key)
        queue.done(key)
      }
    }
    const workers = Array.from({ length: 8 }, work)
    for (let step = 0; step < 10_000; step += 1) {
      const key = `key-${Math.floor(random.between(0, 30))}`
      const action = random.pick(['add', 'add', 'later', 'done', 'done', 'pass'])
      if (action === 'add') queue.add(key, random.pick<Priority>(['change', 'resync']))
      if (action === 'later') queue.addAt(key, clock.nowMs() + random.between(0, 50))
      if (action === 'add' || action === 'later') expectedKeys.add(key)
      if (action === 'done') running.values().next().value?.()
      await clock.advance(action === 'pass' ? 5 : 0)
    }
    await clock.advance(60_000)
    while (queue.depth > 0 || running.size > 0) {
      for (const end of running.values()) end()
      await clock.advance(0)
    }
    queue.close()
    await Promise.all(workers)
    expect([...expectedKeys]).toEqual([])
  })
})

describe('back-off of failed keys', () => {
  test('doubles up to the maximum for each key, and starts again after forget', () => {
    const { queue, observed } = workQueueOnClock()
    const delays = Array.from({ length: 5 }, () => queue.retry('a', 0))
    expect(delays).toEqual([200, 400, 800, 1000, 1000])
    expect(queue.retry('b', 0)).toBe(200)
    queue.forget('a')
    expect(queue.retry('a', 0)).toBe(200)
    expect(observed.retried).toBe(7)
  })

  test.each([
    { name: 'at once without Retry-After', atLeastMs: 0, waits: ['a'] },
    {
      name: 'not before Retry-After is over (8.1)',
      atLeastMs: 3000,
      waits: [],
    },
  ])('a key that changed while it ran is queued $name', async ({ atLeastMs, waits }) => {
    const { clock, queue, drain } = workQueueOnClock()
    queue.add('a', 'change')
    await queue.take()
    queue.add('a', 'change')
    queue.retry('a', atLeastMs)
    queue.done('a')
    expect(await drain()).toEqual(waits)
    await clock.advance(2999)
    expect(await drain()).toEqual([])
    await clock.advance(1)
    expect(await drain()).toEqual(atLeastMs > 0 ? ['a'] : [])
  })

  test('the maximum holds after 2000 failures', () => {
    const { queue } = workQueueOnClock()
    const delays = Array.from({ length: 2000 }, () => queue.retry('a', 0))
    expect(new Set(delays.slice(3))).toEqual(new Set([1000]))
  })

  test.each([
    { name: 'Retry-After where that is longer', atLeastMs: 5000, delayMs: 5000 },
    { name: 'its back-off where that is longer', atLeastMs: 50, delayMs: 200 },
  ])('the key waits $name', async ({ atLeastMs, delayMs }) => {
    const { clock, queue } = workQueueOnClock()
    expect(queue.retry('a', atLeastMs)).toBe(delayMs)
    await clock.advance(delayMs - 1)
    expect(queue.depth).toBe(0)
    await clock.advance(1)
    expect(queue.depth).toBe(1)
  })
})

describe('a key with a time (addAt)', () => {
  test.each<{ name: string; action: (queue: WorkQueue) => void; atMs: number | null }>([
    { name: 'is queued at that time', action: () => undefined, atMs: 1000 },
    {
      name: 'is queued at the time of the last addAt',
      action: (q) => q.addAt('a', T0 + 300),
      atMs: 300,
    },
    { name: 'is not queued after forget', action: (q) => q.forget('a'), atMs: null },
    { name: 'is not queued after close', action: (q) => q.close(), atMs: null },
  ])('$name', async ({ action, atMs }) => {
    const { clock, queue } = workQueueOnClock()
    queue.addAt('a', T0 + 1000)
    action(queue)
    await clock.advance((atMs ?? 10_000) - 1)
    expect(queue.depth).toBe(0)
    await clock.advance(1)
    expect(queue.depth).toBe(atMs === null ? 0 : 1)
  })
})

describe('take', () => {
  test('serves waiting callers in their order, and gives null when the queue closes', async () => {
    const { queue } = workQueueOnClock()
    const taken: Record<string, string | null> = {}
    const takers = ['first', 'second', 'third'].map(async (who) => {
      taken[who] = await queue.take()
    })
    queue.add('a', 'resync')
    queue.add('b', 'change')
    queue.close()
    await Promise.all(takers)
    expect(taken).toEqual({ first: 'a', second: 'b', third: null })
  })

  test('gives null on a closed queue, which accepts no key', async () => {
    const { clock, queue } = workQueueOnClock()
    queue.add('a', 'change')
    queue.add('b', 'change')
    await queue.take()
    queue.add('a', 'change')
    queue.addAt('b', T0 + 1000)
    queue.close()
    expect(clock.pending()).toBe(0)
    queue.add('c', 'change')
    queue.addAt('d', T0)
    queue.retry('e', 0)
    queue.done('a')
    await clock.advance(60_000)
    expect(queue.depth).toBe(1)
    expect(await queue.take()).toBeNull()
    expect(clock.pending()).toBe(0)
  })
})

describe('observer and metrics', () => {
  test('report waiting time, work time, and the running time of the longest and of all', async () => {
    const { clock, queue, observed } = workQueueOnClock()
    expect(queue.longestWorkSeconds).toBe(0)
    queue.add('a', 'resync')
    queue.add('b', 'change')
    await clock.advance(1000)
    queue.add('a', 'change')
    await queue.take()
    await clock.advance(2000)
    await queue.take()
    await clock.advance(4000)
    expect([queue.longestWorkSeconds, queue.unfinishedWorkSeconds]).toEqual([6, 10])
    queue.done('b')
    expect([queue.longestWorkSeconds, queue.unfinishedWorkSeconds]).toEqual([4, 4])
    queue.done('a')
    expect([queue.longestWorkSeconds, queue.unfinishedWorkSeconds]).toEqual([0, 0])
    expect(observed).toEqual({ added: 2, retried: 0, waited: [1, 3], worked: [6, 4] })
  })

  test('ignore done for a key that does not run', () => {
    const { queue, observed } = workQueueOnClock()
    queue.done('a')
    expect(observed.worked).toEqual([])
  })
})
