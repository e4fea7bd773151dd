// One audit log: a queue of lines in front of its sink, open until the last request that it records has ended.
import type { AuditLine } from '../domain/audit/audit-line.ts'
import type { Clock } from '../runtime/clock.ts'
import { LineQueue, type LineQueueObserver, type LineSink } from './line-queue.ts'

/** How long backups of the log stay, and when a file becomes one; from Config. */
export interface LogRetention {
  /** Megabytes at which a file is rotated. */
  readonly maxSize: number
  /** 0 = all. */
  readonly maxBackups: number
  /** Days of 24 hours; 0 = no limit. */
  readonly maxAge: number
  readonly compress: boolean
}

/** Where a log is written, and how it is kept. */
export interface LogSettings extends LogRetention {
  /** The directory of the setting `path`; `-` = standard output. */
  readonly path: string
}

/** The sink of a log. */
export interface AuditSink extends LineSink {
  /** Applies another retention, from now on. */
  readonly changeRetention: (retention: LogRetention) => void
}

/** Dependencies of a log. */
export interface AuditLogDeps {
  readonly openSink: (settings: LogSettings) => AuditSink
  readonly clock: Clock
  readonly observer: LineQueueObserver
}

/** A log of one path. */
export class AuditLog {
  readonly path: string
  readonly #sink: AuditSink
  readonly #queue: LineQueue
  #successor: AuditLog | null = null
  #requests = 0
  #announced = 0
  #isRetired = false
  #isDraining = false
  #closed: Promise<void> | null = null

  constructor(settings: LogSettings, { openSink, clock, observer }: AuditLogDeps) {
    this.path = settings.path
    this.#sink = openSink(settings)
    this.#queue = new LineQueue({
      sink: this.#sink,
      clock,
      observer,
      announced: () => this.#announced,
    })
  }

  /** Whether the last write failed, here or in the log that follows this one. */
  get isFailed(): boolean {
    return this.#successor?.isFailed ?? this.#queue.isFailed
  }

  /** Bytes of lines that wait to be written. */
  get waitingBytes(): number {
    return this.#queue.waitingBytes
  }

  changeRetention(retention: LogRetention): void {
    this.#sink.changeRetention(retention)
  }

  /** Keeps the log open until `release`, once for each request that is recorded. */
  retain(): void {
    this.countRequests(1)
  }

  release(): void {
    this.countRequests(-1)
  }

  /** Counts more requests that write here, or fewer, and in the log that follows. */
  countRequests(requests: number): void {
    this.#requests += requests
    this.#successor?.countRequests(requests)
    if (this.#isRetired) void this.#closeWhenUnused()
  }

  /** A request is under way whose line will come soon, until `settle`. */
  announce(): void {
    this.#announced += 1
  }

  /** The line of a request that was announced comes now, or never. */
  settle(): void {
    this.#announced -= 1
  }

  /**
   * Writes a line, in the log that follows this one if there is one.
   *
   * @throws NotRecordedError when the line is not written yet
   */
  write(line: AuditLine): Promise<void> {
    return this.#successor?.write(line) ?? this.#queue.write(line)
  }

  /**
   * No further request is recorded here. The log closes once the last one has ended, or once its lines are written where
   * another log follows it.
   *
   * @param successor where the requests that it records write from now on; null = audit is off
   */
  retire(successor: AuditLog | null): void {
    this.#isRetired = true
    this.#successor = successor
    // They write there from now on, also once that log is retired as well.
    successor?.countRequests(this.#requests)
    void this.#closeWhenUnused()
  }

  /** Takes new requests again, by these settings. */
  resume(retention: LogRetention): void {
    this.#isRetired = false
    this.#successor?.countRequests(-this.#requests)
    this.#successor = null
    this.#sink.changeRetention(retention)
  }

  /** Writes what waits, and closes the log. @param signal ends the wait: lines that a failed sink did not take are lost */
  async end(signal: AbortSignal): Promise<void> {
    await this.#queue.drain(signal)
    await (this.#closed ??= this.#queue.close())
  }

  /** Whether its lines are written and its sink is closed, or about to be. */
  get isClosed(): boolean {
    return this.#closed !== null
  }

  async #closeWhenUnused(): Promise<void> {
    if (this.#isDraining || !this.#isUnused()) return
    this.#isDraining = true
    await this.#queue.drain(new AbortController().signal)
    this.#isDraining = false
    // A request may have written meanwhile.
    if (this.#isUnused() && this.#queue.waitingBytes === 0)
      await (this.#closed ??= this.#queue.close())
  }

  #isUnused(): boolean {
    return this.#isRetired && (this.#successor !== null || this.#requests === 0)
  }
}
