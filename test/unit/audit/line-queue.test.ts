// The queue in front of the audit log: one write at a time, failures, and healing (contract 22.2).
import { describe, expect, test } from 'vitest'
import type { AuditLine } from '../../../src/domain/audit/audit-line.ts'
import { LineQueue } from '../../../src/audit/line-queue.ts'
import { manualClock } from '../../support/manual-clock.ts'

const WRITE_TIMEOUT_MS = 5000

/** A sink whose writes end when the test says so. @param announced how many requests will have a line soon */
async function stage(openings: readonly (Error | null)[] = [], announced = { count: 0 }) {
  const clock = manualClock(0)
  const events: string[] = []
  const opened = openings.values()
  const writes: { lines: readonly string[]; end: PromiseWithResolvers<number> }[] = []
  const queue = new LineQueue({
    clock,
    sink: {
      open: async () => {
        const error = opened.next().value ?? null
        events.push(`open: ${error?.message ?? 'ok'}`)
        if (error) throw error
      },
      append: async (lines) => {
        const end = Promise.withResolvers<number>()
        writes.push({ lines, end })
        return end.promise
      },
      close: async () => void events.push('close'),
    },
    observer: {
      wrote: (seconds) => events.push(`wrote in ${seconds} s`),
      failed: (cause) => events.push(`failed: ${(cause as Error).message}`),
      healed: () => events.push('healed'),
      lost: (count) => events.push(`lost ${count}`),
    },
    announced: () => announced.count,
  })
  const states = new Map<string, string>()
  const write = (line: AuditLine | string): void => {
    const { text, withoutBodies } = typeof line === 'string' ? lineOf(line) : line
    const name = text.slice(0, 20)
    states.set(name, 'waits')
    queue.write({ text, withoutBodies }).then(
      () => states.set(name, 'written'),
      (error: unknown) =>
        states.set(
          name,
          error instanceof Error && error.name === 'NotRecordedError' ? 'refused' : 'broken',
        ),
    )
  }
  /** Ends the write under way. @param taken an error, or how many lines the sink takes; absent = all */
  const end = async (taken?: Error | number): Promise<void> => {
    const last = writes.at(-1)
    if (taken instanceof Error) last?.end.reject(taken)
    else last?.end.resolve(taken ?? last.lines.length)
    await clock.advance(0)
  }
  await clock.advance(0)
  const failures = (): readonly string[] => events.filter((event) => !/^(open|wrote)/.test(event))
  const linesOf = (): readonly (readonly string[])[] => writes.map(({ lines }) => lines)
  return { clock, queue, events, failures, states, write, end, linesOf }
}

const lineOf = (text: string): AuditLine => ({ text, withoutBodies: () => text })
const FULL = new Error('ENOSPC')

test('lines that come while one is written are in the next write, in their order (22.2)', async () => {
  const { write, end, linesOf, states, queue } = await stage()
  for (const line of ['a', 'b', 'c']) write(line)
  expect(linesOf()).toEqual([['a']])
  await end()
  expect(linesOf()).toEqual([['a'], ['b', 'c']])
  expect(Object.fromEntries(states)).toEqual({ a: 'written', b: 'waits', c: 'waits' })
  await end()
  expect([...states.values()]).toEqual(['written', 'written', 'written'])
  expect(queue.waitingBytes).toBe(0)
})

describe('a write after another one (22.2)', () => {
  test('waits until half of the requests under way have their lines', async () => {
    const announced = { count: 3 }
    const { clock, write, end, linesOf } = await stage([], announced)
    write('first')
    expect(linesOf()).toEqual([['first']])
    await end()
    write('a')
    announced.count = 2
    await clock.advance(0)
    expect(linesOf()).toHaveLength(1)
    write('b')
    await clock.advance(0)
    expect(linesOf()).toEqual([['first'], ['a', 'b']])
  })

  test('waits for four milliseconds at most, from the end of the one before', async () => {
    const { clock, write, end, linesOf, states } = await stage([], { count: 100 })
    write('first')
    await end()
    await clock.advance(1)
    write('a')
    await clock.advance(2)
    expect(linesOf()).toEqual([['first']])
    await clock.advance(1)
    expect(linesOf()).toEqual([['first'], ['a']])
    await end()
    await clock.advance(4)
    write('b')
    await clock.advance(0)
    expect(linesOf()).toEqual([['first'], ['a'], ['b']])
    expect([...states.values()]).toEqual(['written', 'written', 'waits'])
  })

  test('waits for nothing once the queue is closed', async () => {
    const { clock, queue, write, end, events, linesOf, states } = await stage([], { count: 100 })
    write('first')
    await end()
    write('a')
    await clock.advance(0)
    await queue.close()
    await clock.advance(0)
    expect(events).toContain('close')
    expect({ lines: linesOf(), timers: clock.pending() }).toEqual({ lines: [['first']], timers: 0 })
    expect(states.get('a')).toBe('refused')
  })
})

