// The requests in flight of each key, from admission to the end of the answer. They are cut when the key ends or
// changes (contract 13.4): the API server never ends a running watch on its own, and it waits for a body that a client
// holds back.
import type { Reauthentication } from '../../authn/authenticator.ts'
import { type Caller, credentialUid, nextCheckMs, slides } from '../../authn/caller.ts'
import type { Clock } from '../../runtime/clock.ts'
import { withResult } from '../../runtime/concurrency/with-result.ts'
import { TimerHeap } from '../../runtime/timer-heap.ts'

/** The kinds of streamed answers, for metrics. */
export const STREAM_KINDS = ['watch', 'body', 'upgrade'] as const

/** `watch`: open until one side ends it. `upgrade`: a tunnel, of any content. `body`: any other streamed answer. */
export type StreamKind = (typeof STREAM_KINDS)[number]

/** Why streams are cut. */
export const TERMINATION_REASONS = [
  'expired',
  'revoked',
  'changed',
  'stale',
  'target',
  'shutdown',
] as const

/**
 * `revoked`: the key, or a key that owns it, is disabled, deleted or in conflict. `changed`: its identity or scope is
 * another than when the request was admitted. `stale`: the key can't be checked any more. `target`: the target of the
 * request was removed, or got another kubeconfig.
 */
export type TerminationReason = (typeof TERMINATION_REASONS)[number]

/** Why an unanswered request is ended. A shutdown does not end it: it still gets its answer. */
export type EndReason = Exclude<TerminationReason, 'shutdown'>

/** The dependencies of the registry. */
interface InFlightOptions {
  readonly clock: Clock
  /** Authenticates a caller again. Never rejects. */
  readonly reauthenticate: (caller: Caller) => Reauthentication | Promise<Reauthentication>
  readonly observer: InFlightObserver
}

/** Called for streamed answers, for metrics; not for unanswered requests. */
interface InFlightObserver {
  readonly opened: (kind: StreamKind) => void
  readonly closed: (kind: StreamKind) => void
  readonly cut: (reason: TerminationReason) => void
}

/**
 * The time in milliseconds that a nearly complete request gets after its key has ended: to the client, a cut would look
 * like a network failure.
 */
const COMPLETE_WITHIN_MS = 500

/** The milliseconds within which the watch event of a stored use arrives: it may move the end of a sliding key. */
const USE_EVENT_WITHIN_MS = 250

/** An admitted request without an answer yet. */
export interface Pending {
  /** Whether the request is nearly complete: it gets half a second more when its key ends. */
  readonly mayComplete: () => boolean
  /** Ends the request and closes its entry. */
  readonly end: (reason: EndReason) => void
}

/** The entry of a request in flight. */
export interface InFlightEntry {
  /**
   * Reports that the answer streams now. `cut` must end the stream; it is called within a second of the key's end.
   *
   * @param mayComplete whether the stream gets half a second to end by itself; absent = no
   */
  readonly flows: (
    kind: StreamKind,
    cut: (reason: TerminationReason) => void,
    mayComplete?: boolean,
  ) => void
  /** Whether the request may be sent: the key is not known to have ended. Ends the request otherwise. */
  readonly maySend: () => boolean
  /** Authenticates the caller again; null = the key has ended, and the request with it. Never rejects. */
  readonly still: () => Promise<Caller | null>
  /** Removes the entry; later calls do nothing. */
  readonly close: () => void
}

/** An answer that streams. */
interface AnswerStream {
  readonly kind: StreamKind
  readonly cut: (reason: TerminationReason) => void
  readonly mayComplete: boolean
}

/** A request in flight. */
interface InFlightRequest {
  caller: Caller
  /** The connection to its target; null = the management cluster. */
  readonly connection: object | null
  /** Why it ends within COMPLETE_WITHIN_MS; null = it does not. */
  endsBy: TerminationReason | null
  readonly pending: Pending
  /** null = the request is not answered yet. */
  stream: AnswerStream | null
}

/** All requests in flight. */
export class InFlightRequests {
  readonly #options: InFlightOptions
  readonly #byKey = new Map<string, Set<InFlightRequest>>()
  readonly #deadlines: TimerHeap

  constructor(options: InFlightOptions) {
    this.#options = options
    this.#deadlines = new TimerHeap(options.clock, (uid) => this.look(uid))
  }

