// Applies the patches of a kind to one object, in the order of their entries (contract 19.2 to 19.6).
import { type FieldPath, nestedField, nestedMap } from '../../domain/json/field-path.ts'
import {
  isEmptyMap,
  isMap,
  type Json,
  type JsonMap,
  mapFromEntries,
  parseJson,
  sameJson,
} from '../../domain/json/json.ts'
import { MARK_PREFIX } from '../objects/mark-keys.ts'
import { hostSelector, virtualSelector } from '../objects/selectors.ts'
import { SERVER_SET_METADATA, withoutVersion } from '../objects/server-fields.ts'
import {
  type Evaluate,
  type EvaluationRequest,
  type EvaluationResult,
  type Failure,
  failed,
} from '../sandbox/protocol.ts'
import type { Expression } from './expression.ts'
import { objectType } from './field-types.ts'
import type { Patch } from './parse.ts'
import { matchedFields, patchPathText, withField } from './path.ts'
import { hostReference, type ReferenceContext, virtualReference } from './reference.ts'
import { typeFault } from './type-fault.ts'

/** The direction of a patch: `forward` from the virtual cluster to the host, `reverse` back. */
type Direction = 'forward' | 'reverse'

/** The objects and settings that expressions can read. */
interface PatchContext extends ReferenceContext {
  /** The configuration of the virtual cluster with its defaults. */
  readonly config: JsonMap
  /** As last read; null = it does not exist. */
  readonly hostObject: JsonMap | null
  readonly virtualObject: JsonMap | null
  /** Whether patches change this field of the object; absent = all. */
  readonly isApplied?: (path: FieldPath) => boolean
}

/** A field that a patch has set or removed. */
export interface ChangedField {
  readonly patch: Patch
  readonly path: FieldPath
  readonly isRemoved: boolean
}

/** The patched object with the fields that changed, or the first patch that failed. */
export type Patched =
  | { readonly ok: true; readonly object: JsonMap; readonly changed: readonly ChangedField[] }
  | PatchFailure

interface PatchFailure {
  readonly ok: false
  readonly patch: Patch
  readonly path: string
  readonly failure: Failure
}

/**
 * Applies the patches in one direction; the given object stays as it is.
 *
 * @param evaluate of a sandbox, or with a cache
 */
export async function applyPatches(
  object: JsonMap,
  patches: readonly Patch[],
  direction: Direction,
  context: PatchContext,
  evaluate: Evaluate,
): Promise<Patched> {
  if (patches.length === 0) return { ok: true, object, changed: [] }
  const request = requestsIn(context, identityOf(object))
  const evaluateTwice = twice(evaluate)
  // A result that follows a version would never settle.
  const given = withoutVersion(object)
  let current = given
  const steps: PatchStep[] = []
  const changed: ChangedField[] = []
  for (const patch of patches) {
    const results: (readonly [path: FieldPath, value: Json | undefined])[] = []
    for (const path of matchedFields(current, patch.path)) {
      if (context.isApplied?.(path) === false || isMarkAt(path)) continue
      const value = nestedField(current, path) ?? null
      const pathText = patchPathText(path)
      const own = nestedField(context.virtualObject ?? undefined, path)
      const result = await patchedValue({ value, own }, patch, direction, context, (expression) =>
        evaluateTwice(request(expression, value, pathText)),
      )
      if (!result.ok) return { ok: false, patch, path: pathText, failure: result.failure }
      if (result.value !== value) results.push([path, result.value])
    }
    // From the last: an element that is removed moves those after it.
    for (const [path, value] of results.toReversed()) {
      current = withField(current, path, value)
      changed.push({ patch, path, isRemoved: value === undefined })
    }
    if (results.length > 0) steps.push({ patch, object: current })
  }
  const mistyped = mistypedPatch(given, steps)
  if (mistyped !== null) return mistyped
  return { ok: true, object: withProtectedFields(current, object), changed }
}

/** The object after a patch that has changed it. */
interface PatchStep {
  readonly patch: Patch
  readonly object: JsonMap
}

/**
 * The patch since which the object has a value that the API server does not decode; null = the object has none in the
 * end, or has had it before all patches (contract 19.3).
 */
function mistypedPatch(given: JsonMap, steps: readonly PatchStep[]): PatchFailure | null {
  const { kind = null } = given
  const type = objectType(typeof kind === 'string' ? kind : '')
  let found: PatchFailure | null = null
  for (const { patch, object } of steps.toReversed()) {
    const fault = typeFault(object, given, type)
    if (fault === null) break
    const { path, because } = fault
    found = { ok: false, patch, path: patchPathText(path), failure: failed(because) }
  }
  return found
}

/** Evaluates a transient failure once more: on a busy machine an innocent expression can overrun. */
const twice =
  (evaluate: Evaluate): Evaluate =>
  async (request) => {
    const first = await evaluate(request)
    return first.kind === 'failed' && first.isTransient ? evaluate(request) : first
  }

