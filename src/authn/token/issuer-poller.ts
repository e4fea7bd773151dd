// Polls the documents of the issuer, and stores what is accepted (contract 9.2): issuer-verdicts.ts decides.
import { sameKeys, withPublished } from '../../domain/token/known-keys.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { shareRun } from '../../runtime/concurrency/single-flight.ts'
import type { HttpClient } from '../../runtime/http-client.ts'
import type { Log } from '../../runtime/log.ts'
import { throttledWarnings, type Warn } from '../../runtime/log-throttle.ts'
import { type IssuerAnswer, type IssuerDocument, readDocument } from './issuer-client.ts'
import type { IssuerClock } from './issuer-clock.ts'
import { inTurns } from './issuer-documents.ts'
import type { IssuerStateStore } from './issuer-state.ts'
import {
  type AcceptedList,
  type DatedKeys,
  judgeDiscovery,
  judgeKeys,
  judgeList,
  TOLERATED_SKEW_MS,
  type Verdict,
} from './issuer-verdicts.ts'

/** Results of reading a document. `refused`: it was read and rejected; `failed`: it could not be read. */
export const POLL_RESULTS = ['ok', 'unchanged', 'refused', 'failed'] as const

/** One of POLL_RESULTS. */
type PollResult = (typeof POLL_RESULTS)[number]

/** Counts what a poller does. */
export interface PollObserver {
  readonly polled: (document: IssuerDocument, result: PollResult) => void
  /** A list was rejected, because it is malformed, lacks an entry of the last one, or has an implausible date. */
  readonly revocationsRefused: () => void
  /** A withdrawn key was published again, and rejected. */
  readonly keyRefused: () => void
}

/** Dependencies of a poller. */
interface IssuerPollerOptions {
  readonly issuer: string
  readonly http: HttpClient
  readonly state: IssuerStateStore
  readonly time: IssuerClock
  readonly clock: Clock
  readonly log: Log
  readonly observer: PollObserver
  /** Pause after a poll, in milliseconds. */
  readonly pollIntervalMs: number
  readonly signal: AbortSignal
}

/** Minimum time between two refreshes of the keys that tokens with an unknown key cause, in milliseconds. */
const REFRESH_EVERY_MS = 10_000

/**
 * Polls at once, and again until the signal aborts.
 *
 * @returns a function that polls now, for a token with an unknown key; at most once in ten seconds (threats D5). It never
 * rejects
 */
export function startIssuerPoller(options: IssuerPollerOptions): () => Promise<void> {
  const { clock, log, pollIntervalMs, signal } = options
  const poller = new IssuerPoller(options)
  const poll = shareRun(() =>
    // A poll rejects for a bug only, and must not be the last.
    poller.poll().catch((err: unknown) => log.error({ err }, 'a poll of the issuer failed')),
  )
  const pollForever = async (): Promise<void> => {
    while (!signal.aborted) {
      await poll()
      await sleep(clock, pollIntervalMs, signal)
    }
  }
  void pollForever()
  return onceEvery(REFRESH_EVERY_MS, clock, poll)
}

/** Runs `act` at most once in `everyMs`. Callers during a run wait for it; callers after it do nothing. */
function onceEvery(everyMs: number, clock: Clock, act: () => Promise<void>): () => Promise<void> {
  let startedMs = Number.NEGATIVE_INFINITY
  return shareRun(async () => {
    if (clock.monotonicMs() - startedMs < everyMs) return
    startedMs = clock.monotonicMs()
    await act()
  })
}

/** Does one poll at a time. */
class IssuerPoller {
  readonly #options: IssuerPollerOptions
  readonly #warn: Warn
  /** ETag of the last accepted list. */
  #etag: string | null = null

  constructor(options: IssuerPollerOptions) {
    this.#options = options
    this.#warn = throttledWarnings(options.clock, options.log)
  }

