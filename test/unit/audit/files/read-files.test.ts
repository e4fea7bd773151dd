// Events read back from files: rotated, compressed, torn, and while they are written (contract 22.1, 22.4).
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import { readEvents } from '../../../../src/audit/files/read-files.ts'
import { linesOf } from '../../../../src/audit/files/read-lines.ts'
import { parseAuditQuery } from '../../../../src/domain/audit/query.ts'
import { auditEvent, numberedEvent, numberedLines } from '../../../support/audit-event-builder.ts'
import { randomFrom } from '../../../support/random.ts'

const root = mkdtempSync(join(tmpdir(), 'audit-files-'))
afterAll(() => rmSync(root, { recursive: true }))

const T0 = Date.UTC(2026, 10, 28, 12)
const HOUR_MS = 3_600_000

let folder = ''
let count = 0
beforeEach(() => {
  folder = join(root, String((count += 1)))
  mkdirSync(folder)
})

/** Writes a file of the directory. */
function write(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** The backup that was made this many seconds after the first event. */
/** In bytes; a longer line is passed over. */
const LONGEST_LINE = 8 * 1024 ** 2

const backup = (seconds: number): string => freeBackupName([], T0 + seconds * 1000)

function read(filters: Readonly<Record<string, string>> = {}, path = folder) {
  const parsed = parseAuditQuery(Object.entries(filters), T0 + 24 * HOUR_MS)
  if (parsed.kind === 'malformed') throw new Error(parsed.fault)
  return readEvents(path, parsed.query)
}

/** The numbers of the events, as numberedEvent has them. */
const numbersOf = (events: readonly string[]): readonly number[] =>
  events.map((event) => Number((JSON.parse(event) as { auditID: string }).auditID.slice(3)))

describe('a directory (22.4)', () => {
  test('is read with its backups, compressed or not, and the newest event comes first', async () => {
    write(backup(3), numberedLines(0, 3))
    write(`${backup(6)}.gz`, gzipSync(numberedLines(3, 3)))
    write('audit.log', numberedLines(6, 2))
    const { events, hasMore, faults } = await read()
    expect(numbersOf(events)).toEqual([7, 6, 5, 4, 3, 2, 1, 0])
    expect({ hasMore, faults }).toEqual({ hasMore: false, faults: [] })
    expect(events[0]).toBe(JSON.stringify(numberedEvent(7)))
  })

  test('is read where events are not in the order of their files', async () => {
    write(backup(3), numberedLines(5, 1) + numberedLines(0, 1))
    write('audit.log', numberedLines(3, 1) + numberedLines(9, 1) + numberedLines(1, 1))
    expect(numbersOf((await read()).events)).toEqual([9, 5, 3, 1, 0])
    expect(numbersOf((await read({ limit: '3' })).events)).toEqual([9, 5, 3])
  })

  test('is read without audit.log, which a rotation makes with the next line', async () => {
    write(backup(3), numberedLines(0, 3))
    expect(numbersOf((await read()).events)).toEqual([2, 1, 0])
  })

  test('has other files, which are left alone (22.1)', async () => {
    write('audit.log', numberedLines(0, 1))
    write('audit.lock', 'x')
    write('other.log', numberedLines(1, 1))
    write('audit-2026-11-28.log', numberedLines(2, 1))
    mkdirSync(join(folder, 'old'))
    const { events, faults } = await read()
    expect({ numbers: numbersOf(events), faults }).toEqual({ numbers: [0], faults: [] })
  })

  test('without any file of an audit log is an error, and so is a path that is not there', async () => {
    write('other.log', numberedLines(1, 1))
    await expect(read()).rejects.toThrow(`${folder} has no file of an audit log, such as audit.log`)
    await expect(read({}, join(folder, 'none'))).rejects.toThrow('ENOENT')
  })

  test('has a backup beside its half-made .gz after a crash: the backup is read (22.1)', async () => {
    write(backup(3), numberedLines(0, 3))
    write(`${backup(3)}.gz`, gzipSync(numberedLines(0, 3)).subarray(0, 30))
    const { events, faults } = await read()
    expect({ numbers: numbersOf(events), faults }).toEqual({ numbers: [2, 1, 0], faults: [] })
  })

  test('has an event twice, as an agent may send it: it is shown once (22.3)', async () => {
    write(backup(3), numberedLines(0, 3))
    write('audit.log', numberedLines(1, 3))
    expect(numbersOf((await read()).events)).toEqual([3, 2, 1, 0])
  })
})

describe('a file (22.4)', () => {
  test('is read alone, compressed or not', async () => {
    write('audit.log', numberedLines(0, 1))
    const plain = write('kept.jsonl', numberedLines(1, 2))
    const compressed = write('kept.jsonl.gz', gzipSync(numberedLines(3, 2)))
    expect(numbersOf((await read({}, plain)).events)).toEqual([2, 1])
    expect(numbersOf((await read({}, compressed)).events)).toEqual([4, 3])
  })

  test('has filters and a limit, and says whether there are older events', async () => {
    write('audit.log', numberedLines(0, 50) + numberedLines(50, 50, { verb: 'list' }))
    const some = await read({ verb: 'get', limit: '3' })
    expect(numbersOf(some.events)).toEqual([49, 48, 47])
    expect(some.hasMore).toBe(true)
    const all = await read({ verb: 'get', limit: '50' })
    expect({ count: all.events.length, hasMore: all.hasMore }).toEqual({
      count: 50,
      hasMore: false,
    })
    const interval = { since: '2026-11-28T12:00:10Z', until: '2026-11-28T12:00:12Z' }
    expect(numbersOf((await read(interval)).events)).toEqual([11, 10])
  })

  test('shows bodies digit for digit, or leaves them out (21.4)', async () => {
    const line = JSON.stringify(auditEvent({ requestObject: { n: 'N' } })).replace('"N"', '1.0e400')
    write('audit.log', `${line}\n`)
    expect((await read()).events).toEqual([line])
    expect((await read({ body: 'false' })).events).toEqual([JSON.stringify(auditEvent())])
  })
})

describe('an unreadable line or file is counted, and stops nothing (22.4)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a torn last line', text: `${numberedLines(0, 2)}{"kind":"Eve`, numbers: [1, 0], fault: '1 line of FILE could not be read, the first is line 3' },
    { name: 'a torn line that a start has closed (22.1)', text: `${numberedLines(0, 1)}{"kind":"Eve\n${numberedLines(1, 1)}`, numbers: [1, 0], fault: '1 line of FILE could not be read, the first is line 2' },
    { name: 'a last line without line feed, which is whole', text: numberedLines(0, 2).trimEnd(), numbers: [1, 0], fault: null },
    { name: 'empty lines', text: `\n${numberedLines(0, 1)}\n\n${numberedLines(1, 1)}`, numbers: [1, 0], fault: null },
    { name: 'foreign lines', text: `hello\n{}\n${numberedLines(0, 1)}[1]\n`, numbers: [0], fault: '3 lines of FILE could not be read, the first is line 1' },
    { name: 'lines of another version', text: `${numberedLines(0, 1, { apiVersion: 'audit.k8s.io/v1beta1' })}${numberedLines(1, 1)}`, numbers: [1], fault: '1 line of FILE could not be read, the first is line 1' },
    { name: 'deep nesting', text: `${'['.repeat(200_000)}\n${numberedLines(1, 1)}`, numbers: [1], fault: '1 line of FILE could not be read, the first is line 1' },
    { name: 'an empty file', text: '', numbers: [], fault: null },
  ])('$name', async ({ text, numbers, fault }) => {
    const path = write('audit.log', text)
    const { events, faults } = await read()
    expect(numbersOf(events)).toEqual(numbers)
    expect(faults).toEqual(fault === null ? [] : [fault.replace('FILE', path)])
  })

  test('invalid UTF-8 in a line is shown as the replacement character (21.3)', async () => {
    const [before = '', after = ''] = JSON.stringify(auditEvent({ verb: 'HERE' })).split('HERE')
    write(
      'audit.log',
      Buffer.concat([Buffer.from(before), Buffer.of(0xff, 0xc0), Buffer.from(after)]),
    )
    const { events, faults } = await read()
    expect(faults).toEqual([])
    expect(JSON.parse(events[0] ?? '')).toMatchObject({ verb: '\ufffd\ufffd' })
  })

  test('a .gz that was cut is shown up to the cut', async () => {
    const random = randomFrom(3)
    const lines = Array.from({ length: 5000 }, (_, at) =>
      numberedLines(at, 1, { userAgent: String(random.between(0, 1)) }),
    ).join('')
    const gz = gzipSync(lines)
    const path = write(`${backup(5000)}.gz`, gz.subarray(0, gz.length - 1000))
    write('audit.log', numberedLines(9000, 1))
    const { events, faults } = await read({ limit: '1000' })
    expect(numbersOf(events)[0]).toBe(9000)
    expect(events).toHaveLength(1000)
    expect(faults).toContain(`${path} could not be read to its end: Z_BUF_ERROR`)
  })

  test('directories and a text with the names of backups do not hide the others', async () => {
    mkdirSync(join(folder, `${backup(0)}.gz`))
    mkdirSync(join(folder, backup(1)))
    write(`${backup(2)}.gz`, 'plain text')
    write(backup(3), numberedLines(0, 1))
    write('audit.log', numberedLines(1, 1))
    const { events, faults } = await read()
    expect(numbersOf(events)).toEqual([1, 0])
    expect(faults).toEqual([
      `${join(folder, backup(2))}.gz could not be read to its end: Z_DATA_ERROR`,
      `${join(folder, backup(1))} could not be read to its end: EISDIR`,
      `${join(folder, backup(0))}.gz could not be read to its end: EISDIR`,
    ])
  })
})

