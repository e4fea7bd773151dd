// Wires the authenticator to its watches and readers of the API server.
import type { KubeObject } from '../api/objects.ts'
import { keysAffectedBy, withOwnedKeys } from '../domain/accesskey/owner-chain.ts'
import type { RoleRules } from '../domain/scope/roles.ts'
import { gatewaySwitchesInForce } from '../domain/settings/effective-settings.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { InformerFactory } from '../kube/informer/informers.ts'
import type { StoreSink } from '../kube/informer/store.ts'
import {
  createTeamStore,
  createUserStore,
  parseTeam,
  parseUser,
  peopleIn,
} from '../people/people-index.ts'
import { type Clock, type Moment, currentMoment, msBetween, sleep } from '../runtime/clock.ts'
import { type EventLoopShare, forEachYielding } from '../runtime/concurrency/event-loop.ts'
import { type Poller, startPoller } from '../runtime/concurrency/poller.ts'
import type { Log } from '../runtime/log.ts'
import type { HealthCheck } from '../serving/http/pages.ts'
import { type FollowedCaps, followCaps } from '../settings/caps.ts'
import { followSettings, refreshSettings, type SettingsSources } from '../settings/follow.ts'
import { type Authenticator, createAuthenticator } from './authenticator.ts'
import { createKeyIndex, type KeyIndex } from './credential-index.ts'
import { KEY_HEARTBEAT } from './heartbeat-key.ts'
import { TEAM_HEARTBEAT, USER_HEARTBEAT } from './heartbeat-people.ts'
import { withLivePeople } from './live-people.ts'
import { createLiveKeyReader } from './live-reader.ts'
import { createRoleReader } from './role-rules.ts'
import {
  FRESH_FOR_MS,
  isFresh,
  READ_TIMEOUT_MS,
  RENEW_AFTER_MS,
  REUSE_READS_FOR_MS,
} from './staleness.ts'
import {
  createWatchHeartbeat,
  type HeartbeatObject,
  type WatchHeartbeat,
} from './watch-heartbeat.ts'

