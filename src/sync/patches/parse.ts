// The entries of `patches` in a virtual cluster's configuration, checked (contract 19.1).
import { isList, isMap, type Json, type JsonMap, ownValue } from '../../domain/json/json.ts'
import { checkExpression, type Expression, placeInSource } from './expression.ts'
import { canBeWithin, canonicalPath, type PatchPath, parsePatchPath, patchPath } from './path.ts'

/** A patch of one field, or of several by wildcards. */
export type Patch = {
  /** The entry in messages, such as `sync.toHost.endpoints.patches[0]`. */
  readonly entry: string
  readonly path: PatchPath
} & (
  | {
      readonly kind: 'expression'
      /** From virtual to host; null = nothing is patched in that direction. */
      readonly forward: Expression | null
      /** From host to virtual; null = nothing is patched in that direction. */
      readonly reverse: Expression | null
    }
  | { readonly kind: 'reference'; readonly reference: Reference }
  | { readonly kind: 'labels' }
)

/** The object that a value refers to. Each path is relative to the value; null = not given. */
export interface Reference {
  /** Empty for a built-in kind, or where only apiVersionPath is given. */
  readonly apiVersion: string
  readonly kind: string
  readonly apiVersionPath: PatchPath | null
  readonly kindPath: PatchPath | null
  /** null = the value itself is the name. */
  readonly namePath: PatchPath | null
  /** null = the namespace of the patched object. */
  readonly namespacePath: PatchPath | null
}

/** Whether an expression of the patch may read the configuration, whose values can be secret. */
export const readsConfig = (patch: Patch): boolean =>
  patch.kind === 'expression' &&
  [patch.forward, patch.reverse].some((expression) => expression?.reads.config === true)

/** The patches without faults, and a sentence for each fault. */
interface CheckedPatches {
  readonly patches: readonly Patch[]
  readonly faults: readonly string[]
  /** A sentence for each `reverseExpression` on a path that does not flow back: its patch has none (contract 18.5). */
  readonly unservedReverses: readonly string[]
}

/**
 * Checks the patches of one kind.
 *
 * @param at where they stand, such as `sync.toHost.endpoints.patches`
 * @param backFlows the fields that flow from host to virtual (contract 18.5)
 */
export function checkPatches(
  value: Json | undefined,
  at: string,
  backFlows: readonly string[],
): CheckedPatches {
  if (value === undefined || value === null) return { ...NO_PATCHES, faults: [] }
  if (!isList(value)) return { ...NO_PATCHES, faults: [`${at} must be a list`] }
  const flows = backFlows.map(patchPath)
  const checked = value.map((entry, index) => checkEntry(entry, `${at}[${index}]`, flows))
  const faults = checked.flatMap((one) => one.faults)
  return {
    patches: checked.flatMap(({ patch }) => (patch === null ? [] : [patch])),
    faults: [...faults, ...duplicates(checked, at)],
    unservedReverses: checked.flatMap(({ unservedReverse }) => unservedReverse ?? []),
  }
}

const NO_PATCHES = { patches: [], unservedReverses: [] }

interface CheckedEntry {
  /** null = it has faults. */
  readonly patch: Patch | null
  /** null = it can't be parsed. */
  readonly path: { readonly parsed: PatchPath; readonly text: string } | null
  readonly faults: readonly string[]
  /** null = it has no `reverseExpression`, or one that is used. */
  readonly unservedReverse: string | null
}

const FIELDS = ['path', 'expression', 'reverseExpression', 'reference', 'labels']

