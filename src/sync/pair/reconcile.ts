// Brings one virtual object and its host object in step (contract 18.3, 19.7, 19.8).
import type { OwnerReference } from '../../api/objects.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { objectKey } from '../../kube/informer/store.ts'
import { hostNameOf, virtualNameOf } from '../objects/host-name.ts'
import { isSkipped, ownerOf } from '../objects/host-metadata.ts'
import { isTerminating } from '../objects/synced-object.ts'
import { cachedEvaluation } from '../patches/evaluation-cache.ts'
import { type ReferenceLookups, WITHOUT_CLUSTERS } from '../patches/reference.ts'
import type { Evaluate } from '../sandbox/protocol.ts'
import { convergence, mustSimulate, verdictKeptOn, verdictOf } from './convergence.ts'
import { afterFailedPatch, type FailedPatch } from './failed-patch.ts'
import type { ExistingPair, ReconciledPair } from './pair.ts'
import { type PairFacts, planPair } from './plan.ts'
import type { LookupOutcome, PairLookups } from './reference-lookup.ts'
import type { PairScope } from './scope.ts'
import {
  type KindSettings,
  type ObjectPair,
  type TranslationSettings,
  translate,
} from './translation.ts'
import { deleteHost, keepVerdict, type PairWriteDeps, writePair } from './writes.ts'

/** Dependencies of the reconcile of one kind. */
interface PairDeps extends PairWriteDeps {
  readonly settings: KindSettings
  /** The owner of host objects now; null = they have none. */
  readonly owner: () => OwnerReference | null
  readonly scope: PairScope
  /** null = translations of the kind look nothing up. */
  readonly lookups: PairLookups | null
  readonly evaluate: Evaluate
}

/** The reconcile function of one kind; a key is the key of the virtual object. */
export function createReconcile(
  deps: PairDeps,
): (key: string, context: ReconcileContext) => Promise<Outcome> {
  const { scope, settings, states } = deps
  return async (key, context) => {
    const name = virtualNameOf(key)
    const hostName = hostNameOf(name, settings.context.place)
    const hostKey = objectKey(hostName)
    if (!scope.isOpen(name.namespace) || scope.isGivenUp(key)) {
      deps.lookups?.drop(key)
      forget({ key, context }, deps)
      return done
    }
    // An object that was not read yet may exist; its first read queues the key again.
    if (!deps.virtual.objects.isSynced(name)) return done
    if (!deps.host.objects.isSynced(hostName)) {
      states.awaitHostName(key, hostKey)
      return done
    }
    const virtual = deps.virtual.objects.getByKey(key) ?? null
    const host = deps.host.objects.getByKey(hostKey) ?? null
    return reconcilePair({ key, virtual, host, context }, deps)
  }
}

function reconcilePair(pair: ReconciledPair, deps: PairDeps): Outcome | Promise<Outcome> {
  const { key, virtual, host } = pair
  const { report, states } = deps
  const facts = factsOf(pair, deps)
  const plan = planPair(facts)
  if (plan !== 'translate') deps.lookups?.drop(key)
  if (plan === 'nothing') forget(pair, deps)
  const isHeld = virtual !== null && facts.host?.ownerUid === null
  states.awaitHostName(key, isHeld && host ? objectKey(host) : null)
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
      return virtual ? bringInStep({ key, virtual, host, context: pair.context }, deps) : done
    default:
      return plan satisfies never
  }
}

function forget(pair: Pick<ReconciledPair, 'key' | 'context'>, { report, scope }: PairDeps): void {
  report.forget(pair)
  scope.release(pair.key)
}

function factsOf({ key, virtual, host }: ReconciledPair, { scope, settings }: PairDeps): PairFacts {
  const owner = host && ownerOf(host.object, settings.kind, settings.context.place)
  // Another virtual object can have the same name on the host (contract 17.1).
  const isOurs = owner !== null && objectKey(owner) === key
  return {
    virtual: virtual && {
      uid: virtual.uid,
      isTerminating: isTerminating(virtual),
      isLeftAlone: scope.isReserved(virtual) || isSkipped(virtual.object),
      isWanted: scope.isWanted(virtual),
    },
    host: host && {
      ownerUid: isOurs ? owner.uid : null,
      isTerminating: isTerminating(host),
      isLeftAlone: isSkipped(host.object),
      isLeftover: owner === null && scope.isLeftover(host),
    },
    isEnabled: scope.isEnabled,
    mayCreate: virtual !== null && scope.mayCreate(virtual),
  }
}

async function bringInStep(pair: ExistingPair, deps: PairDeps): Promise<Outcome> {
  const { key } = pair
  const { clock, report } = deps
  const verdict = verdictOn(pair, deps.settings)
  if (verdict !== null && isKnownUnstable(pair, verdict, deps)) {
    report.unstable(pair, verdict)
    return done
  }
  const lookups = deps.lookups?.begin(key) ?? null
  const translated = await translatePair(pair, verdict !== null, lookups ?? WITHOUT_CLUSTERS, deps)
  const lookedUp = lookups === null ? 'complete' : await lookups.end()
  if (lookedUp !== 'complete') {
    report.state(key, 'waiting')
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

/** The digest of the pair if its patches may not converge; null = they do. */
const verdictOn = (pair: ExistingPair, { patches, config }: KindSettings): string | null =>
  patches.length > 0 && mustSimulate(patches)
    ? verdictOf({ patches, config, ...objectsOf(pair) })
    : null

const objectsOf = ({ virtual, host }: ExistingPair): ObjectPair => ({
  virtual: virtual.object,
  host: host && host.object,
})

/** Whether this process or an earlier one has found that the patches of this very pair do not converge. */
const isKnownUnstable = ({ key, host }: ExistingPair, verdict: string, deps: PairDeps): boolean =>
  deps.report.isUnstable(key, verdict) || verdict === verdictKeptOn(host && host.object)

/** Both objects as they are to be, and whether more rounds of patches would give the same. */
type TranslatedOnce =
  | FailedPatch
  | {
      readonly ok: true
      readonly state: ObjectPair
      readonly refusals: readonly string[]
      readonly isStable: boolean
    }

async function translatePair(
  pair: ExistingPair,
  isSimulated: boolean,
  lookups: ReferenceLookups,
  deps: PairDeps,
): Promise<TranslatedOnce> {
  const { virtual } = pair
  const state = deps.states.of(pair.key)
  const settings: TranslationSettings = {
    ...deps.settings,
    owner: deps.owner(),
    choosesIpFamilies: virtual.choosesIpFamilies,
    lookups,
  }
  const written = state.written?.uid === virtual.uid ? state.written.metadata : null
  const evaluate =
    settings.patches.length === 0 ? deps.evaluate : cachedEvaluation(state, deps.evaluate)
  const objects = objectsOf(pair)
  const first = await translate(objects, written, settings, evaluate)
  if (!first.ok || !isSimulated) return first.ok ? { ...first, isStable: true } : first
  const settled = await convergence(objects, first.state, settings, evaluate)
  return settled.ok ? { ...first, isStable: settled.isStable } : settled
}

/** When an object is reconciled again whose reference leads into a host namespace that is being created. */
const OPENS_MS = 10_000

/** After a translation that lacked an answer: the key is queued when the object is read, or translated again. */
function afterLookup(lookedUp: Exclude<LookupOutcome, 'complete'>, nowMs: number): Outcome {
  if (lookedUp === 'wait') return done
  return { result: 'later', atMs: nowMs + (lookedUp === 'opens' ? OPENS_MS : 0) }
}
