// The controller of claims: what it watches, and what makes it look at a claim again.
import { findCondition } from '../../domain/conditions.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { parseTimestamp } from '../../domain/time.ts'
import {
  type ControllerSpec,
  type Watch,
  fewResyncs,
  onChange,
} from '../../kube/controller/builder.ts'
import { done } from '../../kube/controller/outcome.ts'
import { type StoreChange, objectKey } from '../../kube/informer/store.ts'
import type { Log } from '../../runtime/log.ts'
import type { FollowedCaps } from '../../settings/caps.ts'
import { watchSecrets } from './secret-rounds.ts'
import type { ClaimDeps } from './deps.ts'
import { reconcile } from './reconcile.ts'
import { claimsThatCount } from './place.ts'

/** Name of the controller in metrics and logs. */
export const CLAIM_CONTROLLER = 'accesskeyclaim'

/** What the controller of claims needs from the process. */
interface ClaimSetup extends ClaimDeps {
  readonly followedCaps: FollowedCaps
  readonly workers: number
  readonly log: Log
  readonly signal: AbortSignal
}

/** The controller of claims (contract 28). */
export function claimController(setup: ClaimSetup): ControllerSpec {
  const { stores, workers } = setup
  const { claims, keys, tokens } = stores
  return {
    name: CLAIM_CONTROLLER,
    workers,
    resyncsAtOnce: fewResyncs(workers),
    // Before there are caps nothing may be decided; all claims are enqueued once there are.
    reconcile: async (key, context) =>
      setup.followedCaps.current() === null ? done : reconcile(key, setup, context),
    objectOf: (key) => claims.getByKey(key),
    reads: [claims, keys, tokens],
    watches: [
      onChange(
        claims,
        (change) => claimsAffectedBy(change, setup),
        ({ listed }) => (listed ? 'resync' : 'change'),
      ),
      onChange(keys, ({ before, after }) => claimOf(after ?? before)),
      onChange(tokens, ({ before, after }) => claimOf(after ?? before)),
      onSecrets(setup),
      resyncAll(setup),
    ],
  }
}

const claimOf = (made: { readonly claimKey: string } | undefined): readonly string[] =>
  made === undefined || made.claimKey === '' ? [] : [made.claimKey]

/** A claim that goes makes room for a later one of its namespace. */
function claimsAffectedBy(
  { key, before, after }: StoreChange<Claim>,
  { stores: { claims }, memory, slots, places }: ClaimSetup,
): readonly string[] {
  if (after !== undefined || before === undefined) return [key]
  memory.forget(before)
  slots.release(before.uid)
  const waiting = claimsThatCount(before.namespace, claims, places).filter(
    ({ published }) => findCondition(published.conditions, 'Ready')?.reason === 'TooManyClaims',
  )
  return waiting.map(objectKey)
}

const onSecrets =
  (setup: ClaimSetup): Watch =>
  (enqueue) => {
    const ending = new AbortController()
    const signal = AbortSignal.any([setup.signal, ending.signal])
    void watchSecrets({ ...setup, signal, changed: (key) => enqueue(key, 'change') })
    return () => ending.abort()
  }

/** Enqueues all claims at the start and whenever caps or the gateway change, the most overdue first (contract 28.5). */
const resyncAll =
  ({ stores: { claims }, followedCaps, gateway }: ClaimSetup): Watch =>
  (enqueue) => {
    const dueMs = ({ published }: Claim): number =>
      parseTimestamp(published.nextRotation) ?? Number.MAX_SAFE_INTEGER
    const all = (): void => {
      for (const claim of [...claims.values()].toSorted((a, b) => dueMs(a) - dueMs(b)))
        enqueue(objectKey(claim), 'resync')
    }
    followedCaps.subscribe(all)
    gateway.subscribe(all)
  }
