// Which objects of a kind are synced, and what else that depends on (contract 16.2, 16.3, 18.1).
import type { VirtualName } from '../objects/host-name.ts'
import type { SyncedObject } from '../objects/synced-object.ts'

/** The facts of both clusters that the scope of a kind depends on. */
export interface SyncScopeFacts {
  /** Whether the configuration says that all objects of the kind are synced. */
  readonly isAll: boolean
  /** Whether a reference patch names the virtual object. */
  readonly isReferenced: (virtual: SyncedObject) => boolean
  /** The virtual Service of this name; null = it does not exist, or is an import. */
  readonly virtualService: (name: VirtualName) => SyncedObject | null
  /** The host Service of this name; null = it does not exist, or belongs to another virtual cluster or none. */
  readonly ownHostService: (name: VirtualName) => SyncedObject | null
}

/** The scope of one kind. All functions are pure. */
export interface KindScope {
  /** Whether each cluster has such an object of its own, so that it is never synced. */
  readonly isReserved: (object: VirtualName) => boolean
  /** Whether a virtual object that is not an import belongs on the host. */
  readonly isWanted: (virtual: SyncedObject, facts: SyncScopeFacts) => boolean
  /** Whether a controller of the host made a foreign object for a Service of this virtual cluster. */
  readonly isLeftover: (host: SyncedObject, facts: SyncScopeFacts) => boolean
  /**
   * The other objects on which the translation depends: `services` = the Services of the same name in both clusters,
   * `externalNames` = the Services and host namespaces that external names lead to (contract 18.6).
   */
  readonly follows: 'services' | 'externalNames' | null
}

/** The Service of the API server, and its Endpoints. */
export const isKubernetesService = ({ name, namespace }: VirtualName): boolean =>
  name === 'kubernetes' && namespace === 'default'

/** The scope of a kind whose objects are synced because references name them. */
export const REFERENCED_SCOPE: KindScope = {
  isReserved: () => false,
  isWanted: (virtual, { isAll, isReferenced }) => isAll || isReferenced(virtual),
  isLeftover: () => false,
  follows: null,
}
