import { describe, expect, test } from 'vitest'
import type { Priority, WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { randomFrom } from '../../../support/random.ts'
import { T0, stage } from './queued.ts'

describe('a key is there once', () => {
  test.each<{ name: string; adds: readonly [string, Priority][]; order: readonly string[] }>([
    {
      name: 'in the order of arrival',
      adds: [
        ['b', 'fresh'],
        ['a', 'fresh'],
        ['c', 'fresh'],
      ],
      order: ['b', 'a', 'c'],
    },
    {
      name: 'however often it is added',
      adds: [
        ['a', 'fresh'],
        ['b', 'fresh'],
        ['a', 'fresh'],
        ['a', 'refresh'],
      ],
      order: ['a', 'b'],
    },
    {
      name: 'fresh ones pass those to refresh',
      adds: [
        ['a', 'refresh'],
        ['b', 'refresh'],
        ['c', 'fresh'],
      ],
      order: ['c', 'a', 'b'],
    },
    {
      name: 'one to refresh that becomes fresh changes its lane',
      adds: [
        ['a', 'refresh'],
        ['b', 'refresh'],
        ['b', 'fresh'],
        ['b', 'refresh'],
      ],
      order: ['b', 'a'],
    },
    {
      name: 'what is new passes what is due, and that passes those to refresh',
      adds: [
        ['a', 'refresh'],
        ['b', 'due'],
        ['c', 'fresh'],
      ],
      order: ['c', 'b', 'a'],
    },
    {
      name: 'one to refresh that falls due changes its lane, one that is new does not',
      adds: [
        ['a', 'refresh'],
        ['b', 'refresh'],
        ['c', 'fresh'],
        ['b', 'due'],
        ['c', 'due'],
      ],
      order: ['c', 'b', 'a'],
    },
  ])('$name', async ({ adds, order }) => {
    const { queue, told, drain } = stage()
    for (const [key, lane] of adds) queue.add(key, lane)
    expect(queue.depth).toBe(order.length)
    expect(await drain()).toEqual(order)
    expect(told.added).toBe(order.length)
  })

  test('a busy day starves none to refresh: one in ten is theirs', async () => {
    const { queue } = stage()
    queue.add('old', 'refresh')
    queue.add('older', 'refresh')
    const taken: (string | null)[] = []
    for (let n = 0; n < 20; n += 1) {
      for (let more = 0; more < 2; more += 1) queue.add(`new-${2 * n + more}`, 'fresh')
      taken.push(await queue.take())
    }
    expect([taken.indexOf('old'), taken.indexOf('older')]).toEqual([9, 19])
  })
})

describe('how long the key that waits longest has waited (8.4)', () => {
  test('from its arrival until it is taken, whatever lane it is in', async () => {
    const { clock, queue } = stage()
    const waited: number[] = []
    const look = (): void => void waited.push(queue.longestWaitSeconds)
    look()
    queue.add('old', 'refresh')
    await clock.advance(2000)
    queue.add('new', 'fresh')
    look()
    queue.add('old', 'fresh')
    await clock.advance(1000)
    look()
    await queue.take()
    look()
    await queue.take()
    look()
    expect(waited).toEqual([0, 2, 3, 3, 0])
  })

  test('a moment to come is no wait, nor is a back-off', async () => {
    const { clock, queue } = stage()
    queue.addAt('a', T0 + 60_000)
    queue.retry('b', 30_000)
    await clock.advance(20_000)
    expect(queue.longestWaitSeconds).toBe(0)
  })
})

describe('a key is in one hand', () => {
  test('added while in hand it comes again when it is put down, once', async () => {
    const { queue } = stage()
    queue.add('a', 'fresh')
    expect(await queue.take()).toBe('a')
    queue.add('a', 'refresh')
    queue.add('a', 'fresh')
    expect(queue.depth).toBe(0)
    queue.done('a')
    expect(queue.depth).toBe(1)
    expect(await queue.take()).toBe('a')
    queue.done('a')
    expect(queue.depth).toBe(0)
  })

  test.each<{ name: string; lanes: readonly Priority[]; first: string }>([
    {
      name: 'in the fresh lane, when anybody asked for that',
      lanes: ['fresh', 'refresh'],
      first: 'a',
    },
    { name: 'in the refresh lane, when nobody did', lanes: ['refresh'], first: 'b' },
  ])('it comes again $name', async ({ lanes, first }) => {
    const { queue } = stage()
    queue.add('a', 'fresh')
    await queue.take()
    for (const lane of lanes) queue.add('a', lane)
    queue.done('a')
    queue.add('b', 'fresh')
    expect(await queue.take()).toBe(first)
  })

  test('a moment that comes while it is in hand brings it back', async () => {
    const { clock, queue } = stage()
    queue.add('a', 'fresh')
    await queue.take()
    queue.addAt('a', T0 + 10)
    await clock.advance(10)
    expect(queue.depth).toBe(0)
    queue.done('a')
    expect(queue.depth).toBe(1)
  })

  test('a moment wished for before it was taken counts no more', async () => {
    const { clock, queue } = stage()
    queue.addAt('a', T0 + 10)
    queue.add('a', 'fresh')
    await queue.take()
    await clock.advance(10)
    queue.done('a')
    expect(queue.depth).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  test('10,000 random steps of 8 hands never hold one twice, and lose none', async () => {
    const { clock, queue } = stage()
    const random = randomFrom(7)
    const inHand = new Set<string>()
    const owed = new Set<string>()
    const take = async (): Promise<void> => {
      const key = await queue.take()
      if (key === null) return
      if (inHand.has(key)) throw new Error(`${key} is in two hands`)
      inHand.add(key)
      owed.delete(key)
    }
    for (let step = 0; step < 10_000; step += 1) {
      const key = `key-${Math.floor(random.between(0, 30))}`
      const act = random.pick(['add', 'add', 'later', 'take', 'take', 'done', 'done', 'pass'])
      if (act === 'add') queue.add(key, random.pick<Priority>(['fresh', 'refresh']))
      if (act === 'later') queue.addAt(key, clock.nowMs() + random.between(0, 50))
      if (act === 'add' || act === 'later') owed.add(key)
      if (act === 'take' && inHand.size < 8 && queue.depth > 0) await take()
      if (act === 'pass') await clock.advance(5)
      const held = [...inHand][0]
      if (act === 'done' && held !== undefined) {
        inHand.delete(held)
        queue.done(held)
      }
    }
    await clock.advance(60_000)
    while (queue.depth > 0 || inHand.size > 0) {
      for (const key of inHand) {
        inHand.delete(key)
        queue.done(key)
      }
      if (queue.depth > 0) await take()
    }
    expect([...owed]).toEqual([])
  })
})

describe('a key that failed waits longer each time', () => {
  test('doubled up to the cap, each key for itself, from the start once it is forgotten', () => {
    const { queue, told } = stage()
    const delays = Array.from({ length: 5 }, () => queue.retry('a', 0))
    expect(delays).toEqual([200, 400, 800, 1000, 1000])
    expect(queue.retry('b', 0)).toBe(200)
    queue.forget('a')
    expect(queue.retry('a', 0)).toBe(200)
    expect(told.retried).toBe(7)
  })

  test.each([
    { name: 'at once without a wait that the server asks for', atLeastMs: 0, waits: ['a'] },
    {
      name: 'not before the wait that the server asks for is over (8.1)',
      atLeastMs: 3000,
      waits: [],
    },
  ])('what changed while it was in hand is looked at $name', async ({ atLeastMs, waits }) => {
    const { clock, queue, drain } = stage()
    queue.add('a', 'fresh')
    await queue.take()
    queue.add('a', 'fresh')
    queue.retry('a', atLeastMs)
    queue.done('a')
    expect(await drain()).toEqual(waits)
    await clock.advance(2999)
    expect(await drain()).toEqual([])
    await clock.advance(1)
    expect(await drain()).toEqual(atLeastMs > 0 ? ['a'] : [])
  })

  test('a thousand failures later the cap still holds', () => {
    const { queue } = stage()
    const delays = Array.from({ length: 2000 }, () => queue.retry('a', 0))
    expect(new Set(delays.slice(3))).toEqual(new Set([1000]))
  })

  test.each([
    { name: 'what the server asked for, where that is more', atLeastMs: 5000, delayMs: 5000 },
    { name: 'its back-off, where that is more', atLeastMs: 50, delayMs: 200 },
  ])('it waits $name', async ({ atLeastMs, delayMs }) => {
    const { clock, queue } = stage()
    expect(queue.retry('a', atLeastMs)).toBe(delayMs)
    await clock.advance(delayMs - 1)
    expect(queue.depth).toBe(0)
    await clock.advance(1)
    expect(queue.depth).toBe(1)
  })
})

describe('a key with a moment', () => {
  test.each<{ name: string; act: (queue: WorkQueue) => void; atMs: number | null }>([
    { name: 'comes then', act: () => undefined, atMs: 1000 },
    { name: 'comes at the last one wished for', act: (q) => q.addAt('a', T0 + 300), atMs: 300 },
    { name: 'stays away when it is forgotten', act: (q) => q.forget('a'), atMs: null },
    { name: 'stays away when the queue is closed', act: (q) => q.close(), atMs: null },
  ])('$name', async ({ act, atMs }) => {
    const { clock, queue } = stage()
    queue.addAt('a', T0 + 1000)
    act(queue)
    await clock.advance((atMs ?? 10_000) - 1)
    expect(queue.depth).toBe(0)
    await clock.advance(1)
    expect(queue.depth).toBe(atMs === null ? 0 : 1)
  })
})

describe('takers', () => {
  test('are served in turn, at once, and get null when the queue closes', async () => {
    const { queue } = stage()
    const taken: Record<string, string | null> = {}
    const takers = ['first', 'second', 'third'].map(async (who) => {
      taken[who] = await queue.take()
    })
    queue.add('a', 'refresh')
    queue.add('b', 'fresh')
    queue.close()
    await Promise.all(takers)
    expect(taken).toEqual({ first: 'a', second: 'b', third: null })
  })

  test('a closed queue takes nothing in and hands nothing out', async () => {
    const { clock, queue } = stage()
    queue.add('a', 'fresh')
    queue.add('b', 'fresh')
    await queue.take()
    queue.add('a', 'fresh')
    queue.addAt('b', T0 + 1000)
    queue.close()
    expect(clock.pending()).toBe(0)
    queue.add('c', 'fresh')
    queue.addAt('d', T0)
    queue.retry('e', 0)
    queue.done('a')
    await clock.advance(60_000)
    expect(queue.depth).toBe(1)
    expect(await queue.take()).toBeNull()
    expect(clock.pending()).toBe(0)
  })
})

describe('what it tells', () => {
  test('depth, time waited, time worked, and the time in hand, of one and of all', async () => {
    const { clock, queue, told } = stage()
    expect(queue.longestWorkSeconds).toBe(0)
    queue.add('a', 'refresh')
    queue.add('b', 'fresh')
    await clock.advance(1000)
    queue.add('a', 'fresh')
    await queue.take()
    await clock.advance(2000)
    await queue.take()
    await clock.advance(4000)
    expect([queue.longestWorkSeconds, queue.unfinishedWorkSeconds]).toEqual([6, 10])
    queue.done('b')
    expect([queue.longestWorkSeconds, queue.unfinishedWorkSeconds]).toEqual([4, 4])
    queue.done('a')
    expect([queue.longestWorkSeconds, queue.unfinishedWorkSeconds]).toEqual([0, 0])
    expect(told).toEqual({ added: 2, retried: 0, waited: [1, 3], worked: [6, 4] })
  })

  test('putting down what nobody holds means nothing', () => {
    const { queue, told } = stage()
    queue.done('a')
    expect(told.worked).toEqual([])
  })
})
