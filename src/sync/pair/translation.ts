// Translates a virtual object to its host object, and what flows back: default translation, patches and checks
// (contract 17 to 19).
import type { OwnerReference } from '../../api/objects.ts'
import {
  type FieldPath,
  nestedField,
  nestedMap,
  nestedString,
} from '../../domain/json/field-path.ts'
import {
  isList,
  type Json,
  type JsonMap,
  mapFromEntries,
  sameJson,
} from '../../domain/json/json.ts'
import type { AddressSettings } from '../kinds/addresses.ts'
import type { KindTranslator, TranslationContext } from '../kinds/translator.ts'
import {
  patchedKeys,
  patchedMarks,
  hostMetadata,
  type WrittenMetadata,
} from '../objects/host-metadata.ts'
import type { MetadataField } from '../objects/mark-keys.ts'
import { NOT_STABLE } from '../objects/server-fields.ts'
import { applyPatches, type Patched } from '../patches/apply.ts'
import type { Patch } from '../patches/parse.ts'
import { forwardPatchKinds } from '../patches/patched-fields.ts'
import { canTouch, isWithin, matchedFields, patchPath, withField } from '../patches/path.ts'
import type { ReferenceLookups } from '../patches/reference.ts'
import type { Evaluate } from '../sandbox/protocol.ts'
import { withHostMetadata, withOwnMetadata } from './metadata-flows.ts'

/** A virtual object and its host object; host null = it does not exist, or the checks refuse it. */
export interface ObjectPair {
  readonly virtual: JsonMap
  readonly host: JsonMap | null
}

/** The labels and annotations of both objects. */
export const metadataOf = ({ virtual, host }: ObjectPair): WrittenMetadata => ({
  virtual: nestedMap(virtual, ['metadata']),
  host: nestedMap(host ?? {}, ['metadata']),
})

/** The settings of a translation that are the same for all objects of a kind. */
export interface KindSettings {
  /** As in manifests, such as `Endpoints`. */
  readonly kind: string
  readonly translator: KindTranslator
  readonly patches: readonly Patch[]
  readonly context: Omit<TranslationContext, 'patchKindAt' | 'choosesIpFamilies'>
  readonly addresses: AddressSettings
  /** The configuration of the virtual cluster, for expressions. */
  readonly config: JsonMap
}

/** The settings of the translation of one object. */
export interface TranslationSettings extends KindSettings {
  /** As in SyncedObject. */
  readonly choosesIpFamilies: boolean
  /** The virtual cluster's own Service; null = the host object has no owner. */
  readonly owner: OwnerReference | null
  readonly lookups: ReferenceLookups
}

/** The wanted objects, with a sentence for each refused address; or the patch that failed. */
type Translated =
  | { readonly ok: true; readonly state: ObjectPair; readonly refusals: readonly string[] }
  | Extract<Patched, { readonly ok: false }>

/**
 * Translates once in both directions: first the fields that flow back, then the host object of the result.
 *
 * @param written as in MetadataExchange
 */
export async function translate(
  pair: ObjectPair,
  written: WrittenMetadata | null,
  settings: TranslationSettings,
  evaluate: Evaluate,
): Promise<Translated> {
  const back = await backFlow(pair, written, settings, evaluate)
  if (!back.ok) return back
  const virtual = back.object
  const { addresses, patches, translator } = settings
  const context = {
    ...settings.context,
    choosesIpFamilies: settings.choosesIpFamilies,
    patchKindAt: patches.length === 0 ? () => null : forwardPatchKinds(virtual, patches),
  }
  const forth = await patchedForHost({ ...pair, virtual }, context, settings, evaluate)
  if (!forth.ok) return forth
  const { object, refusals } = translator.check(forth.object, addresses, context)
  const host = object && withHostFields({ virtual, host: pair.host }, object, settings)
  return { ok: true, state: { virtual, host }, refusals }
}

async function backFlow(
  { virtual, host }: ObjectPair,
  written: WrittenMetadata | null,
  settings: TranslationSettings,
  evaluate: Evaluate,
): Promise<Patched> {
  if (host === null) return { ok: true, object: virtual, changed: [] }
  const { patches, translator } = settings
  const oneWay = patches.filter(isOneWay)
  const isPatched = (path: FieldPath): boolean => oneWay.some((patch) => canTouch(patch.path, path))
  const isTakenWhole = (field: MetadataField): boolean => patches.some(takesWhole(field))
  const exchange = {
    ...exchangeOf({ virtual, host }, settings),
    written,
    isPatched,
    isTakenWhole,
  }
  const flowing = translator.toVirtual(withHostMetadata(exchange), host)
  const restored = withValuesOf(virtual, flowing, oneWay)
  const ports = new Set(nodePorts(host))
  const isApplied = (path: FieldPath): boolean => {
    if (!FLOWS.some((flow) => isWithin(path, flow))) return false
    const value = nestedField(restored, path) ?? null
    // A label flows when it has changed on the host; what the host assigns always does.
    if (path[0] === 'metadata') return !sameJson(value, nestedField(virtual, path) ?? null)
    return path.at(-1) !== 'nodePort' || ports.has(value)
  }
  const context = { ...patchContext({ virtual, host }, settings), isApplied }
  const patched = await applyPatches(restored, patches, 'reverse', context, evaluate)
  if (!patched.ok) return patched
  const object = withOwnMetadata(patched.object, exchange)
  // If nothing flows back, return the same object, so that nothing is written.
  return { ...patched, object: sameJson(object, virtual) ? virtual : object }
}

