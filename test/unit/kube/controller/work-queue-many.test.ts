import { describe, expect, test, vi } from 'vitest'
import type { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { T0, stage } from './queued.ts'

describe('600 keys that end in one second, or are tried again', () => {
  const many = Array.from({ length: 600 }, (_, n) => `due-${n}`)
  test.each<{ name: string; fall: (queue: WorkQueue, key: string) => void }>([
    { name: 'end', fall: (queue, key) => queue.addAt(key, T0 + 200) },
    { name: 'are tried again', fall: (queue, key) => void queue.retry(key, 0) },
  ])('$name: a new key goes before them, and they are not starved', async ({ fall }) => {
    const { clock, queue } = stage()
    for (const key of many) fall(queue, key)
    await clock.advance(200)
    expect(queue.depth).toBe(many.length)
    queue.add('new', 'fresh')
    const first = [await queue.take(), await queue.take()]
    expect(first).toContain('new')
    // As much as anybody can ask for: of ten keys three were due all the same.
    const taken: (string | null)[] = []
    for (let n = 0; n < 100; n += 1) {
      queue.add(`new-${n}`, 'fresh')
      taken.push(await queue.take())
    }
    expect(taken.filter((key) => key?.startsWith('due-'))).toHaveLength(30)
  })
})

describe('taking costs no walk over what was taken', () => {
  test('the order of arrival holds while keys come, go and change lanes', async () => {
    const { queue, drain } = stage()
    const taken: (string | null)[] = []
    for (let n = 0; n < 3000; n += 1) {
      queue.add(`key-${n}`, 'refresh')
      if (n % 3 === 2) taken.push(await queue.take())
    }
    for (const key of taken) queue.done(key ?? '')
    taken.push(...(await drain()))
    queue.add('last', 'refresh')
    taken.push(...(await drain()))
    expect(taken).toEqual([...Array.from({ length: 3000 }, (_, n) => `key-${n}`), 'last'])
  })

  test('one iterator goes through each lane: a new one would pass all that was taken', async () => {
    const { queue, drain } = stage()
    for (let n = 0; n < 1000; n += 1) queue.add(`key-${n}`, 'refresh')
    const begun = vi.spyOn(Map.prototype, 'entries')
    try {
      await drain()
      expect(begun.mock.calls.length).toBeLessThan(10)
    } finally {
      begun.mockRestore()
    }
  })
})
