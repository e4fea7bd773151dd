import { describe, expect, test } from 'vitest'
import { NotLeaderError, StatusError } from '../../../../src/kube/client/api-error.ts'
import {
  type ControllerOptions,
  type Outcome,
  done,
  startController,
} from '../../../../src/kube/controller/controller.ts'
import { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { manualClock } from '../../../support/clock.ts'
import { OPEN_GATE } from '../../../support/event-loop-turns.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const T0 = Date.parse('2026-11-21T10:00:00Z')
const failure = (code: number, retryAfterMs: number | null = null): StatusError =>
  new StatusError({ code, reason: '', message: `it said ${code}`, retryAfterMs, causes: 0 })

interface Logged extends Pick<ControllerOptions, 'objectOf'> {
  readonly level: 'debug' | 'info'
}

/** One controller over a queue; `reconcile` is told how often it was called before. */
function stage(
  reconcile: (key: string, turn: number) => Promise<Outcome>,
  workers = 1,
  { level, objectOf }: Logged = { level: 'info', objectOf: () => undefined },
) {
  const clock = manualClock(T0)
  const { log, lines } = memoryLog(level)
  const finished: { result: string; seconds: number }[] = []
  /** What was reconciled, each with the milliseconds since the start. */
  const turns: string[] = []
  let active = 0
  let busiest = 0
  const ignore = (): void => undefined
  const queue = new WorkQueue({
    clock,
    baseDelayMs: 200,
    maxDelayMs: 1000,
    observer: { added: ignore, retried: ignore, waited: ignore, worked: ignore },
    gate: OPEN_GATE,
  })
  const stop = startController({
    name: 'things',
    objectOf,
    queue,
    workers,
    clock,
    turns: new EventLoopShare(clock),
    outage: { isCertain: false },
    log,
    reconcile: (key) => {
      turns.push(`${key} ${clock.nowMs() - T0}`)
      return reconcile(key, turns.length - 1)
    },
    observer: {
      started: () => (busiest = Math.max(busiest, (active += 1))),
      finished: (result, seconds) => {
        active -= 1
        finished.push({ result, seconds })
      },
    },
  })
  const results = () => finished.map(({ result }) => result)
  return {
    clock,
    queue,
    stop,
    lines,
    finished,
    results,
    turns,
    active: () => active,
    busiest: () => busiest,
  }
}

describe('what a reconcile leaves to do', () => {
  test.each<{
    name: string
    reconcile: (turn: number) => Promise<Outcome>
    turns: readonly string[]
    results: readonly string[]
    levels: readonly string[]
  }>([
    {
      name: 'nothing',
      reconcile: () => Promise.resolve(done),
      turns: ['a 0'],
      results: ['success'],
      levels: [],
    },
    {
      name: 'another look at a moment',
      reconcile: (turn) => Promise.resolve(turn === 0 ? { result: 'later', atMs: T0 + 700 } : done),
      turns: ['a 0', 'a 700'],
      results: ['requeue_after', 'success'],
      levels: [],
    },
    {
      name: 'another look at a moment that has passed',
      reconcile: (turn) => Promise.resolve(turn === 0 ? { result: 'later', atMs: T0 - 1 } : done),
      turns: ['a 0', 'a 0'],
      results: ['requeue_after', 'success'],
      levels: [],
    },
    {
      name: 'a conflict: tried again, quietly',
      reconcile: (turn) => (turn === 0 ? Promise.reject(failure(409)) : Promise.resolve(done)),
      turns: ['a 0', 'a 200'],
      results: ['requeue', 'success'],
      levels: ['debug'],
    },
    {
      name: 'a lease lost: tried again, quietly',
      reconcile: (turn) =>
        turn === 0 ? Promise.reject(new NotLeaderError()) : Promise.resolve(done),
      turns: ['a 0', 'a 200'],
      results: ['requeue', 'success'],
      levels: ['debug'],
    },
    {
      name: 'failures: tried again, later each time',
      reconcile: (turn) => (turn < 3 ? Promise.reject(new Error('no')) : Promise.resolve(done)),
      turns: ['a 0', 'a 200', 'a 600', 'a 1400'],
      results: ['error', 'error', 'error', 'success'],
      levels: ['error', 'error', 'error'],
    },
    {
      name: 'what is thrown at once is a failure like others',
      reconcile: (turn) => {
        if (turn === 0) throw new Error('no')
        return Promise.resolve(done)
      },
      turns: ['a 0', 'a 200'],
      results: ['error', 'success'],
      levels: ['error'],
    },
    {
      name: 'a server that names a time is obeyed',
      reconcile: (turn) =>
        turn === 0 ? Promise.reject(failure(429, 4000)) : Promise.resolve(done),
      turns: ['a 0', 'a 4000'],
      results: ['error', 'success'],
      levels: ['error'],
    },
    {
      name: 'after a success the next failure waits as the first did',
      reconcile: (turn) => {
        if (turn === 2) return Promise.resolve({ result: 'later', atMs: T0 + 3000 })
        return turn < 4 ? Promise.reject(new Error('no')) : Promise.resolve(done)
      },
      turns: ['a 0', 'a 200', 'a 600', 'a 3000', 'a 3200'],
      results: ['error', 'error', 'requeue_after', 'error', 'success'],
      levels: ['error', 'error', 'error'],
    },
  ])('$name', async ({ reconcile, turns, results, levels }) => {
    const it = stage((_, turn) => reconcile(turn))
    it.queue.add('a', 'fresh')
    await it.clock.advance(30_000)
    expect(it.turns).toEqual(turns)
    expect(it.results()).toEqual(results)
    expect(it.lines.map(({ level }) => level)).toEqual(levels)
    expect(it.active()).toBe(0)
    expect(it.clock.pending()).toBe(0)
    await it.stop()
  })

  test('a failure is logged with its key, its error and the delay', async () => {
    const err = failure(500)
    const it = stage((_, turn) => (turn === 0 ? Promise.reject(err) : Promise.resolve(done)))
    it.queue.add('a', 'fresh')
    await it.clock.advance(1000)
    expect(it.lines).toEqual([
      {
        level: 'error',
        sentence: 'reconcile failed, trying again',
        fields: { controller: 'things', object: { name: 'a' }, inMs: 200, err },
      },
    ])
  })

  test('an event brings a key back before its moment, which then counts no more', async () => {
    const it = stage((_, turn) =>
      Promise.resolve(turn === 0 ? { result: 'later', atMs: T0 + 5000 } : done),
    )
    it.queue.add('a', 'fresh')
    await it.clock.advance(1000)
    it.queue.add('a', 'fresh')
    await it.clock.advance(30_000)
    expect(it.turns).toEqual(['a 0', 'a 1000'])
  })

  test('an event during a reconcile leads to another, behind it', async () => {
    const it = stage(async (_, turn) => {
      if (turn === 0) it.queue.add('a', 'fresh')
      await new Promise<void>((resolve) => void it.clock.schedule(100, resolve))
      return done
    })
    it.queue.add('a', 'fresh')
    await it.clock.advance(1000)
    expect(it.turns).toEqual(['a 0', 'a 100'])
    expect(it.finished).toEqual([
      { result: 'success', seconds: 0.1 },
      { result: 'success', seconds: 0.1 },
    ])
  })
})

describe('the line that ends a reconcile, at debug (8.5)', () => {
  const reference = { name: 'a', uid: 'uid-a', resourceVersion: '5' }
  test.each<{ name: string; known: boolean; ends: () => Promise<Outcome>; result: string }>([
    { name: 'nothing to do', known: true, ends: () => Promise.resolve(done), result: 'success' },
    {
      name: 'another look',
      known: true,
      ends: () => Promise.resolve({ result: 'later', atMs: T0 + 86_400_000 }),
      result: 'requeue_after',
    },
    { name: 'a failure', known: true, ends: () => Promise.reject(failure(500)), result: 'error' },
    {
      name: 'an object that is gone',
      known: false,
      ends: () => Promise.resolve(done),
      result: 'success',
    },
  ])('$name', async ({ known, ends, result }) => {
    const it = stage(
      async () => {
        await new Promise<void>((resolve) => void it.clock.schedule(100, resolve))
        return ends()
      },
      1,
      { level: 'debug', objectOf: () => (known ? { ...reference, secret: 'x' } : undefined) },
    )
    it.queue.add('a', 'fresh')
    await it.clock.advance(100)
    expect(it.lines.filter(({ sentence }) => sentence === 'reconciled')).toEqual([
      {
        level: 'debug',
        sentence: 'reconciled',
        fields: {
          controller: 'things',
          object: known ? reference : { name: 'a' },
          reconcileID: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
          result,
          tookMs: 100,
        },
      },
    ])
  })

  test('at level info nothing of it is computed', async () => {
    let looks = 0
    const objectOf = () => ((looks += 1), undefined)
    const it = stage(() => Promise.resolve(done), 1, { level: 'info', objectOf })
    it.queue.add('a', 'fresh')
    await it.clock.advance(0)
    expect([it.results(), looks, it.lines]).toEqual([['success'], 0, []])
  })
})

describe('workers', () => {
  test('are as many as asked for, and none takes a key that another has', async () => {
    const inHand = new Set<string>()
    const it = stage(async (key) => {
      if (inHand.has(key)) throw new Error('in two hands')
      inHand.add(key)
      await new Promise<void>((resolve) => void it.clock.schedule(100, resolve))
      inHand.delete(key)
      return done
    }, 4)
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 10; n += 1) it.queue.add(`key-${n}`, 'fresh')
      await it.clock.advance(50)
    }
    await it.clock.advance(10_000)
    expect(it.busiest()).toBe(4)
    expect(new Set(it.results())).toEqual(new Set(['success']))
    expect(new Set(it.turns.map((turn) => turn.split(' ')[0])).size).toBe(10)
  })

  test('one that fails goes on with the next key', async () => {
    const it = stage((key) =>
      key === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve(done),
    )
    for (const key of ['bad', 'a', 'b']) it.queue.add(key, 'fresh')
    await it.clock.advance(0)
    expect(it.turns).toEqual(['bad 0', 'a 0', 'b 0'])
    await it.stop()
  })
})

describe('a stop', () => {
  test('waits for what is in hand, and takes nothing more', async () => {
    let finish = (): void => undefined
    const it = stage(async () => {
      await new Promise<void>((resolve) => (finish = resolve))
      throw new Error('no')
    })
    for (const key of ['a', 'b']) it.queue.add(key, 'fresh')
    await it.clock.advance(0)
    let isStopped = false
    const stopped = it.stop().then(() => (isStopped = true))
    it.queue.add('a', 'fresh')
    await it.clock.advance(10_000)
    expect(isStopped).toBe(false)
    finish()
    await stopped
    await it.clock.advance(10_000)
    expect(it.turns).toEqual(['a 0'])
    expect(it.results()).toEqual(['error'])
    expect(it.clock.pending()).toBe(0)
  })

  test('ends workers that wait', async () => {
    const it = stage(() => Promise.resolve(done), 16)
    await it.stop()
    expect(it.turns).toEqual([])
  })
})
