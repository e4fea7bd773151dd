// A process that writes numbered lines to an audit log until it is killed, and says on descriptor 3 what became of each:
// `written 7`, `refused 7`, `failed: why`, `healed`, `started`. Its argument is LogWriterOptions as JSON.
import { writeSync } from 'node:fs'
import type { LogRetention } from '../../../../src/audit/audit-log.ts'
import { openSink } from '../../../../src/audit/files/sink.ts'
import { LineQueue } from '../../../../src/audit/line-queue.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'

/** What the process does. */
export interface LogWriterOptions extends LogRetention {
  readonly path: string
  /** The number of its first line. */
  readonly first: number
  /** How many lines are on their way at any time. */
  readonly atOnce: number
  /** The longest line, in characters; lengths vary. */
  readonly lineLength: number
  /** How many times as fast its clock runs. */
  readonly haste: number
  /** Whether maxSize changes all the time, from nothing to twice as much. */
  readonly isRestless: boolean
  /** Whether it gives up the rights of root. */
  readonly isNobody: boolean
}

const NOBODY = 65534

const options = JSON.parse(process.argv[2] ?? '') as LogWriterOptions
const say = (text: string): void => void writeSync(3, `${text}\n`)
const real = systemClock()
const clock: Clock = {
  nowMs: () => real.nowMs(),
  monotonicMs: () => real.monotonicMs() * options.haste,
  schedule: (delayMs, callback) => real.schedule(delayMs / options.haste, callback),
}

// Compiled before the rights to read it are given up.
await import('node:sqlite')
if (options.isNobody && process.getuid?.() === 0) process.setuid?.(NOBODY)

const sink = openSink(options, {
  subdirectory: null,
  sync: 'write',
  spool: null,
  clock,
  upkeepFailed: (cause) => say(`upkeep failed: ${(cause as Error).message}`),
})
const queue = new LineQueue({
  sink,
  clock,
  observer: {
    wrote: () => undefined,
    failed: (cause) => say(`failed: ${(cause as Error).message}`),
    healed: () => say('healed'),
    lost: (count) => say(`lost ${count}`),
  },
  announced: () => 0,
})

let next = options.first
async function writeLines(): Promise<void> {
  for (;;) {
    const number = next
    next += 1
    const length = (number * 7919) % options.lineLength
    const text = JSON.stringify({ number, padding: 'x'.repeat(length) })
    await queue.write({ text, withoutBodies: () => text }).then(
      () => say(`written ${number}`),
      async () => {
        say(`refused ${number}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      },
    )
  }
}

process.on('SIGTERM', () => process.exit(0))
say('started')
for (let line = 0; line < options.atOnce; line += 1) void writeLines()
if (options.isRestless)
  setInterval(() => {
    const maxSize = Math.random() * 2 * options.maxSize
    sink.changeRetention({ ...options, maxSize, compress: Math.random() < 0.5 })
  }, 3)
