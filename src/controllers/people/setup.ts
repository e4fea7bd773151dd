// What the controllers of Users and of Teams have in common.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import {
  type ControllerSpec,
  type Watch,
  fewResyncs,
  onChange,
} from '../../kube/controller/builder.ts'
import type { ObjectCounts } from '../../kube/controller/definition.ts'
import type { CachedObject, ObjectSource, Store, StoreChange } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYielding } from '../../runtime/concurrency/event-loop.ts'
import { BY_IDENTITY } from '../indexes/access-keys.ts'
import { isLeft } from './plan.ts'
import { type Principal, isHeartbeat } from './principal.ts'
import { type PrincipalDeps, reconcile } from './reconcile.ts'
import { type PrincipalState, stateOf } from './status.ts'

/** Reconciles at a time: few, as each may end thousands of keys. */
export const PRINCIPAL_WORKERS = 4

/** The parts of a controller that differ between Users and Teams. */
interface PrincipalController {
  readonly name: string
  readonly deps: PrincipalDeps
  /** The User or Team of an identity. */
  readonly find: (identity: string) => (CachedObject & { readonly isDeleting: boolean }) | undefined
  /** The stores that it reads besides its own and the keys. */
  readonly reads: ControllerSpec['reads']
  /** Further watches. */
  readonly watches: readonly Watch[]
}

/** The controller of Users or of Teams. */
export function principalController({
  name,
  deps,
  find,
  reads,
  watches,
}: PrincipalController): ControllerSpec {
  const { principals, keys } = deps
  return {
    name,
    workers: PRINCIPAL_WORKERS,
    resyncsAtOnce: fewResyncs(PRINCIPAL_WORKERS),
    reconcile: (key, context) => reconcile(key, deps, context),
    objectOf: (key) => principals.getByKey(key),
    reads: [principals, keys, ...reads],
    watches: [
      onChange(principals, (change) => (isHeartbeat(change) ? [] : [change.key])),
      onChange(keys, (change) => waitingFor(change, keys, find)),
      ...watches,
      (enqueue) => {
        for (const principal of principals.values())
          if (!isHeartbeat(principal)) enqueue(principal.name, 'resync')
      },
    ],
  }
}

/** The User or Team that is being deleted and has waited for the last of its keys. */
function waitingFor(
  { before, after }: StoreChange<AccessKey>,
  keys: Store<AccessKey>,
  find: PrincipalController['find'],
): readonly string[] {
  const identity = before?.identity ?? null
  const isEnd = before !== undefined && isLeft(before) && !(after && isLeft(after))
  const principal = identity === null || !isEnd ? undefined : find(identity)
  if (identity === null || !principal?.isDeleting) return []
  return keys.by(BY_IDENTITY, identity).some(isLeft) ? [] : [principal.name]
}

/** Label values of platform_users{state} and platform_teams{state} (contract 8.4). */
export const PRINCIPAL_STATE_LABELS: Readonly<Record<PrincipalState, string>> = {
  Active: 'active',
  Terminating: 'terminating',
  NameMismatch: 'name_mismatch',
  Disabled: 'disabled',
}

/** Counts Users or Teams by state, without heartbeats. Yields to the event loop. */
export async function countPrincipals(
  principals: ObjectSource<Principal>,
  eventLoop: EventLoopShare,
): Promise<ObjectCounts> {
  const byState: Record<string, number> = {}
  await forEachYielding(eventLoop, [...principals.values()], (principal) => {
    if (isHeartbeat(principal)) return
    const label = PRINCIPAL_STATE_LABELS[stateOf(principal)]
    byState[label] = (byState[label] ?? 0) + 1
  })
  return { byState }
}
