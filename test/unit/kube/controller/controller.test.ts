import { describe, expect, test } from 'vitest'
import { NotLeaderError, StatusError } from '../../../../src/kube/client/api-error.ts'
import { type Outcome, done } from '../../../../src/kube/controller/outcome.ts'
import { controllerOnClock } from './controller-on-clock.ts'
import { T0 } from './work-queue-builder.ts'

const failure = (code: number, retryAfterMs: number | null = null): StatusError =>
  new StatusError({
    code,
    reason: '',
    message: `it said ${code}`,
    retryAfterMs,
    isTestFailed: code === 422,
  })

describe('requeues after a reconcile', () => {
  test.each<{
    name: string
    reconcile: (call: number) => Promise<Outcome>
    calls: readonly string[]
    results: readonly string[]
    levels: readonly string[]
  }>([
    {
      name: 'does not requeue a key that is done',
      reconcile: () => Promise.resolve(done),
      calls: ['a 0'],
      results: ['success'],
      levels: [],
    },
    {
      name: 'requeues a key at the time that the reconcile asks for',
      reconcile: (call) => Promise.resolve(call === 0 ? { result: 'later', atMs: T0 + 700 } : done),
      calls: ['a 0', 'a 700'],
      results: ['requeue_after', 'success'],
      levels: [],
    },
    {
      name: 'requeues a key at once when that time has passed',
      reconcile: (call) => Promise.resolve(call === 0 ? { result: 'later', atMs: T0 - 1 } : done),
      calls: ['a 0', 'a 0'],
      results: ['requeue_after', 'success'],
      levels: [],
    },
    {
      name: 'retries after a conflict, logged at debug',
      reconcile: (call) => (call === 0 ? Promise.reject(failure(409)) : Promise.resolve(done)),
      calls: ['a 0', 'a 200'],
      results: ['requeue', 'success'],
      levels: ['debug'],
    },
    {
      name: 'retries after losing the lease, logged at debug',
      reconcile: (call) =>
        call === 0 ? Promise.reject(new NotLeaderError()) : Promise.resolve(done),
      calls: ['a 0', 'a 200'],
      results: ['requeue', 'success'],
      levels: ['debug'],
    },
    {
      name: 'retries failures with growing back-off',
      reconcile: (call) => (call < 3 ? Promise.reject(new Error('no')) : Promise.resolve(done)),
      calls: ['a 0', 'a 200', 'a 600', 'a 1400'],
      results: ['error', 'error', 'error', 'success'],
      levels: ['error', 'error', 'error'],
    },
    {
      name: 'treats a synchronous throw as a failure',
      reconcile: (call) => {
        if (call === 0) throw new Error('no')
        return Promise.resolve(done)
      },
      calls: ['a 0', 'a 200'],
      results: ['error', 'success'],
      levels: ['error'],
    },
    {
      name: 'respects Retry-After of the API server',
      reconcile: (call) =>
        call === 0 ? Promise.reject(failure(429, 4000)) : Promise.resolve(done),
      calls: ['a 0', 'a 4000'],
      results: ['error', 'success'],
      levels: ['error'],
    },
    {
      name: 'resets the back-off after a success',
      reconcile: (call) => {
        if (call === 2) return Promise.resolve({ result: 'later', atMs: T0 + 3000 })
        return call < 4 ? Promise.reject(new Error('no')) : Promise.resolve(done)
      },
      calls: ['a 0', 'a 200', 'a 600', 'a 3000', 'a 3200'],
      results: ['error', 'error', 'requeue_after', 'error', 'success'],
      levels: ['error', 'error', 'error'],
    },
  ])('$name', async ({ reconcile, calls, results, levels }) => {
    const controller = controllerOnClock((_, call) => reconcile(call))
    controller.queue.add('a', 'change')
    await controller.clock.advance(30_000)
    expect(controller.calls).toEqual(calls)
    expect(controller.results()).toEqual(results)
    expect(controller.lines.map(({ level }) => level)).toEqual(levels)
    expect(controller.activeCount()).toBe(0)
    expect(controller.clock.pending()).toBe(0)
    await controller.stop()
  })

  test('logs a failure with its key, error and delay', async () => {
    const err = failure(500)
    const controller = controllerOnClock((_, call) =>
      call === 0 ? Promise.reject(err) : Promise.resolve(done),
    )
    controller.queue.add('a', 'change')
    await controller.clock.advance(1000)
    expect(controller.lines).toEqual([
      {
        level: 'error',
        sentence: 'reconcile failed, trying again',
        fields: {
          controller: 'things',
          object: { name: 'a' },
          reconcileID: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
          inMs: 200,
          err,
        },
      },
    ])
  })

  test('an event requeues a key before its time, and cancels that time', async () => {
    const controller = controllerOnClock((_, call) =>
      Promise.resolve(call === 0 ? { result: 'later', atMs: T0 + 5000 } : done),
    )
    controller.queue.add('a', 'change')
    await controller.clock.advance(1000)
    controller.queue.add('a', 'change')
    await controller.clock.advance(30_000)
    expect(controller.calls).toEqual(['a 0', 'a 1000'])
  })

  test('an event during a reconcile leads to a second one after it', async () => {
    const controller = controllerOnClock(async (_, call) => {
      if (call === 0) controller.queue.add('a', 'change')
      await new Promise<void>((resolve) => void controller.clock.schedule(100, resolve))
      return done
    })
    controller.queue.add('a', 'change')
    await controller.clock.advance(1000)
    expect(controller.calls).toEqual(['a 0', 'a 100'])
    expect(controller.finished).toEqual([
      { result: 'success', seconds: 0.1 },
      { result: 'success', seconds: 0.1 },
    ])
  })
})

