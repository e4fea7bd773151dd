// The plan for one virtual object and the host object of its name (contract 16.3, 18.1, 18.3).
import { virtualNameOf } from '../objects/host-name.ts'
import { isSkipped, ownerOf } from '../objects/host-metadata.ts'
import { isTerminating } from '../objects/synced-object.ts'
import type { ReconciledPair } from './pair.ts'
import type { PairScope } from './scope.ts'
import type { KindSettings } from './translation.ts'

/** The facts about both objects. */
interface PairFacts {
  readonly virtual: {
    readonly uid: string
    readonly isTerminating: boolean
    /** Whether it is reserved, or marked to be skipped. */
    readonly isLeftAlone: boolean
    /** Whether it is to stand on the host, such as Endpoints whose Service has no selector. */
    readonly isWanted: boolean
  } | null
  readonly host: {
    /**
     * uid of the virtual object in its marks, empty where the mark is missing; null = it is foreign, or belongs to another
     * virtual object.
     */
    readonly ownerUid: string | null
    readonly isTerminating: boolean
    readonly isLeftAlone: boolean
    /** Whether it is foreign, but made by a controller of the host for a Service of this virtual cluster. */
    readonly isLeftover: boolean
  } | null
  /** Whether the kind is switched on. */
  readonly isEnabled: boolean
  /** Whether host objects may be created now. */
  readonly mayCreate: boolean
}

/**
 * `translate`: the host object is created or updated. `delete`: the host object goes; another event follows. `wait`:
 * the host object terminates, or none may be created. `conflict`: its name belongs to a foreign object. `nothing`: both
 * stay as they are.
 */
type PairPlan = 'translate' | 'delete' | 'wait' | 'conflict' | 'nothing'

/** The plan for one pair. */
export function planPair({ virtual, host, isEnabled, mayCreate }: PairFacts): PairPlan {
  if (virtual?.isLeftAlone || host?.isLeftAlone) return 'nothing'
  const isOurs = host !== null && host.ownerUid !== null
  const isGone = virtual === null || virtual.isTerminating
  // A kind that is switched off leaves its host objects as they are until the virtual object goes.
  if (!isGone && !isEnabled) return 'nothing'
  if (isGone || !virtual.isWanted) return isOurs && !host.isTerminating ? 'delete' : 'nothing'
  if (host === null) return mayCreate ? 'translate' : 'wait'
  if (host.isTerminating) return 'wait'
  if (!isOurs) return host.isLeftover ? 'delete' : 'conflict'
  return host.ownerUid === virtual.uid || host.ownerUid === '' ? 'translate' : 'delete'
}

/** The facts about the pair as last read. */
export function pairFacts(
  { key, virtual, host }: Pick<ReconciledPair, 'key' | 'virtual' | 'host'>,
  scope: PairScope,
  { kind, context }: Pick<KindSettings, 'kind' | 'context'>,
): PairFacts {
  const owner = host && ownerOf(host.object, kind, context.place)
  // Another virtual object can have the same name on the host (contract 17.1).
  const { name, namespace } = virtualNameOf(key)
  const isOurs = owner !== null && owner.name === name && owner.namespace === namespace
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

/** Whether another object has the name of the host object: the pair waits for the next change of that object. */
export const isNameHeld = ({ virtual, host }: PairFacts): boolean =>
  virtual !== null && host !== null && host.ownerUid === null
