// The objects that reference patches name, and their names on the other side (contract 19.5).
import { type FieldPath, nestedField, nestedString } from '../../domain/json/field-path.ts'
import {
  isMap,
  type Json,
  type JsonMap,
  quoteForMessage,
  sameJson,
} from '../../domain/json/json.ts'
import {
  type HostPlace,
  hostNameOf,
  importSourceOf,
  type VirtualName,
} from '../objects/host-name.ts'
import { canBeNamed } from '../objects/possible-name.ts'
import { type Failure, failed } from '../sandbox/protocol.ts'
import { hasGroupOrIsBuiltIn, type Patch, type Reference } from './parse.ts'
import { matchedFields, type PatchPath, patchPathText, withField } from './path.ts'

/** A namespaced object that a reference names. */
export interface ObjectReference extends VirtualName {
  /** `v1` for built-in kinds. */
  readonly apiVersion: string
  readonly kind: string
}

/** A reference that names an object of an unknown kind. */
interface FailedReference {
  readonly ok: false
  readonly patch: Patch
  readonly path: string
  readonly failure: Failure
}

/** The objects that one object refers to. */
interface NamedObjects {
  /** Without duplicates. A reference that can't be resolved is left out. */
  readonly references: readonly ObjectReference[]
  /** The first reference that fails, which is an error of the object (contract 19.8); null = none fails. */
  readonly failed: FailedReference | null
}

/**
 * The objects that the reference patches name in a virtual object, before any patch has changed it. A value that is
 * not a string names nothing.
 */
export function referencesOf(object: JsonMap, patches: readonly Patch[]): NamedObjects {
  const namespace = nestedString(object, ['metadata', 'namespace'])
  const named = new Map<string, ObjectReference>()
  let first: FailedReference | null = null
  for (const patch of patches) {
    if (patch.kind !== 'reference') continue
    for (const path of matchedFields(object, patch.path)) {
      const read = readReference(nestedField(object, path) ?? null, patch.reference, namespace)
      if (read.kind === 'failed')
        first ??= { ok: false, patch, path: patchPathText(path), failure: read }
      if (read.kind === 'named') named.set(JSON.stringify(Object.values(read.target)), read.target)
    }
  }
  return { references: [...named.values()], failed: first }
}

/** The answer about an object that has not been read yet: a reference that needs it fails until its first read. */
export type Unread = 'unread'

/** A kind of the virtual cluster. */
export type NamedKind = Pick<ObjectReference, 'apiVersion' | 'kind'>

/** The look-ups in both clusters for the objects that references name. */
export interface ReferenceLookups {
  /** The virtual object that the marks of a host object name; null = the host object is foreign, or does not exist. */
  readonly virtualNameOf: (host: ObjectReference) => VirtualName | null | Unread
  /** Whether the host object of this name is imported under it, or is about to be. */
  readonly isImported: (virtual: ObjectReference) => boolean | Unread
  /** Whether the virtual cluster serves the kind, which is not built in. */
  readonly isServed: (kind: NamedKind) => boolean | Unread
  /** As in HostAccess; unread = its host namespace is being made. */
  readonly isOpen: (virtualNamespace: string) => boolean | Unread
}

/** Look-ups without a cluster: each host object is foreign, nothing is imported, and each kind counts as served. */
export const WITHOUT_CLUSTERS: ReferenceLookups = {
  virtualNameOf: () => null,
  isImported: () => false,
  isServed: () => true,
  isOpen: () => true,
}

/** The place of an object with references, and what these name. */
export interface ReferenceContext extends ReferenceLookups {
  readonly place: HostPlace
  /** The virtual namespace of the object, to which references without a namespace belong. */
  readonly namespace: string
}

/** The value in place of the given one, or why its reference has no translation. */
type TranslatedReference =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly failure: Failure }

/**
 * The value with the name of the referred object on the host, and with its namespace there if the value names one. An
 * imported object has its own name, in the host namespace.
 */
export function hostReference(
  value: Json,
  reference: Reference,
  context: ReferenceContext,
): TranslatedReference {
  const read = readServed(value, reference, context.namespace, context)
  if (read.kind === 'failed') return { ok: false, failure: read }
  if (read.kind === 'none') return { ok: true, value }
  const { namespace } = read.target
  // The mapping may lead to another tenant's namespace.
  const isOpen = context.isOpen(namespace)
  if (isOpen === 'unread') return UNREAD
  if (!isOpen) return { ok: false, failure: { ...NOT_OPEN, detail: quoteForMessage(namespace) } }
  // In multi-namespace mode both have the same name.
  const isImported = context.place.namespaces === null && context.isImported(read.target)
  if (isImported === 'unread') return UNREAD
  const nameOf = isImported ? importSourceOf : hostNameOf
  return { ok: true, value: renamed(value, read, nameOf(read.target, context.place)) }
}

/**
 * The host's value with the name that the referred object has in the virtual cluster, which is its own name where it
 * is imported. Another name of the host does not flow back: it would name another object there.
 *
 * @param own the virtual object's value: it stays where it means the same, or where no virtual name can take its place;
 *   undefined = it has none
 */
