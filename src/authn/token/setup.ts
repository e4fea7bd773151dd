// Wires the authenticator of direct cluster endpoint tokens to the issuer that it follows, and to its state directory.
import { formatTimestamp } from '../../domain/time.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { createHttpClient } from '../../runtime/http-client.ts'
import type { Log } from '../../runtime/log.ts'
import type { HealthCheck } from '../../serving/http/pages.ts'
import { createTokenAuthenticator, type TokenAuthenticator } from './authenticator.ts'
import { ISSUER_SOCKETS } from './issuer-client.ts'
import { createIssuerClock, type IssuerClock } from './issuer-clock.ts'
import { type PollObserver, startIssuerPoller } from './issuer-poller.ts'
import {
  createIssuerStateStore,
  EMPTY_STATE,
  type IssuerState,
  type IssuerStateStore,
  type TokenChangeListener,
} from './issuer-state.ts'
import { openStateFiles, type StateFiles } from './state-files.ts'

/** Counts polls of the issuer and writes of the state. */
export interface TokenIssuerObserver extends PollObserver {
  /** Called after each write to the state directory. @param isKept whether the write succeeded */
  readonly stateKept: (isKept: boolean) => void
}

/** Options of startTokenAuthenticator; everything stops when the signal aborts. */
interface TokenIssuerOptions {
  readonly issuer: string
  /** Name of this cluster in audiences. */
  readonly cluster: string
  /** The CA of the issuer's certificate, PEM; null = the roots that Node trusts. */
  readonly ca: string | null
  /** An existing directory; null = no state is kept over restarts. */
  readonly stateDir: string | null
  /** Name of this replica in the state directory; a restarted one should have the same. */
  readonly instance: string
  /** `--max-staleness` in milliseconds. */
  readonly maxStalenessMs: number
  /** `--revocation-poll-interval` in milliseconds. */
  readonly pollIntervalMs: number
  readonly clock: Clock
  readonly log: Log
  readonly observer: TokenIssuerObserver
  readonly signal: AbortSignal
}

/** The revoked tokens, for decisions on requests that did not come through this process. */
interface RevocationView {
  readonly isRevoked: (jti: string) => boolean
  /**
   * Since when revocations are unknown, in RFC 3339: the time of the last list, or of the start; null = the list is
   * fresh.
   */
  readonly unknownSince: () => string | null
}

/** A running authenticator of tokens. */
export interface StartedTokenAuthenticator extends TokenAuthenticator {
  /** Calls the listener whenever earlier callers must be checked again. */
  readonly subscribe: (listener: TokenChangeListener) => void
  readonly revocation: RevocationView
  /** The setting projectNamespacePrefix of the platform; null = the issuer has not sent it yet. */
  readonly projectNamespacePrefix: () => string | null
  /** Epoch milliseconds: the later of the local clock and the platform's (contract 2.9). */
  readonly nowMs: () => number
  /** A stale list does not make it unready: it answers 503 then, and no other replica has a newer one. */
  readonly readiness: Readonly<Record<string, HealthCheck>>
  readonly gauges: () => TokenIssuerGauges
  /** Resolves once the state is written, for the end of the process. Never rejects. */
  readonly stateSettled: () => Promise<void>
}

/** Values for metrics. */
export interface TokenIssuerGauges {
  /** Infinity = there was no list. */
  readonly listAgeMs: number
  /** Infinity = there were no keys. */
  readonly keysAgeMs: number
  readonly revokedTokens: number
  readonly signingKeys: number
  /** Local clock minus the platform's. */
  readonly clockSkewMs: number
}

/** How often the age of the list is checked. */
const STALENESS_CHECK_MS = 1000

/**
 * Reads the state directory, and then follows the issuer. Never rejects: until its documents are accepted, every token
 * is refused as stale.
 */
