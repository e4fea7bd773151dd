// The work of the finalizer of a User or Team: ends every key of the person or team (contract 24.2).
import { ACCESS_KEYS } from '../../api/names.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { isConflict, isTestFailed, StatusError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { deleteObject, regardingOf } from '../../kube/controller/object-writes.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import { parseKey } from '../indexes/access-keys.ts'
import { keyEndOf } from './plan.ts'
import type { Principal, PrincipalKind } from './principal.ts'
import type { KeysLeft } from './status.ts'

/** Dependencies of endKeys. */
export interface EndKeysDeps {
  readonly client: KubeClient
  readonly keys: Store<AccessKey>
  readonly events: EventRecorder
}

/** Keys in a page of the list. */
const PAGE = 500

/** Concurrent writes: one person may have thousands of keys. */
const CONCURRENT_WRITES = 8

/**
 * Deletes the keys of the person or team, and disables those that a GitOps tool would create again. They are read from
 * the API server: the store may lack a key that was made a moment ago.
 */
export async function endKeys(
  principal: Principal,
  kind: PrincipalKind,
  deps: EndKeysDeps,
  context: ReconcileContext,
): Promise<KeysLeft> {
  const fieldSelector = `${kind.keyField}=${selectorValue(principal.nameInForce)}`
  let left: KeysLeft = { count: 0, fault: null }
  let next: string | undefined
  do {
    const page = await deps.client.list(ACCESS_KEYS, { fieldSelector }, PAGE, next)
    const keys = page.items.map(parseKey)
    for (let first = 0; first < keys.length; first += CONCURRENT_WRITES) {
      const some = keys.slice(first, first + CONCURRENT_WRITES)
      const ends = await Promise.all(some.map((key) => endKey(key, principal, kind, deps, context)))
      left = {
        count: left.count + ends.filter((end) => end !== 'gone').length,
        fault: left.fault ?? ends.find((end) => end !== 'gone' && end !== 'left') ?? null,
      }
    }
    ;({ next } = page)
  } while (next !== undefined)
  return left
}

/** The value in a field selector, with its special characters escaped. */
const selectorValue = (value: string): string => value.replaceAll(/[\\,=]/g, '\\$&')

/** Ends one key. @returns `gone`, `left`, or why it failed, as a clause */
async function endKey(
  key: AccessKey,
  principal: Principal,
  kind: PrincipalKind,
  deps: EndKeysDeps,
  context: ReconcileContext,
): Promise<string> {
  const { log } = context
  const target = { client: deps.client, resource: ACCESS_KEYS, store: deps.keys }
  try {
    const end = keyEndOf(key)
    if (end === 'gone') return 'gone'
    if (end === 'wait') return 'left'
    if (end === 'delete') {
      const waits = await deleteObject(target, key, kind.writeReason)
      log.info({ key: key.name }, 'access key deleted with its person or team')
      return waits ? 'left' : 'gone'
    }
    if (end === 'disable') {
      await disable(key, kind, deps)
      log.info({ key: key.name }, 'access key disabled with its person or team')
    }
    announceKept(key, principal, kind, deps, context)
    return 'gone'
  } catch (error) {
    // The next look finds it as it is then.
    if (isConflict(error) || isTestFailed(error)) return 'left'
    if (!(error instanceof StatusError)) throw error
    log.warn({ key: key.name, err: error }, 'access key not ended with its person or team')
    return `access key ${key.name}, ${error.reason}`
  }
}

async function disable(
  { name, resourceVersion }: AccessKey,
  { writeReason }: PrincipalKind,
  { client, keys }: EndKeysDeps,
): Promise<void> {
  const operations = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/spec/disabled', value: true },
  ] as const
  keys.observe(await client.patch(ACCESS_KEYS, { name }, operations, writeReason))
}

function announceKept(
  key: AccessKey,
  { uid, nameInForce }: Principal,
  { called }: PrincipalKind,
  { events }: EndKeysDeps,
  { reconcileID }: ReconcileContext,
): void {
  const note = `The object of ${called(nameInForce)} was deleted. This key is disabled instead of deleted, because a GitOps tool applies it and would create it again: take it out of the tool's source, else the tool may enable it again.`
  const regarding = regardingOf(ACCESS_KEYS, key)
  const kept = [{ reason: 'KeyKept', note, discriminator: uid }]
  recordTransitions(kept, { regarding, normalReasons: [], reconcileID }, events)
}
