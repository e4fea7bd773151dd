// Brings one virtual object and its host object in step (contract 18.3, 19.7, 19.8).
import { nestedMap, nestedString } from '../../domain/json/field-path.ts'
import { sameJson } from '../../domain/json/json.ts'
import { done, type Outcome } from '../../kube/controller/controller.ts'
import { objectKey } from '../../kube/informer/store.ts'
import type { KindTranslator } from '../kinds/translator.ts'
import { hostNameOf, virtualNameOf } from '../objects/host-name.ts'
import { isSkipped, ownerOf } from '../objects/ownership-marks.ts'
import { NOT_STABLE } from '../objects/server-fields.ts'
import { isTerminating, type SyncedObject } from '../objects/synced-object.ts'
import type { EvaluationMemory } from '../patches/evaluation-cache.ts'
import { afterFailedPatch, type FailedPatch } from './failed-patch.ts'
import type { Evaluate } from '../sandbox/protocol.ts'
import type { AwaitedNames } from './awaited-names.ts'
import { mustSimulate, settle, verdictOf } from './convergence.ts'
import { type PairFacts, planPair } from './plan.ts'
import type { TranslationLookup } from './reference-lookup.ts'
import { refusalReported } from './refused-write.ts'
import { type ObjectPair, type TranslationSettings, translate } from './translation.ts'
import {
  type CachedPair,
  deleteHost,
  keepVerdict,
  metadataOf,
  type PairWriteDeps,
  writePair,
} from './writes.ts'

/** Dependencies of the reconcile of one kind. */
interface SyncDeps extends PairWriteDeps {
  /** With the owner of host objects at the moment. */
  readonly settings: () => Settings
  readonly lookups: {
    /** Begins the look-ups of one translation. */
    readonly begin: (key: string) => TranslationLookup
    /** The object is not translated any more. */
    readonly drop: (key: string) => void
  }
  readonly isEnabled: boolean
  /** Whether the object is to stand on the host. */
  readonly isWanted: (virtual: SyncedObject) => boolean
  /** Whether the clusters have one each of their own, so that it is never synced. */
  readonly isReserved: (virtual: SyncedObject) => boolean
  /** PairFacts.host.isLeftover of a foreign host object. */
  readonly isLeftover: (host: SyncedObject) => boolean
  /** Whether this virtual namespace has a host namespace; its keys are queued when that changes. */
  readonly isOpen: (virtualNamespace: string) => boolean
  /** Whether the key waits to be read, as too many are, and nothing names it any more: it would never be read. */
  readonly isGivenUp: (key: string) => boolean
  /** Whether its host object may be created now; the key is queued when that changes. */
  readonly mayCreate: (virtual: SyncedObject) => boolean
  /** Called when nothing of this key is on either side, or neither is read and written any more. */
  readonly forgotten: (key: string) => void
  readonly memory: EvaluationMemory
  readonly awaited: AwaitedNames
}

type Settings = Omit<TranslationSettings, 'lookups' | 'choosesIpFamilies'>

/** The reconcile function of one kind; a key is that of the virtual object. */
export function createReconcile(deps: SyncDeps): (key: string) => Promise<Outcome> {
  return async (key) => {
    const settings = deps.settings()
    const name = virtualNameOf(key)
    const hostName = hostNameOf(name, settings.context.place)
    const hostKey = objectKey(hostName)
    if (!deps.isOpen(name.namespace) || deps.isGivenUp(key)) {
      deps.awaited.set(key, null)
      deps.lookups.drop(key)
      forget(key, deps)
      return done
    }
    // An object that is not read yet is no object that is gone; its first read queues the key again.
    if (!deps.virtual.objects.isSynced(name)) return done
    if (!deps.host.objects.isSynced(hostName)) {
      deps.awaited.set(key, hostKey)
      return done
    }
    const virtual = deps.virtual.objects.getByKey(key) ?? null
    const host = deps.host.objects.getByKey(hostKey) ?? null
    return reconcilePair(key, { virtual, host }, deps, settings)
  }
}

function reconcilePair(
  key: string,
  pair: { readonly virtual: SyncedObject | null; readonly host: SyncedObject | null },
  deps: SyncDeps,
  settings: Settings,
): Outcome | Promise<Outcome> {
  const { report } = deps
  const { virtual, host } = pair
  const facts = factsOf(key, pair, deps, settings)
  const isHeld = virtual !== null && facts.host?.ownerUid === null
  deps.awaited.set(key, isHeld && host ? objectKey(host) : null)
  const plan = planPair(facts)
  if (plan !== 'translate') deps.lookups.drop(key)
  switch (plan) {
    case 'nothing':
      forget(key, deps)
      return done
    case 'wait':
      report.state(key, 'waiting')
      return done
    case 'taken':
      if (virtual && host) report.taken(key, virtual, host)
      return done
    case 'delete':
      report.state(key, 'waiting')
      if (host === null) return done
      return refusalReported(
        { key, virtual, cluster: 'host', isKnown: true, sent: null },
        deps,
        () => deleteHost(host, deps),
      )
    case 'translate':
      return virtual ? bringInStep(key, { virtual, host }, deps, settings) : done
    default:
      return plan satisfies never
  }
}

function forget(key: string, deps: SyncDeps): void {
  deps.report.forget(key)
  deps.memory.forget(key)
  deps.written.delete(key)
  deps.noChange.virtual.forget(key)
  deps.noChange.host.forget(key)
  deps.pace.virtual.forget(key)
  deps.pace.host.forget(key)
  deps.forgotten(key)
}

