// A folder of an audit log with senders of it, which send to a test's platform by a clock that the test moves.
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { createCentralClient } from '../../../../src/audit/agent/central-client.ts'
import { EventSender } from '../../../../src/audit/agent/sender.ts'
import { AuditSpool } from '../../../../src/audit/agent/spool.ts'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import { numberedLines, type BuiltEvent } from '../../../support/audit-event-builder.ts'
import { EVENTS_FROM_MS } from '../../../support/audit-store-events.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../files/sink-folder.ts'
import { type PlatformAnswer, status, TestPlatform } from './test-platform.ts'

/** The auditIDs of these events. */
export const ids = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `id-${first + at}`)

/** A folder whose files a test writes itself. */
export class SpoolFolder {
  readonly path = temporaryFolder()

  file(name: string): string {
    return join(this.path, name)
  }

  /** Appends events. */
  write(first: number, count: number, fields: BuiltEvent = {}): void {
    this.append(numberedLines(first, count, fields))
  }

  append(text: string): void {
    appendFileSync(this.file('audit.log'), text)
  }

  /** Makes `audit.log` the backup of this number. */
  rotate(number: number): void {
    renameSync(this.file('audit.log'), this.file(this.backup(number)))
  }

  compress(number: number): void {
    const path = this.file(this.backup(number))
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)))
    rmSync(path)
  }

  backup(number: number): string {
    return freeBackupName([], EVENTS_FROM_MS + number)
  }

  /** The text of the file of the position; empty = there is none. */
  position(): string {
    const path = this.file('audit.position')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
}

/** A key in a file of its own. */
export function keyFile(): { readonly path: string; readonly key: string } {
  const path = join(temporaryFolder(), 'key')
  const key = `pak_${randomBytes(32).toString('hex')}`
  writeFileSync(path, `${key}\n`)
  return { path, key }
}

/** What a sender has reports. */
interface Reports {
  refused: number
  lost: number
  unwanted: number
  healed: number
  readonly failures: string[]
  readonly positionFailures: string[]
}

/** A running sender. */
export interface Sending {
  readonly sender: EventSender
  readonly spool: AuditSpool
  readonly clock: ManualClock
  readonly reports: Reports
  /** Moves the clock by polls, but only while the sender waits for the next one, until the probe says so. */
  readonly until: (what: string, probe: () => boolean, stepMs?: number) => Promise<void>
  /** Whether a request is under way. */
  readonly isAsking: () => boolean
  /** Whether it waits for the next poll. */
  readonly isIdle: () => boolean
  readonly end: () => Promise<void>
}

/** Options of startSender. */
interface SendingOptions {
  readonly folder: SpoolFolder
  readonly platform: Pick<TestPlatform, 'url' | 'ca'>
  readonly keyPath?: string
  readonly clock?: ManualClock
  readonly syncBack?: 'send' | 'hold' | 'discard'
}

/** Starts a sender, which sends until the test ends. */
export async function startSender(options: SendingOptions): Promise<Sending> {
  const { folder, platform, keyPath = keyFile().path, syncBack = 'send' } = options
  const clock = options.clock ?? manualClock(EVENTS_FROM_MS)
  const spool = new AuditSpool(folder.path, { limitBytes: 1e9, whenFull: 'refuse' })
  const reports: Reports = {
    refused: 0,
    lost: 0,
    unwanted: 0,
    healed: 0,
    failures: [],
    positionFailures: [],
  }
  const closing = new AbortController()
  const central = createCentralClient({
    url: platform.url,
    ca: platform.ca,
    accessKeyFile: keyPath,
    cluster: 'east',
    clock,
    signal: closing.signal,
  })
  let asking = 0
  const sender = new EventSender({
    central: {
      sendEvents: async (list) => {
        asking += 1
        try {
          return await central.sendEvents(list)
        } finally {
          asking -= 1
        }
      },
    },
    folder: folder.path,
    positionFile: folder.file('audit.position'),
    spool,
    clock,
    observer: {
      sendingFailed: (cause) => void reports.failures.push((cause as Error).message),
      sendingHealed: () => void (reports.healed += 1),
      positionFailed: (cause) => void reports.positionFailures.push((cause as Error).message),
      eventsRefused: (count) => void (reports.refused += count),
      eventsLost: (count) => void (reports.lost += count),
      eventsUnwanted: () => void (reports.unwanted += 1),
    },
  })
  await sender.load()
  sender.apply(syncBack)
  sender.start()
  const end = async (): Promise<void> => {
    const cut = AbortSignal.abort()
    closing.abort()
    await sender.end(cut)
  }
  onTestFinished(end)
  const isIdle = (): boolean => asking === 0 && clock.pending() > 0
  const until: Sending['until'] = async (what, probe, stepMs = 500) => {
    const deadlineMs = performance.now() + 20_000
    while (!probe()) {
      if (performance.now() > deadlineMs) throw new Error(`not within 20 s: ${what}`)
      if (isIdle()) await clock.advance(stepMs)
      else await setImmediate()
    }
  }
  return { sender, spool, clock, reports, until, isAsking: () => asking > 0, isIdle, end }
}

/** A folder, a platform, and a sender between the two. */
export async function started(answer: PlatformAnswer = status(200), folder = new SpoolFolder()) {
  const platform = await TestPlatform.start(answer)
  const sending = await startSender({ folder, platform })
  const sent = (): readonly string[] => platform.batches.flat()
  return { folder, platform, sent, ...sending }
}

/** Answers with these, one after the other, and then with 200. */
export const inTurn = (...answers: readonly PlatformAnswer[]): PlatformAnswer => {
  const left = [...answers]
  return (request, response) => (left.shift() ?? status(200))(request, response)
}

/** Whether so many events were sent. */
export const has =
  (sent: () => readonly string[], count: number): (() => boolean) =>
  () =>
    sent().length >= count
