import { isInsidePath, pathText } from '../json/field-path.ts'
import { type JsonMap, isMap } from '../json/json.ts'
import { mergeSettings, sourceOfPath } from './layers.ts'
import { isRedactedLeaf } from './redaction.ts'
import { type SchemaCheck, splitUnknownFields } from './schema.ts'
import { type Environment, resolveReferences } from './secret-values.ts'
import { type SettingFault, type SettingSource, settingFault } from './validation/faults.ts'
import { relationFaults, valueFaults } from './validation/validate.ts'
import { type SettingLeaf, mapLeaves } from './walk.ts'

/** A field that is no setting: dropped, and reported as event `UnknownField` (contract 4.5, 6.5). */
export interface UnknownField {
  readonly path: string
  readonly source: SettingSource
}

/** The settings of one source, after a check against the schema. */
export interface SourceReading {
  readonly source: SettingSource
  /** Without unset values and unknown fields. */
  readonly settings: JsonMap
  /** Wrong types, or the reason why the source is unreadable. */
  readonly faults: readonly SettingFault[]
  readonly unknown: readonly UnknownField[]
}

/** Reads the settings of one source; null = the source does not exist, so it sets nothing. */
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
  // The operator writes a record without its secrets, so REDACTED there is no fault.
  const settings = (source === 'ConfigMap' ? withoutUnsetAndRedacted : withoutUnset)(known.settings)
  return {
    source,
    settings,
    faults: shapeCheck(settings).map((fault) => ({ ...fault, source })),
    unknown: known.unknown.map((path) => ({ path: pathText(path), source })),
  }
}

/** A source that could not be read. */
export const unreadableSource = (source: SettingSource, message: string): SourceReading => ({
  source,
  settings: {},
  faults: [{ path: '', source, message }],
  unknown: [],
})

/** The merged settings with their secrets, and every fault of every source (contract 6.5). */
interface ValidatedSettings {
  readonly settings: JsonMap
  readonly faults: readonly SettingFault[]
}

/**
 * Merges the sources, the highest first, and validates the result. While a source is unreadable as a whole, values are
 * not compared with each other: a value that seems to be missing may be in that source.
 */
export function mergeAndValidate(
  readings: readonly SourceReading[],
  environment: Environment,
): ValidatedSettings {
  const merged = mergeSettings(...readings.map(({ settings }) => settings))
  const resolved = resolveReferences(merged, readings, environment)
  const known = [...readings.flatMap(({ faults }) => faults), ...resolved.faults]
  const isWhole = known.every(({ path }) => path !== '')
  const found = [
    ...valueFaults(resolved.settings),
    ...(isWhole ? relationFaults(resolved.settings) : []),
  ].map(({ path, because, message }) =>
    settingFault(path, sourceOfPath(readings, because ?? path) ?? 'spec', message),
  )
  const added = found.filter((fault) => !known.some((other) => isConsequence(fault, other)))
  return { settings: resolved.settings, faults: [...known, ...added].filter(isReportable) }
}

// A value of a wrong type, or without its variable, has one fault, and none of its format.
const isConsequence = (fault: SettingFault, known: SettingFault): boolean =>
  known.path !== '' && known.source === fault.source && isInsidePath(fault.path, known.path)

// Settings carried over from an earlier Config were valid with their secrets; without them they need not be.
const isReportable = ({ source, path }: SettingFault): boolean =>
  source !== 'ConfigMap' || path === ''

/**
 * The settings without unset values: null, empty texts, false (contract 1.2), 0 where it means absent (6.5), `REDACTED`
 * outside lists (6.3), and maps that are then empty. Entries of lists stay, since an empty one is a fault; so does
 * `REDACTED` in them, since the list replaces the Secret's.
 */
const withoutUnset = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) =>
    isUnset(leaf) || (isRedactedLeaf(leaf) && !isInList(leaf)) ? undefined : leaf.value,
  )

/** The settings of a record without unset values; a secret that was redacted there is lost, so it is unset too. */
const withoutUnsetAndRedacted = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (isUnset(leaf) || isRedactedLeaf(leaf) ? undefined : leaf.value))

const isInList = ({ path }: SettingLeaf): boolean => path.some((step) => typeof step === 'number')

function isUnset({ path, value, rule }: SettingLeaf): boolean {
  if (typeof path.at(-1) === 'number') return false
  if (value === '') return !rule.emptyCounts
  return value === null || value === false || (value === 0 && rule.zeroIsAbsent === true)
}