function checkEntry(value: Json, entry: string, flows: readonly PatchPath[]): CheckedEntry {
  const nothing = { patch: null, path: null, unservedReverse: null }
  if (!isMap(value)) return { ...nothing, faults: [`${entry} must be an object`] }
  const faults = [...unknownFields(value, entry, FIELDS)]
  const path = checkPath(value, entry, faults)
  const use = checkUse(value, entry, faults)
  if (faults.length > 0 || path === null || use === null) return { ...nothing, path, faults }
  const isUnserved =
    use.kind === 'expression' &&
    use.reverse !== null &&
    !flows.some((flow) => canBeWithin(path.parsed, flow))
  const unservedReverse = isUnserved
    ? `${entry} reverseExpression has no effect: "${path.text}" does not flow back`
    : null
  const served = isUnserved ? { ...use, reverse: null } : use
  return { patch: { entry, path: path.parsed, ...served }, path, faults, unservedReverse }
}

function unknownFields(map: JsonMap, at: string, known: readonly string[]): readonly string[] {
  const unknown = Object.keys(map).filter((name) => !known.includes(name))
  return unknown.map(
    (name) => `${at} has no field ${JSON.stringify(name)}, accepted are ${known.join(', ')}`,
  )
}

const UNPATCHABLE = ['metadata.name', 'metadata.namespace'].map((text) => ({
  text,
  canonical: canonicalPath(patchPath(text)),
}))

function checkPath(value: JsonMap, entry: string, faults: string[]): CheckedEntry['path'] {
  const text = ownValue(value, 'path')
  if (text === undefined || text === null || text === '') {
    faults.push(`${entry} path is required`)
    return null
  }
  if (typeof text !== 'string') {
    faults.push(`${entry} path must be a string`)
    return null
  }
  const parsed = parsePatchPath(text)
  if (!parsed.ok) {
    faults.push(`${entry} path ${JSON.stringify(text)}: ${parsed.fault}`)
    return null
  }
  const reserved = UNPATCHABLE.find(({ canonical }) => canonical === canonicalPath(parsed.path))
  if (reserved) faults.push(`${entry} ${reserved.text} cannot be patched`)
  return { parsed: parsed.path, text }
}

type PatchAction =
  | { kind: 'expression'; forward: Expression | null; reverse: Expression | null }
  | { kind: 'reference'; reference: Reference }
  | { kind: 'labels' }

const isGiven = (value: JsonMap, name: string): boolean => (ownValue(value, name) ?? null) !== null

/** How the entry changes the field: by exactly one of expressions, a reference or labels. */
function checkUse(value: JsonMap, entry: string, faults: string[]): PatchAction | null {
  const isExpression = isGiven(value, 'expression') || isGiven(value, 'reverseExpression')
  const uses = [isExpression, isGiven(value, 'reference'), isGiven(value, 'labels')]
  const count = uses.filter(Boolean).length
  if (count === 0) faults.push(`${entry} need to use one of: expression, labels or reference`)
  if (count > 1) faults.push(ONLY_ONE(entry))
  if (count !== 1) return null
  if (isExpression) {
    const forward = expressionAt(value, 'expression', entry, faults)
    const reverse = expressionAt(value, 'reverseExpression', entry, faults)
    return { kind: 'expression', forward, reverse }
  }
  if (isGiven(value, 'labels')) {
    if (!isMap(ownValue(value, 'labels'))) faults.push(`${entry} labels must be an object`)
    return { kind: 'labels' }
  }
  return checkReference(ownValue(value, 'reference') ?? null, entry, faults)
}

const ONLY_ONE = (entry: string): string =>
  `${entry} can only use one of: expression, labels or reference`