/** Dependencies of startAuthenticator; everything stops when the signal aborts. */
interface StartAuthenticatorOptions {
  readonly client: KubeClient
  readonly startInformer: InformerFactory['startInformer']
  /** Stores of the settings, which the caller keeps current by its own watches. */
  readonly sources: SettingsSources
  /** Called when those watches have missed a change, to make them list again. */
  readonly relistSettings: () => void
  /** The platform namespace. */
  readonly namespace: string
  /** 32 random bytes of this process. */
  readonly secret: Uint8Array
  /** A random number from 0 to 1. */
  readonly random: () => number
  /** Called with the milliseconds from the sending of a heartbeat of this process to its watch event. */
  readonly onDelivered: (tookMs: number) => void
  /** Lets a change that affects many keys yield to requests. */
  readonly eventLoop: EventLoopShare
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Called with the uid of a key whose callers must authenticate again; null = the callers of all keys must. */
type KeyChangeListener = (uid: string | null) => void

/** A running authenticator with the state on which it decides. */
export interface StartedAuthenticator extends Authenticator {
  readonly index: KeyIndex
  readonly caps: FollowedCaps
  /** The rules of roles as last read. */
  readonly roleRules: RoleRules
  /** Calls the listener whenever earlier callers must authenticate again. */
  readonly subscribe: (listener: KeyChangeListener) => void
  /** Age of the oldest proof among keys, settings and roles, in milliseconds; Infinity while one is missing. */
  readonly ageMs: () => number
  /** Whether a gateway is ready for callers (contract 10.4). */
  readonly readiness: Readonly<Record<string, HealthCheck>>
}

/** How often proofs are checked for staleness. */
const STALENESS_CHECK_MS = 1000

/** Starts the watches of keys and people, the pollers of settings and roles, and the authenticator that uses them. */
export function startAuthenticator(options: StartAuthenticatorOptions): StartedAuthenticator {
  const { client, clock, log, signal, sources } = options
  const listeners: KeyChangeListener[] = []
  const notify: KeyChangeListener = (uid) => {
    for (const listener of listeners) listener(uid)
  }
  const { index, proofs: watched, stores } = watchCredentials(options)
  notifyOfChanges(index, options.eventLoop, notify)

  const { configs, configMaps, configName, namespace } = sources
  const caps = followCaps({ configs, configMaps, configName, namespace, log })
  // Subscribed after the caps, so that the caps are current when listeners run.
  const scopeRules = versionScopeRules(sources, () => notify(null))
  const { roleRules, read: readRoles } = createRoleReader(client, scopeRules.changed)

  const settings = startFreshnessPoller(options, 'settings', settingsReader(options))
  const roles = startFreshnessPoller(options, 'roles', readRoles)

  const proofs = { ...watched, settings: settings.provenAt, roles: roles.provenAt }
  void notifyWhileStale({ clock, signal, proofs, notify: () => notify(null) })
  return {
    ...createAuthenticator({
      clock,
      index,
      reader: withLivePeople(createLiveKeyReader(client, clock, index), client, clock),
      provenAt: () => oldest(watched.keys(), watched.users(), watched.teams()),
      caps: () => caps.current(),
      settings,
      roles,
      scopeRulesVersion: scopeRules.version,
    }),
    index,
    caps,
    roleRules,
    subscribe: (listener) => void listeners.push(listener),
    ageMs: () =>
      Math.max(...Object.values(proofs).map((proof) => msBetween(proof(), currentMoment(clock)))),
    readiness: {
      'keys-listed': () => (index.store.synced ? null : 'the access keys are not listed yet'),
      'people-listed': () =>
        stores.users.synced && stores.teams.synced
          ? null
          : 'the people and teams are not listed yet',
      'heartbeat-heard': checkProof(proofs.keys, 'no heartbeat has arrived by the watch'),
      'people-heard': checkProof(
        () => oldest(proofs.users(), proofs.teams()),
        'no heartbeat of people and teams has arrived by the watches',
      ),
      'settings-read': checkProof(proofs.settings, 'the settings have not been read'),
      'roles-read': checkProof(proofs.roles, 'the roles of scopes have not been read'),
    },
  }
}

/** Polls a subject, so that it is never older than the freshness limit. */
const startFreshnessPoller = (
  { clock, log, signal }: StartAuthenticatorOptions,
  name: string,
  read: (abort: AbortSignal) => Promise<void>,
): Poller =>
  startPoller({
    name,
    read,
    clock,
    log,
    signal,
    everyMs: RENEW_AFTER_MS,
    freshForMs: FRESH_FOR_MS,
    reuseForMs: REUSE_READS_FOR_MS,
    timeoutMs: READ_TIMEOUT_MS,
  })

/** The moment up to which all changes are known; null = unknown. */
type Proof = () => Moment | null

/** The earlier of the moments; null = one of them is unknown. */
function oldest(...moments: readonly (Moment | null)[]): Moment | null {
  let found = moments[0] ?? null
  for (const moment of moments) {
    if (found === null || moment === null) return null
    if (moment.monotonicMs < found.monotonicMs) found = moment
  }
  return found
}

/** Watches keys, people and teams into an index, with heartbeats that prove each watch complete. */
function watchCredentials(options: StartAuthenticatorOptions) {
  const stores = { users: createUserStore(parseUser), teams: createTeamStore(parseTeam) }
  const people = peopleIn(stores)
  const index = { ...createKeyIndex(options.secret, people), people }
  // A restored etcd shows in one watch first: what the others have seen counts no more either.
  const onGap = (): void => {
    for (const { distrust } of [keys, users, teams]) distrust()
  }
  const keys = watchKind(options, KEY_HEARTBEAT, index.store, onGap)
  const users = watchKind(options, USER_HEARTBEAT, stores.users, onGap)
  const teams = watchKind(options, TEAM_HEARTBEAT, stores.teams, onGap)
  const proofs = { keys: keys.provenAt, users: users.provenAt, teams: teams.provenAt }
  return { index, stores, proofs }
}

/** Calls `notify` for each key that a change of a key, a person or a team affects. */
function notifyOfChanges(
  index: ReturnType<typeof watchCredentials>['index'],
  eventLoop: EventLoopShare,
  notify: (uid: string) => void,
): void {
  const { store, people } = index
  // No caller exists before the keys are listed.
  store.subscribe((change) => {
    if (!store.synced) return
    for (const { uid } of keysAffectedBy(change, index)) notify(uid)
  })
  people.subscribe((identities) => {
    if (!store.synced) return
    void forEachYielding(eventLoop, identities, (identity) => {
      for (const { uid } of withOwnedKeys(index.withIdentity(identity), index.ownedBy)) notify(uid)
    })
  })
}

/** Watches a kind into a store. @returns the heartbeat, with the proof that the store is complete */
function watchKind<T extends KubeObject>(
  { client, startInformer, random, onDelivered, clock, log, signal }: StartAuthenticatorOptions,
  object: HeartbeatObject<T>,
  store: StoreSink,
  onGap: () => void,
): Pick<WatchHeartbeat, 'provenAt' | 'distrust'> {
  const relist = (): void => informer.relist()
  const deps = { client, clock, log, random, onDelivered, onGap, relist }
  const heartbeat = createWatchHeartbeat({ object, ...deps })
  const informer = startInformer(object.resource, heartbeat.observe(store), {})
  void heartbeat.keepWriting(signal)
  return heartbeat
}

const settingsReader =
  ({ client, sources, relistSettings: relist }: StartAuthenticatorOptions) =>
  (abort: AbortSignal) =>
    refreshSettings({ client, sources, relist }, abort)

/**
 * The version of the rules for scopes: a new object whenever `changed` is called or the namespace prefix of projects
 * changes. Calls `notify` after every change of the settings.
 */
function versionScopeRules(sources: SettingsSources, notify: () => void) {
  let version = {}
  let prefix: string | null = null
  const changed = (): void => {
    version = {}
    notify()
  }
  followSettings(sources, (observed) => {
    const previousPrefix = prefix
    prefix = gatewaySwitchesInForce(observed)?.projectNamespacePrefix ?? prefix
    if (prefix === previousPrefix) notify()
    else changed()
  })
  return { changed, version: () => version }
}

const checkProof =
  (proof: Proof, fault: string): HealthCheck =>
  () =>
    proof() === null ? fault : null

interface StalenessCheck {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly proofs: Readonly<Record<string, Proof>>
  readonly notify: () => void
}

/**
 * While a proof is stale, notifies every second, so that open streams are checked; each key is read once then (10.4).
 */
async function notifyWhileStale({ clock, signal, proofs, notify }: StalenessCheck): Promise<void> {
  const isStale = (): boolean =>
    Object.values(proofs).some((proof) => !isFresh(proof(), currentMoment(clock)))
  while (!signal.aborted) {
    await sleep(clock, STALENESS_CHECK_MS, signal)
    if (isStale()) notify()
  }
}
