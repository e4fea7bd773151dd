// Lines on their way into the audit log: one write at a time, with all lines that came meanwhile in the next (contract 22.2). A
// line whose write fails is kept, and written once the sink is well again.
import type { AuditLine } from '../domain/audit/audit-line.ts'
import { type Clock, sleep, withTimeout } from '../runtime/clock.ts'

/** Where lines go. */
export interface LineSink {
  /** Appends the lines, all or none. @throws Error when none is appended */
  readonly append: (lines: readonly string[]) => Promise<void>
}

/** Callbacks for the queue's failures. */
export interface LineQueueObserver {
  /** The first write of a failure failed, or takes too long. */
  readonly failed: (cause: unknown) => void
  /** Writes succeed again. */
  readonly healed: () => void
  /** Lines for which there was no room, not even without bodies. */
  readonly lost: (count: number) => void
}

/** Dependencies of the queue, and its bounds. */
interface LineQueueOptions {
  readonly sink: LineSink
  readonly clock: Clock
  readonly observer: LineQueueObserver
}

/** How long a write may take before the sink counts as failed, in milliseconds. */
export const WRITE_TIMEOUT_MS = 5000

/** The pause before a failed write is tried again, in milliseconds. */
const RETRY_AFTER_MS = 1000

/** How many bytes of lines wait at most. */
const LONGEST_QUEUE_BYTES = 64 * 1024 * 1024

/** The line could not be written yet: it is kept for later, as far as there is room. */
export class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError'
}

interface WaitingLine {
  readonly text: string
  readonly bytes: number
  readonly written: PromiseWithResolvers<void>
}

/** A queue of lines in front of a sink. */
export class LineQueue {
  readonly #options: LineQueueOptions
  #waiting: WaitingLine[] = []
  #waitingBytes = 0
  #running: Promise<void> | null = null
  #isFailed = false

  constructor(options: LineQueueOptions) {
    this.#options = options
  }

  /** Whether the last write failed or takes too long: what must be recorded is then refused. */
  get isFailed(): boolean {
    return this.#isFailed
  }

  /** Bytes of lines that wait, with the write under way. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /**
   * Writes a line; resolves when the sink has it.
   *
   * @throws NotRecordedError when that fails or takes too long, at once while the sink is failed
   */
  async write(line: AuditLine): Promise<void> {
    const waiting = this.#fitting(line)
    if (waiting === null) {
      this.#options.observer.lost(1)
      throw new NotRecordedError('there is no room for the record')
    }
    // Its failure may be reported before the caller waits for it.
    waiting.written.promise.catch(() => undefined)
    this.#waiting.push(waiting)
    this.#waitingBytes += waiting.bytes
    if (this.#isFailed) refuse([waiting])
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return waiting.written.promise
  }

  /** Resolves when nothing waits any more, at the signal, or at the first failure after it. */
  async drain(signal: AbortSignal): Promise<void> {
    while (this.#running !== null && !signal.aborted) {
      const aborted = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => aborted.resolve(), { once: true })
      await Promise.race([this.#running, aborted.promise])
    }
  }

  /** The line, or what there is room for of it; null = nothing. */
  #fitting({ text, withoutBodies }: AuditLine): WaitingLine | null {
    for (const one of [text, withoutBodies]) {
      const bytes = Buffer.byteLength(one) + 1
      if (this.#waitingBytes + bytes <= LONGEST_QUEUE_BYTES)
        return { text: one, bytes, written: Promise.withResolvers() }
    }
    return null
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      if (await this.#append(batch)) continue
      this.#waiting = [...batch, ...this.#waiting]
      await sleep(this.#options.clock, RETRY_AFTER_MS, NEVER)
    }
  }

  /** Appends a batch. @returns whether the sink has it */
  async #append(batch: readonly WaitingLine[]): Promise<boolean> {
    const { sink, clock } = this.#options
    const appending = sink.append(batch.map(({ text }) => text))
    try {
      // A write that takes too long goes on: a second one would be beside it.
      await withTimeout(clock, WRITE_TIMEOUT_MS, () => appending).catch(async (error: unknown) => {
        this.#fail(error, batch)
        await appending
      })
    } catch {
      return false
    }
    this.#waitingBytes -= batch.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { written } of batch) written.resolve()
    this.#heal()
    return true
  }

  #fail(cause: unknown, batch: readonly WaitingLine[]): void {
    refuse([...batch, ...this.#waiting])
    if (this.#isFailed) return
    this.#isFailed = true
    this.#options.observer.failed(cause)
  }

  #heal(): void {
    if (!this.#isFailed) return
    this.#isFailed = false
    this.#options.observer.healed()
  }
}

const NEVER = new AbortController().signal

/** Tells their callers that the lines are not written yet. */
function refuse(lines: readonly WaitingLine[]): void {
  for (const { written } of lines)
    written.reject(new NotRecordedError('the record could not be written yet'))
}
