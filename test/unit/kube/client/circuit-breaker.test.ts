import { describe, expect, test } from 'vitest'
import { NoResponseError, StatusError } from '../../../../src/kube/client/api-error.ts'
import { CircuitBreaker } from '../../../../src/kube/client/circuit-breaker.ts'
import { startController } from '../../../../src/kube/controller/controller.ts'
import { done } from '../../../../src/kube/controller/outcome.ts'
import { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const T0 = Date.parse('2026-11-21T10:00:00Z')
const DOES_NOT = 'the API server does not answer'
const DOES_AGAIN = 'the API server answers again'
const ignore = (): void => undefined
const broken = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
const late = Object.assign(new Error('late'), { code: 'UND_ERR_HEADERS_TIMEOUT' })

/** A circuit breaker, an API server that a test switches off, and a controller with one request per key. */
function controllerWithOutages(keys: number, workers = 32) {
  const clock = manualClock(T0)
  const { log, lines } = memoryLog()
  const outage = new CircuitBreaker(clock)
  outage.report(log)
  const queue = new WorkQueue({
    clock,
    resyncsAtOnce: null,
    baseDelayMs: 100,
    maxDelayMs: 15_000,
    observer: { added: ignore, retried: ignore, waited: ignore, worked: ignore },
    gate: outage,
  })
  /** The fault of each request; null = an answer. */
  const server = { fault: null as ((key: string) => unknown) | null }
  /** Times of the reconciles of each key, in milliseconds since the start. */
  const asked: [string, number][] = []
  const reconciled = new Set<string>()
  const reconcile = async (key: string) => {
    asked.push([key, clock.nowMs() - T0])
    // Without a circuit breaker the requests would not end, nor the test.
    if (asked.length > 10_000) return done
    const sent = outage.sent()
    await Promise.resolve()
    const fault = server.fault?.(key) ?? null
    if (fault === null) outage.answered()
    else {
      outage.failed(sent, fault)
      throw new NoResponseError(`PATCH things/${key}`, fault)
    }
    reconciled.add(key)
    return done
  }
  const stop = startController({
    places: null,
    name: 'things',
    objectOf: () => undefined,
    queue,
    workers,
    reconcile,
    clock,
    eventLoop: new EventLoopShare(clock),
    outage,
    log,
    observer: { started: ignore, finished: ignore },
  })
  const add = (): void => {
    for (let n = 0; n < keys; n += 1) queue.add(`key-${n}`, 'change')
  }
  const logged = () =>
    lines.filter(({ level }) => level !== 'debug').map(({ sentence }) => sentence)
  return { clock, outage, queue, server, asked, reconciled, stop, add, logged, lines }
}

describe('one circuit breaker stops all work while the API server is down (8.5)', () => {
  test('440 keys and 15 s give one log line at the start, one at the end, and a request per back-off', async () => {
    const it = controllerWithOutages(440)
    it.server.fault = () => broken
    it.add()
    await it.clock.advance(15_000)
    expect(it.logged()).toEqual([DOES_NOT])
    // Each worker fails once; then one sends a probe after 200, 400 … 5,000 ms.
    expect(it.asked.length).toBeLessThanOrEqual(32 + 8)
    it.server.fault = null
    await it.clock.advance(5000)
    expect(it.logged()).toEqual([DOES_NOT, DOES_AGAIN])
    expect(it.reconciled.size).toBe(440)
    expect(it.lines.at(-1)).toMatchObject({
      level: 'info',
      fields: { tookMs: expect.any(Number) as number },
    })
    await it.stop()
    expect(it.clock.pending()).toBe(0)
  })

  test('an outage gives one log line a minute', async () => {
    const it = controllerWithOutages(3)
    it.server.fault = () => broken
    it.add()
    await it.clock.advance(190_000)
    expect(it.logged()).toEqual([DOES_NOT, DOES_NOT, DOES_NOT, DOES_NOT])
  })

  test('a key without an answer is retried at once when the API server is back, without a failure in its back-off', async () => {
    const it = controllerWithOutages(1)
    it.server.fault = () => broken
    it.add()
    await it.clock.advance(60_000)
    it.server.fault = null
    it.outage.answered()
    await it.clock.advance(0)
    expect(it.reconciled.size).toBe(1)
    expect(it.asked.at(-1)).toEqual(['key-0', 60_000])
  })

  test('one broken connection gives no log line', async () => {
    const it = controllerWithOutages(1)
    let times = 0
    it.server.fault = () => ((times += 1) === 1 ? broken : null)
    it.add()
    await it.clock.advance(1000)
    expect(it.reconciled.size).toBe(1)
    expect(it.logged()).toEqual([])
  })

  test('a key that always breaks its connection, while others get answers, waits as a failing key', async () => {
    const it = controllerWithOutages(1)
    it.server.fault = (key) => {
      if (key !== 'key-0') return null
      return broken
    }
    it.add()
    for (let n = 0; n < 600; n += 1) {
      await it.clock.advance(100)
      it.outage.answered()
    }
    // 100, 200, 400 ms … 15 s in a minute.
    expect(it.asked.length).toBeLessThan(20)
    expect(it.logged()).toContain('reconcile failed, trying again')
  })

  test('a probe without a request lets the next key be the probe', async () => {
    const clock = manualClock(T0)
    const outage = new CircuitBreaker(clock)
    const tried: string[] = []
    outage.failed(outage.sent(), broken)
    outage.whenOpen(() => tried.push(String(outage.admit())))
    expect(outage.admit()).toBe(null)
    await clock.advance(200)
    expect(outage.admit()).toBe(null)
    outage.probed()
    expect(tried).toEqual(['as a probe', 'as a probe'])
  })
})

describe('the start of an outage', () => {
  const answeredSince = (outage: CircuitBreaker, fault: unknown): CircuitBreaker => {
    const sent = outage.sent()
    outage.answered()
    outage.failed(sent, fault)
    return outage
  }
  test.each([
    {
      name: 'a timeout, without answers of other requests',
      fault: late,
      answered: false,
      admits: null,
    },
    {
      name: 'no outage after a timeout while other requests get answers',
      fault: late,
      answered: true,
      admits: 'freely',
    },
    { name: 'a broken connection', fault: broken, answered: false, admits: null },
    {
      name: 'a broken connection while others get answers',
      fault: broken,
      answered: true,
      admits: null,
    },
  ])('$name', ({ fault, answered, admits }) => {
    const outage = new CircuitBreaker(manualClock(T0))
    if (answered) answeredSince(outage, fault)
    else outage.failed(outage.sent(), fault)
    expect(outage.admit()).toBe(admits)
  })

  test('any answer ends an outage, also a StatusError', () => {
    const outage = new CircuitBreaker(manualClock(T0))
    outage.failed(outage.sent(), broken)
    outage.answered()
    expect(outage.admit()).toBe('freely')
    expect(new NoResponseError('GET things', broken)).not.toBeInstanceOf(StatusError)
  })
})
