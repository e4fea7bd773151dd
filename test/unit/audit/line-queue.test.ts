// The queue in front of the audit log: one write at a time, failures, and healing (contract 22.2).
import { describe, expect, test } from 'vitest'
import type { AuditLine } from '../../../src/domain/audit/audit-line.ts'
import { LineQueue, NotRecordedError, WRITE_TIMEOUT_MS } from '../../../src/audit/line-queue.ts'
import { manualClock } from '../../support/manual-clock.ts'

/** A sink whose writes end when the test says so. */
function stage() {
  const clock = manualClock(0)
  const events: string[] = []
  const writes: { lines: readonly string[]; end: PromiseWithResolvers<void> }[] = []
  const queue = new LineQueue({
    clock,
    sink: {
      append: (lines) => {
        const end = Promise.withResolvers<void>()
        writes.push({ lines, end })
        return end.promise
      },
    },
    observer: {
      failed: (cause) => events.push(`failed: ${(cause as Error).message}`),
      healed: () => events.push('healed'),
      lost: (count) => events.push(`lost ${count}`),
    },
  })
  const states = new Map<string, string>()
  const write = (line: AuditLine | string): void => {
    const { text, withoutBodies } = typeof line === 'string' ? lineOf(line) : line
    const name = text.slice(0, 20)
    states.set(name, 'waits')
    queue.write({ text, withoutBodies }).then(
      () => states.set(name, 'written'),
      (error: unknown) =>
        states.set(name, error instanceof NotRecordedError ? 'refused' : 'broken'),
    )
  }
  /** Ends the write under way. */
  const end = async (error?: Error): Promise<void> => {
    const last = writes.at(-1)
    if (error) last?.end.reject(error)
    else last?.end.resolve()
    await clock.advance(0)
  }
  const linesOf = (): readonly (readonly string[])[] => writes.map(({ lines }) => lines)
  return { clock, queue, events, states, write, end, linesOf }
}

const lineOf = (text: string): AuditLine => ({ text, withoutBodies: text })
const FULL = new Error('ENOSPC')

test('lines that come while one is written are in the next write, in their order (22.2)', async () => {
  const { write, end, linesOf, states, queue } = stage()
  for (const line of ['a', 'b', 'c']) write(line)
  expect(linesOf()).toEqual([['a']])
  await end()
  expect(linesOf()).toEqual([['a'], ['b', 'c']])
  expect(Object.fromEntries(states)).toEqual({ a: 'written', b: 'waits', c: 'waits' })
  await end()
  expect([...states.values()]).toEqual(['written', 'written', 'written'])
  expect(queue.waitingBytes).toBe(0)
})

describe('a write that fails (22.2)', () => {
  test('refuses all that wait, and is tried again every second with all lines in their order', async () => {
    const { clock, write, end, linesOf, states, events, queue } = stage()
    for (const line of ['a', 'b']) write(line)
    await end(FULL)
    expect([...states.values()]).toEqual(['refused', 'refused'])
    expect({ events, isFailed: queue.isFailed }).toEqual({
      events: ['failed: ENOSPC'],
      isFailed: true,
    })
    write('c')
    await clock.advance(0)
    expect(states.get('c')).toBe('refused')
    await clock.advance(999)
    expect(linesOf()).toEqual([['a']])
    await clock.advance(1)
    expect(linesOf()).toEqual([['a'], ['a', 'b', 'c']])
    await end(FULL)
    await clock.advance(1000)
    await end()
    expect(linesOf()).toEqual([['a'], ['a', 'b', 'c'], ['a', 'b', 'c']])
    expect({ events, isFailed: queue.isFailed }).toEqual({
      events: ['failed: ENOSPC', 'healed'],
      isFailed: false,
    })
    write('d')
    await end()
    expect(states.get('d')).toBe('written')
  })

  test('keeps lines without their bodies where they fit only so, and counts others as lost', async () => {
    const { clock, write, end, linesOf, events } = stage()
    const MIB = 1024 * 1024
    const large = (name: string): AuditLine => ({
      text: name.padEnd(30 * MIB, 'x'),
      withoutBodies: name,
    })
    write('first')
    await end(FULL)
    for (const name of ['one', 'two', 'three']) write(large(name))
    write({ text: 'y'.repeat(10 * MIB), withoutBodies: 'y'.repeat(9 * MIB) })
    await clock.advance(1000)
    expect(
      linesOf()
        .at(-1)
        ?.map(({ length }) => length),
    ).toEqual([5, 30 * MIB, 30 * MIB, 5])
    expect(events).toEqual(['failed: ENOSPC', 'lost 1'])
  })
})

describe('a write that takes too long (22.2)', () => {
  test('refuses what waits after five seconds, and no other write begins before it ends', async () => {
    const { clock, write, end, linesOf, states, events } = stage()
    for (const line of ['a', 'b']) write(line)
    await clock.advance(WRITE_TIMEOUT_MS - 1)
    expect([...states.values()]).toEqual(['waits', 'waits'])
    await clock.advance(1)
    expect([...states.values()]).toEqual(['refused', 'refused'])
    expect(events).toEqual([`failed: no answer within ${WRITE_TIMEOUT_MS} ms`])
    await clock.advance(60_000)
    expect(linesOf()).toEqual([['a']])
    await end()
    expect(linesOf()).toEqual([['a'], ['b']])
    expect(events).toContain('healed')
  })

  test('is tried again when it fails at last', async () => {
    const { clock, write, end, linesOf } = stage()
    write('a')
    await clock.advance(WRITE_TIMEOUT_MS)
    await end(FULL)
    await clock.advance(1000)
    expect(linesOf()).toEqual([['a'], ['a']])
  })
})

test('the queue is drained when all lines are written, or at the signal (22.2)', async () => {
  const { clock, write, end, queue } = stage()
  let isDrained = false
  write('a')
  const abort = new AbortController()
  const draining = queue.drain(abort.signal).then(() => (isDrained = true))
  await clock.advance(0)
  expect(isDrained).toBe(false)
  await end()
  expect(isDrained).toBe(true)
  write('b')
  const second = queue.drain(abort.signal)
  abort.abort()
  await second
  await draining
})
