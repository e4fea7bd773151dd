import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { beforeEach, describe, expect, test } from 'vitest'
import { StoreError } from '../../../../src/audit/store/store-error.ts'
import type { LineBatch } from '../../../../src/audit/store/write-events.ts'
import { eventLine, eventLines, EVENTS_FROM_MS } from '../../../support/audit-store-events.ts'
import { eventually } from '../../../support/eventually.ts'
import { MemoryAuditStore } from '../../../support/memory-audit-store.ts'
import { appendAll, bytes, sinkIn } from '../files/sink-folder.ts'
import {
  backup,
  clockNow,
  compress,
  follow,
  ids,
  makeDirectory,
  path,
  pollUntil,
  rotate,
  text,
  untilStored,
  write,
} from './followed-folder.ts'

beforeEach(makeDirectory)

describe('a follower', () => {
  test('begins a new store with the oldest file, compressed ones too, and goes on with what is written (22.3)', async () => {
    write(0, 3, backup(1))
    compress(1)
    write(3, 2, backup(2))
    write(5, 1)
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    follow(store, clock)
    await untilStored(store, clock, ids(0, 6))
    write(6, 2)
    await untilStored(store, clock, ids(0, 8))
    expect(new Set(store.batches.map(({ source }) => source))).toEqual(new Set(['gateway-0']))
  })

  test('stores an event within two polls of a second together (22.3)', async () => {
    write(0, 1)
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    follow(store, clock)
    await untilStored(store, clock, ids(0, 1))
    // It is at the end, and waits.
    const wait = { withinMs: 5000 }
    await eventually('it waits', () => (clock.pending() === 1 ? true : undefined), wait)
    write(1, 1)
    await clock.advance(1000)
    await eventually('it is stored', () => (store.lines.length === 2 ? true : undefined), wait)
  })

  test('a line without its line feed waits for it (22.3)', async () => {
    const line = `${eventLine(1)}\n`
    write(0, 1)
    appendFileSync(path('audit.log'), line.slice(0, 100))
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    follow(store, clock)
    await untilStored(store, clock, ids(0, 1))
    await clock.advance(2000)
    expect(store.lines).toHaveLength(1)
    appendFileSync(path('audit.log'), line.slice(100))
    await untilStored(store, clock, ids(0, 2))
  })

  test('batches have a thousand lines at most, or four mebibytes (22.3)', async () => {
    write(0, 2500)
    for (const number of [2500, 2501, 2502, 2503])
      appendFileSync(
        path('audit.log'),
        `${eventLine(number, { requestObject: 'x'.repeat(1_500_000) })}\n`,
      )
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    follow(store, clock)
    await untilStored(store, clock, ids(0, 2504))
    expect(store.batches.map(({ lines }) => lines.length)).toEqual([1000, 1000, 503, 1])
  })

  test('a line of any length takes a bounded memory, and is passed over (22.3)', async () => {
    write(0, 1)
    appendFileSync(path('audit.log'), `${'x'.repeat(20_000_000)}\n`)
    write(1, 1)
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    follow(store, clock)
    await pollUntil('the line behind it is stored', clock, () => store.lines.length === 3)
    expect(store.lines).toEqual([eventLine(0), null, eventLine(1)])
  })
})

