// The work of the finalizer of a User or Team: ends every key of the person or team (contract 24.2).
import { ACCESS_KEYS } from '../../api/names.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { isConflict, isNotFound, isTestFailed, StatusError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { fieldSelectorValue, listPages } from '../../kube/client/list.ts'
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

/** Looks in a row: a client may make keys without a pause. */
const MOST_LOOKS = 10

/** Concurrent writes: one person may have thousands of keys. */
const CONCURRENT_WRITES = 8

/** The result of looks for keys. */
interface EndedKeys extends KeysLeft {
  /** Keys that were deleted at once, or disabled. */
  readonly written: number
  /** The error behind `fault`; null = there is none. */
  readonly error: StatusError | null
}

/** One look for keys: whose they are, and how they are written. */
interface Look {
  readonly principal: Principal
  readonly kind: PrincipalKind
  readonly deps: EndKeysDeps
  readonly context: ReconcileContext
}

/**
 * Deletes the keys of the person or team, and disables those that a GitOps tool would create again. They are read from
 * the API server: the store may lack a key that was made a moment ago.
 */
export async function endKeys(look: Look): Promise<EndedKeys> {
  const announced = new Set<string>()
  let ended = await endListedKeys(look, announced)
  // A list may lack a key that was made while it was read: the last look is one that finds nothing to do.
  for (let looks = 1; ended.count === 0 && ended.written > 0; looks += 1) {
    if (looks === MOST_LOOKS) return { ...ended, count: ended.written }
    ended = await endListedKeys(look, announced)
  }
  return ended
}

/** Ends the keys of one list. @param announced uids of the keys with an Event KeyKept, which this function adds */
async function endListedKeys(look: Look, announced: Set<string>): Promise<EndedKeys> {
  const ends: KeyResult[] = []
  const { principal, kind, deps } = look
  const fieldSelector = `${kind.keyField}=${fieldSelectorValue(principal.nameInForce)}`
  for await (const page of listPages(deps.client, ACCESS_KEYS, { fieldSelector })) {
    const keys = page.map(parseKey)
    for (let first = 0; first < keys.length; first += CONCURRENT_WRITES) {
      const some = keys.slice(first, first + CONCURRENT_WRITES)
      ends.push(...(await Promise.all(some.map((key) => endKey(key, look)))))
    }
  }
  const announce = (results: readonly KeyResult['result'][]): void => {
    for (const { key, result } of ends) {
      if (!results.includes(result) || announced.has(key.uid)) continue
      announced.add(key.uid)
      announceKept(key, look)
    }
  }
  announce(['disabled'])
  const left = ends.filter(({ result }) => result === 'left' || result === 'failed')
  // Those that were disabled earlier, once: a look that finds keys left is repeated.
  if (left.length === 0) announce(['kept'])
  const failed = ends.find(({ result }) => result === 'failed')
  const error = failed?.error ?? null
  return {
    count: left.length,
    written: ends.filter(({ result }) => result === 'deleted' || result === 'disabled').length,
    fault: failed && error ? `access key ${failed.key.name}, ${error.reason}` : null,
    error,
  }
}

/**
 * What became of a key. `gone`, `kept`: it was deleted or disabled before; `left`: it waits for its finalizer, or has
 * changed.
 */
interface KeyResult {
  readonly key: AccessKey
  readonly result: 'gone' | 'deleted' | 'left' | 'kept' | 'disabled' | 'failed'
  readonly error?: StatusError
}

async function endKey(key: AccessKey, look: Look): Promise<KeyResult> {
  const { log } = look.context
  try {
    const end = keyEndOf(key)
    switch (end) {
      case 'gone':
        return { key, result: 'gone' }
      case 'wait':
        return { key, result: 'left' }
      case 'kept':
        return { key, result: 'kept' }
      case 'disable':
        await disable(key, look)
        log.info({ key: key.name }, 'access key disabled with its person or team')
        return { key, result: 'disabled' }
      case 'delete': {
        const waits = await remove(key, look)
        log.info({ key: key.name }, 'access key deleted with its person or team')
        return { key, result: waits ? 'left' : 'deleted' }
      }
      default:
        return end satisfies never
    }
  } catch (error) {
    if (isNotFound(error)) return { key, result: 'gone' }
    // The next look finds it as it is then.
    if (isConflict(error) || isTestFailed(error)) return { key, result: 'left' }
    if (!(error instanceof StatusError)) throw error
    log.warn({ key: key.name, err: error }, 'access key not ended with its person or team')
    return { key, result: 'failed', error }
  }
}

const remove = (key: AccessKey, { kind, deps: { client, keys } }: Look): Promise<boolean> =>
  deleteObject({ client, resource: ACCESS_KEYS, store: keys }, key, kind.writeReason)

async function disable(
  { name, resourceVersion }: AccessKey,
  { kind: { writeReason }, deps: { client, keys } }: Look,
): Promise<void> {
  const operations = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/spec/disabled', value: true },
  ] as const
  keys.observe(await client.patch(ACCESS_KEYS, { name }, operations, writeReason))
}

function announceKept(key: AccessKey, { principal, kind, deps, context }: Look): void {
  const { uid, nameInForce } = principal
  const note = `The object of ${kind.called(nameInForce)} was deleted. This key is disabled instead of deleted, because a GitOps tool applies it and would create it again: take it out of the tool's source, else the tool may enable it again.`
  const about = { regarding: regardingOf(ACCESS_KEYS, key), normalReasons: [] }
  const kept = [{ reason: 'KeyKept', note, discriminator: uid }]
  recordTransitions(kept, { ...about, reconcileID: context.reconcileID }, deps.events)
}
