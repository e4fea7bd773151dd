// The objects that reference patches name, and their names on the other side (contract 19.5).
import { type FieldPath, nestedField, nestedString } from '../../domain/json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isMap,
  quoteForMessage,
  sameJson,
} from '../../domain/json/json.ts'
import { type Failure, failed } from '../sandbox/protocol.ts'
import { type HostPlace, type VirtualName, hostNameOf } from './host-name.ts'
import { type Patch, type Reference, hasGroupOrIsBuiltIn } from './patch.ts'
import { type PatchPath, matchedFields, patchPathText, withField } from './patch-path.ts'

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
  /** Each once; those of references that fail are missing. */
  readonly references: readonly ObjectReference[]
  /** The first reference that fails, which is an error of the object (contract 19.8); null = none does. */
  readonly failed: FailedReference | null
}

/**
 * The objects that the reference patches name in a virtual object, before any patch has changed it. A value that is no
 * string names nothing.
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

/** The place of an object with references, and the look-up of what a host name stands for. */
export interface ReferenceContext {
  readonly place: HostPlace
  /** The virtual namespace of the object, to which references without a namespace belong. */
  readonly namespace: string
  /** The virtual object of a host object, by the marks of that one; null = it is not ours. */
  readonly virtualNameOf: (host: ObjectReference) => VirtualName | null
}

/** The value in place of the given one, or why its reference has no translation. */
type TranslatedReference =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly failure: Failure }

/** The value with the name, and the namespace where one is named, that the referred object has on the host. */
export function hostReference(
  value: Json,
  reference: Reference,
  { place, namespace }: ReferenceContext,
): TranslatedReference {
  const read = readReference(value, reference, namespace)
  if (read.kind === 'failed') return { ok: false, failure: read }
  if (read.kind === 'none') return { ok: true, value }
  return { ok: true, value: renamed(value, read, hostNameOf(read.target, place)) }
}

/**
 * The host's value with the name that the referred object has in the virtual cluster. The name of an object that is
 * not ours stays as it is.
 *
 * @param own the virtual object's value: it stays where it means the same, or where the value can't name the object,
 *   which is in another namespace; undefined = it has none
 */
export function virtualReference(
  value: Json,
  own: Json | undefined,
  reference: Reference,
  context: ReferenceContext,
): TranslatedReference {
  if (own !== undefined) {
    const translated = hostReference(own, reference, context)
    if (translated.ok && sameJson(translated.value, value)) return { ok: true, value: own }
  }
  const { place, namespace, virtualNameOf } = context
  const read = readReference(value, reference, hostNameOf({ name: '', namespace }, place).namespace)
  if (read.kind === 'failed') return { ok: false, failure: read }
  const virtual = read.kind === 'named' ? virtualNameOf(read.target) : null
  if (read.kind === 'none' || virtual === null) return { ok: true, value }
  if (read.namespaceAt === null && virtual.namespace !== namespace)
    return { ok: true, value: own ?? value }
  return { ok: true, value: renamed(value, read, virtual) }
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
  return { kind: 'named', target, nameAt, namespaceAt }
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