export async function startTokenAuthenticator(
  options: TokenIssuerOptions,
): Promise<StartedTokenAuthenticator> {
  const { issuer, cluster, clock, log, observer, signal, pollIntervalMs, maxStalenessMs } = options
  const startedMs = clock.nowMs()
  const time = createIssuerClock(clock)
  const files = stateFilesOf(options)
  const state = createIssuerStateStore((await files?.load()) ?? EMPTY_STATE)
  const { list } = state.current()
  if (list) time.restore(list.asOfMs)
  if (files) keepSaved(state, files)

  const isStale = (): boolean =>
    Math.max(time.listAgeMs(), time.keysAgeMs()) > maxStalenessMs || !hasKeys(state)
  const http = createHttpClient({
    trust: { ca: options.ca },
    // An administrator names the issuer in a flag, and it may be in a private network.
    guard: null,
    maxSockets: ISSUER_SOCKETS,
    clock,
    signal,
  })
  const polling = { issuer, http, state, time, clock, log, observer, pollIntervalMs, signal }
  const refreshKeys = startIssuerPoller(polling)
  void notifyOfStaleness({ clock, log, signal, time, state, isStale })
  return {
    ...createTokenAuthenticator({
      issuer,
      cluster,
      state: state.current,
      refreshKeys,
      nowMs: time.nowMs,
      isStale,
      log,
    }),
    subscribe: state.subscribe,
    revocation: {
      isRevoked: (jti) => state.current().list?.tokens.has(jti) ?? false,
      unknownSince: () => {
        if (time.listAgeMs() <= maxStalenessMs) return null
        return formatTimestamp(time.asOfMs() ?? startedMs)
      },
    },
    projectNamespacePrefix: () => state.current().projectNamespacePrefix,
    nowMs: time.nowMs,
    readiness: readinessOf(state),
    stateSettled: () => files?.settled() ?? Promise.resolve(),
    gauges: () => gaugesOf(time, state.current()),
  }
}

const readinessOf = (state: IssuerStateStore): Readonly<Record<string, HealthCheck>> => ({
  'signing-keys-known': check(() => hasKeys(state), 'no public signing keys are known'),
  'revocations-known': check(
    () => state.current().list !== null,
    'no list of revoked tokens is known',
  ),
  'project-prefix-known': check(
    () => state.current().projectNamespacePrefix !== null,
    'the prefix of the namespaces of projects is not known',
  ),
})

const gaugesOf = (time: IssuerClock, { list, keys }: IssuerState): TokenIssuerGauges => ({
  listAgeMs: time.listAgeMs(),
  keysAgeMs: time.keysAgeMs(),
  revokedTokens: list?.tokens.size ?? 0,
  signingKeys: keys.keys.size,
  clockSkewMs: time.skewMs(),
})

function stateFilesOf(options: TokenIssuerOptions): StateFiles | null {
  const { stateDir: directory, instance, issuer, clock, log, observer } = options
  if (directory === null) return null
  return openStateFiles({ directory, instance, issuer, clock, log, kept: observer.stateKept })
}

/** How far the kept `asOf` may lag while nothing else changes: a list of megabytes is not written at each poll. */
const AS_OF_LAG_MS = 60_000

/**
 * Saves the state now, so that the own file has what the files of other replicas had, and after each change. The next
 * change tries a failed write again.
 */
function keepSaved(state: IssuerStateStore, files: StateFiles): void {
  let saved: IssuerState | null = null
  const save = (): void => {
    const current = state.current()
    if (current.list === null || (saved !== null && isNearlySame(saved, current))) return
    saved = current
    files.save(state.current, () => {
      saved = null
    })
  }
  save()
  state.whenChanged(save)
}

const isNearlySame = (
  saved: IssuerState,
  { keys, list, projectNamespacePrefix }: IssuerState,
): boolean =>
  saved.keys === keys &&
  saved.projectNamespacePrefix === projectNamespacePrefix &&
  saved.list?.tokens === list?.tokens &&
  (list?.asOfMs ?? 0) - (saved.list?.asOfMs ?? 0) < AS_OF_LAG_MS

const hasKeys = (state: IssuerStateStore): boolean => state.current().keys.keys.size > 0

const check =
  (isMet: () => boolean, fault: string): HealthCheck =>
  () =>
    isMet() ? null : fault

interface StalenessWatch {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly time: IssuerClock
  readonly state: IssuerStateStore
  readonly isStale: () => boolean
}

/** Notifies all callers whenever staleness begins or ends: at once with an update, and by a check each second. */
async function notifyOfStaleness(watch: StalenessWatch): Promise<void> {
  const { clock, log, signal, time, state, isStale } = watch
  let wasStale = isStale()
  const compare = (): void => {
    if (isStale() === wasStale) return
    wasStale = !wasStale
    const ageMs = time.listAgeMs()
    if (wasStale) log.error({ ageMs }, 'the state of the issuer is too old, no token is accepted')
    else log.info({ ageMs }, 'the state of the issuer is fresh, tokens are accepted')
    state.notifyAll()
  }
  state.whenChanged(compare)
  while (!signal.aborted) {
    await sleep(clock, STALENESS_CHECK_MS, signal)
    if (!signal.aborted) compare()
  }
}
