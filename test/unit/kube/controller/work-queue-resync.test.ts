import { describe, expect, test } from 'vitest'
import type { Priority } from '../../../../src/kube/controller/work-queue.ts'
import { workQueueOnClock } from './work-queue-builder.ts'

describe('the priority of a key', () => {
  test('no more resyncs run at a time than may, and the next one runs once one is done', async () => {
    const { queue } = workQueueOnClock({ resyncsAtOnce: 2 })
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key, 'resync')
    const taken: (string | null)[] = []
    const worker = async (): Promise<void> => void taken.push(await queue.take())
    const workers = [worker(), worker(), worker(), worker()]
    await Promise.all(workers.slice(0, 2))
    expect(taken).toEqual(['a', 'b'])
    // The waiting workers are free for what is more urgent.
    queue.add('new', 'change')
    await workers[2]
    expect(taken).toEqual(['a', 'b', 'new'])
    queue.done('new')
    expect(queue.depth).toBe(2)
    queue.done('a')
    await workers[3]
    expect(taken).toEqual(['a', 'b', 'new', 'c'])
    // A change of a key that waits for its resync ends the resync.
    queue.add('d', 'change')
    expect(await queue.take()).toBe('d')
    expect(queue.depth).toBe(0)
  })

  test('resyncs run one at a time for a second after more urgent work', async () => {
    const { clock, queue } = workQueueOnClock({ resyncsAtOnce: 3 })
    const running = new Set<string | null>()
    const work = async (): Promise<void> => void running.add(await queue.take())
    queue.add('urgent', 'change')
    await work()
    for (let n = 0; n < 9; n += 1) queue.add(`resync-${n}`, 'resync')
    await clock.advance(1)
    queue.done('urgent')
    const workers = Array.from({ length: 4 }, work)
    const atOnce = async (): Promise<number> => {
      await clock.advance(0)
      return [...running].filter((key) => key?.startsWith('resync')).length
    }
    expect(await atOnce()).toBe(1)
    await clock.advance(999)
    expect(await atOnce()).toBe(1)
    await clock.advance(1)
    queue.done('resync-0')
    await Promise.all(workers)
    expect(await atOnce()).toBe(4)
  })

  test('a reconcile that finds nothing to do holds no resync back', async () => {
    const { queue } = workQueueOnClock({ resyncsAtOnce: 2 })
    queue.add('echo', 'change')
    queue.done((await queue.take()) ?? '')
    for (const key of ['a', 'b']) queue.add(key, 'resync')
    expect([await queue.take(), await queue.take()]).toEqual(['a', 'b'])
  })

  test.each<{ taken: Priority; order: readonly string[] }>([
    { taken: 'change', order: ['key', 'due', 'resync'] },
    { taken: 'resync', order: ['due', 'resync', 'key'] },
  ])('a key that is requeued keeps the priority $taken', async ({ taken, order }) => {
    const { queue, drain } = workQueueOnClock()
    queue.add('key', taken)
    await queue.take()
    queue.add('due', 'due')
    queue.add('resync', 'resync')
    queue.requeue('key')
    queue.done('key')
    expect(await drain()).toEqual(order)
  })
})