/** Whether a patch acts on the whole map on the way back. A selector needs the marks, which never cross. */
const takesWhole =
  (field: MetadataField) =>
  (patch: Patch): boolean =>
    patch.path.length === 2 &&
    isWithin(['metadata', field], patch.path) &&
    (patch.kind === 'reference' || (patch.kind === 'expression' && patch.reverse !== null))

/** The fields that flow back, of the kinds that have them (contract 18.5). Other fields keep the virtual object's value. */
const FLOWS = [
  'metadata.labels',
  'metadata.annotations',
  'spec.ports[*].nodePort',
  'status.loadBalancer',
].map(patchPath)

/** Whether the fields that the patch touches do not flow back (contract 18.5). */
const isOneWay = (patch: Patch): boolean =>
  patch.kind === 'expression' && patch.forward !== null && patch.reverse === null

/** The object with the values of `from` in the fields of these patches, where both objects have the field. */
const withValuesOf = (from: JsonMap, object: JsonMap, patches: readonly Patch[]): JsonMap =>
  patches
    .flatMap(({ path }) => matchedFields(from, path))
    .reduce((restored, path) => withField(restored, path, nestedField(from, path)), object)

const nodePorts = (service: JsonMap): readonly Json[] => {
  const ports = nestedField(service, ['spec', 'ports'])
  return isList(ports) ? ports.flatMap((port) => nestedField(port, ['nodePort']) ?? []) : []
}

/** The value that a patch gets holds nothing of the host object: its result must not depend on its earlier writes. */
async function patchedForHost(
  pair: ObjectPair,
  context: TranslationContext,
  settings: TranslationSettings,
  evaluate: Evaluate,
): Promise<Patched> {
  const { patches, translator } = settings
  const { virtual } = pair
  const metadata = hostMetadata(exchangeOf({ virtual, host: null }, settings))
  const translated = { ...translator.toHost(virtual, context), metadata }
  if (patches.length === 0) return { ok: true, object: translated, changed: [] }
  return applyPatches(translated, patches, 'forward', patchContext(pair, settings), evaluate)
}

/**
 * The patched object with the values that the host assigned, and with the labels and annotations that only the host object
 * has. Keys that patches have added are marked, so that they are removed with the patches.
 */
function withHostFields(
  pair: ObjectPair,
  patched: JsonMap,
  settings: TranslationSettings,
): JsonMap {
  const { host } = pair
  const plain = hostMetadata(exchangeOf({ ...pair, host: null }, settings))
  const kept = host === null ? plain : hostMetadata(exchangeOf(pair, settings))
  const added = {
    labels: addedTo(plain, patched, 'labels'),
    annotations: addedTo(plain, patched, 'annotations'),
  }
  const mapOf = (field: MetadataField): JsonMap => {
    const own = nestedMap(plain, [field])
    const patchedBefore = new Set(patchedKeys(nestedMap(host ?? {}, ['metadata']), field))
    const others = Object.entries(nestedMap(kept, [field])).filter(
      ([key]) => !Object.hasOwn(own, key) && key !== NOT_STABLE && !patchedBefore.has(key),
    )
    return { ...mapFromEntries(others), ...nestedMap(patched, ['metadata', field]) }
  }
  const metadata = {
    ...(host === null ? nestedMap(patched, ['metadata']) : kept),
    labels: mapOf('labels'),
    annotations: { ...mapOf('annotations'), ...patchedMarks(added) },
  }
  return {
    ...(host === null ? patched : settings.translator.withHostValues(patched, host)),
    metadata,
  }
}

/** The keys that the patches added. */
const addedTo = (plain: JsonMap, patched: JsonMap, field: MetadataField): readonly string[] => {
  const own = nestedMap(plain, [field])
  const set = Object.keys(nestedMap(patched, ['metadata', field]))
  return set.filter((key) => !Object.hasOwn(own, key))
}

const exchangeOf = (pair: ObjectPair, { kind, context, owner }: TranslationSettings) => ({
  ...pair,
  kind,
  place: context.place,
  owner,
  written: null,
  isPatched: () => false,
  isTakenWhole: () => false,
})

const patchContext = (
  { virtual, host }: ObjectPair,
  { context, config, lookups }: TranslationSettings,
) => ({
  ...lookups,
  place: context.place,
  namespace: nestedString(virtual, ['metadata', 'namespace']),
  config,
  hostObject: host,
  virtualObject: virtual,
})