describe('the log line of a finished reconcile, at debug (8.5)', () => {
  const reference = { name: 'a', uid: 'uid-a', resourceVersion: '5' }
  test.each<{
    name: string
    known: boolean
    reconcileResult: () => Promise<Outcome>
    result: string
  }>([
    {
      name: 'nothing to do',
      known: true,
      reconcileResult: () => Promise.resolve(done),
      result: 'success',
    },
    {
      name: 'requeue at a time',
      known: true,
      reconcileResult: () => Promise.resolve({ result: 'later', atMs: T0 + 86_400_000 }),
      result: 'requeue_after',
    },
    {
      name: 'a failure',
      known: true,
      reconcileResult: () => Promise.reject(failure(500)),
      result: 'error',
    },
    {
      name: 'a deleted object',
      known: false,
      reconcileResult: () => Promise.resolve(done),
      result: 'success',
    },
  ])('$name', async ({ known, reconcileResult, result }) => {
    const controller = controllerOnClock(
      async () => {
        await new Promise<void>((resolve) => void controller.clock.schedule(100, resolve))
        return reconcileResult()
      },
      1,
      { level: 'debug', objectOf: () => (known ? { ...reference, secret: 'x' } : undefined) },
    )
    controller.queue.add('a', 'change')
    await controller.clock.advance(100)
    expect(controller.lines.filter(({ sentence }) => sentence === 'reconciled')).toEqual([
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

  test('computes none of its fields at level info', async () => {
    let lookups = 0
    const objectOf = () => ((lookups += 1), undefined)
    const controller = controllerOnClock(() => Promise.resolve(done), 1, {
      level: 'info',
      objectOf,
    })
    controller.queue.add('a', 'change')
    await controller.clock.advance(0)
    expect([controller.results(), lookups, controller.lines]).toEqual([['success'], 0, []])
  })
})

describe('workers', () => {
  test('run in the given number, and never two on one key', async () => {
    const running = new Set<string>()
    const controller = controllerOnClock(async (key) => {
      if (running.has(key)) throw new Error('two workers on one key')
      running.add(key)
      await new Promise<void>((resolve) => void controller.clock.schedule(100, resolve))
      running.delete(key)
      return done
    }, 4)
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 10; n += 1) controller.queue.add(`key-${n}`, 'change')
      await controller.clock.advance(50)
    }
    await controller.clock.advance(10_000)
    expect(controller.mostActive()).toBe(4)
    expect(new Set(controller.results())).toEqual(new Set(['success']))
    expect(new Set(controller.calls.map((call) => call.split(' ')[0])).size).toBe(10)
  })

  test('go on with the next key after a failure', async () => {
    const controller = controllerOnClock((key) =>
      key === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve(done),
    )
    for (const key of ['bad', 'a', 'b']) controller.queue.add(key, 'change')
    await controller.clock.advance(0)
    expect(controller.calls).toEqual(['bad 0', 'a 0', 'b 0'])
    await controller.stop()
  })
})

describe('stop', () => {
  test('waits for running reconciles, and starts no new one', async () => {
    let finish = (): void => undefined
    const controller = controllerOnClock(async () => {
      await new Promise<void>((resolve) => (finish = resolve))
      throw new Error('no')
    })
    for (const key of ['a', 'b']) controller.queue.add(key, 'change')
    await controller.clock.advance(0)
    let isStopped = false
    const stopped = controller.stop().then(() => (isStopped = true))
    controller.queue.add('a', 'change')
    await controller.clock.advance(10_000)
    expect(isStopped).toBe(false)
    finish()
    await stopped
    await controller.clock.advance(10_000)
    expect(controller.calls).toEqual(['a 0'])
    expect(controller.results()).toEqual(['error'])
    expect(controller.clock.pending()).toBe(0)
  })

  test('ends idle workers', async () => {
    const controller = controllerOnClock(() => Promise.resolve(done), 16)
    await controller.stop()
    expect(controller.calls).toEqual([])
  })
})
