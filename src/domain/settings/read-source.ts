import { type JsonMap, isMap } from '../json/json.ts'
import { isWithin, pathText } from '../json/pointer.ts'
import { merge, sourceAt } from './merge.ts'
import { type Environment, resolveReferences } from './references.ts'
import { cleaned, cleanedRecord, knownFields } from './unknown-fields.ts'
import { type Fault, type Source, faultAt } from './validation/faults.ts'
import { relationFaults, valueFaults } from './validation/validate.ts'

/** What the schema says against a value: places as in faults, messages that quote no value. */
export type ShapeCheck = (
  value: unknown,
) => readonly { readonly path: string; readonly message: string }[]

/** A field that is no setting: dropped, and reported as event `UnknownField` (contract 4.5, 6.5). */
export interface UnknownField {
  readonly path: string
  readonly source: Source
}

/** One source, read. */
export interface Reading {
  readonly source: Source
  /** What the source says, without what says nothing. */
  readonly settings: JsonMap
  /** What is wrong with its shape, or with reading it. */
  readonly faults: readonly Fault[]
  readonly unknown: readonly UnknownField[]
}

/** Reads the settings of one source. Nothing at all (null) is a source that sets nothing. */
export function readSource(source: Source, value: unknown, shapeCheck: ShapeCheck): Reading {
  if (value === null) return { source, settings: {}, faults: [], unknown: [] }
  if (!isMap(value))
    return unreadable(source, 'is not a map: write the groups of settings, as in spec of a Config')
  const known = knownFields(value)
  // A record was written without its secrets, and nothing is wrong with that.
  const settings = (source === 'ConfigMap' ? cleanedRecord : cleaned)(known.settings)
  return {
    source,
    settings,
    faults: shapeCheck(settings).map((fault) => ({ ...fault, source })),
    unknown: known.unknown.map((path) => ({ path: pathText(path), source })),
  }
}

/** A source that could not be read. */
export const unreadable = (source: Source, message: string): Reading => ({
  source,
  settings: {},
  faults: [{ path: '', source, message }],
  unknown: [],
})

/** The merged settings with their secrets, and every fault of every source (contract 6.5). */
export interface Checked {
  readonly settings: JsonMap
  readonly faults: readonly Fault[]
}

/**
 * Merges the sources, the highest first, and looks for all that is wrong with them. While a source
 * can't be read as a whole, values are not compared with each other: what seems to be missing might
 * stand there.
 */
export function checked(readings: readonly Reading[], environment: Environment): Checked {
  const merged = merge(...readings.map(({ settings }) => settings))
  const resolved = resolveReferences(merged, readings, environment)
  const known = [...readings.flatMap(({ faults }) => faults), ...resolved.faults]
  const isWhole = known.every(({ path }) => path !== '')
  const found = [
    ...valueFaults(resolved.settings),
    ...(isWhole ? relationFaults(resolved.settings) : []),
  ].map(({ path, because, message }) =>
    faultAt(path, sourceAt(readings, because ?? path) ?? 'spec', message),
  )
  const news = found.filter((fault) => !known.some((other) => follows(fault, other)))
  return { settings: resolved.settings, faults: [...known, ...news].filter(isToBeMended) }
}

// A value of the wrong type or without its variable is at fault once, not again in its format.
const follows = (fault: Fault, known: Fault): boolean =>
  known.path !== '' && known.source === fault.source && isWithin(fault.path, known.path)

// What an earlier Config left was sound when it came into force; without its secrets it need not be.
const isToBeMended = ({ source, path }: Fault): boolean => source !== 'ConfigMap' || path === ''
