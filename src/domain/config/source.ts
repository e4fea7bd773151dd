import { cleaned, cleanedRecord, knownFields } from './clean.ts'
import type { Fault, Source } from './fault.ts'
import { isMap, type JsonMap } from './json.ts'
import { pathText } from './path.ts'

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