/** The value in place of the given one; undefined removes the field. */
type PatchedValue =
  | { readonly ok: true; readonly value: Json | undefined }
  | { readonly ok: false; readonly failure: Failure }

interface FieldValues {
  readonly value: Json
  /** The value of the virtual object; undefined = it has no such field. */
  readonly own: Json | undefined
}

async function patchedValue(
  { value, own }: FieldValues,
  patch: Patch,
  direction: Direction,
  context: PatchContext,
  evaluate: (expression: Expression) => Promise<EvaluationResult>,
): Promise<PatchedValue> {
  switch (patch.kind) {
    case 'expression': {
      const expression = patch[direction]
      if (expression === null) return { ok: true, value }
      const result = await evaluate(expression)
      if (result.kind === 'failed') return { ok: false, failure: result }
      return { ok: true, value: result.kind === 'remove' ? undefined : parseJson(result.json) }
    }
    case 'reference':
      return direction === 'forward'
        ? hostReference(value, patch.reference, context)
        : virtualReference(value, own, patch.reference, context)
    case 'labels':
      return { ok: true, value: translatedLabels({ value, own }, direction, context) }
    default:
      return patch satisfies never
  }
}

/** A text that no other object has. */
const identityOf = (object: JsonMap): string => {
  const { namespace = null, name = null } = nestedMap(object, ['metadata'])
  return JSON.stringify([object['kind'] ?? null, namespace, name])
}

/** The requests for a field; the context of each expression is written once, for the first field. */
function requestsIn(context: PatchContext, object: string) {
  const texts = new Map<Expression, string>()
  return (expression: Expression, value: Json, path: string): EvaluationRequest => {
    const text = texts.get(expression) ?? contextText(expression, context)
    texts.set(expression, text)
    const { place } = context
    return {
      source: expression.source,
      value: JSON.stringify(value),
      context: text,
      path,
      place,
      object,
    }
  }
}

/**
 * The variable `context` without its path, as JSON (contract 19.4). A part that the expression does not read is left
 * empty: its result is kept for as long as the request stays the same.
 */
function contextText(
  { reads }: Expression,
  { place, config, hostObject, virtualObject }: PatchContext,
): string {
  const { virtualCluster: name, hostNamespace: namespace } = place
  return JSON.stringify({
    virtualCluster: { name, namespace, config: reads.config ? config : {} },
    hostObject: reads.hostObject ? hostObject && withoutVersion(hostObject) : null,
    virtualObject: reads.virtualObject ? virtualObject && withoutVersion(virtualObject) : null,
  })
}

/** In multi-namespace mode labels have the same keys on the host. On the way back an unknown selector changes nothing. */
function translatedLabels(
  { value, own }: FieldValues,
  direction: Direction,
  { place, namespace }: PatchContext,
): Json {
  if (place.namespaces !== null) return value
  const selected = { virtualCluster: place.virtualCluster, namespace }
  if (direction === 'forward') return hostSelector(value, selected)
  const isSame = own !== undefined && sameJson(hostSelector(own, selected), value)
  return isSame ? own : (virtualSelector(value, selected) ?? own ?? value)
}

// The fields of an object that no patch moves (contract 19.6).

/** Metadata that says which object it is, which version of it, and what holds it. */
const METADATA: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'ownerReferences',
  'finalizers',
  ...SERVER_SET_METADATA,
])

/** The patched object with the protected fields as they were: identity, owners, finalizers and the syncer's marks. */
function withProtectedFields(patched: JsonMap, before: JsonMap): JsonMap {
  const [is, was] = [nestedMap(patched, ['metadata']), nestedMap(before, ['metadata'])]
  const metadata = mapFromEntries([
    ...Object.entries(is).filter(([name]) => !METADATA.has(name)),
    ...Object.entries(was).filter(([name]) => METADATA.has(name)),
    ...['labels', 'annotations'].map((name) => [name, withMarks(is[name], was[name])] as const),
  ])
  const { apiVersion, kind } = before
  return mapFromEntries([
    ...Object.entries({ ...patched, apiVersion, kind }).filter(([name]) => name !== 'metadata'),
    ['metadata', isEmptyMap(metadata) ? patched['metadata'] : metadata],
  ])
}

/** A wildcard names marks too: nothing of them would stay, and an expression that fails for one fails the object. */
const isMarkAt = ([metadata, map, key]: FieldPath): boolean =>
  metadata === 'metadata' &&
  (map === 'labels' || map === 'annotations') &&
  typeof key === 'string' &&
  key.startsWith(MARK_PREFIX)

/** The patched labels or annotations with the marks as they were. */
function withMarks(patched: Json | undefined, before: Json | undefined): Json | undefined {
  const entriesOf = (map: Json | undefined) => (isMap(map) ? Object.entries(map) : [])
  const isMark = ([key]: readonly [string, Json]): boolean => key.startsWith(MARK_PREFIX)
  const [is, was] = [entriesOf(patched), entriesOf(before).filter(isMark)]
  if (was.length === 0 && !is.some(isMark)) return patched
  return mapFromEntries([...is.filter((entry) => !isMark(entry)), ...was])
}
