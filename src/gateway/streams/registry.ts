// The open streams of each key, cut when the key no longer is what they were opened with
// (contract 13.4): an API server never ends a running watch on its own.
import type { Caller } from '../../credentials/caller.ts'
import type { Reconsidered } from '../../credentials/callers.ts'
import { Deadlines } from '../../kube/deadlines.ts'
import type { Clock } from '../../runtime/clock.ts'

/** What streams are counted as. */
export const STREAM_KINDS = ['watch', 'body'] as const

/** `watch`: open until somebody ends it. `body`: an answer that is longer than what is sent at once. */
export type StreamKind = (typeof STREAM_KINDS)[number]

/** Why streams are cut. */
export const CUT_REASONS = ['expired', 'revoked', 'changed', 'stale', 'shutdown'] as const

/**
 * `revoked`: disabled, deleted or in conflict, or a key that owns it is. `changed`: of another identity
 * or scope than when the stream was opened. `stale`: nobody can tell any more.
 */
export type CutReason = (typeof CUT_REASONS)[number]

/** What the registry asks and tells. */
export interface StreamsOptions {
  readonly clock: Clock
  /** What became of a caller. Never rejects. */
  readonly reconsider: (caller: Caller) => Reconsidered | Promise<Reconsidered>
  readonly observer: StreamsObserver
}

/** Told of streams, for metrics. */
export interface StreamsObserver {
  readonly opened: (kind: StreamKind) => void
  readonly closed: (kind: StreamKind) => void
  readonly cut: (reason: CutReason) => void
}

/**
 * What was let pass and is nearly complete may be: broken off, it looks like a broken network. Milliseconds.
 */
const COMPLETE_WITHIN_MS = 500

interface Stream {
  caller: Caller
  isEnding: boolean
  readonly kind: StreamKind
  readonly cut: (reason: CutReason) => void
}

/** The streams that are open. */
export class Streams {
  readonly #options: StreamsOptions
  readonly #byKey = new Map<string, Set<Stream>>()
  readonly #ends: Deadlines

  constructor(options: StreamsOptions) {
    this.#options = options
    this.#ends = new Deadlines(options.clock, (uid) => this.look(uid))
  }

  /**
   * A stream of this caller is open until the function that is returned is called.
   *
   * @param cut ends it within a second, and calls that function
   */
  open(caller: Caller, kind: StreamKind, cut: (reason: CutReason) => void): () => void {
    const { uid } = caller.key
    const stream: Stream = { caller, kind, cut, isEnding: false }
    const streams = this.#byKey.get(uid) ?? new Set()
    this.#byKey.set(uid, streams.add(stream))
    this.#options.observer.opened(kind)
    this.#await(uid, caller.expiresMs)
    // What the key became while the API server was asked was told to nobody.
    void this.#reconsider(stream)
    return () => {
      if (!streams.delete(stream)) return
      this.#options.observer.closed(kind)
      if (streams.size > 0 || this.#byKey.get(uid) !== streams) return
      this.#byKey.delete(uid)
      this.#ends.delete(uid)
    }
  }

  /** Looks at the streams of one key anew; null = of all. */
  look(uid: string | null): void {
    const uids = uid === null ? [...this.#byKey.keys()] : [uid]
    for (const one of uids) {
      for (const stream of this.#byKey.get(one) ?? []) void this.#reconsider(stream)
    }
  }

  /** Ends them all. */
  close(): void {
    for (const streams of this.#byKey.values()) {
      for (const stream of streams) this.#cut(stream, 'shutdown')
    }
    this.#ends.clear()
  }

  async #reconsider(stream: Stream): Promise<void> {
    const { uid } = stream.caller.key
    const now = await this.#options.reconsider(stream.caller)
    if (!this.#byKey.get(uid)?.has(stream)) return
    if (!now.ok) {
      this.#cut(stream, now.because)
      return
    }
    stream.caller = now.caller
    this.#await(uid, now.caller.expiresMs)
  }

  #cut(stream: Stream, reason: CutReason): void {
    if (stream.isEnding) return
    stream.isEnding = true
    const end = (): void => {
      if (!this.#byKey.get(stream.caller.key.uid)?.has(stream)) return
      this.#options.observer.cut(reason)
      stream.cut(reason)
    }
    if (stream.kind === 'watch') end()
    else this.#options.clock.schedule(COMPLETE_WITHIN_MS, end)
  }

  /** A sliding key's end moves while it is used: whoever looks at the end finds the next one. */
  #await(uid: string, expiresMs: number | null): void {
    if (expiresMs !== null) this.#ends.set(uid, expiresMs)
    else this.#ends.delete(uid)
  }
}
