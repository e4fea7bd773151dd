// Lines to standard output (contract 22.1).
import { fstat, write } from 'node:fs'
import { promisify } from 'node:util'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { AuditSink } from '../audit-log.ts'

const STDOUT = 1
const statsOfDescriptor = promisify(fstat)
const writeBytes = promisify(write)

/** The pause before a terminal that takes nothing now is tried again, in milliseconds. */
const AGAIN_AFTER_MS = 50

const NEVER = new AbortController().signal

/** The sink of standard output, which needs no opening. A reader that stops makes `append` wait. */
export function standardOutputSink(clock: Clock): AuditSink {
  /** Of the first line that was not written whole: what is out already. Only a file may be cut short so. */
  let tornBytes = 0
  let isClosed = false
  const appendToFile = async (lines: readonly string[]): Promise<number> => {
    const bytes = bytesOf(lines)
    let written = tornBytes
    try {
      while (written < bytes.length) written += await writeSome(clock, bytes.subarray(written))
    } catch (error) {
      const { whole, rest } = progress(bytes, written)
      tornBytes = rest
      if (whole === 0) throw error
      return whole
    }
    tornBytes = 0
    return lines.length
  }
  return {
    open: async () => undefined,
    append: async (lines) => {
      if (isClosed) throw new Error('the audit log is closed')
      const stats = await statsOfDescriptor(STDOUT)
      if (!stats.isFIFO() && !stats.isSocket()) return appendToFile(lines)
      await writeToStream(bytesOf(lines))
      return lines.length
    },
    changeRetention: () => undefined,
    close: async () => {
      isClosed = true
    },
  }
}

const bytesOf = (lines: readonly string[]): Buffer =>
  Buffer.from(lines.map((line) => `${line}\n`).join(''))

/**
 * Pipes and sockets are left to the event loop, which waits for their reader: a thread that waits in a write would hold up the
 * end of the process. Resolves once the kernel has all.
 */
function writeToStream(bytes: Buffer): Promise<void> {
  const { stdout } = process
  // Each write reports its errors too; without a listener they would end the process.
  if (!stdout.listeners('error').includes(ignore)) stdout.on('error', ignore)
  return new Promise((resolve, reject) => {
    stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

function ignore(): void {}

/** @returns how many bytes were written; 0 = none could be now */
async function writeSome(clock: Clock, bytes: Buffer): Promise<number> {
  try {
    return (await writeBytes(STDOUT, bytes)).bytesWritten
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    await sleep(clock, AGAIN_AFTER_MS, NEVER)
    return 0
  }
}

/** How many lines were written whole, and how many bytes of the one behind them. */
function progress(
  bytes: Buffer,
  written: number,
): { readonly whole: number; readonly rest: number } {
  const out = bytes.subarray(0, written)
  const end = out.lastIndexOf('\n') + 1
  const whole = out.subarray(0, end).toString('latin1').split('\n').length - 1
  return { whole, rest: written - end }
}
