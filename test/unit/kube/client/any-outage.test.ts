// The outages of two API servers as one gate of work queues.
import { describe, expect, test } from 'vitest'
import {
  CircuitBreaker,
  type Outage,
  anyOutage,
} from '../../../../src/kube/client/circuit-breaker.ts'
import { WorkQueue } from '../../../../src/kube/controller/work-queue.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'

const broken = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
const ignore = (): void => undefined
/** Longer than the longest back-off. */
const LONG_MS = 6000

interface Servers {
  readonly clock: ManualClock
  readonly one: CircuitBreaker
  readonly other: CircuitBreaker
  readonly gate: Outage
}

function servers(): Servers {
  const clock = manualClock(0)
  const [one, other] = [new CircuitBreaker(clock), new CircuitBreaker(clock)]
  return { clock, one, other, gate: anyOutage([one, other]) }
}

/** A request without an answer; a second one, sent after the first failure, confirms the outage. */
const fail = (breaker: CircuitBreaker): void => breaker.failed(breaker.sent(), broken)

describe('a gate of two API servers', () => {
  test.each<{
    name: string
    down: (servers: Servers) => void
    admits: string | null
    isCertain?: true
  }>([
    { name: 'both answer', down: ignore, admits: 'freely' },
    { name: 'the first is down', down: ({ one }) => fail(one), admits: null },
    { name: 'the second is down', down: ({ other }) => fail(other), admits: null },
    {
      name: 'both are down, for certain',
      down: ({ one, other }) => {
        for (const breaker of [one, other, one, other]) fail(breaker)
      },
      admits: null,
      isCertain: true,
    },
    {
      name: 'one is down for certain',
      down: ({ other }) => {
        fail(other)
        fail(other)
      },
      admits: null,
      isCertain: true,
    },
    {
      name: 'one answers again',
      down: ({ one }) => {
        fail(one)
        one.answered()
      },
      admits: 'freely',
    },
    {
      name: 'one of both answers again',
      down: ({ one, other }) => {
        fail(one)
        fail(other)
        one.answered()
      },
      admits: null,
    },
  ])('$name (8.5)', ({ down, admits, isCertain = false }) => {
    const all = servers()
    down(all)
    expect(all.gate.admit()).toBe(admits)
    expect(all.gate.isCertain).toBe(isCertain)
  })

  test.each<{ name: string; down: (servers: Servers) => void }>([
    { name: 'the first', down: ({ one }) => fail(one) },
    { name: 'the second', down: ({ other }) => fail(other) },
    {
      name: 'both',
      down: ({ one, other }) => {
        fail(one)
        fail(other)
      },
    },
  ])('admits one probe at a time after the back-off of $name (8.5)', async ({ down }) => {
    const { gate, ...all } = servers()
    down({ ...all, gate })
    await all.clock.advance(LONG_MS)
    expect(gate.admit()).toBe('as a probe')
    expect(gate.admit()).toBeNull()
    // It sent no request: the next key is the probe.
    gate.probed()
    expect(gate.admit()).toBe('as a probe')
    expect(gate.admit()).toBeNull()
  })

  test('waits for both back-offs, and a probe of one is not lost on the other (8.5)', async () => {
    const { clock, one, other, gate } = servers()
    fail(one)
    await clock.advance(LONG_MS)
    fail(other)
    expect(gate.admit()).toBeNull()
    // Nothing was taken from the first one while the second waits.
    expect(one.isOpen).toBe(true)
    await clock.advance(LONG_MS)
    expect(gate.admit()).toBe('as a probe')
    one.answered()
    other.answered()
    gate.probed()
    expect(gate.admit()).toBe('freely')
  })
})

function queueOn(clock: ManualClock, gate: Outage): WorkQueue {
  const observer = { added: ignore, retried: ignore, waited: ignore, worked: ignore }
  const delays = { baseDelayMs: 100, maxDelayMs: 15_000 }
  return new WorkQueue({ clock, resyncsAtOnce: null, ...delays, observer, gate })
}

describe('queues behind a gate of two API servers', () => {
  test('hand out all keys, one by one until both answer, whatever each key asks (8.5)', async () => {
    const { clock, one, other, gate } = servers()
    const queues = [queueOn(clock, gate), queueOn(clock, gate), queueOn(clock, gate)]
    const done: string[] = []
    let working = 0
    let most = 0
    const work = async (queue: WorkQueue): Promise<void> => {
      for (let key = await queue.take(); key !== null; key = await queue.take()) {
        working += 1
        most = Math.max(most, working)
        await Promise.resolve()
        done.push(key)
        working -= 1
        queue.done(key)
      }
    }
    fail(one)
    fail(other)
    const workers = queues.map(work)
    for (const [at, queue] of queues.entries())
      for (const key of ['a', 'b', 'c']) queue.add(`${at}${key}`, 'change')
    await clock.advance(0)
    expect(done).toEqual([])
    await clock.advance(LONG_MS)
    // No key has sent a request, and each has been the probe in its turn.
    expect(done.toSorted()).toEqual(['0a', '0b', '0c', '1a', '1b', '1c', '2a', '2b', '2c'])
    expect(most).toBe(1)
    for (const queue of queues) queue.close()
    await Promise.all(workers)
  })

  test('a closed queue leaves the gate (8.5)', async () => {
    const { clock, one, other } = servers()
    const left: string[] = []
    const gate: Outage = {
      ...anyOutage([one, other]),
      isCertain: false,
      whenOpen: (listener) => {
        const leave = anyOutage([one, other]).whenOpen(listener)
        return () => {
          left.push('left')
          leave()
        }
      },
    }
    const [closed, open] = [queueOn(clock, gate), queueOn(clock, gate)]
    closed.close()
    expect(left).toEqual(['left'])
    fail(one)
    open.add('a', 'change')
    const taken = open.take()
    await clock.advance(LONG_MS)
    expect(await taken).toBe('a')
    open.close()
  })

  test('a listener that has left is not called (8.5)', async () => {
    const { clock, one, gate } = servers()
    let calls = 0
    const leave = gate.whenOpen(() => {
      calls += 1
    })
    fail(one)
    await clock.advance(LONG_MS)
    expect(calls).toBe(1)
    leave()
    fail(one)
    await clock.advance(LONG_MS)
    one.answered()
    expect(calls).toBe(1)
  })
})
