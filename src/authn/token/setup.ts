// Wires the authenticator of direct cluster endpoint tokens to the issuer that it follows, and to its state directory.
import { formatTimestamp } from '../../domain/time.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { HealthCheck } from '../../serving/http/pages.ts'
import { type TokenAuthenticator, createTokenAuthenticator } from './authenticator.ts'
import { type CentreClock, createCentreClock } from './issuer-clock.ts'
import { type PollObserver, followIssuer } from './issuer-poller.ts'
import { createIssuerClient } from './issuer-client.ts'
import {
  type Knowledge,
  type KnowledgeStore,
  NOTHING_KNOWN,
  type TokenChangeListener,
  createKnowledgeStore,
} from './issuer-state.ts'
import { type StateFiles, openStateFiles } from './state-files.ts'

/** Counts what follows the issuer. */
export interface TokenIssuerObserver extends PollObserver {
  /** After each write to the state directory. @param isKept whether it has what is known */
  readonly stateKept: (isKept: boolean) => void
}

/** Options of startTokenAuthenticator; everything stops when the signal aborts. */
export interface TokenIssuerOptions {
  readonly issuer: string
  /** Name of this cluster in audiences. */
  readonly cluster: string
  /** The CA of the issuer's certificate, PEM; null = the roots that Node trusts. */
  readonly ca: string | null
  /** An existing directory; null = nothing is kept over restarts. */
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

/** What is known of revoked tokens, for decisions on requests that did not come through this process. */
interface KnownRevocations {
  readonly isRevoked: (jti: string) => boolean
  /** Since when revocations are unknown, in RFC 3339: as of the last list, or since the start; null = they are known. */
  readonly unknownSince: () => string | null
}

/** A running authenticator of tokens. */
export interface StartedTokenAuthenticator extends TokenAuthenticator {
  /** Calls the listener whenever earlier callers must be looked at again. */
  readonly subscribe: (listener: TokenChangeListener) => void
  readonly revocation: KnownRevocations
  /** The setting projectNamespacePrefix of the centre; null = not known yet. */
  readonly projectNamespacePrefix: () => string | null
  /** Epoch milliseconds: the latest of the own clock and the centre's (contract 2.9). */
  readonly nowMs: () => number
  /** A stale list does not make it unready: it answers 503 then, and no other replica knows more. */
  readonly readiness: Readonly<Record<string, HealthCheck>>
  readonly gauges: () => TokenIssuerGauges
  /** Resolves once the state directory has what is known, for the end of the process. Never rejects. */
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
  /** Own clock minus the centre's. */
  readonly clockSkewMs: number
}

/** How often the age of the list is checked. */
const STALENESS_CHECK_MS = 1000

/**
 * Reads what the state directory has, and then follows the issuer. Never rejects: until something is known, every token
 * is refused as stale.
 */
export async function startTokenAuthenticator(
  options: TokenIssuerOptions,
): Promise<StartedTokenAuthenticator> {
  const { issuer, cluster, clock, log, signal, maxStalenessMs } = options
  const startedMs = clock.nowMs()
  const time = createCentreClock(clock)
  const files = stateFilesOf(options)
  const knowledge = createKnowledgeStore((await files?.load()) ?? NOTHING_KNOWN)
  const { list } = knowledge.current()
  if (list) time.restored(list.asOfMs)
  if (files) keepSaved(knowledge, files)

  const isStale = (): boolean =>
    Math.max(time.listAgeMs(), time.keysAgeMs()) > maxStalenessMs || !hasKeys(knowledge)
  const client = createIssuerClient(options)
  const { lookForKeys } = followIssuer({ ...options, client, knowledge, time })
  void notifyOfStaleness({ clock, log, signal, time, knowledge, isStale })
  return {
    ...createTokenAuthenticator({
      issuer,
      cluster,
      knowledge: knowledge.current,
      lookForKeys,
      nowMs: time.nowMs,
      isStale,
    }),
    subscribe: knowledge.subscribe,
    revocation: {
      isRevoked: (jti) => knowledge.current().list?.tokens.has(jti) ?? false,
      unknownSince: () => {
        if (time.listAgeMs() <= maxStalenessMs) return null
        return formatTimestamp(time.asOfMs() ?? startedMs)
      },
    },
    projectNamespacePrefix: () => knowledge.current().projectNamespacePrefix,
    nowMs: time.nowMs,
    readiness: {
      'signing-keys-known': check(() => hasKeys(knowledge), 'no public signing keys are known'),
      'revocations-known': check(
        () => knowledge.current().list !== null,
        'no list of revoked tokens is known',
      ),
      'project-prefix-known': check(
        () => knowledge.current().projectNamespacePrefix !== null,
        'the prefix of the namespaces of projects is not known',
      ),
    },
    stateSettled: () => files?.settled() ?? Promise.resolve(),
    gauges: () => ({
      listAgeMs: time.listAgeMs(),
      keysAgeMs: time.keysAgeMs(),
      revokedTokens: knowledge.current().list?.tokens.size ?? 0,
      signingKeys: knowledge.current().keys.keys.size,
      clockSkewMs: time.skewMs(),
    }),
  }
}

function stateFilesOf(options: TokenIssuerOptions): StateFiles | null {
  const { stateDir: directory, observer } = options
  if (directory === null) return null
  return openStateFiles({ ...options, directory, kept: observer.stateKept })
}

/** How far the kept `asOf` may lag while nothing else changes: a list of megabytes is not written at each poll. */
const AS_OF_LAG_MS = 60_000

/**
 * Saves what is known now, so that what other replicas knew is in the own file, and after each change. What could not be
 * saved is tried again with the next poll.
 */
function keepSaved(knowledge: KnowledgeStore, files: StateFiles): void {
  let saved: Knowledge | null = null
  const save = (): void => {
    const current = knowledge.current()
    if (current.list === null || (saved !== null && isNearlySame(saved, current))) return
    saved = current
    files.save(knowledge.current, () => {
      saved = null
    })
  }
  save()
  knowledge.whenChanged(save)
}

const isNearlySame = (
  saved: Knowledge,
  { keys, list, projectNamespacePrefix }: Knowledge,
): boolean =>
  saved.keys === keys &&
  saved.projectNamespacePrefix === projectNamespacePrefix &&
  saved.list?.tokens === list?.tokens &&
  (list?.asOfMs ?? 0) - (saved.list?.asOfMs ?? 0) < AS_OF_LAG_MS

const hasKeys = (knowledge: KnowledgeStore): boolean => knowledge.current().keys.keys.size > 0

const check =
  (isKnown: () => boolean, fault: string): HealthCheck =>
  () =>
    isKnown() ? null : fault

interface StalenessWatch {
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly time: CentreClock
  readonly knowledge: KnowledgeStore
  readonly isStale: () => boolean
}

/** Notifies all callers whenever staleness begins or ends: at once with an update, and by a look each second. */
async function notifyOfStaleness(watch: StalenessWatch): Promise<void> {
  const { clock, log, signal, time, knowledge, isStale } = watch
  let wasStale = isStale()
  const look = (): void => {
    if (isStale() === wasStale) return
    wasStale = !wasStale
    const ageMs = time.listAgeMs()
    if (wasStale)
      log.error({ ageMs }, 'what is known of the issuer is too old, no token is accepted')
    else log.info({ ageMs }, 'what is known of the issuer is fresh, tokens are accepted')
    knowledge.notifyAll()
  }
  knowledge.whenChanged(look)
  while (!signal.aborted) {
    await sleep(clock, STALENESS_CHECK_MS, signal)
    if (!signal.aborted) look()
  }
}
