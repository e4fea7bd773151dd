import { describe, expect, test } from 'vitest'
import type { OwnedAccessKey, OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { textAfter } from '../../../support/key-builder.ts'
import { HOUR, slides, setUpRecorder } from './recorder-builder.ts'

describe('a use that another replica recorded', () => {
  test.each<{ name: string; spec: OwnedAccessKeySpec }>([
    { name: 'sliding', spec: slides },
    { name: 'other', spec: { user: 'ada' } },
  ])('is not written again ($name keys)', async ({ spec }) => {
    const { activity, add, caller, clock, lastActivity } = setUpRecorder()
    add('a', { spec, status: { lastActivity: textAfter(-1) } })
    await activity.started(caller('a'))
    add('a', { spec, status: { lastActivity: textAfter(1) } })
    await clock.advance(600_000)
    expect(lastActivity('a')).toBe(textAfter(1))
  })

  test.each<{ name: string; status: OwnedAccessKey['status'] }>([
    { name: 'no status', status: undefined },
    { name: 'nothing', status: {} },
    {
      name: 'the same moment with other digits',
      status: { lastActivity: '2026-11-21T09:00:00.000000+00:00' },
    },
  ])(
    'is detected by the precondition when the informer lacks it: $name (3.4)',
    async ({ status }) => {
      const { activity, add, caller, clock, lastActivity } = setUpRecorder()
      add('a', { metadata: { creationTimestamp: textAfter(-HOUR) }, ...(status && { status }) })
      await activity.started(caller('a'))
      await clock.advance(1000)
      expect(lastActivity('a')).toBe(textAfter(0))
    },
  )

  test('is kept when it lies in the future by a clock that is ahead, and no request waits for it (3.4)', async () => {
    const { activity, add, caller, clock, lastActivity } = setUpRecorder()
    add('a', { spec: slides, status: { lastActivity: textAfter(3050) } })
    await clock.advance(3000 * 1000)
    expect(await activity.started(caller('a'))).toBe('later')
    await clock.advance(30_000)
    expect(lastActivity('a')).toBe(textAfter(3050))
  })

  test.each([
    { name: 'slides', spec: slides },
    { name: 'does not slide', spec: {} },
  ])(
    'is replaced when it lies so far in the future that it does not count, of a key that $name (2.9)',
    async ({ spec }) => {
      const { activity, add, caller, clock, lastActivity } = setUpRecorder()
      add('a', { spec, status: { lastActivity: textAfter(1e6) } })
      await clock.advance(100 * 1000)
      await activity.started(caller('a'))
      await clock.advance(300_000)
      expect(lastActivity('a')).toBe(textAfter(100))
    },
  )
})

describe('at shutdown the recorder (14.1)', () => {
  test('writes all uses at once, sliding keys first, regardless of the budget', async () => {
    const { activity, add, caller, clock, written, lastActivity } = setUpRecorder({ budget: 1 })
    const others = Array.from({ length: 40 }, (_, index) => `o-${index}`)
    for (const name of others) add(name)
    for (const name of ['s-1', 's-2']) add(name, { spec: slides })
    for (const name of [...others, 's-1', 's-2']) await activity.started(caller(name))
    await clock.advance(500)
    await activity.started(caller('o-0'))
    await activity.flush()
    expect(written.indexOf('s-2')).toBeLessThan(10)
    expect(new Set(written)).toEqual(new Set([...others, 's-1', 's-2']))
    expect(lastActivity('o-0')).toBe(textAfter(0.5))
    expect(clock.pending()).toBe(0)
  })

  test('a failed write is retried', async () => {
    const calls = { failing: 2 }
    const line = {
      there: async () => {
        calls.failing -= 1
        if (calls.failing >= 0) throw new Error('down')
      },
    }
    const { activity, add, caller, clock, lastActivity } = setUpRecorder({ line })
    add('s', { spec: slides, status: {} })
    await activity.started(caller('s'))
    const flushed = activity.flush()
    await clock.advance(1000)
    await flushed
    expect(lastActivity('s')).toBe(textAfter(0))
  })

  test('logs how many uses were lost', async () => {
    const line = { there: () => Promise.reject(new Error('down')) }
    const { activity, add, caller, clock, sentences } = setUpRecorder({ line })
    add('s', { spec: slides })
    await activity.started(caller('s'))
    const flushed = activity.flush()
    await clock.advance(1000)
    await flushed
    expect(sentences()).toEqual([
      'uses of access keys cannot be recorded',
      'the last uses of access keys are not recorded',
    ])
  })
})

test('the recorder also records a key that was read from the API server but is not in the store (10.4)', async () => {
  const { activity, add, caller, clock, keys, lastActivity } = setUpRecorder()
  add('a', { spec: slides })
  const read = caller('a')
  keys.begin()
  keys.end()
  expect(keys.get('a')).toBeUndefined()
  await clock.advance(1801 * 1000)
  expect(await activity.started(read)).toBe('recorded')
  expect(lastActivity('a')).toBe(textAfter(1801))
})
