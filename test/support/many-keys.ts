// The manager's controller of access keys over many of them, with an API server in memory: for what a cluster
// of a hundred thousand keys would show.
import type { ConfigMap } from '../../src/api/core.ts'
import { CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../src/api/group.ts'
import { startKeys } from '../../src/commands/manager/controllers.ts'
import type { ControllersOptions } from '../../src/commands/manager/loop.ts'
import { plan } from '../../src/controllers/ownedaccesskey/plan.ts'
import { KEY_INDEXERS } from '../../src/controllers/ownedaccesskey/order.ts'
import { TOKEN_INDEXERS } from '../../src/controllers/directclusterendpointtoken/order.ts'
import { digestOf } from '../../src/credentials/digest.ts'
import {
  type AccessKey,
  accessKeyOf,
  type OwnedAccessKeyObject,
} from '../../src/domain/access-key.ts'
import type { Caps } from '../../src/domain/lifetime.ts'
import { timestamp } from '../../src/domain/time.ts'
import { tokenOf } from '../../src/domain/token.ts'
import type { AppliedObject, KubeClient } from '../../src/kube/client.ts'
import { Store, type Whole, whole } from '../../src/kube/store.ts'
import { Outage } from '../../src/kube/outage.ts'
import { Turns } from '../../src/kube/turns.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Metrics } from '../../src/runtime/metrics.ts'
import { circumstances, statusEntry } from './access-key.ts'
import { rememberingLog } from './log.ts'
import { memoryApi } from './memory-api.ts'
import { keyObject } from './objects.ts'

const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: null }

/** Keys that need nothing done: adopted, and their status says all. They end at these moments, or never. */
export function settledKeys(
  count: number,
  creationMs: number,
  ttlOf: (n: number) => number,
): readonly OwnedAccessKeyObject[] {
  const createdAt = timestamp(creationMs)
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
      accessKeyOf(object, digestOf),
      circumstances({ caps: NO_CAPS, nowMs: creationMs }),
    )
    if (step.kind !== 'publish') throw new Error('a new key has no status')
    return withStatus(object, step.status, object.metadata.resourceVersion)
  })
}

const withStatus = (
  { metadata, ...rest }: OwnedAccessKeyObject,
  status: object,
  resourceVersion: string,
): OwnedAccessKeyObject => ({
  ...rest,
  metadata: { ...metadata, resourceVersion, managedFields: [statusEntry(status)] },
  status,
})

/** Applies of status, answered a turn later, and nothing else. */
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

/** The controller at work on these keys, once `list` is called, and the caps in a test's hand. */
export function manyKeys(
  given: readonly OwnedAccessKeyObject[],
  clock: Clock,
  metrics: Pick<Metrics, 'controller' | 'keyExpired'>,
) {
  const objects = new Map(given.map((object) => [object.metadata.name, object]))
  const keys = new Store<AccessKey>(
    (object) => accessKeyOf(object as OwnedAccessKeyObject, digestOf),
    KEY_INDEXERS,
  )
  const tokens = new Store((object) => tokenOf(object as never), TOKEN_INDEXERS)
  const configMaps = new Store(whole<ConfigMap>)
  const listeners: ((caps: Caps) => void)[] = []
  let current = NO_CAPS
  const caps: ControllersOptions['caps'] = {
    current: () => current,
    subscribe: (listener) => {
      listeners.push(listener)
      listener(current)
    },
  }
  const { log } = rememberingLog()
  const options = {
    settings: { configName: 'config', expiredRetentionMs: 86_400_000, workers: 16 },
    stores: { keys, tokens, configMaps },
    client: statusOnly(objects),
    caps,
    clock,
    turns: new Turns(clock),
    outage: new Outage(clock),
    metrics,
    log,
    events: { record: () => undefined },
    revocations: { subscribe: () => undefined, fault: () => null, has: () => false },
  }
  const stop = startKeys(options as unknown as ControllersOptions)
  const empty = (store: Store<Whole<ConfigMap>> | typeof tokens): void => {
    store.begin()
    store.end()
  }
  return {
    keys,
    objects,
    stop,
    /** Lists all keys in this moment, as a process does that starts. */
    list: () => {
      empty(tokens)
      empty(configMaps)
      keys.begin()
      for (const object of objects.values()) keys.put(object)
      keys.end()
    },
    /** Puts other caps in force. */
    cap: (maxTtlSeconds: number | null) => {
      current = { ...NO_CAPS, maxTtlSeconds }
      for (const listener of listeners) listener(current)
    },
  }
}
