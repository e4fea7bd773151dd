// Shared by all writes of our kinds: the parameters, the platform's field managers, its labels and annotations.
import { ACCESS_KEYS, GROUP, RESERVED_MANAGERS, type Resource } from '../../api/names.ts'
import {
  type NamePath,
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import {
  isList,
  type Json,
  type JsonMap,
  mapFromEntries,
  sameJson,
} from '../../domain/json/json.ts'
import type { KeyRef } from '../../domain/shared-metadata.ts'
import { madeWithLabels } from '../../issuance/new-object.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { parameter, pick, type Query } from '../request/path-and-query.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'

/** A field whose value must not be stored, and why. */
export interface FieldRefusal {
  readonly field: string
  readonly because: string
}

/** The 403 that names the field. */
export const refusal = ({ field, because }: FieldRefusal): Answer =>
  refuse(SELF_SERVICE_ERRORS.fieldRefused, { field, because })

/** The parameters of a dry run. */
export const DRY_RUN: Query = [['dryRun', 'All']]

/** Whether a write is a dry run. */
export const isDryRun = (query: Query): boolean => query.some(([name]) => name === 'dryRun')

/**
 * The parameters of a write, always with strict field validation (contract 12.1).
 *
 * @param ownDryRun the parameters of the gateway's own dry run; empty = the client's `dryRun`
 */
export const writeParameters = (query: Query, ownDryRun: Query): Query => [
  ...pick(query, ['fieldManager', 'force']),
  ['fieldValidation', 'Strict'],
  ...(ownDryRun.length === 0 ? pick(query, ['dryRun']) : ownDryRun),
]

/** The refusal of a write that names one of the platform's field managers; null = none. */
export function managerRefusal(query: Query): Answer | null {
  if (!RESERVED_MANAGERS.includes(parameter(query, 'fieldManager'))) return null
  const because = `${RESERVED_MANAGERS.join(' and ')} are managers of the platform: choose another name`
  return refusal({ field: 'fieldManager', because })
}

/** The managedFields entries of these field managers. */
export function entriesOf(object: JsonMap, managers: readonly string[]): readonly Json[] {
  const all = nestedField(object, ['metadata', 'managedFields'])
  return isList(all)
    ? all.filter((entry) => managers.includes(nestedString(entry, ['manager'])))
    : []
}

// The platform's annotations and labels on keys and tokens (contract 12.1, 12.2).

const METADATA_MAPS = ['annotations', 'labels'] as const

const isPlatformName = (name: string): boolean => name.startsWith(`${GROUP}/`)

/** The refusal of a changed label or annotation of the platform, or a wrong one on a new object; null = none. */
export function platformMetadataFault(
  resource: Resource,
  key: KeyRef,
  before: JsonMap | null,
  after: JsonMap,
): FieldRefusal | null {
  const labels = resource === ACCESS_KEYS ? madeWithLabels(key) : {}
  const made: JsonMap = { metadata: { labels } }
  for (const kind of METADATA_MAPS) {
    const path = ['metadata', kind]
    const [was, is] = [nestedMap(before ?? made, path), nestedMap(after, path)]
    const changed = [...Object.keys(was), ...Object.keys(is)].find(
      (name) =>
        isPlatformName(name) &&
        !sameJson(nestedField(was, [name]) ?? null, nestedField(is, [name]) ?? null),
    )
    if (changed !== undefined)
      return {
        field: `metadata.${kind}[${changed}]`,
        because: `${kind} under ${GROUP}/ cannot be changed on your own: leave them as they are`,
      }
  }
  return null
}

/** Keeps the platform's labels and annotations of the stored object: a client's manifest lacks them. */
export const withMarksOf = (current: JsonMap, sent: JsonMap): JsonMap =>
  METADATA_MAPS.reduce((whole, kind) => withOursKept(whole, current, ['metadata', kind]), sent)

function withOursKept(sent: JsonMap, current: JsonMap, path: NamePath): JsonMap {
  const ours = Object.entries(nestedMap(current, path)).filter(([name]) => isPlatformName(name))
  const all: readonly (readonly [string, Json])[] = [
    ...ours,
    ...Object.entries(nestedMap(sent, path)),
  ]
  return ours.length === 0 ? sent : setNestedField(sent, path, mapFromEntries(all))
}
