// Sends the events of an agent to the platform, from the files of its log (contract 23.1): at least once, in order, one batch
// under way.
import { setImmediate } from 'node:timers/promises'
import { eventFieldsOf } from '../../domain/audit/event-fields.ts'
import { eventListOf } from '../../domain/audit/event-list.ts'
import { parseJson } from '../../domain/json/json.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { readKeptFile, replaceKeptFile } from '../../runtime/kept-file.ts'
import { LogReader, type ReadLines } from '../follower/log-reader.ts'
import { type LogPosition, parsePosition, positionText } from '../follower/position.ts'
import type { SyncBack } from './agent-settings.ts'
import {
  fitsBatch,
  MOST_BYTES,
  MOST_EVENTS,
  nextBatch,
  type SpooledLine,
  outcomeOf,
} from './batch.ts'
import type { CentralClient } from './central-client.ts'
import type { AuditSpool } from './spool.ts'

/** Callbacks of a sender. */
export interface SenderObserver {
  /** Events can't be sent, or their files can't be read; once a failure. @param cause may be logged */
  readonly sendingFailed: (cause: unknown) => void
  readonly sendingHealed: () => void
  /** The position can't be kept, so that a restart sends events again; once a failure. @param cause may be logged */
  readonly positionFailed: (cause: unknown) => void
  /** Events that the platform refuses each alone or that fit no batch, and lines without an event: they are not sent again. */
  readonly eventsRefused: (count: number) => void
  /** Events whose files were removed before they were sent; an estimate. */
  readonly eventsLost: (count: number) => void
  /** Audit is off at the platform: what was unsent is not sent any more. Once, until it takes events again. */
  readonly eventsUnwanted: () => void
}

/** Dependencies of a sender. */
interface SenderOptions {
  readonly central: Pick<CentralClient, 'sendEvents'>
  /** Where `audit.log` and its backups are. */
  readonly folder: string
  /** The file of the position. */
  readonly positionFile: string
  readonly spool: Pick<AuditSpool, 'sentUntil' | 'count' | 'unsentFiles' | 'takeDropped'>
  readonly clock: Clock
  readonly observer: SenderObserver
}

/** The interval of reading while nothing is written, in milliseconds. */
const POLL_MS = 500

/** The pause after a failure; the longest is 23.1's. */
const BACKOFF = { firstMs: 500, longestMs: 60_000 } as const

const LARGEST_POSITION = 4096

/** Lines that are read and not sent; all of one file. */
interface UnsentLines {
  readonly lines: readonly SpooledLine[]
  readonly position: LogPosition
}

/** The sender of one directory. */
export class EventSender {
  readonly #options: SenderOptions
  readonly #eventLoop: EventLoopShare
  readonly #ending = new AbortController()
  #cut: AbortSignal = NEVER
  #running: Promise<void> = Promise.resolve()
  #reader: LogReader | null = null
  #position: LogPosition | null = null
  /** What the file of the position has. */
  #kept: string | null = null
  #hasPositionFailed = false
  #pending: UnsentLines | null = null
  #mostEvents = MOST_EVENTS
  #syncBack: SyncBack = 'hold'
  /** Whether what is unsent at the next turn is passed over. */
  #isSkipping = false
  #failures = 0
  #dueMs = Number.NEGATIVE_INFINITY
  #isUnwanted = false

  constructor(options: SenderOptions) {
    this.#options = options
    this.#eventLoop = new EventLoopShare(options.clock)
  }

  /** Takes the position of an earlier process; a damaged one counts as none, and everything is sent again. */
  async load(): Promise<void> {
    const { positionFile, spool } = this.#options
    const content = await readKeptFile(positionFile, LARGEST_POSITION).catch(() => null)
    this.#position = content === null ? null : parsePosition(content.toString())
    this.#kept = textOf(this.#position)
    if (this.#position !== null) spool.sentUntil(this.#position)
    // The sink asks for the unsent bytes before its first line.
    await spool.unsentFiles().catch(() => undefined)
  }

  /** Sends, holds or discards events from now on; those that are unsent when it discards are never sent. */
  apply(syncBack: SyncBack): void {
    this.#syncBack = syncBack
    if (syncBack === 'discard') this.#isSkipping = true
    this.#options.spool.count(syncBack !== 'discard')
  }

  /** Sends until `end`. */
  start(): void {
    this.#running = this.#run()
  }

  /** Sends what is there, as long as that succeeds, and ends. @param signal ends it before */
  async end(signal: AbortSignal): Promise<void> {
    this.#cut = signal
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#ending
    for (;;) {
      const isIdle = await this.#turn().catch((error: unknown) => this.#fail(error))
      if ((isIdle && signal.aborted) || this.#cut.aborted) break
      // Others get their turn also behind a batch that took no time.
      if (isIdle) await sleep(clock, POLL_MS, signal)
      else await setImmediate()
    }
    await this.#reader?.close().catch(() => undefined)
  }

  /** @returns whether there is nothing to do until the next poll */
  async #turn(): Promise<boolean> {
    const { spool, folder } = this.#options
    this.#reader ??= new LogReader(folder, this.#position, READ_LIMITS)
    if (this.#isSkipping) {
      await this.#discard(this.#reader)
    } else {
      await this.#countLost(this.#reader)
    }
    await this.#keepPosition()
    await spool.unsentFiles()
    return this.#maySend() ? !(await this.#sendNext(this.#reader)) : true
  }

  #maySend(): boolean {
    const isDue = this.#options.clock.monotonicMs() >= this.#dueMs
    return this.#syncBack === 'send' && !this.#isSkipping && isDue
  }