  /**
   * Registers an admitted request of the caller.
   *
   * @param connection the connection to its target, for `endConnection`; null or absent = the management cluster
   */
  open(caller: Caller, pending: Pending, connection: object | null = null): InFlightEntry {
    const uid = credentialUid(caller)
    const entry: InFlightRequest = { caller, connection, pending, stream: null, endsBy: null }
    const entries = this.#byKey.get(uid) ?? new Set()
    this.#byKey.set(uid, entries.add(entry))
    // The key may have changed after the caller was authenticated: no later event would report that, and the deadline is
    // that of all requests of the key.
    const current = this.#currentCaller(entry)
    if (!(current instanceof Promise) && current.ok) this.#reauthenticated(entry, current)
    else {
      this.#setDeadline(uid, nextCheckMs(caller))
      // One that has ended is cut once its caller holds this entry.
      void Promise.resolve(current).then((found) => this.#reauthenticated(entry, found))
    }
    return {
      flows: (kind, cut, mayComplete = false) => {
        entry.stream = { kind, cut, mayComplete }
        this.#options.observer.opened(kind)
      },
      maySend: () => {
        if (entry.endsBy !== null) this.#end(entry, entry.endsBy)
        return this.#isOpen(entry)
      },
      still: async () => {
        const now = await this.#currentCaller(entry)
        if (!now.ok) this.#end(entry, now.because)
        return now.ok && this.#isOpen(entry) ? now.caller : null
      },
      close: () => {
        if (!entries.delete(entry)) return
        if (entry.stream) this.#options.observer.closed(entry.stream.kind)
        if (entries.size > 0 || this.#byKey.get(uid) !== entries) return
        this.#byKey.delete(uid)
        this.#deadlines.delete(uid)
      },
    }
  }

  /** Authenticates the callers of one key's requests again, and cuts them if the key has ended; null = of all keys. */
  look(uid: string | null): void {
    const keyUids = uid === null ? [...this.#byKey.keys()] : [uid]
    for (const keyUid of keyUids) {
      for (const entry of this.#byKey.get(keyUid) ?? []) this.#reauthenticate(entry)
    }
  }

  /** Ends the requests on a connection to a target that no longer exists. */
  endConnection(connection: object): void {
    for (const entries of this.#byKey.values()) {
      for (const entry of entries) if (entry.connection === connection) this.#cut(entry, 'target')
    }
  }

  /** Cuts all streamed answers, at a shutdown. */
  close(): void {
    for (const entries of this.#byKey.values()) {
      for (const entry of entries) if (entry.stream) this.#cut(entry, 'shutdown')
    }
    this.#deadlines.clear()
  }

  #reauthenticate(entry: InFlightRequest): void {
    void withResult(this.#currentCaller(entry), (now) => this.#reauthenticated(entry, now))
  }

  #reauthenticated(entry: InFlightRequest, now: Reauthentication): void {
    if (!this.#isOpen(entry)) return
    if (now.ok) this.#setDeadline(credentialUid(now.caller), nextCheckMs(now.caller))
    else this.#cut(entry, now.because)
  }

  #currentCaller(entry: InFlightRequest): Reauthentication | Promise<Reauthentication> {
    const { reauthenticate } = this.#options
    const { caller } = entry
    const kept = (now: Reauthentication): Reauthentication => {
      if (now.ok) entry.caller = now.caller
      return now
    }
    return withResult(reauthenticate(caller), (now) => {
      const mayBeUsed = !now.ok && now.because === 'expired' && slides(caller)
      return mayBeUsed
        ? this.#afterUse().then(() => withResult(reauthenticate(caller), kept))
        : kept(now)
    })
  }

  /** Resolves when the event of a use that was stored before has arrived. */
  #afterUse(): Promise<void> {
    const { clock } = this.#options
    return new Promise((resolve) => void clock.schedule(USE_EVENT_WITHIN_MS, resolve))
  }

  #cut(entry: InFlightRequest, reason: TerminationReason): void {
    if (entry.endsBy !== null) return
    entry.endsBy = reason
    const { stream, pending } = entry
    const mayComplete = stream ? stream.mayComplete : pending.mayComplete()
    if (!mayComplete) this.#end(entry, reason)
    else this.#options.clock.schedule(COMPLETE_WITHIN_MS, () => this.#end(entry, reason))
  }

  #end(entry: InFlightRequest, reason: TerminationReason): void {
    if (!this.#isOpen(entry)) return
    const { stream, pending } = entry
    if (stream) {
      this.#options.observer.cut(reason)
      stream.cut(reason)
    } else if (reason !== 'shutdown') pending.end(reason)
  }

  #isOpen(entry: InFlightRequest): boolean {
    return this.#byKey.get(credentialUid(entry.caller))?.has(entry) ?? false
  }

  /** Sets the time of the next check. The end of a sliding key moves with its use: the check finds the next one. */
  #setDeadline(uid: string, atMs: number | null): void {
    if (atMs !== null) this.#deadlines.set(uid, atMs)
    else this.#deadlines.delete(uid)
  }
}