function factsOf(
  key: string,
  { virtual, host }: { readonly virtual: SyncedObject | null; readonly host: SyncedObject | null },
  deps: SyncDeps,
  { kind, context }: Settings,
): PairFacts {
  const owner = host && ownerOf(host.object, kind, context.place)
  // Another virtual object can have the same name on the host (contract 17.1).
  const isOurs = owner !== null && objectKey(owner) === key
  return {
    virtual: virtual && {
      uid: virtual.uid,
      isTerminating: isTerminating(virtual),
      isLeftAlone: deps.isReserved(virtual) || isSkipped(virtual.object),
      isWanted: deps.isWanted(virtual),
    },
    host: host && {
      ownerUid: isOurs ? owner.uid : null,
      isTerminating: isTerminating(host),
      isLeftAlone: isSkipped(host.object),
      isLeftover: owner === null && deps.isLeftover(host),
    },
    isEnabled: deps.isEnabled,
    mayCreate: virtual !== null && deps.mayCreate(virtual),
  }
}

/** When an object is looked at again whose reference leads into a host namespace that is being made. */
const OPENS_MS = 10_000

async function bringInStep(
  key: string,
  cached: CachedPair,
  deps: SyncDeps,
  settings: Settings,
): Promise<Outcome> {
  const { report } = deps
  const { virtual, host } = cached
  const { patches, config } = settings
  const pair: ObjectPair = { virtual: virtual.object, host: host && host.object }
  const verdict = mustSimulate(patches) ? verdictOf({ patches, config, ...pair }) : null
  if (verdict !== null && (report.isUnstable(key, verdict) || verdict === verdictKept(host))) {
    report.unstable(key, virtual, verdict)
    return done
  }
  const lookups = deps.lookups.begin(key)
  const { choosesIpFamilies } = virtual
  const given = { ...settings, lookups, choosesIpFamilies }
  const { first, settled } = await settledTranslation(key, cached, verdict !== null, deps, given)
  const lookedUp = await lookups.end()
  if (lookedUp !== 'complete') {
    report.state(key, 'waiting')
    const inMs = lookedUp === 'opens' ? OPENS_MS : 0
    return lookedUp === 'wait' ? done : { result: 'later', atMs: deps.clock.nowMs() + inMs }
  }
  const patchFailed = (failed: FailedPatch): Outcome =>
    afterFailedPatch(failed, report.patchFailed(key, virtual, failed), deps.clock.nowMs())
  if (!first.ok) return patchFailed(first)
  if (!settled.ok) return patchFailed(settled)
  if (verdict !== null && !settled.isStable) {
    // The verdict holds in this process also where the host refuses to keep it.
    if (host) await keepVerdict(key, { virtual, host }, verdict, deps)
    report.unstable(key, virtual, verdict)
    return done
  }
  report.refused(key, virtual, first.refusals)
  return writePair(key, cached, first.state, deps, settings.translator)
}

/** The translation of both objects, and whether more rounds would give the same. */
async function settledTranslation(
  key: string,
  { virtual, host }: CachedPair,
  isSimulated: boolean,
  { memory, written: lastWrites }: SyncDeps,
  settings: TranslationSettings,
) {
  const pair: ObjectPair = { virtual: virtual.object, host: host && host.object }
  const evaluate = memory.of(key)
  const before = lastWrites.get(key)
  const written = before?.uid === virtual.uid ? before.metadata : null
  const first = await translate(pair, written, settings, evaluate)
  if (!first.ok || !isSimulated || samePair(first.state, pair))
    return { first, settled: { ok: true, isStable: true } as const }
  return { first, settled: await simulate(pair, first.state, settings, evaluate) }
}

/** Whether the patches come to rest when both objects are written as wanted. */
function simulate(
  existing: ObjectPair,
  wanted: ObjectPair,
  settings: TranslationSettings,
  evaluate: Evaluate,
) {
  const written = (before: ObjectPair, after: ObjectPair): ObjectPair =>
    afterWrite(before, after, existing, settings.translator)
  const next = async (state: ObjectPair) => {
    const round = await translate(state, metadataOf(state), settings, evaluate)
    return round.ok ? { ...round, state: written(state, round.state) } : round
  }
  return settle(written(existing, wanted), next, samePair)
}

/**
 * The objects after a write: a host object whose change is refused goes first. A new one has an identity, which
 * expressions can read; that of the existing one does for it.
 */
function afterWrite(
  before: ObjectPair,
  wanted: ObjectPair,
  existing: ObjectPair,
  { needsRecreation }: KindTranslator,
): ObjectPair {
  if (wanted.host === null) return wanted
  if (before.host !== null)
    return needsRecreation(wanted.host, before.host) ? { ...wanted, host: null } : wanted
  const { uid = 'new', creationTimestamp = 'new' } = nestedMap(existing.host ?? {}, ['metadata'])
  const metadata = { ...nestedMap(wanted.host, ['metadata']), uid, creationTimestamp }
  return { ...wanted, host: { ...wanted.host, metadata } }
}

/** Both objects are the same for the syncer: neither would be written. */
const samePair = (one: ObjectPair, other: ObjectPair): boolean =>
  sameJson(one.virtual, other.virtual) &&
  (one.host === null || other.host === null
    ? one.host === other.host
    : sameJson(one.host, other.host))

/** Empty where there is none. */
const verdictKept = (host: SyncedObject | null): string =>
  nestedString(host?.object, ['metadata', 'annotations', NOT_STABLE])