describe('files that can hold nothing of the answer are not opened (22.4)', () => {
  const OLD = `${backup(3)}.gz`

  test('a backup that was made more than an hour before the interval', async () => {
    write(OLD, 'plain text')
    write('audit.log', numberedLines(7200, 1))
    expect((await read({ since: '2026-11-28T13:00:04Z' })).faults).toEqual([])
    expect((await read({ since: '2026-11-28T13:00:03Z' })).faults).toHaveLength(1)
    expect((await read()).faults).toHaveLength(1)
  })

  test('a backup that is older than as many events as are asked for', async () => {
    write(OLD, 'plain text')
    write('audit.log', numberedLines(7200, 10))
    const { hasMore, faults } = await read({ limit: '9' })
    expect({ hasMore, faults }).toEqual({ hasMore: true, faults: [] })
    expect((await read({ limit: '10' })).faults).toHaveLength(1)
  })
})

test.each([
  { name: 'is rotated', compresses: false },
  { name: 'is rotated and compressed', compresses: true },
])(
  'a line that stood in the log is found while the log $name (22.1, 22.4)',
  async ({ compresses }) => {
    const rotate = (name: string): void => {
      renameSync(join(folder, 'audit.log'), join(folder, name))
      if (!compresses) return
      writeFileSync(join(folder, `${name}.gz`), gzipSync(numberedLines(0, 3)))
      unlinkSync(join(folder, name))
    }
    /** Rotates after this many turns of the event loop: each step of the reader is met by some round. */
    const rotateAfter = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
      rotate(backup(3))
      write('audit.log', numberedLines(3, 3))
    }
    const found = new Set<string>()
    for (let round = 0; round < 100; round += 1) {
      for (const name of readdirSync(folder)) unlinkSync(join(folder, name))
      write('audit.log', numberedLines(0, 3))
      const [{ events, faults }] = await Promise.all([read(), rotateAfter(round * 2)])
      expect(faults).toEqual([])
      const numbers = numbersOf(events)
      expect(numbers.filter((one) => one < 3)).toEqual([2, 1, 0])
      found.add(numbers.join())
    }
    // With and without the lines that came later: the rotation was at different steps.
    expect([...found].toSorted()).toEqual(['2,1,0', '5,4,3,2,1,0'])
  },
)

