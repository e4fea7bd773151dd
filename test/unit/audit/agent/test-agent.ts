// An agent with its recorder, as a direct endpoint has them, which a test's platform answers.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import { AgentAudit } from '../../../../src/audit/agent/agent-audit.ts'
import type { SpoolLimits } from '../../../../src/audit/agent/spool.ts'
import { AUDIT_FILE, backupOf } from '../../../../src/audit/files/backups.ts'
import { openSink } from '../../../../src/audit/files/sink.ts'
import { AuditRecorder } from '../../../../src/audit/recorder.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'
import { numberedEvent, type BuiltEvent } from '../../../support/audit-event-builder.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryFolder } from '../files/sink-folder.ts'
import { keyFile } from './sender-folder.ts'
import type { PlatformAnswer, TestPlatform } from './test-platform.ts'

/** A clock that runs this many times as fast. */
export function hastyClock(haste: number): Clock {
  const real = systemClock()
  const startMs = real.nowMs()
  return {
    nowMs: () => startMs + Math.floor((real.nowMs() - startMs) * haste),
    monotonicMs: () => real.monotonicMs() * haste,
    schedule: (delayMs, callback) => real.schedule(delayMs / haste, callback),
  }
}

/** A list with the Config in force, and with another one that is not. */
export const configList = (audit: AuditSettings): string =>
  JSON.stringify({
    kind: 'ConfigList',
    items: [
      { status: { audit: { level: 9 } } },
      {
        status: {
          observedGeneration: 1,
          conditions: [{ type: 'Ready', status: 'True', reason: 'Applied' }],
          audit,
        },
      },
      {
        status: {
          observedGeneration: 1,
          conditions: [{ type: 'Ready', status: 'False', reason: 'NotInForce' }],
          audit: { level: 1 },
        },
      },
    ],
  })

/** Answers reads of the settings with these, and posts of events as given. */
export const platformAnswer =
  (audit: AuditSettings, events: PlatformAnswer): PlatformAnswer =>
  (request, response) =>
    request.method === 'GET' ? response.end(configList(audit)) : events(request, response)

/** What an agent has reports, a word for each callback. */
type Reports = readonly string[]

/** A running agent. */
export interface TestAgent {
  readonly agent: AgentAudit
  readonly recorder: AuditRecorder
  readonly clock: Clock
  readonly folder: string
  readonly reports: Reports
  readonly applied: readonly AuditSettings[]
  /** How many events were lost in the spool, were refused, and are lost in memory. */
  readonly counts: { lost: number; refused: number; lostLines: number }
  /** Records an event; whether its line is in a file. */
  readonly record: (number: number, fields?: BuiltEvent) => Promise<boolean>
  readonly isFailed: () => boolean
  /** Stops as a process that gets SIGTERM. */
  readonly stop: (signal?: AbortSignal) => Promise<void>
}

/** Options of startAgent; those that are absent have their defaults. */
interface TestAgentOptions extends Partial<SpoolLimits> {
  readonly platform: Pick<TestPlatform, 'url' | 'ca'>
  readonly folder?: string
  readonly stateDir?: string | null
  readonly keyPath?: string
  /** Of the sender and of the settings. */
  readonly clock?: Clock
}

/** Starts an agent, which is stopped at the end of the test. */
export async function startAgent(options: TestAgentOptions): Promise<TestAgent> {
  const { platform, folder = temporaryFolder(), stateDir = null } = options
  const { clock = hastyClock(10), limitBytes = 64 * 1024 * 1024, whenFull = 'refuse' } = options
  const reports: string[] = []
  const counts = { lost: 0, refused: 0, lostLines: 0 }
  const tell =
    (word: string) =>
    (cause?: unknown): void =>
      void reports.push(cause instanceof Error ? `${word}: ${cause.message}` : word)
  const agent = new AgentAudit({
    central: {
      url: `${platform.url}/`,
      ca: platform.ca,
      accessKeyFile: options.keyPath ?? keyFile().path,
      cluster: 'east',
    },
    directory: { path: folder, subdirectory: null },
    stateDir,
    spool: { limitBytes, whenFull },
    clock,
    observer: {
      settingsFailed: tell('settings failed'),
      settingsHealed: tell('settings healed'),
      sendingFailed: tell('sending failed'),
      sendingHealed: tell('sending healed'),
      positionFailed: tell('position failed'),
      eventsRefused: (count) => void (counts.refused += count),
      eventsLost: (count) => void (counts.lost += count),
      eventsUnwanted: tell('unwanted'),
    },
  })
  const own = hastyClock(5)
  const recorder = new AuditRecorder({
    clock: own,
    openSink: (settings) =>
      openSink(settings, {
        subdirectory: null,
        sync: 'write',
        spool: agent.spool,
        clock: own,
        upkeepFailed: tell('upkeep failed'),
      }),
    observer: {
      wrote: () => undefined,
      failed: tell('sink failed'),
      healed: tell('sink healed'),
      lost: (count) => void (counts.lostLines += count),
    },
  })
  const applied: AuditSettings[] = []
  await agent.start((settings) => {
    applied.push(settings)
    recorder.apply(settings)
  })
  const stop = async (signal = AbortSignal.timeout(5000)): Promise<void> => {
    await recorder.end(signal)
    await agent.end(signal)
  }
  onTestFinished(() => stop(AbortSignal.abort()))
  return {
    agent,
    recorder,
    clock,
    folder,
    reports,
    applied,
    counts,
    isFailed: () => recorder.current?.log.isFailed === true,
    record: async (number, fields) => {
      const text = JSON.stringify(numberedEvent(number, fields))
      const written = recorder.current?.log.write({ text, withoutBodies: () => text })
      return written === undefined
        ? false
        : written.then(
            () => true,
            () => false,
          )
    },
    stop,
  }
}

/** Bytes of the files of a log. */
export const bytesIn = (folder: string): number =>
  readdirSync(folder)
    .filter((name) => name === AUDIT_FILE || backupOf(name) !== null)
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

/** Names of the backups in a folder. */
export const backupsIn = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => backupOf(name) !== null)

/** Waits for a condition, for 10 s at most. */
export const until = (what: string, probe: () => boolean): Promise<true> =>
  eventually(what, () => (probe() ? true : undefined), { withinMs: 10_000 })
