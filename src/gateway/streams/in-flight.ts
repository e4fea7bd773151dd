// What is under way for each key, from when a request was let pass to the end of its answer: cut when the key
// no longer is what it came with (contract 13.4). An API server never ends a running watch on its own, and
// waits for the rest of a body that a client holds back.
import type { Reauthentication } from '../../authn/authenticator.ts'
import type { Caller } from '../../authn/caller.ts'
import type { Clock } from '../../runtime/clock.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'

/** What streams are counted as. */
export const STREAM_KINDS = ['watch', 'body'] as const

/** `watch`: open until somebody ends it. `body`: an answer that is longer than what is sent at once. */
export type StreamKind = (typeof STREAM_KINDS)[number]

/** Why streams are cut. */
export const TERMINATION_REASONS = ['expired', 'revoked', 'changed', 'stale', 'shutdown'] as const

/**
 * `revoked`: disabled, deleted or in conflict, or a key that owns it is. `changed`: of another identity
 * or scope than when the stream was opened. `stale`: nobody can tell any more.
 */
export type TerminationReason = (typeof TERMINATION_REASONS)[number]

/** Why a request that is not answered yet is cut: a shutdown lets it be answered. */
export type EndReason = Exclude<TerminationReason, 'shutdown'>

/** What the registry asks and tells. */
export interface InFlightOptions {
  readonly clock: Clock
  /** What became of a caller. Never rejects. */
  readonly reconsider: (caller: Caller) => Reauthentication | Promise<Reauthentication>
  readonly observer: InFlightObserver
}

/** Told of answers that stream, for metrics; of requests that are not answered yet nobody is. */
export interface InFlightObserver {
  readonly opened: (kind: StreamKind) => void
  readonly closed: (kind: StreamKind) => void
  readonly cut: (reason: TerminationReason) => void
}

/**
 * What was let pass and is nearly complete may be: broken off, it looks like a broken network. Milliseconds.
 */
const COMPLETE_WITHIN_MS = 500

/** The use that moved a sliding key's end is stored, and its news may be on their way. Milliseconds. */
const NEWS_WITHIN_MS = 250

/** A request that is not answered yet. */
export interface Pending {
  /** Whether it is all but done when its key ends, and may be completed within half a second. */
  readonly mayComplete: () => boolean
  /** Ends it, and what was opened with it. */
  readonly end: (reason: EndReason) => void
}

/** A request of a caller that is under way. */
export interface Opened {
  /** Its answer streams from now on; `cut` ends that within a second of the key, and what was opened. */
  readonly flows: (kind: StreamKind, cut: (reason: TerminationReason) => void) => void
  /** Its caller as of now; null = he is none any more, and the request has ended. Never rejects. */
  readonly still: () => Promise<Caller | null>
  /** To be called once nothing more of it is wanted; again does no harm. */
  readonly close: () => void
}

interface Flow {
  readonly kind: StreamKind
  readonly cut: (reason: TerminationReason) => void
}

interface Stream {
  caller: Caller
  isEnding: boolean
  readonly pending: Pending
  /** null = it is not answered yet. */
  flow: Flow | null
}

/** Everything that is under way. */
export class InFlightRequests {
  readonly #options: InFlightOptions
  readonly #byKey = new Map<string, Set<Stream>>()
  readonly #ends: TimerHeap

  constructor(options: InFlightOptions) {
    this.#options = options
    this.#ends = new TimerHeap(options.clock, (uid) => this.look(uid))
  }

  /** A request of this caller was let pass. */
  open(caller: Caller, pending: Pending): Opened {
    const { uid } = caller.key
    const stream: Stream = { caller, pending, flow: null, isEnding: false }
    const streams = this.#byKey.get(uid) ?? new Set()
    this.#byKey.set(uid, streams.add(stream))
    this.#await(uid, caller.expiresMs)
    // What the key became while its caller was recognised was told to nobody.
    void this.#reconsider(stream)
    return {
      flows: (kind, cut) => {
        stream.flow = { kind, cut }
        this.#options.observer.opened(kind)
      },
      still: async () => {
        const now = await this.#reconsidered(stream)
        if (!now.ok) this.#end(stream, now.because)
        return now.ok && this.#isOpen(stream) ? now.caller : null
      },
      close: () => {
        if (!streams.delete(stream)) return
        if (stream.flow) this.#options.observer.closed(stream.flow.kind)
        if (streams.size > 0 || this.#byKey.get(uid) !== streams) return
        this.#byKey.delete(uid)
        this.#ends.delete(uid)
      },
    }
  }

  /** Looks at what is under way for one key anew; null = for all. */
  look(uid: string | null): void {
    const uids = uid === null ? [...this.#byKey.keys()] : [uid]
    for (const one of uids) {
      for (const stream of this.#byKey.get(one) ?? []) void this.#reconsider(stream)
    }
  }

  /** Ends all answers that stream. */
  close(): void {
    for (const streams of this.#byKey.values()) {
      for (const stream of streams) if (stream.flow) this.#cut(stream, 'shutdown')
    }
    this.#ends.clear()
  }

  async #reconsider(stream: Stream): Promise<void> {
    const now = await this.#reconsidered(stream)
    if (!this.#isOpen(stream)) return
    if (now.ok) this.#await(now.caller.key.uid, now.caller.expiresMs)
    else this.#cut(stream, now.because)
  }

  async #reconsidered(stream: Stream): Promise<Reauthentication> {
    const { clock, reconsider } = this.#options
    const { caller } = stream
    let now = await reconsider(caller)
    if (!now.ok && now.because === 'expired' && caller.key.slides) {
      await new Promise<void>((resolve) => clock.schedule(NEWS_WITHIN_MS, resolve))
      now = await reconsider(caller)
    }
    if (now.ok) stream.caller = now.caller
    return now
  }

  #cut(stream: Stream, reason: TerminationReason): void {
    if (stream.isEnding) return
    stream.isEnding = true
    const { flow, pending } = stream
    const mayComplete = flow ? flow.kind !== 'watch' : pending.mayComplete()
    if (!mayComplete) this.#end(stream, reason)
    else this.#options.clock.schedule(COMPLETE_WITHIN_MS, () => this.#end(stream, reason))
  }

  #end(stream: Stream, reason: TerminationReason): void {
    if (!this.#isOpen(stream)) return
    const { flow, pending } = stream
    if (flow) {
      this.#options.observer.cut(reason)
      flow.cut(reason)
    } else if (reason !== 'shutdown') pending.end(reason)
  }

  #isOpen(stream: Stream): boolean {
    return this.#byKey.get(stream.caller.key.uid)?.has(stream) ?? false
  }

  /** A sliding key's end moves while it is used: whoever looks at the end finds the next one. */
  #await(uid: string, expiresMs: number | null): void {
    if (expiresMs !== null) this.#ends.set(uid, expiresMs)
    else this.#ends.delete(uid)
  }
}