describe('a backup that, while others are read,', () => {
  const OLD = backup(3)

  /** What is found in each of many rounds: the backup goes at each step of the reader. */
  async function foundInRounds(goes: () => void): Promise<readonly string[]> {
    const found: string[] = []
    for (let round = 0; round < 50; round += 1) {
      for (const name of readdirSync(folder)) unlinkSync(join(folder, name))
      write(OLD, numberedLines(0, 3))
      write('audit.log', numberedLines(3, 3))
      const goAfter = async (turns: number): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
        goes()
      }
      const [{ events, faults }] = await Promise.all([read(), goAfter(round * 3)])
      found.push(`${events.length} ${faults.join().replace(folder, '')}`.trim())
    }
    return [...new Set(found)].toSorted()
  }

  test('is compressed is found (22.1, 22.4)', async () => {
    const compress = (): void => {
      write(`${OLD}.gz`, gzipSync(numberedLines(0, 3)))
      unlinkSync(join(folder, OLD))
    }
    expect(await foundInRounds(compress)).toEqual(['6'])
  })

  test('is removed is named, unless that was before the directory was listed (22.1, 22.4)', async () => {
    const found = await foundInRounds(() => unlinkSync(join(folder, OLD)))
    const named = `3 /${OLD} could not be read to its end: ENOENT`
    expect(['3', named, '6']).toEqual(expect.arrayContaining([...found]))
    expect(found.length).toBeGreaterThan(1)
  })
})

describe('lines of a stream', () => {
  test('are the same however it comes in pieces', async () => {
    const random = randomFrom(11)
    const text = `a\n\nbcd\n${'é'.repeat(50)}\n\nlast`
    for (let round = 0; round < 50; round += 1) {
      const bytes = Buffer.from(text)
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; ) {
        const end = at + Math.floor(random.between(0, 9))
        pieces.push(bytes.subarray(at, end))
        at = end
      }
      const lines: unknown[] = []
      for await (const some of linesOf(streamOf(pieces)))
        lines.push(...some.map(({ text: line }) => line))
      expect(lines).toEqual(text.split('\n'))
    }
  })

  test('longer than 8 MiB take no more memory, are counted, and end at their line feed (22.4)', async () => {
    let mostBytes = 0
    const before = process.memoryUsage().arrayBuffers
    async function* endless(): AsyncGenerator<Buffer> {
      for (let piece = 0; piece < 512; piece += 1) {
        yield Buffer.alloc(1024 * 1024, 0x61)
        mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers - before)
      }
      yield Buffer.from('\nnext\n')
    }
    const lines: (string | null)[] = []
    for await (const some of linesOf(endless())) lines.push(...some.map(({ text }) => text))
    expect(lines).toEqual([null, 'next'])
    expect(mostBytes).toBeLessThan(256 * 1024 * 1024)
  })

  test('of 8 MiB are lines', async () => {
    const line = Buffer.alloc(LONGEST_LINE, 0x61)
    const sizes: unknown[] = []
    for await (const some of linesOf(streamOf([line, Buffer.from('\nb\n')])))
      sizes.push(...some.map(({ text }) => text?.length))
    expect(sizes).toEqual([LONGEST_LINE, 1])
  })
})

async function* streamOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}
