// How the objects of one kind go from a virtual cluster to its host and back (contract 18).
import type { FieldPath } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { StatusError } from '../../kube/client/api-error.ts'
import type { HostPlace, VirtualName } from '../objects/host-name.ts'
import type { Patch } from '../patches/parse.ts'
import type { AddressSettings } from './addresses.ts'

/** The facts besides the object that a translation depends on. */
export interface TranslationContext {
  readonly place: HostPlace
  /** Whether the virtual cluster has the Service, and it is synced. */
  readonly hasService: (service: VirtualName) => boolean
  /** Whether a Service of this virtual cluster has this name on the host, by its marks or because it is to get it. */
  readonly ownsHostService: (service: VirtualName) => boolean
  /** Whether a user has set the IP families of the virtual Service, and not its API server. */
  readonly choosesIpFamilies: boolean
  /** The patch that acts from virtual to host on this very field of the virtual object; null = none. */
  readonly patchKindAt: (path: FieldPath) => Patch['kind'] | null
}

/**
 * How the objects of one kind are translated; metadata is translated elsewhere. All functions are pure. On the way to
 * the host they come in this order, with the patches after `toHost`.
 */
export interface KindTranslator {
  /** The virtual object's fields as they go to the host, with the virtual object's metadata. Depends on no host object. */
  readonly toHost: (virtual: JsonMap, context: TranslationContext) => JsonMap
  /** Checks the patched object, and leaves out what must not be written. */
  readonly check: (
    object: JsonMap,
    settings: AddressSettings,
    context: TranslationContext,
  ) => CheckedObject
  /** The checked object with the status, and with what the API server gave to the existing host object and keeps as it is. */
  readonly withHostValues: (desired: JsonMap, host: JsonMap) => JsonMap
  /** Whether the API server refuses this change of the host object: it must be deleted and created from `check`'s result. */
  readonly needsRecreation: (desired: JsonMap, host: JsonMap) => boolean
  /** The object to create in place of one whose creation the host refuses with this error; null = none. */
  readonly createInstead: (desired: JsonMap, error: StatusError) => JsonMap | null
  /**
   * The virtual object with the fields of the host object that flow back, but labels and annotations (18.5); the same
   * object when nothing does.
   */
  readonly toVirtual: (virtual: JsonMap, host: JsonMap) => JsonMap
}

/** The object that may be written, and a sentence for each refused address, for Event AddressRefused. */
export interface CheckedObject {
  /** null = nothing is written, and a host object that exists stays as it is. */
  readonly object: JsonMap | null
  readonly refusals: readonly string[]
}
