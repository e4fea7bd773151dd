import { ACCESS_KEYS, CONFIG_MAPS, IDENTITY_REPORT_LABEL } from '../../api/names.ts'
import type { MetricName } from '../../api/metrics.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { keysAffectedBy } from '../../domain/accesskey/owner-chain.ts'
import { isCountedLogin, leastUsedLogin } from '../../domain/accesskey/surplus-logins.ts'
import type { People } from '../../domain/people/people.ts'
import type { PlatformTeam } from '../../domain/people/team.ts'
import type { PlatformUser } from '../../domain/people/user.ts'
import { generateKey } from '../../issuance/new-object.ts'
import {
  type ControllerSpec,
  fewResyncs,
  onChange,
  onSignal,
  type Watch,
} from '../../kube/controller/builder.ts'
import { type WatchSettings, everyObject } from '../../kube/controller/definition.ts'
import { type FullObject, Store, type StoreChange } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYieldingByTime } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { PeopleIndex } from '../../people/people-index.ts'
import { type FollowedCaps, knownCaps } from '../../settings/caps.ts'
import {
  BY_LOGIN,
  KEY_INDEXERS,
  KEY_ORDERS,
  endMsOf,
  keysIn,
  keysUnder,
  onPeople,
  parseKey,
} from '../indexes/access-keys.ts'
import { type StoredReport, storedReportOf } from './identity-change.ts'
import { KEY_STATE_LABELS, type KeyMetrics, countKeys, keyMetrics } from './metrics.ts'
import { KEY_WRITE_REASONS, type KeyDeps, reconcile } from './reconcile.ts'

/** What the controller of access keys needs from the process. */
export interface KeySetup
  extends Pick<KeyDeps, 'client' | 'revocations' | 'issues' | 'events' | 'clock'> {
  readonly settings: Pick<KeyDeps, 'configName' | 'signInNamespace'> & {
    readonly workers: number
    readonly expiredRetentionMs: number
  }
  readonly stores: Pick<KeyDeps, 'keys' | 'tokens'> & {
    readonly configMaps: Store<FullObject<ConfigMap>>
    readonly identityReports: Store<StoredReport>
    readonly users: Pick<Store<PlatformUser>, 'whenSynced'>
    readonly teams: Pick<Store<PlatformTeam>, 'whenSynced'>
  }
  readonly people: PeopleIndex
  readonly caps: FollowedCaps
  readonly eventLoop: EventLoopShare
  readonly metrics: KeyMetrics
  readonly log: Log
}

/** What counts the keys. */
interface KeyCounting {
  readonly stores: { readonly keys: Store<AccessKey> }
  readonly people: People
  readonly caps: Caps
  readonly nowMs: number
  readonly eventLoop: EventLoopShare
}

/** The controller of access keys. */
export const keyController = {
  name: 'ownedaccesskey',
  workers: ({ workers }: KeySetup['settings']) => workers,
  writes: { [ACCESS_KEYS.kind]: KEY_WRITE_REASONS },
  watches: {
    keys: {
      resource: ACCESS_KEYS,
      createStore: () => new Store(parseKey, KEY_INDEXERS, KEY_ORDERS),
      query: everyObject,
    },
    identityReports: {
      resource: CONFIG_MAPS,
      createStore: () => new Store(storedReportOf),
      query: ({ signInNamespace: namespace }: WatchSettings) => ({
        namespace,
        labelSelector: IDENTITY_REPORT_LABEL,
      }),
      optionalName: '',
    },
  },
  counts: {
    kind: ACCESS_KEYS.kind,
    metric: 'platform_access_keys' as const,
    expires: true,
    states: Object.values(KEY_STATE_LABELS),
    count: ({ stores, people, caps, nowMs, eventLoop }: KeyCounting) =>
      countKeys(stores.keys, people, caps, nowMs, eventLoop),
  },
  metrics: ({ make }: { readonly make: Instruments<MetricName> }) => keyMetrics(make),
  setUp: (setup: KeySetup): ControllerSpec => {
    const { client, settings, stores, people, caps, revocations, issues } = setup
    const { events, clock, eventLoop, metrics } = setup
    const { keys, tokens, configMaps, users, teams } = stores
    const deps: KeyDeps = {
      client,
      keys,
      people,
      reports: stores.identityReports,
      signInNamespace: settings.signInNamespace,
      tokens,
      revocations,
      issues,
      events,
      clock,
      caps: () => knownCaps(caps),
      configName: settings.configName,
      retentionMs: settings.expiredRetentionMs,
      newKey: generateKey,
      observer: { expired: metrics.keyExpired },
    }
    const relations = keysIn(keys, people)
    const ifCapsKnown = (affected: () => readonly AccessKey[]): readonly string[] =>
      caps.current() === null ? [] : namesOf(affected())
    return {
      name: keyController.name,
      workers: settings.workers,
      resyncsAtOnce: fewResyncs(settings.workers),
      reconcile: (key, context) => reconcile(key, deps, context),
      objectOf: (key) => keys.getByKey(key),
      reads: [keys, tokens, configMaps, users, teams],
      watches: [
        onChange(
          keys,
          (change) =>
            ifCapsKnown(() => [
              ...keysAffectedBy(change, relations),
              ...nextSurplusLogin(change, keys),
            ]),
          ({ listed }) => (listed ? 'resync' : 'change'),
        ),
        onPeople(people, eventLoop, (identity) =>
          ifCapsKnown(() => keysUnder(identity, keys, relations)),
        ),
        onSignal(revocations, () =>
          namesOf([...keys.values()].filter(({ isDeleting }) => isDeleting)),
        ),
        onReports(setup),
        resyncAll(setup),
      ],
    }
  },
}

/** The next key to be deleted because of further sign-ins (contract 5.1), after a sign-in has come or gone. */
function nextSurplusLogin(
  { before, after }: StoreChange<AccessKey>,
  keys: Store<AccessKey>,
): readonly AccessKey[] {
  const [had, has] = [before, after].map((key) => (key && isCountedLogin(key) ? key : undefined))
  const { identity = null } = had ?? has ?? {}
  if (had?.uid === has?.uid || identity === null) return []
  const least = leastUsedLogin(keys.by(BY_LOGIN, identity))
  return least === undefined ? [] : [least]
}

const namesOf = (keys: readonly AccessKey[]): readonly string[] => keys.map(({ name }) => name)

/** Enqueues the key of each report that comes or changes. A malformed one is logged. */
const onReports =
  ({ stores: { identityReports }, caps, log }: KeySetup): Watch =>
  (enqueue) => {
    const warn = ({ namespace, name, said }: StoredReport): void => {
      if (said === null) log.warn({ object: { namespace, name } }, MALFORMED_SENTENCE)
    }
    for (const report of identityReports.values()) warn(report)
    identityReports.subscribe(({ name, after, listed }) => {
      if (after) warn(after)
      if (caps.current() !== null) enqueue(name, listed ? 'resync' : 'change')
    })
  }

const MALFORMED_SENTENCE =
  'a report of the sign-in process is malformed: the access key of that name is not refreshed by it'

/** Enqueues all keys whenever the caps change, those that expire first at the front (contract 2.7). */
const resyncAll =
  ({ stores: { keys }, caps, clock, eventLoop }: KeySetup): Watch =>
  (enqueue) =>
    caps.subscribe((inForce) => {
      const nowMs = clock.nowMs()
      const expiryOf = (key: AccessKey): number => endMsOf(key, inForce, nowMs)
      void forEachYieldingByTime(eventLoop, keys.values(), expiryOf, ({ name }) =>
        enqueue(name, 'resync'),
      )
    })
