import { describe, expect, test, vi } from 'vitest'
import type { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { T0, workQueueOnClock } from './work-queue-builder.ts'

describe('600 keys that become due in one second', () => {
  const keys = Array.from({ length: 600 }, (_, n) => `due-${n}`)
  test.each<{ name: string; enqueue: (queue: WorkQueue, key: string) => void }>([
    { name: 'by addAt', enqueue: (queue, key) => queue.addAt(key, T0 + 200) },
    { name: 'by retry', enqueue: (queue, key) => void queue.retry(key, 0) },
  ])('$name: a changed key comes before them, and they do not starve', async ({ enqueue }) => {
    const { clock, queue } = workQueueOnClock()
    for (const key of keys) enqueue(queue, key)
    await clock.advance(200)
    expect(queue.depth).toBe(keys.length)
    queue.add('new', 'change')
    const first = [await queue.take(), await queue.take()]
    expect(first).toContain('new')
    // Under constant load of changed keys, three of ten keys that workers get are still due ones.
    const taken: (string | null)[] = []
    for (let n = 0; n < 100; n += 1) {
      queue.add(`new-${n}`, 'change')
      taken.push(await queue.take())
    }
    expect(taken.filter((key) => key?.startsWith('due-'))).toHaveLength(30)
  })
})

describe('take never walks over keys in work', () => {
  test('keeps the order of arrival while keys are added, taken and done', async () => {
    const { queue, drain } = workQueueOnClock()
    const taken: (string | null)[] = []
    for (let n = 0; n < 3000; n += 1) {
      queue.add(`key-${n}`, 'resync')
      if (n % 3 === 2) taken.push(await queue.take())
    }
    for (const key of taken) queue.done(key ?? '')
    taken.push(...(await drain()))
    queue.add('last', 'resync')
    taken.push(...(await drain()))
    expect(taken).toEqual([...Array.from({ length: 3000 }, (_, n) => `key-${n}`), 'last'])
  })

  test('uses one iterator for each priority: a new one would walk over all keys in work', async () => {
    const { queue, drain } = workQueueOnClock()
    for (let n = 0; n < 1000; n += 1) queue.add(`key-${n}`, 'resync')
    const entriesCalls = vi.spyOn(Map.prototype, 'entries')
    try {
      await drain()
      expect(entriesCalls.mock.calls.length).toBeLessThan(10)
    } finally {
      entriesCalls.mockRestore()
    }
  })
})