describe('a write that fails (22.2)', () => {
  test('refuses all that wait, and is tried again every second with all lines in their order', async () => {
    const { clock, write, end, linesOf, states, failures, queue } = await stage()
    for (const line of ['a', 'b']) write(line)
    await end(FULL)
    expect([...states.values()]).toEqual(['refused', 'refused'])
    expect({ events: failures(), isFailed: queue.isFailed }).toEqual({
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
    expect({ events: failures(), isFailed: queue.isFailed }).toEqual({
      events: ['failed: ENOSPC', 'healed'],
      isFailed: false,
    })
    write('d')
    await end()
    expect(states.get('d')).toBe('written')
  })

  test('keeps lines without their bodies where they fit only so, and counts others as lost', async () => {
    const { clock, write, end, linesOf, failures } = await stage()
    const MIB = 1024 * 1024
    const large = (name: string): AuditLine => ({
      text: name.padEnd(30 * MIB, 'x'),
      withoutBodies: () => name,
    })
    write('first')
    await end(FULL)
    for (const name of ['one', 'two', 'three']) write(large(name))
    write({ text: 'y'.repeat(10 * MIB), withoutBodies: () => 'y'.repeat(9 * MIB) })
    await clock.advance(1000)
    for (let writes = 0; writes < 4; writes += 1) await end()
    expect(
      linesOf()
        .slice(1)
        .map((lines) => lines.map(({ length }) => length)),
    ).toEqual([[5], [30 * MIB], [30 * MIB], [5]])
    expect(failures()).toEqual(['failed: ENOSPC', 'lost 1', 'healed'])
  })
})

describe('a write that takes too long (22.2)', () => {
  test('refuses what waits after five seconds, and no other write begins before it ends', async () => {
    const { clock, write, end, linesOf, states, failures } = await stage()
    for (const line of ['a', 'b']) write(line)
    await clock.advance(WRITE_TIMEOUT_MS - 1)
    expect([...states.values()]).toEqual(['waits', 'waits'])
    await clock.advance(1)
    expect([...states.values()]).toEqual(['refused', 'refused'])
    expect(failures()).toEqual([`failed: no answer within ${WRITE_TIMEOUT_MS} ms`])
    await clock.advance(60_000)
    expect(linesOf()).toEqual([['a']])
    await end()
    expect(linesOf()).toEqual([['a'], ['b']])
    expect(failures()).toContain('healed')
  })

  test('is tried again when it fails at last', async () => {
    const { clock, write, end, linesOf } = await stage()
    write('a')
    await clock.advance(WRITE_TIMEOUT_MS)
    await end(FULL)
    await clock.advance(1000)
    expect(linesOf()).toEqual([['a'], ['a']])
  })
})

test('the queue is drained when all lines are written, or at the signal (22.2)', async () => {
  const { clock, write, end, queue } = await stage()
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

test('a line that comes in any step of the write before it is written (22.2)', async () => {
  for (let steps = 0; steps < 12; steps += 1) {
    const { clock, write, end, states } = await stage()
    write('a')
    const ending = end()
    for (let step = 0; step < steps; step += 1) await Promise.resolve()
    write('b')
    await ending
    await clock.advance(0)
    await end()
    expect({ steps, ...Object.fromEntries(states) }).toEqual({ steps, a: 'written', b: 'written' })
  }
})

test('a sink that takes a part of a batch gets the rest next, and nobody waits for its end (22.1)', async () => {
  const { write, end, linesOf, states, queue } = await stage()
  write('a')
  for (const line of ['b', 'c', 'd']) write(line)
  await end()
  await end(2)
  expect(linesOf()).toEqual([['a'], ['b', 'c', 'd'], ['d']])
  expect(states.get('c')).toBe('written')
  await end(FULL)
  expect([...states.values()]).toEqual(['written', 'written', 'written', 'refused'])
  expect(queue.waitingBytes).toBe(2)
})

test('no more than four megabytes are written at once, but for a longer line (22.2)', async () => {
  const MIB = 1024 * 1024
  const { write, end, linesOf } = await stage()
  write('a')
  for (const mib of [1, 2, 2, 5, 1]) write(`${mib}`.padEnd(mib * MIB, 'x'))
  while (linesOf().flat().length < 6) await end()
  expect(linesOf().map((lines) => lines.map(({ length }) => Math.round(length / MIB)))).toEqual([
    [0],
    [1, 2],
    [2],
    [5],
    [1],
  ])
})

test('a sink that cannot be opened is failed before the first line, and tried again every second (22.2)', async () => {
  const { clock, write, end, events, queue, states, linesOf } = await stage([FULL, FULL])
  expect({ events, isFailed: queue.isFailed }).toEqual({
    events: ['open: ENOSPC', 'failed: ENOSPC'],
    isFailed: true,
  })
  write('a')
  await clock.advance(999)
  expect(states.get('a')).toBe('refused')
  await clock.advance(1001)
  expect(events.slice(2)).toEqual(['open: ENOSPC', 'open: ok', 'healed'])
  expect(linesOf()).toEqual([['a']])
  await end()
  expect(events.at(-1)).toBe('wrote in 0 s')
})

test('a queue that is closed tries nothing again, and says what was lost (22.2)', async () => {
  const { clock, write, end, failures, linesOf, states, queue } = await stage()
  for (const line of ['a', 'b']) write(line)
  await end(FULL)
  await queue.close()
  write('c')
  await clock.advance(60_000)
  expect(linesOf()).toEqual([['a']])
  expect([...states.values()]).toEqual(['refused', 'refused', 'refused'])
  expect(failures()).toEqual(['failed: ENOSPC', 'close', 'lost 2', 'lost 1'])
  expect(clock.pending()).toBe(0)
})

test('a queue without lines is drained at once, also where its sink cannot be opened (22.2)', async () => {
  const { clock, queue } = await stage([FULL])
  await queue.drain(new AbortController().signal)
  await queue.close()
  expect(clock.pending()).toBe(0)
})
