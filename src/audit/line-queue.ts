// Lines on their way into the audit log: one write at a time, with all lines that came meanwhile in the next (contract 22.2). A
// line whose write fails is kept, and written once the sink is well again.
//
// A write costs as much CPU as ten lines, most of it to wake a thread. So where many requests are under way the next write waits a
// little, until half of them have their lines; a request that is alone waits for nothing.
import type { AuditLine } from '../domain/audit/audit-line.ts'
import { type Clock, sleep, withTimeout } from '../runtime/clock.ts'

/** Where lines go. One call is under way at a time, but for `close`. */
export interface LineSink {
  /** Makes it ready for lines; tried again every second until it succeeds. @throws Error when it is not ready */
  readonly open: () => Promise<void>
  /**
   * Appends the first lines, all of them or as many as it takes at once: one at least.
   *
   * @param lines the same and perhaps more after a failure, in the same order
   * @returns how many
   * @throws Error when none is appended
   */
  readonly append: (lines: readonly string[]) => Promise<number>
  /** Ends it, after the call under way; later calls fail. */
  readonly close: () => Promise<void>
}

/** Callbacks for the queue's writes. */
export interface LineQueueObserver {
  /** A write has succeeded. @param seconds how long it took */
  readonly wrote: (seconds: number) => void
  /** The first write of a failure failed, or takes too long; or the sink could not be opened. */
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
  /** How many requests are under way that have no line yet, and will have one soon. */
  readonly announced: () => number
}

/** The longest wait for lines of requests under way, from the end of a write to the next one, in milliseconds. */
const GATHER_MS = 4

/** How long a write may take before the sink counts as failed, in milliseconds. */
const WRITE_TIMEOUT_MS = 5000

/** The pause before a failed write is tried again, in milliseconds. */
const RETRY_AFTER_MS = 1000

/** How many bytes of lines wait at most. */
const LONGEST_QUEUE_BYTES = 64 * 1024 * 1024

/** How many bytes are written at once, if not one line is longer: joining them holds the event loop. */
const LONGEST_BATCH_BYTES = 4 * 1024 * 1024

/** The line could not be written yet: it is kept for later, as far as there is room. */
class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError'
}

interface WaitingLine {
  readonly text: string
  readonly bytes: number
  readonly written: PromiseWithResolvers<void>
}

/** A queue of lines in front of a sink, which it opens at once, so that a failure is known before the first line. */
export class LineQueue {
  readonly #options: LineQueueOptions
  readonly #closing = new AbortController()
  #waiting: WaitingLine[] = []
  #waitingBytes = 0
  #running: Promise<void> | null = null
  #isOpen = false
  #isFailed = false
  /** When the last write ended, by the monotonic clock. */
  #writtenMs = Number.NEGATIVE_INFINITY
  /** Resolves when enough lines wait; null = no write waits for more. */
  #gathered: PromiseWithResolvers<void> | null = null

  constructor(options: LineQueueOptions) {
    this.#options = options
    this.#start()
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
    if (this.#hasEnough()) this.#gathered?.resolve()
    this.#start()
    return waiting.written.promise
  }

  /** Resolves when no line waits any more, or at the signal. */
  async drain(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => aborted.resolve(), { once: true })
    while (this.#running !== null && this.#waiting.length > 0 && !signal.aborted)
      await Promise.race([this.#running, aborted.promise])
  }

  /** Tries nothing again, and closes the sink; lines that still wait are lost. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#gathered?.resolve()
    await this.#options.sink.close()
    const lost = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    refuse(lost)
    if (lost.length > 0) this.#options.observer.lost(lost.length)
  }

  /** The line, or what there is room for of it; null = nothing. */
  #fitting({ text, withoutBodies }: AuditLine): WaitingLine | null {
    if (this.#closing.signal.aborted) return null
    for (const form of [() => text, withoutBodies]) {
      const one = form()
      const bytes = Buffer.byteLength(one) + 1
      if (this.#waitingBytes + bytes <= LONGEST_QUEUE_BYTES)
        return { text: one, bytes, written: Promise.withResolvers() }
    }
    return null
  }

  #start(): void {
    if (this.#running === null && !this.#closing.signal.aborted) this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted && (!this.#isOpen || this.#waiting.length > 0)) {
      const gatherMs = this.#gatherMs()
      if (gatherMs > 0) await this.#gather(gatherMs)
      // Nothing is handed to a sink that was closed meanwhile.
      if (signal.aborted) break
      if (!(await this.#attempt())) await sleep(this.#options.clock, RETRY_AFTER_MS, signal)
    }
    // In the turn of the last look: a line that comes later starts anew.
    this.#running = null
  }

  /** Whether at least as many lines wait as are still to come. */
  #hasEnough(): boolean {
    return this.#waiting.length >= this.#options.announced()
  }

  /** How long the next write may wait for more lines; 0 or less = it must not. */
  #gatherMs(): number {
    const leftMs = this.#writtenMs + GATHER_MS - this.#options.clock.monotonicMs()
    return this.#hasEnough() ? 0 : leftMs
  }

  async #gather(longestMs: number): Promise<void> {
    const gathered = (this.#gathered = Promise.withResolvers<void>())
    const cancel = this.#options.clock.schedule(longestMs, gathered.resolve)
    await gathered.promise
    cancel()
    this.#gathered = null
  }

  /** Opens the sink, or writes to it. @returns whether that succeeded */
  async #attempt(): Promise<boolean> {
    const writing = this.#write()
    try {
      // A write that takes too long goes on: a second one would be beside it.
      await withTimeout(this.#options.clock, WRITE_TIMEOUT_MS, () => writing).catch(
        async (error: unknown) => {
          this.#fail(error)
          await writing
        },
      )
    } catch {
      return false
    }
    this.#heal()
    return true
  }

  async #write(): Promise<void> {
    const { sink, clock, observer } = this.#options
    if (!this.#isOpen) {
      await sink.open()
      this.#isOpen = true
      return
    }
    const startMs = clock.monotonicMs()
    const count = await sink.append(batchOf(this.#waiting).map(({ text }) => text))
    this.#writtenMs = clock.monotonicMs()
    observer.wrote((this.#writtenMs - startMs) / 1000)
    const appended = this.#waiting.slice(0, count)
    this.#waiting = this.#waiting.slice(count)
    this.#waitingBytes -= appended.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { written } of appended) written.resolve()
  }

  #fail(cause: unknown): void {
    if (this.#isFailed || this.#closing.signal.aborted) return
    this.#isFailed = true
    refuse(this.#waiting)
    this.#options.observer.failed(cause)
  }

  #heal(): void {
    if (!this.#isFailed) return
    this.#isFailed = false
    this.#options.observer.healed()
  }
}

/** The first lines, as many as are written at once. */
function batchOf(lines: readonly WaitingLine[]): readonly WaitingLine[] {
  let bytes = 0
  const end = lines.findIndex((line) => (bytes += line.bytes) > LONGEST_BATCH_BYTES)
  return end === -1 ? lines : lines.slice(0, Math.max(end, 1))
}

/** Tells their callers that the lines are not written yet. */
function refuse(lines: readonly WaitingLine[]): void {
  for (const { written } of lines)
    written.reject(new NotRecordedError('the record could not be written yet'))
}