export function virtualReference(
  value: Json,
  own: Json | undefined,
  reference: Reference,
  context: ReferenceContext,
): TranslatedReference {
  if (own !== undefined) {
    const translated = hostReference(own, reference, context)
    if (!translated.ok && translated.failure === UNREAD.failure) return translated
    if (translated.ok && sameJson(translated.value, value)) return { ok: true, value: own }
  }
  const { place, namespace } = context
  const hostNamespace = hostNameOf({ name: '', namespace }, place).namespace
  const read = readServed(value, reference, hostNamespace, context)
  // A value that a user of the host wrote there must not stop the virtual object.
  if (read.kind === 'failed' && read.because === NO_NAME.because)
    return { ok: true, value: own ?? value }
  if (read.kind === 'failed') return { ok: false, failure: read }
  if (read.kind === 'none') return { ok: true, value }
  const owner = context.virtualNameOf(read.target)
  const virtual = owner ?? importedName(read.target, own, reference, context)
  if (virtual === 'unread') return UNREAD
  const isOutOfReach =
    virtual === null || (read.namespaceAt === null && virtual.namespace !== namespace)
  return { ok: true, value: isOutOfReach ? (own ?? value) : renamed(value, read, virtual) }
}

const NO_NAME = failed('no object of the kind can have the name or the namespace that it names')

const NOT_OPEN = failed('the namespace that it names has none on the host')

const NOT_SERVED = failed('the virtual cluster does not serve the kind')

/** Whether a failure can end without a change of the object or the patches: a kind is installed, a namespace made. */
export const dependsOnClusters = ({ because }: Failure): boolean =>
  [NOT_OPEN, NOT_SERVED, UNREAD.failure].some((one) => one.because === because)

const UNREAD = { ok: false, failure: failed('what it names has not been read yet') } as const

/** The name under which a host object is imported, into the namespace that the reference is in; null = it is not. */
function importedName(
  host: ObjectReference,
  own: Json | undefined,
  reference: Reference,
  { place, namespace, isImported }: ReferenceContext,
): VirtualName | null | Unread {
  const before = readReference(own ?? null, reference, namespace)
  const into = before.kind === 'named' ? before.target.namespace : namespace
  const source = importSourceOf({ name: host.name, namespace: into }, place)
  // A reference never leads out of the virtual cluster's own host namespace.
  if (source.namespace !== host.namespace) return null
  const virtual = { ...host, namespace: into }
  const state = isImported(virtual)
  if (state === 'unread') return state
  return state ? virtual : null
}

/** What a value names, and where in the value. `none`: it names nothing. */
type ReferenceRead = NamedReference | { readonly kind: 'none' } | Failure

interface NamedReference {
  readonly kind: 'named'
  readonly target: ObjectReference
  /** Empty = the value itself is the name. */
  readonly nameAt: FieldPath
  /** null = the value has no namespace. */
  readonly namespaceAt: FieldPath | null
}

/** As readReference, with a failure where the virtual cluster does not serve the kind. */
function readServed(
  value: Json,
  reference: Reference,
  namespace: string,
  { isServed }: ReferenceLookups,
): ReferenceRead {
  const read = readReference(value, reference, namespace)
  if (read.kind !== 'named' || read.target.apiVersion === 'v1') return read
  const state = isServed(read.target)
  if (state === 'unread') return UNREAD.failure
  if (state) return read
  const { kind, apiVersion } = read.target
  const detail = `kind ${quoteForMessage(kind)}, apiVersion ${quoteForMessage(apiVersion)}`
  return { ...NOT_SERVED, detail }
}

function readReference(value: Json, reference: Reference, namespace: string): ReferenceRead {
  const at = (path: PatchPath | null): FieldPath | null =>
    path !== null && isMap(value) ? (matchedFields(value, path)[0] ?? null) : null
  const textAt = (path: FieldPath | null): string =>
    path === null ? '' : nestedString(value, path)
  const nameAt = reference.namePath === null ? [] : at(reference.namePath)
  const name = textAt(nameAt)
  if (nameAt === null || name === '') return { kind: 'none' }
  const namespaceAt = at(reference.namespacePath)
  const kind = textAt(at(reference.kindPath)) || reference.kind
  const apiVersion = textAt(at(reference.apiVersionPath)) || reference.apiVersion
  if (!hasGroupOrIsBuiltIn(kind, apiVersion)) return unknownKind(kind, apiVersion)
  const target = {
    apiVersion: apiVersion || 'v1',
    kind,
    namespace: textAt(namespaceAt) || namespace,
    name,
  }
  return canBeNamed(target) ? { kind: 'named', target, nameAt, namespaceAt } : impossible(target)
}

function impossible({ kind, namespace, name }: ObjectReference): Failure {
  const detail = `kind ${quoteForMessage(kind)}, namespace ${quoteForMessage(namespace)}, name ${quoteForMessage(name)}`
  return { ...NO_NAME, detail }
}

function unknownKind(kind: string, apiVersion: string): Failure {
  if (kind === '') return failed('the reference has no kind: kindPath finds none, kind is not set')
  const because = 'the kind that was read needs its apiVersion with a group, such as apps/v1'
  const detail = `kind ${quoteForMessage(kind)}, apiVersion ${quoteForMessage(apiVersion)}`
  return { ...failed(because), detail }
}

function renamed(value: Json, { nameAt, namespaceAt }: NamedReference, other: VirtualName): Json {
  if (!isMap(value)) return other.name
  const named = withField(value, nameAt, other.name)
  return namespaceAt === null ? named : withField(named, namespaceAt, other.namespace)
}