/** null = it is not given, or has a fault. */
function expressionAt(
  value: JsonMap,
  name: 'expression' | 'reverseExpression',
  entry: string,
  faults: string[],
): Expression | null {
  const source = ownValue(value, name) ?? null
  if (source === null) return null
  if (typeof source !== 'string') {
    faults.push(`${entry} ${name} must be a string`)
    return null
  }
  const checked = checkExpression(source)
  if (checked.ok) return checked.expression
  const { because, at } = checked.fault
  const { place, excerpt } = placeInSource(source, at)
  faults.push(`${entry} ${name} at ${place}: ${because}\n${indented(excerpt)}`)
  return null
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')

const REFERENCE_FIELDS = [
  'apiVersion',
  'apiVersionPath',
  'kind',
  'kindPath',
  'namePath',
  'namespacePath',
  'labels',
] as const

/** Kinds of the core group: a reference to them needs no apiVersion. */
const BUILT_IN: ReadonlySet<string> = new Set([
  'ConfigMap',
  'Endpoints',
  'LimitRange',
  'PersistentVolumeClaim',
  'Pod',
  'PodTemplate',
  'ReplicationController',
  'ResourceQuota',
  'Secret',
  'Service',
  'ServiceAccount',
])

/** Whether a kind is built in, or its apiVersion names its group, so that it is one kind only (contract 19.5). */
export const hasGroupOrIsBuiltIn = (kind: string, apiVersion: string): boolean =>
  (BUILT_IN.has(kind) && ['', 'v1'].includes(apiVersion)) ||
  (kind !== '' && /^[^/]+\/[^/]+$/.test(apiVersion))

function checkReference(value: Json, entry: string, faults: string[]): PatchAction | null {
  const at = `${entry} reference`
  if (!isMap(value)) {
    faults.push(`${at} must be an object`)
    return null
  }
  faults.push(...unknownFields(value, at, REFERENCE_FIELDS))
  if (isGiven(value, 'labels')) {
    if (!isMap(ownValue(value, 'labels'))) faults.push(`${at} labels must be an object`)
    const others = REFERENCE_FIELDS.filter((name) => name !== 'labels' && isGiven(value, name))
    if (others.length > 0)
      faults.push(`${at} labels stands alone: remove it, or ${others.join(', ')}`)
    return { kind: 'labels' }
  }
  const text = (name: string): string => {
    const given = ownValue(value, name) ?? ''
    if (typeof given !== 'string') faults.push(`${at} ${name} must be a string`)
    return typeof given === 'string' ? given : ''
  }
  const path = (name: string): PatchPath | null => {
    const written = text(name)
    if (written === '') return null
    const parsed = parsePatchPath(written)
    if (!parsed.ok) faults.push(`${at} ${name} ${JSON.stringify(written)}: ${parsed.fault}`)
    else if (parsed.path.some(({ kind }) => kind === 'wildcard'))
      faults.push(`${at} ${name} ${JSON.stringify(written)} must name one field, without wildcards`)
    return parsed.ok ? parsed.path : null
  }
  const reference = {
    apiVersion: text('apiVersion'),
    kind: text('kind'),
    apiVersionPath: path('apiVersionPath'),
    kindPath: path('kindPath'),
    namePath: path('namePath'),
    namespacePath: path('namespacePath'),
  }
  const dependent = ['namespacePath', 'kindPath', 'apiVersionPath'].filter((name) =>
    isGiven(value, name),
  )
  if (dependent.length > 0 && !isGiven(value, 'namePath'))
    faults.push(`${at} namePath is required with ${dependent.join(', ')}`)
  if (reference.kind === '' && !isGiven(value, 'kindPath'))
    faults.push(`${at} kind is required, or kindPath`)
  const isComplete = isGiven(value, 'apiVersionPath') || reference.kind === ''
  if (!isComplete && !hasGroupOrIsBuiltIn(reference.kind, reference.apiVersion))
    faults.push(`${at} kind ${reference.kind} needs its apiVersion with a group, such as apps/v1`)
  return { kind: 'reference', reference }
}

/** A fault for each entry whose path an earlier entry has (contract 19.1). */
function duplicates(entries: readonly CheckedEntry[], at: string): readonly string[] {
  const first = new Map<string, number>()
  return entries.flatMap(({ path }, index) => {
    if (path === null) return []
    const canonical = canonicalPath(path.parsed)
    const earlier = first.get(canonical)
    if (earlier === undefined) first.set(canonical, index)
    return earlier === undefined
      ? []
      : [`${at}[${earlier}] and ${at}[${index}] have the same path "${path.text}"`]
  })
}
