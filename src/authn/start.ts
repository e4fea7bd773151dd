// Wires the authentication of callers to the API server; no other file does.
import { ACCESS_KEYS } from '../api/names.ts'
import { keysAffectedBy } from '../domain/accesskey/owner-chain.ts'
import type { RoleRules } from '../domain/scope/roles.ts'
import { gatewaySwitchesInForce } from '../domain/settings/in-force.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { InformerFactory } from '../kube/informer/informers.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import { startPoller } from '../runtime/concurrency/poller.ts'
import type { Log } from '../runtime/log.ts'
import { type Moment, currentMoment, msBetween } from '../runtime/moment.ts'
import type { HealthCheck } from '../serving/http/pages.ts'
import { type FollowedCaps, followCaps } from '../settings/caps.ts'
import { type SettingsSources, followSettings } from '../settings/follow.ts'
import { refreshSettings } from '../settings/refresh.ts'
import { type Authenticator, createAuthenticator } from './authenticator.ts'
import { type KeyIndex, createKeyIndex } from './key-index.ts'
import { createLiveKeyReader } from './live-reader.ts'
import { createRoleReader } from './role-rules.ts'
import {
  FRESH_FOR_MS,
  READ_TIMEOUT_MS,
  RENEW_AFTER_MS,
  REUSE_READS_FOR_MS,
  isFresh,
} from './staleness.ts'
import { Heartbeat } from './watch-heartbeat.ts'

/** Dependencies of followCallers; everything stops when the signal aborts. */
export interface StartAuthenticatorOptions {
  readonly client: KubeClient
  readonly startInformer: InformerFactory['startInformer']
  /** Stores of the settings, which the caller keeps by its own watches. */
  readonly sources: SettingsSources
  /** Called when those watches must have missed a change. */
  readonly doubtSettings: () => void
  /** The platform namespace. */
  readonly namespace: string
  /** 32 random bytes of this process. */
  readonly secret: Uint8Array
  /** From 0 to 1. */
  readonly random: () => number
  /** Called with the milliseconds from a write of this process to its watch event. */
  readonly returned: (tookMs: number) => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Called with the uid of a key whose callers must be checked again; null = those of all keys. */
export type KeyChangeListener = (uid: string | null) => void

/** Callers, and what they depend on. */
export interface StartedAuthenticator extends Authenticator {
  readonly index: KeyIndex
  readonly caps: FollowedCaps
  /** The rules of roles as last read. */
  readonly roleRules: RoleRules
  /** Calls back, from now on, whenever earlier callers must be checked again. */
  readonly subscribe: (listener: KeyChangeListener) => void
  /** Age of the oldest proof that decisions rest on, in milliseconds. */
  readonly ageMs: () => number
  /** When a gateway is ready for callers (contract 10.4). */
  readonly readiness: Readonly<Record<string, HealthCheck>>
}

/** Period of the check for stale proofs, in milliseconds. */
const LOOK_MS = 1000

/** Starts to follow keys, settings and roles. */
export function startAuthenticator(options: StartAuthenticatorOptions): StartedAuthenticator {
  const { client, clock, log, signal, sources } = options
  const listeners: KeyChangeListener[] = []
  const news: KeyChangeListener = (uid) => {
    for (const listener of listeners) listener(uid)
  }
  const index = createKeyIndex(options.secret)
  const caps = followCaps({ ...sources, log })
  const meaning = followMeaning(sources, () => news(null))
  const { roleRules, read } = createRoleReader(client, meaning.changed)
  const provenAt = followKeys(options, index)
  const limits = { reuseForMs: REUSE_READS_FOR_MS, timeoutMs: READ_TIMEOUT_MS }
  const pace = { everyMs: RENEW_AFTER_MS, freshForMs: FRESH_FOR_MS, ...limits }
  const reading = { clock, log, signal, ...pace }
  const settings = startPoller({ what: 'settings', ...reading, read: settingsReader(options) })
  const roles = startPoller({ what: 'roles', ...reading, read })
  index.store.subscribe((change) => {
    // There is no caller before the keys are listed.
    if (!index.store.synced || listeners.length === 0) return
    for (const { uid } of keysAffectedBy(change, index)) news(uid)
  })
  const proofs = { keys: provenAt, settings: settings.provenAt, roles: roles.provenAt }
  void tellWhileStale({ clock, signal, proofs, tell: () => news(null) })
  return {
    ...createAuthenticator({
      clock,
      index,
      reader: createLiveKeyReader(client, clock, index),
      provenAt,
      caps: () => caps.current(),
      settings,
      roles,
      meaning: meaning.current,
    }),
    index,
    caps,
    roleRules,
    subscribe: (listener) => void listeners.push(listener),
    ageMs: () =>
      Math.max(...Object.values(proofs).map((proof) => msBetween(proof(), currentMoment(clock)))),
    readiness: {
      'keys-listed': () => (index.store.synced ? null : 'the access keys are not listed yet'),
      'heartbeat-heard': seen(proofs.keys, 'no heartbeat has arrived by the watch'),
      'settings-read': seen(proofs.settings, 'the settings have not been read'),
      'roles-read': seen(proofs.roles, 'the roles of scopes have not been read'),
    },
  }
}

/** @returns the moment up to which all changes of the keys are known; null = none is */
function followKeys(options: StartAuthenticatorOptions, index: KeyIndex): () => Moment | null {
  const heartbeat = new Heartbeat({ ...options, doubt: () => informer.relist() })
  const informer = options.startInformer(ACCESS_KEYS, heartbeat.through(index.store), {})
  void heartbeat.keepBeating(options.signal)
  return () => heartbeat.provenAt()
}

const settingsReader = (options: StartAuthenticatorOptions) => (abort: AbortSignal) =>
  refreshSettings({ ...options.sources, ...options, doubt: options.doubtSettings }, abort)

/** The meaning of scopes: a new value when the rules of a role or the namespace prefix of projects change. */
function followMeaning(sources: SettingsSources, news: () => void) {
  let current = {}
  let prefix: string | null = null
  const changed = (): void => {
    current = {}
    news()
  }
  // Subscribed after the caps, so that these are up to date when listeners run.
  followSettings(sources, (observed) => {
    const before = prefix
    prefix = gatewaySwitchesInForce(observed)?.projectNamespacePrefix ?? prefix
    if (prefix === before) news()
    else changed()
  })
  return { changed, current: () => current }
}

type Proof = () => Moment | null

const seen =
  (proof: Proof, otherwise: string): HealthCheck =>
  () =>
    proof() === null ? otherwise : null

interface Staleness {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly proofs: Readonly<Record<string, Proof>>
  readonly tell: () => void
}

/** Has open streams checked every second while a proof is stale; each key is read once in that time (10.4). */
async function tellWhileStale({ clock, signal, proofs, tell }: Staleness): Promise<void> {
  const isStale = (): boolean =>
    Object.values(proofs).some((proof) => !isFresh(proof(), currentMoment(clock)))
  while (!signal.aborted) {
    await sleep(clock, LOOK_MS, signal)
    if (isStale()) tell()
  }
}
