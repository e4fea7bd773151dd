// Brings one virtual object and its host object in step (contract 18.3, 19.7, 19.8).
import { nestedString } from '../domain/json/field-path.ts'
import { sameJson } from '../domain/json/json.ts'
import { type Outcome, done } from '../kube/controller/controller.ts'
import { objectKey } from '../kube/informer/store.ts'
import type { EvaluationMemory } from './evaluation-memory.ts'
import {
  type CachedPair,
  type WriteDeps,
  deleteHost,
  keepVerdict,
  metadataOf,
  writePair,
} from './pair-writes.ts'
import { virtualNameOf } from './referenced-objects.ts'
import { hostNameOf } from './rules/host-name.ts'
import { isSkipped, ownerOf } from './rules/marks.ts'
import { type PairFacts, planPair } from './rules/plan.ts'
import { mustSimulate, settle, verdictOf } from './rules/settling.ts'
import { NOT_STABLE } from './rules/version.ts'
import { type SyncedObject, isTerminating } from './synced-object.ts'
import { type ObjectPair, type TranslationSettings, translate } from './translation.ts'

/** Dependencies of the reconcile of one kind. */
export interface SyncDeps extends WriteDeps {
  /** With the owner of host objects at the moment. */
  readonly settings: () => TranslationSettings
  readonly isEnabled: boolean
  /** Whether the object is to stand on the host. */
  readonly isWanted: (virtual: SyncedObject) => boolean
  /** Whether it is never synced, such as default/kubernetes. */
  readonly isReserved: (virtual: SyncedObject) => boolean
  /** PairFacts.host.isLeftover of a foreign host object. */
  readonly isLeftover: (host: SyncedObject) => boolean
  /** Whether host objects may be created now; all keys are queued when that changes. */
  readonly mayCreate: () => boolean
  /** Called when nothing of this key is on either side. */
  readonly forgotten: (key: string) => void
  readonly memory: EvaluationMemory
}

/** The reconcile function of one kind; a key is that of the virtual object. */
export function createReconcile(deps: SyncDeps): (key: string) => Promise<Outcome> {
  return async (key) => {
    const settings = deps.settings()
    const name = virtualNameOf(key)
    const hostName = hostNameOf(name, settings.context.place)
    // An object that is not read yet is no object that is gone; its first read queues the key again.
    if (!deps.virtual.objects.isSynced(name)) return done
    if (!deps.host.objects.isSynced(hostName)) {
      // Where it does not exist, its first read shows no mark with the key.
      deps.report.awaits(objectKey(hostName), key)
      return done
    }
    const virtual = deps.virtual.objects.getByKey(key) ?? null
    const host = deps.host.objects.getByKey(objectKey(hostName)) ?? null
    return reconcilePair(key, { virtual, host }, deps, settings)
  }
}

function reconcilePair(
  key: string,
  pair: { readonly virtual: SyncedObject | null; readonly host: SyncedObject | null },
  deps: SyncDeps,
  settings: TranslationSettings,
): Outcome | Promise<Outcome> {
  const { report } = deps
  const { virtual, host } = pair
  const plan = planPair(factsOf(key, pair, deps, settings))
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
      return host ? deleteHost(host, deps) : done
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
  deps.noChange.forget(key)
  deps.forgotten(key)
}

function factsOf(
  key: string,
  { virtual, host }: { readonly virtual: SyncedObject | null; readonly host: SyncedObject | null },
  deps: SyncDeps,
  { kind, context }: TranslationSettings,
): PairFacts {
  const owner = host && ownerOf(host.object, kind, context.place)
  // Two virtual objects can have one name on the host (contract 17.1): it is the other one's then.
  const isOwn = owner !== null && objectKey(owner) === key
  return {
    virtual: virtual && {
      uid: virtual.uid,
      isTerminating: isTerminating(virtual),
      isLeftAlone: deps.isReserved(virtual) || isSkipped(virtual.object),
      isWanted: deps.isWanted(virtual),
    },
    host: host && {
      ownerUid: isOwn ? owner.uid : null,
      isTerminating: isTerminating(host),
      isLeftAlone: isSkipped(host.object),
      isLeftover: owner === null && deps.isLeftover(host),
    },
    isEnabled: deps.isEnabled,
    mayCreate: deps.mayCreate(),
  }
}

async function bringInStep(
  key: string,
  cached: CachedPair,
  deps: SyncDeps,
  settings: TranslationSettings,
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
  const evaluate = deps.memory.of(key)
  const before = deps.written.get(key)
  const written = before?.uid === virtual.uid ? before.metadata : null
  const first = await translate(pair, written, settings, evaluate)
  if (!first.ok) throw report.patchFailed(key, virtual, first)
  if (verdict !== null && !samePair(first.state, pair)) {
    const next = (state: ObjectPair) => translate(state, metadataOf(state), settings, evaluate)
    const settled = await settle(first.state, next, samePair)
    if (!settled.ok) throw report.patchFailed(key, virtual, settled)
    if (!settled.isStable) {
      if (host) await keepVerdict(key, host, verdict, deps)
      report.unstable(key, virtual, verdict)
      return done
    }
  }
  report.refused(key, virtual, first.refusals)
  return writePair(key, cached, first.state, deps, settings.translator)
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
