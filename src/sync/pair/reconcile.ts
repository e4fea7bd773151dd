// Brings one virtual object and its host object in step (contract 18.3, 19.7, 19.8).
import type { OwnerReference } from '../../api/objects.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { objectKey } from '../../kube/informer/store.ts'
import { hostNameOf, virtualNameOf } from '../objects/host-name.ts'
import { cachedEvaluation } from '../patches/evaluation-cache.ts'
import type { ReferenceLookups } from '../patches/reference.ts'
import type { Evaluate } from '../sandbox/protocol.ts'
import { convergence, mustSimulate, verdictKeptOn, verdictOf } from './convergence.ts'
import { afterFailedPatch, type FailedPatch } from './failed-patch.ts'
import type { ExistingPair, ReconciledPair } from './pair.ts'
import { isNameHeld, pairFacts, planPair } from './plan.ts'
import { afterLookup, type PairLookups } from './reference-lookup.ts'
import type { PairScope } from './scope.ts'
import { type KindSettings, type ObjectPair, translate } from './translation.ts'
import { deleteHost, keepVerdict, type PairWriteDeps, writePair } from './writes.ts'

/** Dependencies of the reconcile of one kind. */
interface PairDeps extends PairWriteDeps {
  readonly settings: KindSettings
  /** The owner of host objects now; null = they have none. */
  readonly owner: () => OwnerReference | null
  readonly scope: PairScope
  readonly lookups: PairLookups
  readonly evaluate: Evaluate
}

/** The reconcile function of one kind; a key is the key of the virtual object. */
export function createReconcile(
  deps: PairDeps,
): (key: string, context: ReconcileContext) => Promise<Outcome> {
  const { lookups, scope } = deps
  return async (key, context) => {
    if (!scope.isOpen(virtualNameOf(key).namespace) || scope.isGivenUp(key)) {
      lookups.drop(key)
      forget({ key, context }, deps)
      return done
    }
    const pair = readPair(key, context, deps)
    return pair === null ? done : reconcilePair(pair, deps)
  }
}

/** null = an object was not read yet: it may exist, and its first read queues the key again. */
function readPair(key: string, context: ReconcileContext, deps: PairDeps): ReconciledPair | null {
  const { virtual, host, settings, states } = deps
  const name = virtualNameOf(key)
  const hostName = hostNameOf(name, settings.context.place)
  const hostKey = objectKey(hostName)
  if (!virtual.objects.isSynced(name)) return null
  if (!host.objects.isSynced(hostName)) {
    states.awaitHostName(key, hostKey)
    return null
  }
  return {
    key,
    virtual: virtual.objects.getByKey(key) ?? null,
    host: host.objects.getByKey(hostKey) ?? null,
    context,
  }
}

function forget(pair: Pick<ReconciledPair, 'key' | 'context'>, { report, scope }: PairDeps): void {
  report.forget(pair)
  scope.release(pair.key)
}

function reconcilePair(pair: ReconciledPair, deps: PairDeps): Outcome | Promise<Outcome> {
  const { key, virtual, host, context } = pair
  const { lookups, report, scope, settings, states } = deps
  const facts = pairFacts(pair, scope, settings)
  const plan = planPair(facts)
  if (plan !== 'translate') lookups.drop(key)
  // A pair that is forgotten may still wait for its name on the host.
  if (plan === 'nothing') forget(pair, deps)
  states.awaitHostName(key, host !== null && isNameHeld(facts) ? objectKey(host) : null)
  switch (plan) {
    case 'nothing':
      return done
    case 'wait':
      report.state(key, 'waiting')
      return done
    case 'conflict':
      if (host) report.taken(pair, host)
      return done
    case 'delete': {
      report.state(key, 'waiting')
      if (host === null) return done
      const write = { pair, cluster: 'host', isKnown: true, sent: null } as const
      return report.refusalReported(write, () => deleteHost(host, deps))
    }
    case 'translate':
      return virtual ? bringInStep({ key, virtual, host, context }, deps) : done
    default:
      return plan satisfies never
  }
}

async function bringInStep(pair: ExistingPair, deps: PairDeps): Promise<Outcome> {
  const { clock, report, settings } = deps
  const verdict = verdictOn(pair, settings)
  if (verdict !== null && isKnownUnstable(pair, verdict, deps)) {
    report.unstable(pair, verdict)
    return done
  }
  const lookups = deps.lookups.begin(pair.key)
  const translated = await translatePair(pair, verdict !== null, lookups, deps)
  const lookedUp = await lookups.end()
  if (lookedUp !== 'complete') {
    report.state(pair.key, 'waiting')
    return afterLookup(lookedUp, clock.nowMs())
  }
  if (!translated.ok)
    return afterFailedPatch(translated, report.patchFailed(pair, translated), clock.nowMs())
  if (verdict !== null && !translated.isStable) {
    // The verdict holds in this process also where the host refuses to keep it.
    await keepVerdict(pair, verdict, deps)
    report.unstable(pair, verdict)
    return done
  }
  report.refused(pair, translated.refusals)
  return writePair({ pair, wanted: translated.state }, deps)
}

/** The digest of a pair whose patches may not converge; null = they do, whatever the objects. */
const verdictOn = (pair: ExistingPair, { patches, config }: KindSettings): string | null =>
  mustSimulate(patches) ? verdictOf({ patches, config, ...objectsOf(pair) }) : null

const objectsOf = ({ virtual, host }: ExistingPair): ObjectPair => ({
  virtual: virtual.object,
  host: host && host.object,
})

/** Whether this process or an earlier one has found that the patches of this very pair do not converge. */
const isKnownUnstable = ({ key, host }: ExistingPair, verdict: string, deps: PairDeps): boolean =>
  deps.report.isUnstable(key, verdict) || verdict === verdictKeptOn(host && host.object)

/** Both objects as they are to be, and whether more rounds of patches would give the same. */
type TranslatedPair =
  | FailedPatch
  | {
      readonly ok: true
      readonly state: ObjectPair
      readonly refusals: readonly string[]
      readonly isStable: boolean
    }

/** @param isSimulated whether more rounds of patches may give another result */
async function translatePair(
  pair: ExistingPair,
  isSimulated: boolean,
  lookups: ReferenceLookups,
  deps: PairDeps,
): Promise<TranslatedPair> {
  const { virtual } = pair
  const { choosesIpFamilies } = virtual
  const state = deps.states.of(pair.key)
  const settings = { ...deps.settings, owner: deps.owner(), choosesIpFamilies, lookups }
  const written = state.written?.uid === virtual.uid ? state.written.metadata : null
  const evaluate =
    settings.patches.length === 0 ? deps.evaluate : cachedEvaluation(state, deps.evaluate)
  const objects = objectsOf(pair)
  const first = await translate(objects, written, settings, evaluate)
  if (!first.ok || !isSimulated) return first.ok ? { ...first, isStable: true } : first
  const settled = await convergence(objects, first.state, settings, evaluate)
  return settled.ok ? { ...first, isStable: settled.isStable } : settled
}