  async poll(): Promise<void> {
    const { issuer, state, time, clock, observer } = this.#options
    const discovery = judgeDiscovery(await this.#read('discovery'), issuer)
    const hasPrefix = discovery !== null && this.#isAccepted('discovery', discovery)
    // Another server answers: its keys and tokens mean nothing.
    if (discovery?.ok === false && discovery.isOfAnotherIssuer) return
    const keys = judgeKeys(await this.#read('keys'), time.keysAsOfMs())
    const hasKeys = keys !== null && this.#isAccepted('keys', keys)
    const answer = await this.#read('revoked')
    const list = answer && (await inTurns(judgeList(answer, state.current().list, clock.nowMs())))
    if (list?.ok === false && list.isListFault) observer.revocationsRefused()
    if (answer === null || list === null || !this.#isAccepted('revoked', list)) {
      // The replica that answered may lag behind: then none of its documents counts.
      if (hasPrefix) observer.polled('discovery', 'refused')
      if (hasKeys) observer.polled('keys', 'refused')
      return
    }
    // Before the list: listeners check at once whether the state is fresh again.
    if (hasKeys) time.recordKeys(keys.value.dateMs)
    this.#acceptList(list.value, answer)
    if (hasPrefix) this.#acceptPrefix(discovery.value)
    if (hasKeys) this.#acceptKeys(keys.value)
  }

  /** Reads a document; null = it could not be read. */
  async #read(document: IssuerDocument): Promise<IssuerAnswer | null> {
    const { http, issuer, observer, signal } = this.#options
    try {
      return await readDocument(http, issuer, document, document === 'revoked' ? this.#etag : null)
    } catch (err) {
      observer.polled(document, 'failed')
      if (!signal.aborted)
        this.#warn(`${document} failed`, { document, err }, 'cannot read a document of the issuer')
      return null
    }
  }

  /** Reports a rejected document. */
  #isAccepted<Document>(
    document: IssuerDocument,
    verdict: Verdict<Document>,
  ): verdict is Extract<Verdict<Document>, { readonly ok: true }> {
    if (verdict.ok) return true
    const { because } = verdict
    this.#options.observer.polled(document, 'refused')
    this.#warn(`${document} ${because}`, { document, because }, 'issuer document rejected')
    return false
  }

  #acceptList(accepted: AcceptedList, { body, etag, monotonicMs }: IssuerAnswer): void {
    const { state, time, observer } = this.#options
    const { list, isUnchanged, newlyRevoked, dateMs } = accepted
    time.recordResponse({ dateMs, monotonicMs, asOfMs: list.asOfMs })
    if (body) this.#etag = etag
    if (list !== state.current().list) state.update({ list }, newlyRevoked)
    observer.polled('revoked', isUnchanged ? 'unchanged' : 'ok')
    const skewMs = time.skewMs()
    if (Math.abs(skewMs) > TOLERATED_SKEW_MS)
      this.#warn(
        'skew',
        { skewMs },
        'the clock of this machine and the clock of the platform differ',
      )
  }

  #acceptPrefix(projectNamespacePrefix: string): void {
    const { state, observer } = this.#options
    const isUnchanged = state.current().projectNamespacePrefix === projectNamespacePrefix
    if (!isUnchanged) state.update({ projectNamespacePrefix })
    observer.polled('discovery', isUnchanged ? 'unchanged' : 'ok')
  }

  #acceptKeys({ keys: published, dateMs }: DatedKeys): void {
    const { state, observer } = this.#options
    const { keys } = state.current()
    const { known, refused } = withPublished(keys, published, dateMs)
    for (const kid of refused) {
      observer.keyRefused()
      this.#warn(`key ${kid}`, { kid }, 'withdrawn signing key published again, rejected')
    }
    const isUnchanged = sameKeys(keys, known)
    if (!isUnchanged) state.update({ keys: known })
    observer.polled('keys', isUnchanged ? 'unchanged' : 'ok')
  }
}