  /** Sends the next batch. @returns whether there was one */
  async #sendNext(reader: LogReader): Promise<boolean> {
    const { central, observer } = this.#options
    this.#pending ??= await pendingOf(await reader.next(), this.#eventLoop)
    if (this.#pending === null) {
      this.#heal()
      return false
    }
    const { events, lines } = nextBatch(this.#pending.lines, this.#mostEvents)
    if (events.length === 0) {
      await this.#passOver(this.#pending, lines, 0)
      return true
    }
    const status = await central.sendEvents(Buffer.from(eventListOf(events, null)))
    switch (outcomeOf(status)) {
      case 'accepted':
        this.#mostEvents = Math.min(this.#mostEvents * 2, MOST_EVENTS)
        this.#isUnwanted = false
        await this.#passOver(this.#pending, lines, events.length)
        break
      case 'refused':
        this.#mostEvents = Math.max(1, Math.floor(events.length / 2))
        if (events.length === 1) await this.#passOver(this.#pending, lines, 0)
        break
      case 'unwanted':
        if (!this.#isUnwanted) observer.eventsUnwanted()
        this.#isUnwanted = true
        await this.#skip(reader)
        break
      case 'again':
        throw new Error(`the platform answered ${status} when events were sent to it`)
    }
    this.#heal()
    return true
  }

  /** Goes on behind these lines. @param sent how many of them were sent; the others are not events, or were refused */
  async #passOver({ lines, position }: UnsentLines, count: number, sent: number): Promise<void> {
    if (count > sent) this.#options.observer.eventsRefused(count - sent)
    const rest = lines.slice(count)
    this.#pending = rest.length === 0 ? null : { lines: rest, position }
    const offset = lines[count - 1]?.end ?? position.offset
    await this.#advance({ ...position, offset })
  }

  /** Passes over what is there; once more behind the change that ends it, for what came until then. */
  async #discard(reader: LogReader): Promise<void> {
    this.#isSkipping = this.#syncBack === 'discard'
    try {
      await this.#skip(reader)
    } catch (error) {
      this.#isSkipping = true
      throw error
    }
  }

  /** Goes on behind everything that is there. */
  async #skip(reader: LogReader): Promise<void> {
    const position = await reader.skipToEnd()
    this.#pending = null
    if (position !== null) await this.#advance(position)
  }

  async #advance(position: LogPosition): Promise<void> {
    this.#position = position
    this.#options.spool.sentUntil(position)
    await this.#keepPosition()
  }

  /** Sending goes on without it, as on a full disk: only a restart needs it. */
  async #keepPosition(): Promise<void> {
    const text = textOf(this.#position)
    if (text === null || text === this.#kept) return
    try {
      await replaceKeptFile(this.#options.positionFile, [text])
      this.#kept = text
      this.#hasPositionFailed = false
    } catch (error) {
      if (!this.#hasPositionFailed) this.#options.observer.positionFailed(error)
      this.#hasPositionFailed = true
    }
  }

  /** Counts what went unsent with its files: those that the spool dropped, and those that others removed. */
  async #countLost(reader: LogReader): Promise<void> {
    for (const { atMs, textBytes } of this.#options.spool.takeDropped())
      reader.isDropped(atMs, textBytes)
    // Those that others remove are known only to those who looked before.
    await reader.survey()
    const lost = reader.takeUnread()
    if (lost > 0) this.#options.observer.eventsLost(lost)
  }

  #fail(error: unknown): boolean {
    if (this.#cut.aborted) return true
    if (this.#failures === 0) this.#options.observer.sendingFailed(error)
    this.#failures += 1
    this.#dueMs = this.#options.clock.monotonicMs() + backoffMs(BACKOFF, this.#failures - 1)
    return true
  }

  #heal(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    this.#options.observer.sendingHealed()
  }
}

const NEVER = new AbortController().signal

const READ_LIMITS = { lines: MOST_EVENTS, bytes: MOST_BYTES }

const textOf = (position: LogPosition | null): string | null => position && positionText(position)

/** The lines with their events; others get their turn while they are parsed. */
async function pendingOf(
  read: ReadLines | null,
  eventLoop: EventLoopShare,
): Promise<UnsentLines | null> {
  if (read === null) return null
  const lines: SpooledLine[] = []
  for (const [place, line] of read.lines.entries()) {
    await eventLoop.waitForTurn()
    const isSent = line !== null && fitsBatch(line) && eventFieldsOf(parseJson(line)) !== null
    lines.push({ event: isSent ? line : null, end: read.ends[place] ?? 0 })
  }
  return { lines, position: read.position }
}
