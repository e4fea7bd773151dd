// The manager's controller of access keys with many keys, on an API server in memory: for effects at the scale
// of a hundred thousand keys.
import { CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../src/api/names.ts'
import type { ConfigMap } from '../../src/api/objects.ts'
import { secretDigest } from '../../src/authn/credential-index.ts'
import type { startControllers } from '../../src/commands/manager/controllers.ts'
import type { ManagerMetrics } from '../../src/commands/manager/metrics.ts'
import { KEY_INDEXERS, KEY_ORDERS } from '../../src/controllers/indexes/access-keys.ts'
import { TOKEN_INDEXERS } from '../../src/controllers/indexes/tokens.ts'
import { plan } from '../../src/controllers/ownedaccesskey/plan.ts'
import { keyController as ownedAccessKeys } from '../../src/controllers/ownedaccesskey/setup.ts'
import { teamController } from '../../src/controllers/team/setup.ts'
import { userController } from '../../src/controllers/user/setup.ts'
import {
  type AccessKey,
  accessKeyOf,
  type OwnedAccessKeyObject,
} from '../../src/domain/accesskey/access-key.ts'
import type { Caps } from '../../src/domain/accesskey/lifetime.ts'
import { formatTimestamp, NOTHING_OVERDUE } from '../../src/domain/time.ts'
import { tokenOf } from '../../src/domain/token/token.ts'
import { CircuitBreaker } from '../../src/kube/client/circuit-breaker.ts'
import type { AppliedObject, KubeClient } from '../../src/kube/client/client.ts'
import { runController } from '../../src/kube/controller/builder.ts'
import { fullObject, Store, type StoreSink } from '../../src/kube/informer/store.ts'
import { peopleIn } from '../../src/people/people-index.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { EventLoopShare } from '../../src/runtime/concurrency/event-loop.ts'
import type { Log } from '../../src/runtime/log.ts'
import { memoryApi } from './fake-kube-client.ts'
import { circumstances, statusEntry } from './key-builder.ts'
import { memoryLog } from './memory-log.ts'
import { keyObject } from './object-builder.ts'

type ControllersOptions = Parameters<typeof startControllers>[0]

const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: null }

/** Keys without pending work: adopted, with a current status. They expire at these moments, or never. */
export function settledKeys(
  count: number,
  creationMs: number,
  ttlOf: (n: number) => number,
): readonly OwnedAccessKeyObject[] {
  const createdAt = formatTimestamp(creationMs)
  return Array.from({ length: count }, (_, n) => {
    const object = keyObject({
      metadata: {
        name: `key-${n}`,
        resourceVersion: String(n + 1),
        creationTimestamp: createdAt,
        annotations: { [CREATED_ANNOTATION]: createdAt },
        finalizers: [REVOKE_FINALIZER],
      },
      spec: { user: 'ada', ttl: ttlOf(n), key: `${n}-`.padEnd(32, 'k') },
    })
    const step = plan(
      accessKeyOf(object, secretDigest),
      circumstances({ caps: NO_CAPS, nowMs: creationMs }),
    )
    if (step.kind !== 'publish') throw new Error('a new key has no status')
    return withStatus(object, step.status, object.metadata.resourceVersion)
  })
}

/** The key with this status, as our apply leaves it. */
export const withStatus = (
  { metadata, ...rest }: OwnedAccessKeyObject,
  status: object,
  resourceVersion: string,
): OwnedAccessKeyObject => ({
  ...rest,
  metadata: { ...metadata, resourceVersion, managedFields: [statusEntry(status)] },
  status,
})

/** A client that only applies status, and answers a turn of the event loop later. */
function statusOnly(objects: Map<string, OwnedAccessKeyObject>): KubeClient {
  let revision = objects.size
  const apply = async (_: unknown, { metadata, ...rest }: AppliedObject): Promise<never> => {
    await new Promise(setImmediate)
    const before = objects.get(metadata.name)
    if (!before) throw new Error('no such key')
    revision += 1
    const after = withStatus(before, rest['status'] as object, String(revision))
    objects.set(metadata.name, after)
    return after as never
  }
  return { ...memoryApi().client(), apply }
}

/** Dependencies of the controller of access keys. */
export interface KeyControllerParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Log
  readonly stores: Pick<
    ControllersOptions['stores'],
    'keys' | 'tokens' | 'configMaps' | 'identityReports' | 'users' | 'teams'
  >
  readonly metrics: Pick<ManagerMetrics, 'controller' | 'keyExpired'>
}

/** The controller of access keys, active once its stores are listed, and a way to change the caps. */
export function keyController(parts: KeyControllerParts) {
  const listeners: ((caps: Caps) => void)[] = []
  let current = NO_CAPS
  const caps: ControllersOptions['caps'] = {
    current: () => current,
    subscribe: (listener) => {
      listeners.push(listener)
      listener(current)
    },
  }
  const given = {
    ...parts,
    people: peopleIn(parts.stores),
    settings: { configName: 'config', expiredRetentionMs: 86_400_000, workers: 16 },
    caps,
    eventLoop: new EventLoopShare(parts.clock),
    outage: new CircuitBreaker(parts.clock),
    events: { record: () => undefined },
    revocations: { ...NO_REVOCATIONS, subscribe: () => undefined },
    keyring: { lives: () => [], faults: () => [] },
  }
  const options = given as unknown as ControllersOptions
  return {
    options,
    stop: runController(ownedAccessKeys.setUp(options), options),
    /** Puts other caps in force. */
    cap: (maxTtlSeconds: number | null) => {
      current = { ...NO_CAPS, maxTtlSeconds }
      for (const listener of listeners) listener(current)
    },
  }
}

const NO_REVOCATIONS = {
  fault: () => null,
  has: () => false,
  countAt: () => 0,
  backlog: () => NOTHING_OVERDUE,
}

/** The controller with these keys, active once `list` is called. */
export function manyKeys(
  given: readonly OwnedAccessKeyObject[],
  clock: Clock,
  metrics: Pick<ManagerMetrics, 'controller' | 'keyExpired'>,
) {
  const objects = new Map(given.map((object) => [object.metadata.name, object]))
  const keys = new Store<AccessKey>(
    (object) => accessKeyOf(object as OwnedAccessKeyObject, secretDigest),
    KEY_INDEXERS,
    KEY_ORDERS,
  )
  const tokens = new Store((object) => tokenOf(object as never), TOKEN_INDEXERS)
  const configMaps = new Store(fullObject<ConfigMap>)
  const identityReports = ownedAccessKeys.watches.identityReports.createStore()
  const users = userController.watches.users.createStore()
  const teams = teamController.watches.teams.createStore()
  const stores = { keys, tokens, configMaps, identityReports, users, teams }
  const { log } = memoryLog()
  const empty = (store: StoreSink): void => {
    store.begin()
    store.end()
  }
  return {
    ...keyController({ client: statusOnly(objects), clock, log, stores, metrics }),
    keys,
    objects,
    /** Lists all keys, as at the start of a process. */
    list: () => {
      for (const store of [tokens, configMaps, users, teams]) empty(store)
      keys.begin()
      for (const object of objects.values()) keys.put(object)
      keys.end()
    },
  }
}
