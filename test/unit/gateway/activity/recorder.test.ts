import { describe, expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import { sleep } from '../../../../src/runtime/clock.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { textAfter } from '../../../support/key-builder.ts'
import type { ManualClock } from '../../../support/manual-clock.ts'
import type { Parts } from '../../../support/object-builder.ts'
import { HOUR, type Line, slides, setUpRecorder } from './recorder-builder.ts'

describe('a sliding key (14.1)', () => {
  test('delays no request while a recent use is recorded, and creates no promise', async () => {
    const { activity, add, caller } = setUpRecorder()
    add('a', { spec: slides })
    const noted = activity.started(caller('a'))
    expect(await noted).toBe('later')
    expect(activity.started(caller('a'))).toBe(noted)
  })

  test('is recorded every half minute of use, with the latest use', async () => {
    const { activity, add, caller, clock, lastActivity, written } = setUpRecorder()
    add('a', { spec: slides })
    for (let second = 0; second < 100; second += 1) {
      await activity.started(caller('a'))
      await clock.advance(1000)
    }
    expect(lastActivity('a')).toBe(textAfter(89))
    expect(written).toHaveLength(3)
    await clock.advance(60_000)
    expect(lastActivity('a')).toBe(textAfter(99))
    await clock.advance(HOUR * 500)
    expect(written).toHaveLength(4)
  })

  test('delays a request until its use is recorded after more than half its lifetime without a use', async () => {
    const clockOf: { clock?: ManualClock } = {}
    const { signal } = new AbortController()
    const line: Line = {
      there: async () => clockOf.clock && sleep(clockOf.clock, 50, signal),
    }
    const { activity, add, caller, clock, lastActivity, written } = setUpRecorder({ line })
    clockOf.clock = clock
    add('a', { spec: slides, status: {} })
    await clock.advance(1801 * 1000)
    const answers: string[] = []
    for (let count = 0; count < 20; count += 1)
      void Promise.resolve(activity.started(caller('a'))).then((noted) => answers.push(noted))
    await clock.advance(49)
    expect(answers).toEqual([])
    await clock.advance(1)
    expect(answers).toEqual(Array.from({ length: 20 }, () => 'recorded'))
    expect(lastActivity('a')).toBe(textAfter(1801))
    expect(written).toEqual(['a'])
    expect(await activity.started(caller('a'))).toBe('later')
  })

  test.each<{ name: string; line: Line; withinMs: number }>([
    {
      name: 'is refused',
      line: { there: () => Promise.reject(refused(500, 'InternalError')) },
      withinMs: 0,
    },
    {
      name: 'is answered, but not stored',
      line: { keeps: false },
      withinMs: 0,
    },
    {
      name: 'hangs',
      line: {
        there: (signal) =>
          new Promise((_, reject) =>
            signal?.addEventListener('abort', () => reject(new Error('aborted'))),
          ),
      },
      withinMs: 3000,
    },
  ])('refuses the request when the write $name', async ({ line, withinMs }) => {
    const { activity, add, caller, clock } = setUpRecorder({ line })
    add('a', { spec: slides })
    await clock.advance(1801 * 1000)
    let noted: string | null = null
    void Promise.resolve(activity.started(caller('a'))).then((given) => (noted = given))
    await clock.advance(withinMs)
    expect(noted).toBe('unavailable')
  })

  test.each<{ name: string; change: Parts<OwnedAccessKey> }>([
    { name: 'disabled', change: { spec: { ...slides, disabled: true } } },
    {
      name: 'being deleted',
      change: { spec: slides, metadata: { deletionTimestamp: textAfter(1) } },
    },
    {
      name: 'another object of the same name',
      change: { spec: slides, metadata: { uid: 'other' } },
    },
  ])('refuses the request when the key is $name by now', async ({ change }) => {
    const { activity, add, caller, clock, lastActivity } = setUpRecorder()
    add('a', { spec: slides })
    await clock.advance(1801 * 1000)
    const earlier = caller('a')
    add('a', change)
    expect(await activity.started(earlier)).toBe('unavailable')
    await clock.advance(60_000)
    expect(lastActivity('a')).toBeUndefined()
  })

  test('that has expired records no use, which would revive it', async () => {
    const calm = { there: () => Promise.reject(new Error('down')) }
    const line: { there?: () => Promise<void> } = calm
    const { activity, add, caller, clock, lastActivity } = setUpRecorder({ line })
    add('a', { spec: { ...slides, ttl: 10 } })
    await activity.started(caller('a'))
    await clock.advance(10_000)
    delete line.there
    await clock.advance(60_000)
    expect(lastActivity('a')).toBeUndefined()
  })

  test('retries a failed write before the key expires, and logs it once', async () => {
    const line: { there?: () => Promise<void> } = {
      there: () => Promise.reject(new Error('down')),
    }
    const { activity, add, caller, clock, lastActivity, sentences, failures } = setUpRecorder({
      line,
    })
    for (const name of ['a', 'b']) add(name, { spec: slides })
    await activity.started(caller('a'))
    await activity.started(caller('b'))
    await clock.advance(45_000)
    expect(sentences()).toEqual(['uses of access keys cannot be recorded'])
    const failed = failures()
    expect(failed).toBeGreaterThanOrEqual(2)
    delete line.there
    await clock.advance(15_000)
    expect(failures()).toBe(failed)
    expect([lastActivity('a'), lastActivity('b')]).toEqual([textAfter(0), textAfter(0)])
    expect(sentences().slice(1)).toEqual(['uses of access keys are recorded again'])
  })
})

describe('streams (14.1)', () => {
  test('count while bytes flow, and not before', async () => {
    const { activity, add, caller, clock, lastActivity } = setUpRecorder()
    add('a', { spec: slides })
    const watching = caller('a')
    await activity.started(watching)
    await clock.advance(600_000)
    expect(lastActivity('a')).toBe(textAfter(0))
    activity.flowed(watching)
    activity.flowed(watching)
    await clock.advance(60_000)
    expect(lastActivity('a')).toBe(textAfter(600))
  })

  test('of a key that is about to expire are recorded at once', async () => {
    const { activity, add, caller, clock, lastActivity } = setUpRecorder()
    add('a', { spec: slides })
    const watching = caller('a')
    await clock.advance(HOUR * 1000 - 100)
    activity.flowed(watching)
    await clock.advance(50)
    expect(lastActivity('a')).toBe(textAfter(HOUR - 0.1))
  })
})

describe('other keys (14.1)', () => {
  test('are recorded at most once a minute, finally with the last use', async () => {
    const { activity, add, caller, clock, lastActivity, written } = setUpRecorder()
    add('a')
    for (let second = 0; second < 90; second += 1) {
      await activity.started(caller('a'))
      await clock.advance(1000)
    }
    expect(written).toHaveLength(2)
    await clock.advance(600_000)
    expect(written).toHaveLength(3)
    expect(lastActivity('a')).toBe(textAfter(89))
  })

  test('share the write budget in turn, however busy others are', async () => {
    const { activity, add, caller, clock, written } = setUpRecorder({ budget: 10 })
    const names = Array.from({ length: 200 }, (_, index) => `k-${index}`)
    for (const name of names) add(name)
    for (let second = 0; second < 20; second += 1) {
      // The first ten are in constant use, the others are used rarely.
      for (const [index, name] of names.entries())
        if (index < 10 || index % 20 === second) await activity.started(caller(name))
      await clock.advance(1000)
      // From the first on: ten per second, and one at the end of the second.
      expect(written.length).toBeLessThanOrEqual(10 * (second + 1) + 1)
    }
    await clock.advance(2000)
    expect(new Set(written)).toEqual(new Set(names))
    expect(written).toHaveLength(names.length)
  })

  test('drop a failed write, and record their next use', async () => {
    const line: { there?: () => Promise<void> } = {
      there: () => Promise.reject(new Error('down')),
    }
    const { activity, add, caller, clock, lastActivity } = setUpRecorder({ line })
    add('a')
    await activity.started(caller('a'))
    await clock.advance(1000)
    delete line.there
    await clock.advance(HOUR * 1000)
    expect(lastActivity('a')).toBeUndefined()
    await activity.started(caller('a'))
    await clock.advance(1000)
    expect(lastActivity('a')).toBe(textAfter(HOUR + 1))
  })
})
