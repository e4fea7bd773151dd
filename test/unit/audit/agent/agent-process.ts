// An agent as a process: it records numbered events until it is killed, and says `written 7` on descriptor 3 for each that is in
// a file. Its argument is AgentProcessOptions as JSON.
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { AgentAudit } from '../../../../src/audit/agent/agent-audit.ts'
import { openSink } from '../../../../src/audit/files/sink.ts'
import { AuditRecorder } from '../../../../src/audit/recorder.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'
import { numberedEvent } from '../../../support/audit-event-builder.ts'

/** What the process does. */
export interface AgentProcessOptions {
  readonly url: string
  readonly ca: string
  readonly accessKeyFile: string
  readonly path: string
  readonly stateDir: string
  /** The number of its first event; null = it records none. */
  readonly first: number | null
}

const HASTE = 10

const options = JSON.parse(process.argv[2] ?? '') as AgentProcessOptions
const real = systemClock()
const clock: Clock = {
  nowMs: () => real.nowMs(),
  monotonicMs: () => real.monotonicMs() * HASTE,
  schedule: (delayMs, callback) => real.schedule(delayMs / HASTE, callback),
}
const nothing = (): void => undefined
const agent = new AgentAudit({
  central: {
    url: options.url,
    ca: options.ca,
    accessKeyFile: options.accessKeyFile,
    cluster: 'east',
  },
  directory: { path: options.path, subdirectory: null },
  stateDir: options.stateDir,
  spool: { limitBytes: 64 * 1024 * 1024, whenFull: 'refuse' },
  clock,
  observer: {
    settingsFailed: nothing,
    settingsHealed: nothing,
    sendingFailed: nothing,
    sendingHealed: nothing,
    positionFailed: nothing,
    eventsRefused: (count) => void writeSync(3, `refused ${count}\n`),
    eventsLost: (count) => void writeSync(3, `lost ${count}\n`),
    eventsUnwanted: nothing,
  },
})
const recorder = new AuditRecorder({
  clock,
  openSink: (settings) =>
    openSink(settings, {
      subdirectory: null,
      sync: 'write',
      spool: agent.spool,
      clock,
      upkeepFailed: nothing,
    }),
  observer: { wrote: nothing, failed: nothing, healed: nothing, lost: nothing },
})
await agent.start((settings) => recorder.apply(settings))
for (let number = options.first ?? Infinity; number < Infinity; number += 1) {
  const text = JSON.stringify(numberedEvent(number, { requestObject: 'x'.repeat(2000) }))
  await recorder.current?.log
    .write({ text, withoutBodies: () => text })
    .then(() => writeSync(3, `written ${number}\n`), nothing)
  if (number % 20 === 0) await setTimeout(1)
}
