// Gateways as far as activity goes: with the rights of the gateway's account, each with a watch of its own.
import { ACCESS_KEYS, FIELD_MANAGER } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import type { Caller } from '../../../src/authn/caller.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { type AccessKey, accessKeyOf } from '../../../src/domain/accesskey/access-key.ts'
import {
  type ActivityRecorder,
  createActivityRecorder,
} from '../../../src/gateway/activity/recorder.ts'
import { type KubeClient, createClient } from '../../../src/kube/client/client.ts'
import { connect } from '../../../src/kube/client/connection.ts'
import { createInformerFactory } from '../../../src/kube/informer/informers.ts'
import { Store } from '../../../src/kube/informer/store.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type LoggedLine, memoryLog } from '../../support/memory-log.ts'

/** One of them. */
export interface ActivityReplica {
  readonly client: KubeClient
  readonly keys: Store<AccessKey>
  readonly activity: ActivityRecorder
  readonly lines: readonly LoggedLine[]
  /** Who calls with this key, as this one knows it. @throws Error when it does not know it yet */
  readonly caller: (name: string) => Caller
  readonly close: () => Promise<void>
}

/** A recorder that knows all keys. */
export async function startActivityReplica(kubeconfig: string): Promise<ActivityReplica> {
  const clock = systemClock()
  const { log, lines } = memoryLog()
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
  const client = createClient({
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent: 'recorder/test',
    fieldManager: FIELD_MANAGER,
    mayWrite: () => undefined,
  })
  const keys = new Store<AccessKey>((object) => accessKeyOf(object as OwnedAccessKey, secretDigest))
  const closing = new AbortController()
  const { startInformer } = createInformerFactory({
    client,
    clock,
    log,
    restarted: () => undefined,
    signal: closing.signal,
  })
  startInformer(ACCESS_KEYS, keys, {})
  await new Promise<void>((resolve) => keys.whenSynced(resolve))
  const activity = createActivityRecorder({
    client,
    keys,
    caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
    clock,
    log,
    budgetPerSecond: 10,
    random: Math.random,
    observer: { written: () => undefined, failed: () => undefined },
  })
  return {
    client,
    keys,
    activity,
    lines,
    caller: (name) => {
      const key = keys.get(name)
      if (!key) throw new Error(`key ${name} is not known yet`)
      return { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
    },
    close: async () => {
      closing.abort()
      await connection.close()
    },
  }
}
