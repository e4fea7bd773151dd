// Serves the secret store at the replica that leads (contract 36): a session for each change of its settings.
import type { Resolve } from '../../runtime/address-guard.ts'
import {
  isInStep,
  missingStatus,
  type RoundResult,
  roundStatus,
  type StoreAnswer,
} from '../../domain/store/round-status.ts'
import type { StoreSettings } from '../../domain/store/store-settings.ts'
import type { StoreStatus } from '../../domain/store/store-status.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { createStoreClient, type StoreClient } from './client.ts'
import { SecretStoreError } from './store-error.ts'
import type { SyncDeps } from './deps.ts'
import type { SecretPlaces } from './listed-secrets.ts'
import type { StoreMetrics } from './metrics.ts'
import { reportStatus } from './report.ts'
import { syncInRounds } from './rounds.ts'
import type { FollowedStoreSettings } from './settings.ts'
import { keepToken } from './token.ts'

/** Options of serveStore. */
interface StoreServing extends Omit<SyncDeps, 'store' | 'observer'>, Omit<SecretPlaces, 'signal'> {
  readonly settings: FollowedStoreSettings
  /** The platform namespace. */
  readonly namespace: string
  /** Of the store's key-value engine. */
  readonly mount: string
  readonly resolve: Resolve
  readonly random: () => number
  readonly metrics: StoreMetrics['store']
  readonly clock: Clock
  readonly signal: AbortSignal
}

const NO_AUTHORITY: StoreStatus = {
  status: 'False',
  reason: 'Unreachable',
  message: 'The file of --secret-store-ca-file is missing or empty, so that no store is trusted.',
}

/** How long a report that could not be written waits. */
const REPORT_AGAIN_MS = 5000

/** Serves the store until the signal aborts. */
export async function serveStore(options: StoreServing): Promise<void> {
  const { settings, metrics, signal } = options
  let changed = new AbortController()
  settings.subscribe(() => changed.abort())
  while (!signal.aborted) {
    changed = new AbortController()
    const session = { ...options, signal: AbortSignal.any([signal, changed.signal]) }
    await serveSettings(settings.current(), session)
    metrics.tokenEnds(null)
  }
}

/** Serves one version of the settings, until the signal aborts. */
async function serveSettings(settings: StoreSettings | null, options: StoreServing): Promise<void> {
  const { metrics, clock, log, signal } = options
  const ca = options.settings.ca()
  const status = settings === null ? null : ca === '' ? NO_AUTHORITY : missingStatus(settings)
  if (
    settings === null ||
    status !== null ||
    settings.address === null ||
    settings.token === null
  ) {
    metrics.laggingSince(settings === null ? null : clock.nowMs())
    if (settings === null) {
      await reported(null, options)
      return ended(signal)
    }
    // It stays said: others may edit the ConfigMap, or touch the Secret with the settings.
    while (!signal.aborted) {
      await reported(status, options)
      await sleep(clock, settings.intervalMs, signal)
    }
    return
  }
  const { address, token, namespace, skipsVerification } = settings
  const { mount, resolve } = options
  const store = createStoreClient({
    address,
    token,
    namespace,
    mount,
    resolve,
    clock,
    mayWrite: options.clientDeps.mayWrite,
    signal,
    skipTLSVerify: skipsVerification,
    ca,
  })
  void keepToken({ store, clock, log, signal, observe: metrics.tokenEnds })
  let sinceMs: number | null = null
  const report = latestReport(options)
  await syncInRounds({
    ...options,
    store,
    settings,
    observer: metrics,
    ended: async (round) => {
      const { result, answer } = await withAnswer(round, store)
      const isWhole = result.outcomes.every(isInStep) && answer === 'answers'
      sinceMs = isWhole ? null : (sinceMs ?? clock.nowMs())
      metrics.laggingSince(sinceMs)
      report.begin(roundStatus(settings, result, answer))
    },
  })
  await report.end()
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** A round over no Secrets shows nothing of the store: it is asked about its token. */
async function withAnswer(
  result: RoundResult,
  store: StoreClient,
): Promise<{ readonly result: RoundResult; readonly answer: StoreAnswer }> {
  if (result.outcomes.length > 0) return { result, answer: 'answers' }
  try {
    await store.lookupToken()
    return { result, answer: 'answers' }
  } catch (error) {
    if (!(error instanceof SecretStoreError)) throw error
    // What no store of secrets answers is not said of the token.
    const answer = error.kind === 'denied' ? 'denied' : 'unreachable'
    return { result: { ...result, because: error.sentence }, answer }
  }
}

/** Reports beside the rounds, which a report that is refused must not stop: each ends the one before. */
function latestReport(options: StoreServing) {
  let superseded = new AbortController()
  let running = Promise.resolve()
  return {
    begin: (status: StoreStatus): void => {
      superseded.abort()
      superseded = new AbortController()
      const signal = AbortSignal.any([options.signal, superseded.signal])
      running = running.then(() => reported(status, { ...options, signal }))
    },
    /** Resolves when none is being written. */
    end: (): Promise<void> => running,
  }
}

/** Writes the state of the settings in force, again and again until it is stored. */
async function reported(
  status: StoreStatus | null,
  { client, clientDeps, settings, namespace, clock, log, signal }: StoreServing,
): Promise<void> {
  while (!signal.aborted) {
    const report = status && { ...status, settingsVersion: settings.version() }
    try {
      return await reportStatus(report, { client, clientDeps }, namespace)
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'the state of the secret store cannot be stored')
      await sleep(clock, REPORT_AGAIN_MS, signal)
    }
  }
}
