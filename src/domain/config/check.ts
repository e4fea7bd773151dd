import { type Fault, faultAt } from './fault.ts'
import { relationFaults, valueFaults } from './faults.ts'
import type { JsonMap } from './json.ts'
import { merge, sourceAt } from './merge.ts'
import { isWithin } from './path.ts'
import { type Environment, resolveReferences } from './references.ts'
import type { Reading } from './source.ts'

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
