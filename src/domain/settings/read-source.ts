import { isInsidePath, pathText } from '../json/field-path.ts'
import { type JsonMap, isMap } from '../json/json.ts'
import { mergeSettings, sourceOfPath } from './merge.ts'
import { withoutUnset, withoutUnsetAndRedacted, splitUnknownFields } from './schema.ts'
import { type Environment, resolveReferences } from './secret-values.ts'
import { type SettingFault, type SettingSource, settingFault } from './validation/faults.ts'
import { relationFaults, valueFaults } from './validation/validate.ts'

/** What the schema says against a value: places as in faults, messages that quote no value. */
export type SchemaCheck = (
  value: unknown,
) => readonly { readonly path: string; readonly message: string }[]

/** A field that is no setting: dropped, and reported as event `UnknownField` (contract 4.5, 6.5). */
export interface UnknownField {
  readonly path: string
  readonly source: SettingSource
}

/** One source, read. */
export interface SourceReading {
  readonly source: SettingSource
  /** What the source says, without what says nothing. */
  readonly settings: JsonMap
  /** What is wrong with its shape, or with reading it. */
  readonly faults: readonly SettingFault[]
  readonly unknown: readonly UnknownField[]
}

/** Reads the settings of one source. Nothing at all (null) is a source that sets nothing. */
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
  // A record was written without its secrets, and nothing is wrong with that.
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
export interface ValidatedSettings {
  readonly settings: JsonMap
  readonly faults: readonly SettingFault[]
}

/**
 * Merges the sources, the highest first, and looks for all that is wrong with them. While a source
 * can't be read as a whole, values are not compared with each other: what seems to be missing might
 * stand there.
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
  const news = found.filter((fault) => !known.some((other) => follows(fault, other)))
  return { settings: resolved.settings, faults: [...known, ...news].filter(isToBeMended) }
}

// A value of the wrong type or without its variable is at fault once, not again in its format.
const follows = (fault: SettingFault, known: SettingFault): boolean =>
  known.path !== '' && known.source === fault.source && isInsidePath(fault.path, known.path)

// What an earlier Config left was sound when it came into force; without its secrets it need not be.
const isToBeMended = ({ source, path }: SettingFault): boolean =>
  source !== 'ConfigMap' || path === ''
