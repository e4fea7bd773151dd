import { isInsidePath, pathText } from '../json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, mapFromEntries } from '../json/json.ts'
import { mergeSettings, sourceOfPath } from './layers.ts'
import { isRedactedLeaf } from './redaction.ts'
import { type SchemaCheck, type UnknownPath, splitUnknownFields } from './schema.ts'
import { type Environment, resolveReferences } from './secret-values.ts'
import { type SettingFault, type SettingSource, settingFault } from './validation/faults.ts'
import { relationFaults, valueFaults } from './validation/validate.ts'
import { type SettingLeaf, mapLeaves } from './walk.ts'

/** A field that is not a setting: it is dropped, and reported as event `UnknownField` (contract 4.5, 6.5). */
export interface UnknownField {
  readonly path: string
  readonly source: SettingSource
}

/** The settings of one source, after a check against the schema. */
export interface SourceReading {
  readonly source: SettingSource
  /** The settings without unset values and unknown fields. */
  readonly settings: JsonMap
  /** Values of a wrong type, or why the whole source is unreadable. */
  readonly faults: readonly SettingFault[]
  readonly unknown: readonly UnknownField[]
}

/** Reads the settings of one source. A value of null means that the source does not exist: it sets nothing. */
export function readSource(
  source: SettingSource,
  value: unknown,
  shapeCheck: SchemaCheck,
): SourceReading {
  if (value === null) return { source, settings: {}, faults: [], unknown: [] }
  if (!isMap(value))
    return unreadableSource(
      source,
      'is not a map: write the groups of settings, as in spec of a Config',
    )
  const known = splitUnknownFields(value)
  // Spec and status lose unknown fields before the operator reads them: only a typo in the Secret could pass in silence.
  const misspelt = source === 'Secret' ? known.unknown.filter(isMisspelt) : []
  const unknown = known.unknown.filter((one) => !misspelt.some((other) => other === one))
  // The operator redacts the secrets of a record, so REDACTED is valid there.
  const settings = (source === 'ConfigMap' ? withoutUnsetAndRedacted : withoutUnset)(known.settings)
  return {
    source,
    settings,
    faults: [
      // Before unset values are removed: false or an empty text in place of another type is a fault, not absence.
      ...shapeCheck(withoutNulls(known.settings)).map((fault) => ({ ...fault, source })),
      ...misspelt.map(({ path, meant }) => settingFault(path, source, misspeltMessage(meant))),
    ],
    unknown: unknown.map(({ path }) => ({ path: pathText(path), source })),
  }
}

const isMisspelt = (one: UnknownPath): one is UnknownPath & { readonly meant: string } =>
  one.meant !== null

const misspeltMessage = (meant: string): string =>
  `is not a setting, but is spelt almost like one: write ${meant}, or leave it out`

/** The value without fields of null, which equal absent fields. Entries of lists stay. */
function withoutNulls(value: Json): Json {
  if (isList(value)) return value.map(withoutNulls)
  if (!isMap(value)) return value
  return mapFromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      inner === null ? undefined : withoutNulls(inner),
    ]),
  )
}

/** A source that could not be read. */
export const unreadableSource = (source: SettingSource, message: string): SourceReading => ({
  source,
  settings: {},
  faults: [{ path: '', source, message }],
  unknown: [],
})

/** The merged settings with their secrets, and the faults of all sources (contract 6.5). */
interface ValidatedSettings {
  readonly settings: JsonMap
  readonly faults: readonly SettingFault[]
}

/**
 * Merges the sources, of which the first takes precedence, and validates the result. While a whole source is
 * unreadable, values are not compared with each other: a value that seems to be missing may be in that source.
 */
export function mergeAndValidate(
  readings: readonly SourceReading[],
  environment: Environment,
): ValidatedSettings {
  const merged = mergeSettings(...readings.map(({ settings }) => settings))
  const resolved = resolveReferences(merged, readings, environment)
  const sourceFaults = [...readings.flatMap(({ faults }) => faults), ...resolved.faults]
  const isEverySourceReadable = sourceFaults.every(({ path }) => path !== '')
  const mergedFaults = [
    ...valueFaults(resolved.settings),
    ...(isEverySourceReadable ? relationFaults(resolved.settings) : []),
  ].map(({ path, because, message, isOfName = false }) => ({
    isOfName,
    fault: settingFault(path, sourceOfPath(readings, because ?? path) ?? 'spec', message),
  }))
  const furtherFaults = mergedFaults
    .filter(
      ({ fault, isOfName }) =>
        isOfName || !sourceFaults.some((other) => isConsequence(fault, other)),
    )
    .map(({ fault }) => fault)
  return {
    settings: resolved.settings,
    faults: [...sourceFaults, ...furtherFaults].filter(isReportable),
  }
}

// A value that has a fault already, such as a wrong type or a missing variable, gets no fault about its format.
const isConsequence = (fault: SettingFault, known: SettingFault): boolean =>
  known.path !== '' && known.source === fault.source && isInsidePath(fault.path, known.path)

// Settings carried over from an earlier Config were valid with their secrets, and may have faults without them.
const isReportable = ({ source, path }: SettingFault): boolean =>
  source !== 'ConfigMap' || path === ''

/**
 * Removes unset values: null, empty texts, false (contract 1.2), 0 where it means absent (6.5), `REDACTED` outside
 * lists (6.3), and maps that are then empty. List entries stay, because an empty entry is a fault; `REDACTED` in a list
 * stays, because the list replaces the list of the Secret.
 */
const withoutUnset = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) =>
    isUnset(leaf) || (isRedactedLeaf(leaf) && !isInList(leaf)) ? undefined : leaf.value,
  )

/** Removes unset values from the settings of a record; its redacted secrets are lost, so they are unset too. */
const withoutUnsetAndRedacted = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (isUnset(leaf) || isRedactedLeaf(leaf) ? undefined : leaf.value))

const isInList = ({ path }: SettingLeaf): boolean => path.some((step) => typeof step === 'number')

function isUnset({ path, value, rule }: SettingLeaf): boolean {
  if (typeof path.at(-1) === 'number') return false
  if (value === '') return !rule.emptyCounts
  return value === null || value === false || (value === 0 && rule.zeroIsAbsent === true)
}
