import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tether } from '../../../../tools/tether.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryFolder } from './sink-folder.ts'
import { numbersOf, startWriter, type WriterProcess } from './writer-process.ts'

const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_APPEND, O_CREAT, O_NOCTTY } = constants

/** Opens a file until the end of the test. */
function opened(path: string, flags: number): number {
  const descriptor = openSync(path, flags, 0o600)
  onTestFinished(() => closeSync(descriptor))
  return descriptor
}

/** A named pipe: its writing end, and readers that come and go. */
function namedPipe() {
  const path = join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [path])
  let text = ''
  const openReader = () => {
    const descriptor = openSync(path, O_RDONLY | O_NONBLOCK)
    let isOpen = true
    const chunk = Buffer.alloc(64 * 1024)
    /** Reads what is there. */
    const read = (): void => {
      for (let count = 1; count > 0; ) {
        try {
          count = readSync(descriptor, chunk)
        } catch {
          return
        }
        text += chunk.toString('latin1', 0, count)
      }
    }
    let isReading = true
    const repeat = (): void => {
      if (!isReading) return
      read()
      setTimeout(repeat, 5)
    }
    repeat()
    const stop = (): void => void (isReading = false)
    const go = (): void => {
      isReading = true
      repeat()
    }
    const close = (): void => {
      stop()
      if (isOpen) closeSync(descriptor)
      isOpen = false
    }
    onTestFinished(close)
    return { stop, go, close }
  }
  const reader = openReader()
  const writer = opened(path, O_WRONLY)
  return { reader, writer, openReader, lines: () => text.split('\n').slice(0, -1) }
}

const numberOf = (line: string): number => (JSON.parse(line) as { readonly number: number }).number

/** Expects whole lines, each once, and all that were written. */
async function expectWritten(writer: WriterProcess, lines: () => readonly string[]): Promise<void> {
  const expected = writer.written()
  const numbers = await eventually(
    'the reader has all that was written',
    () => {
      const found = new Set(lines().map(numberOf))
      return expected.every((number) => found.has(number)) ? lines().map(numberOf) : undefined
    },
    { withinMs: 10_000 },
  )
  expect(new Set(numbers).size).toBe(numbers.length)
}

test('lines go to a pipe, and one whose reader stops is failed after 5 s, until it reads on (22.1, 22.2)', async () => {
  const pipe = namedPipe()
  const writer = startWriter({ path: '-', stdout: pipe.writer, atOnce: 8, lineLength: 5000 })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  pipe.reader.stop()
  expect(await failed).toBe('failed: no answer within 5000 ms')
  // Its event loop goes on.
  await writer.until(/^refused/)
  await writer.until(/^refused/)
  const healed = writer.until('healed', 5000)
  pipe.reader.go()
  await healed
  await writer.until(/^written/)
  await writer.kill()
  expect(numbersOf(writer.said(), 'refused').length).toBeGreaterThan(0)
  await expectWritten(writer, pipe.lines)
})

test('a process whose reader has stopped can end (22.1)', async () => {
  const pipe = namedPipe()
  const writer = startWriter({ path: '-', stdout: pipe.writer, atOnce: 8, lineLength: 5000 })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  pipe.reader.stop()
  await failed
  writer.child.kill('SIGTERM')
  const { exitCode } = await eventually(
    'it has ended',
    () => (writer.child.exitCode === null ? undefined : writer.child),
    { withinMs: 5000 },
  )
  expect(exitCode).toBe(0)
})

test('a pipe whose reader goes away is failed, until there is another (22.2)', async () => {
  const pipe = namedPipe()
  const writer = startWriter({ path: '-', stdout: pipe.writer })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  pipe.reader.close()
  expect(await failed).toMatch('EPIPE')
  const healed = writer.until('healed', 5000)
  pipe.openReader()
  await healed
  await writer.until(/^written/)
})

test('lines go to the pipe of a parent process (22.1)', async () => {
  const writer = startWriter({ path: '-', stdout: 'pipe' })
  let text = ''
  writer.child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part))
  await writer.until(/^written/)
  await writer.kill()
  await expectWritten(writer, () => text.split('\n').slice(0, -1))
  expect(writer.said().filter((line) => !line.startsWith('written'))).toEqual(['started'])
})

test('a line that a limit cut short in a file is continued where it ended (22.1)', async () => {
  const path = join(temporaryFolder(), 'out')
  const descriptor = opened(path, O_WRONLY | O_APPEND | O_CREAT)
  const writer = startWriter({
    path: '-',
    stdout: descriptor,
    atOnce: 8,
    lineLength: 5000,
    under: ['prlimit', '--fsize=50000:unlimited'],
  })
  expect(await writer.until(/^failed/)).toMatch('EFBIG')
  await writer.until(/^refused/)
  expect(readFileSync(path).length).toBe(50_000)
  const healed = writer.until('healed', 5000)
  execFileSync('prlimit', [`--pid=${writer.child.pid}`, '--fsize=unlimited'])
  await healed
  await writer.until(/^written/)
  await writer.kill()
  await expectWritten(writer, () => readFileSync(path, 'utf8').split('\n').slice(0, -1))
})

test('a terminal that takes nothing now is waited for, and has every line once (22.1)', async () => {
  // `script` reads a terminal of its own, and shows us what it reads.
  const terminal = spawn('script', ['-qec', 'tty; exec sleep 60', '/dev/null'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  tether(terminal)
  onTestFinished(() => void terminal.kill('SIGKILL'))
  let text = ''
  terminal.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  const name = await eventually('it has a terminal', () => /\/dev\/pts\/\d+/.exec(text)?.[0], {
    withinMs: 5000,
  })
  const writer = startWriter({
    path: '-',
    stdout: opened(name, O_WRONLY | O_NONBLOCK | O_NOCTTY),
  })
  await writer.until(/^written/)
  const failed = writer.until(/^failed/)
  terminal.kill('SIGSTOP')
  expect(await failed).toBe('failed: no answer within 5000 ms')
  const healed = writer.until('healed', 5000)
  terminal.kill('SIGCONT')
  await healed
  await writer.until(/^written/)
  await writer.kill()
  await expectWritten(writer, () => text.split('\r\n').slice(1, -1))
})