describe('rotation', () => {
  test('lines before and behind a rotation are stored once, in order (22.3)', async () => {
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    const { counts } = follow(store, clock)
    for (const round of [0, 1, 2, 3, 4]) {
      write(round * 10, 5)
      await untilStored(store, clock, ids(0, round * 10 + 5))
      write(round * 10 + 5, 5)
      rotate(round)
      if (round % 2 === 0) compress(round)
    }
    write(50, 1)
    await untilStored(store, clock, ids(0, 51))
    expect([...counts]).toEqual([['stored', 51]])
  })

  test.each([
    { name: 'under its name', move: () => undefined },
    { name: 'as a backup', move: () => rotate(7) },
    {
      name: 'compressed',
      move: () => {
        rotate(7)
        compress(7)
      },
    },
  ])(
    'a restarted follower finds its file $name, and stores nothing twice (22.3)',
    async ({ move }) => {
      const [store, clock] = [new MemoryAuditStore(), clockNow()]
      write(0, 5, backup(1))
      write(5, 5)
      const first = follow(store, clock)
      await untilStored(store, clock, ids(0, 10))
      await first.end()
      write(10, 5)
      move()
      write(15, 1)
      const { counts } = follow(store, clock)
      await untilStored(store, clock, ids(0, 16))
      expect([...counts]).toEqual([['stored', 6]])
    },
  )

  test.each([3_600_000, EVENTS_FROM_MS])(
    'lines that were written after the clock was set back by %d ms are stored (22.1, 22.3)',
    async (backMs) => {
      const [store, clock] = [new MemoryAuditStore(), clockNow()]
      /** A process: it writes with a rotation before each line but the first, and its follower stores. */
      const run = async (first: number, nowMs: number): Promise<void> => {
        const writer = sinkIn({ path: path(''), maxSize: bytes(1) })
        writer.clock.setNow(nowMs)
        const { end } = follow(store, clock)
        await writer.sink.open()
        await appendAll(writer.sink, eventLines(first, 2))
        await untilStored(store, clock, ids(0, first + 2))
        await appendAll(writer.sink, eventLines(first + 2, 3))
        await untilStored(store, clock, ids(0, first + 5))
        await end()
        await writer.sink.close()
      }
      await run(0, EVENTS_FROM_MS)
      await run(5, EVENTS_FROM_MS - backMs)
      await run(10, EVENTS_FROM_MS + 60_000)
      expect(store.lines).toHaveLength(15)
    },
  )

  test('an inode that is used again is not taken for the file that had it (22.3)', async () => {
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    write(0, 5)
    const first = follow(store, clock)
    await untilStored(store, clock, ids(0, 5))
    await first.end()
    // The same file, with other lines.
    writeFileSync(path('audit.log'), text(100, 9))
    follow(store, clock)
    await untilStored(store, clock, [...ids(0, 5), ...ids(100, 9)])
    expect(store.lines).toHaveLength(14)
  })

  test('a write that failed and was taken back is not stored in pieces (22.1, 22.3)', async () => {
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    write(0, 3)
    const { counts } = follow(store, clock)
    await untilStored(store, clock, ids(0, 3))
    const length = readFileSync(path('audit.log')).length
    appendFileSync(path('audit.log'), eventLine(50).slice(0, 200))
    await clock.advance(500)
    truncateSync(path('audit.log'), length)
    write(3, 4)
    await untilStored(store, clock, ids(0, 7))
    expect(counts.get('refused')).toBeUndefined()
  })

  test('a damaged archive is passed over, and counted (22.3)', async () => {
    write(0, 3000, backup(1))
    compress(1)
    truncateSync(path(`${backup(1)}.gz`), 2000)
    write(3000, 1)
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    const { counts } = follow(store, clock)
    await pollUntil('the next file is stored', clock, () => store.ids.at(-1) === 'id-3000')
    await pollUntil('it is counted', clock, () => counts.get('unread') === 1)
    expect(store.lines.length).toBeLessThan(3000)
  })
})

test.each([
  { name: 'a link', make: (there: string) => symlinkSync('/etc/hostname', there) },
  { name: 'a folder', make: (there: string) => mkdirSync(there) },
  { name: 'a socket', make: (there: string) => createServer().listen(there).unref() },
])(
  '$name with the name of a backup is not of the log, and stops nothing (22.1, 22.3)',
  async ({ make }) => {
    make(path(backup(1)))
    write(0, 3)
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    const { failures } = follow(store, clock)
    await untilStored(store, clock, ids(0, 3))
    expect(failures).toEqual([])
  },
)

describe('a store that is away', () => {
  test('is tried after 0.5 s, 1 s and so on up to a minute, is reported once, and gets every event (22.3)', async () => {
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    write(0, 1)
    const { follower, failures, healed } = follow(store, clock)
    await untilStored(store, clock, ids(0, 1))
    store.failure = new StoreError('unavailable', 'away')
    let attempts = 0
    const failing = store.writeEvents
    Object.assign(store, {
      writeEvents: (batch: LineBatch) => {
        attempts += 1
        return failing(batch)
      },
    })
    write(1, 1)
    // 0.5 + 1 + 2 + ... + 32 s, and then a minute each.
    while (clock.nowMs() < EVENTS_FROM_MS + 605_000)
      // Looking at the files takes time that is not the clock's.
      if (clock.pending() > 0) await clock.advance(500)
      else await new Promise((resolve) => setImmediate(resolve))
    expect(attempts).toBeGreaterThan(10)
    expect(attempts).toBeLessThan(20)
    expect(failures).toEqual([store.failure])
    expect(follower.lagSeconds()).toBeGreaterThan(590)
    store.failure = null
    await clock.advance(60_000)
    await untilStored(store, clock, ids(0, 2))
    await pollUntil('the lag is gone', clock, () => follower.lagSeconds() === 0)
    expect(healed()).toBe(1)
  })

  test('files that retention removes meanwhile are counted as unread (22.3)', async () => {
    const [store, clock] = [new MemoryAuditStore(), clockNow()]
    write(0, 100)
    const { counts } = follow(store, clock)
    await untilStored(store, clock, ids(0, 100))
    store.failure = new StoreError('unavailable', 'away')
    write(100, 10)
    await clock.advance(1000)
    rotate(1)
    write(200, 40)
    rotate(2)
    write(300, 60)
    rotate(3)
    compress(3)
    write(400, 1)
    await pollUntil(
      'it failed again and again',
      clock,
      () => clock.nowMs() > EVENTS_FROM_MS + 600_000,
      10_000,
    )
    for (const name of [backup(1), backup(2), `${backup(3)}.gz`]) rmSync(path(name))
    await pollUntil('they are counted', clock, () => counts.has('unread'), 10_000)
    expect(counts.get('unread')).toBe(100)
    store.failure = null
    // The open file was read to its end, though its name is gone.
    await untilStored(store, clock, [...ids(0, 110), ...ids(400, 1)])
    expect(counts.get('unread')).toBe(100)
  })
})
