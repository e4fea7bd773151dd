// Takes over into a Login key what the sign-in process reports of its person (contract 25.7).
import { ACCESS_KEYS, CONFIG_MAPS } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { isNotFound, isRefusal, testFailedAsConflict } from '../../kube/client/api-error.ts'
import type { KubeClient, PatchOperation } from '../../kube/client/client.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  type IdentityChange,
  goneOperations,
  refreshOperations,
  reportOf,
} from './identity-change.ts'
import { keyIdField } from './publish.ts'

/** Dependencies of recordIdentity. */
export interface RecordIdentityDeps {
  readonly client: KubeClient
  readonly keys: Store<AccessKey>
  readonly clock: Clock
  /** The namespace of the reports. */
  readonly signInNamespace: string
}

/** Wait after a refused write, in milliseconds: 10,000 keys that may not be written are 33 attempts a second. */
const REFUSED_FOR_MS = 300_000

/**
 * Writes a change into the key.
 *
 * @returns when it is to be tried again because it was refused, in epoch milliseconds; null = it is written, or its report says
 * something else by now
 * @throws StatusError 409 when the key has changed
 */
export async function recordIdentity(
  key: AccessKey,
  change: IdentityChange,
  deps: RecordIdentityDeps,
  { log }: ReconcileContext,
): Promise<number | null> {
  const { client, keys, clock } = deps
  try {
    const operations = await operationsFor(key, change, deps)
    if (operations === null) return null
    keys.observe(await client.patch(ACCESS_KEYS, { name: key.name }, operations, change.kind))
  } catch (error) {
    if (isNotFound(error)) return null
    if (!isRefusal(error, true)) throw testFailedAsConflict(error)
    log.warn({ ...keyIdField(key), err: error }, REFUSED_SENTENCE)
    return clock.nowMs() + REFUSED_FOR_MS
  }
  if (change.kind === 'gone')
    log.info({ ...keyIdField(key), because: change.reason }, 'access key of a person who is gone')
  return null
}

const REFUSED_SENTENCE =
  'what the sign-in process reports of a person cannot be written into the access key, trying again'

/** The patch of a change; null = its report says something else by now, as a watch event will tell. */
async function operationsFor(
  key: AccessKey,
  change: IdentityChange,
  { client, signInNamespace: namespace }: RecordIdentityDeps,
): Promise<readonly PatchOperation[] | null> {
  if (change.kind === 'gone') return goneOperations(key, change)
  const stored = await client.get<ConfigMap>(CONFIG_MAPS, { namespace, name: key.name })
  const { keyUid, refreshed } = (stored && reportOf(stored)) ?? {}
  const isSame = keyUid === key.uid && refreshed?.atMs === change.atMs
  return isSame ? refreshOperations(key, refreshed) : null
}
