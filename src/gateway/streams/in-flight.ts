// The requests in flight of each key, from admission to the end of the answer: terminated when the key ends or
// changes (contract 13.4). An API server never ends a running watch on its own, and
// waits for the rest of a body that a client holds back.
import type { Reauthentication } from '../../authn/authenticator.ts'
import type { Caller } from '../../authn/caller.ts'
import type { Clock } from '../../runtime/clock.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'

/** What streams are counted as. */
export const STREAM_KINDS = ['watch', 'body'] as const

/** `watch`: open until one side ends it. `body`: an answer that is longer than what is sent at once. */
export type StreamKind = (typeof STREAM_KINDS)[number]

/** Why streams are cut. */
export const TERMINATION_REASONS = ['expired', 'revoked', 'changed', 'stale', 'shutdown'] as const

/**
 * `revoked`: disabled, deleted or in conflict, or a key that owns it is. `changed`: of another identity
 * or scope than when the stream was opened. `stale`: the key can't be checked any more.
 */
export type TerminationReason = (typeof TERMINATION_REASONS)[number]

/** Why a request that is not answered yet is cut: a shutdown lets it be answered. */
export type EndReason = Exclude<TerminationReason, 'shutdown'>

/** The authenticator and the observer of the registry. */
interface InFlightOptions {
  readonly clock: Clock
  /** Authenticates a caller again. Never rejects. */
  readonly reauthenticate: (caller: Caller) => Reauthentication | Promise<Reauthentication>
  readonly observer: InFlightObserver
}

/** Called for answers that stream, for metrics, and not for requests that are not answered yet. */
interface InFlightObserver {
  readonly opened: (kind: StreamKind) => void
  readonly closed: (kind: StreamKind) => void
  readonly cut: (reason: TerminationReason) => void
}

/** A request that is nearly complete gets this time: broken off, it looks like a broken network. Milliseconds. */
const COMPLETE_WITHIN_MS = 500

/** A stored use may have moved a sliding key's end: its watch event arrives within this time. Milliseconds. */
const USE_EVENT_WITHIN_MS = 250

/** A request that is not answered yet. */
export interface Pending {
  /** Whether it is all but done when its key ends, and may be completed within half a second. */
  readonly mayComplete: () => boolean
  /** Ends it, and what was opened with it. */
  readonly end: (reason: EndReason) => void
}

/** A request in flight. */
export interface Opened {
  /** Its answer streams from now on; `cut` ends that within a second of the key, and what was opened. */
  readonly flows: (kind: StreamKind, cut: (reason: TerminationReason) => void) => void
  /** The caller as of now; null = the key has ended, and the request with it. Never rejects. */
  readonly still: () => Promise<Caller | null>
  /** Ends the entry of the request; may be called again. */
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

/** All requests in flight. */
export class InFlightRequests {
  readonly #options: InFlightOptions
  readonly #byKey = new Map<string, Set<Stream>>()
  readonly #ends: TimerHeap

  constructor(options: InFlightOptions) {
    this.#options = options
    this.#ends = new TimerHeap(options.clock, (uid) => this.look(uid))
  }

  /** Registers an admitted request of this caller. */
  open(caller: Caller, pending: Pending): Opened {
    const { uid } = caller.key
    const stream: Stream = { caller, pending, flow: null, isEnding: false }
    const streams = this.#byKey.get(uid) ?? new Set()
    this.#byKey.set(uid, streams.add(stream))
    this.#await(uid, caller.expiresMs)
    // The key may have changed while its caller was authenticated: no event follows for that.
    void this.#reauthenticate(stream)
    return {
      flows: (kind, cut) => {
        stream.flow = { kind, cut }
        this.#options.observer.opened(kind)
      },
      still: async () => {
        const now = await this.#reauthenticateed(stream)
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

  /** Authenticates the requests in flight of one key again; null = of all keys. */
  look(uid: string | null): void {
    const uids = uid === null ? [...this.#byKey.keys()] : [uid]
    for (const one of uids) {
      for (const stream of this.#byKey.get(one) ?? []) void this.#reauthenticate(stream)
    }
  }

  /** Ends all answers that stream. */
  close(): void {
    for (const streams of this.#byKey.values()) {
      for (const stream of streams) if (stream.flow) this.#cut(stream, 'shutdown')
    }
    this.#ends.clear()
  }

  async #reauthenticate(stream: Stream): Promise<void> {
    const now = await this.#reauthenticateed(stream)
    if (!this.#isOpen(stream)) return
    if (now.ok) this.#await(now.caller.key.uid, now.caller.expiresMs)
    else this.#cut(stream, now.because)
  }

  async #reauthenticateed(stream: Stream): Promise<Reauthentication> {
    const { clock, reauthenticate } = this.#options
    const { caller } = stream
    let now = await reauthenticate(caller)
    if (!now.ok && now.because === 'expired' && caller.key.slides) {
      await new Promise<void>((resolve) => clock.schedule(USE_EVENT_WITHIN_MS, resolve))
      now = await reauthenticate(caller)
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

  /** A sliding key's end moves while it is used: the check at the end finds the next one. */
  #await(uid: string, expiresMs: number | null): void {
    if (expiresMs !== null) this.#ends.set(uid, expiresMs)
    else this.#ends.delete(uid)
  }
}
