import type { FieldPath } from '../json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  mapFromEntries,
  ownValue,
  sameJson,
} from '../json/json.ts'
import type { Secrecy } from './field-rules.ts'
import { type SettingsLayer, sourceOfPath } from './merge.ts'
import {
  type SettingLeaf,
  REDACTED,
  redactSettings,
  isRedactedLeaf,
  mapLeaves,
  REDACTORS,
} from './redaction.ts'
import { type SettingFault, type SettingSource, settingFault } from './validation/faults.ts'

/** The operator's environment: the value of a variable, undefined when it is not set. */
export type Environment = (name: string) => string | undefined

/** Settings with the values of the environment in the place of `$NAME`. */
export interface ResolvedReferences {
  readonly settings: JsonMap
  readonly faults: readonly SettingFault[]
}

const ALMOST_REFERENCE = /^\$\{?PLATFORM_CONFIG/

const ADVICE =
  'write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put it into the Secret'

/**
 * Replaces `$NAME` in fields that may be secret by variables of the environment, what is hidden in a list
 * by the value of the Secret's entry that stands for the same, and faults literal secrets outside the
 * Secret and what is hidden and nowhere else (contract 6.3). What is at fault stays as it is, so that it
 * does not count as missing besides.
 *
 * A field of status that another manager owns is treated like spec: everybody reads it. In the
 * Secret a value that is not `$PLATFORM_CONFIG_<NAME>` is a literal, also when it begins with `$`.
 */
export function resolveReferences(
  merged: JsonMap,
  layers: readonly SettingsLayer[],
  environment: Environment,
): ResolvedReferences {
  const faults: SettingFault[] = []
  const secret = layers.find(({ source }) => source === 'Secret')?.settings ?? {}
  const inSecret = counterparts(merged, secret)
  const settings = mapLeaves(merged, (leaf) => {
    if (typeof leaf.value !== 'string') return leaf.value
    const source = sourceOfPath(layers, leaf.path) ?? 'spec'
    const stays =
      isRedactedLeaf(leaf) && source !== 'Secret' ? valueAt(inSecret, leaf.path) : undefined
    const answer =
      typeof stays === 'string'
        ? resolveHidden(leaf, stays, environment)
        : resolve(leaf.value, leaf.rule.secrecy, source, environment)
    if ('value' in answer) return answer.value
    faults.push(settingFault(leaf.path, answer.source ?? source, answer.fault))
    return leaf.value
  })
  return { settings, faults }
}

/** `source`: where the fault is, if not where the value came from. */
type Answer =
  | { readonly value: string }
  | { readonly fault: string; readonly source?: SettingSource }

/** The Secret's value, where it is what the hidden one stands for: an address may be another by now. */
function resolveHidden(
  { value, rule: { secrecy } }: SettingLeaf,
  stays: string,
  environment: Environment,
): Answer {
  const answer = resolve(stays, secrecy, 'Secret', environment)
  if ('fault' in answer) return { ...answer, source: 'Secret' }
  return REDACTORS[secrecy].hide(answer.value) === value ? answer : { fault: HIDDEN.spec }
}

function resolve(
  value: string,
  secrecy: Secrecy,
  source: SettingSource,
  environment: Environment,
): Answer {
  if (REDACTORS[secrecy].isHidden(value))
    return { fault: source === 'Secret' ? HIDDEN.Secret : HIDDEN.spec }
  const name = variableIn(value, secrecy)
  if (name !== null) {
    const found = environment(name)
    if (found) return { value: found }
    return { fault: `names ${name}, which is not set in the operator's environment: set it` }
  }
  if (secrecy !== 'text' && ALMOST_REFERENCE.test(value))
    return { fault: 'is no whole $PLATFORM_CONFIG_<NAME>: use only A-Z, 0-9 and _ in the name' }
  if (source !== 'Secret' && REDACTORS[secrecy].shows(value))
    return { fault: literalFault[secrecy] }
  return { value }
}

const IS_HIDDEN = `is ${REDACTED}, which stands for a hidden value and is no value`

const HIDDEN = {
  spec: `${IS_HIDDEN}: write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put the value into the Secret, into an entry of the same id, name or clientId`,
  Secret: `${IS_HIDDEN}: write the value itself, or $PLATFORM_CONFIG_<NAME>, a variable of the operator`,
} as const

const literalFault = {
  whole: `is a literal secret in the open: ${ADVICE}`,
  url: `is a URL with user information in the open: ${ADVICE}, as a whole`,
  dsn: `is a data source name that may hold a secret, in the open: ${ADVICE}, as a whole`,
  text: 'holds a URL with user information in the open: leave that out, or put it into the Secret',
} as const

const REFERENCE = /^\$(PLATFORM_CONFIG_[A-Z0-9_]+)$/

/** The variable that a value names, in a field where that is read so; null = none (contract 6.3). */
export const variableIn = (value: string, secrecy: Secrecy): string | null =>
  secrecy === 'text' ? null : (REFERENCE.exec(value)?.[1] ?? null)

/** Whether a value names a variable of the operator, in a field where that is read so. */
export const isReferenceLeaf = ({ value, rule }: SettingLeaf): boolean =>
  typeof value === 'string' && variableIn(value, rule.secrecy) !== null

// A list replaces the Secret's (contract 6.2). Where it was copied from status, its hidden values are those of
// the Secret's entries that stand for the same (6.3).

/** By which of its fields an entry of a list is found again, the first that finds one. */
const IDENTITIES = ['id', 'name', 'clientId'] as const

/**
 * What the Secret says at the places of these settings, in their shape: the value at `path` of the result
 * is that of the Secret for the value at `path` of the settings. Entries of lists are found by id, else by
 * name, else by clientId, where one alone has it; a list that is the Secret's as status shows it is found
 * entry by entry. null and absent: the Secret says nothing there.
 */
export const counterparts = (settings: JsonMap, secret: JsonMap): JsonMap =>
  ofMap(settings, { value: secret, shown: redactSettings(secret) })

/** The value at the path; undefined where there is none. */
export function valueAt(settings: JsonMap, path: FieldPath): Json | undefined {
  return path.reduce<Json | undefined>((value, step) => {
    if (isList(value)) return value[Number(step)]
    return isMap(value) ? ownValue(value, String(step)) : undefined
  }, settings)
}

/** A part of the Secret, and how status shows it. */
interface Theirs<Value extends Json = Json> {
  readonly value: Value | undefined
  readonly shown: Value | undefined
}

function of(mine: Json, { value, shown }: Theirs): Json | undefined {
  if (isMap(mine)) return isMap(value) && isMap(shown) ? ofMap(mine, { value, shown }) : undefined
  if (isList(mine)) return isList(value) && isList(shown) ? ofList(mine, value, shown) : undefined
  return isMap(value) || isList(value) ? undefined : value
}

function ofMap(mine: JsonMap, { value = {}, shown = {} }: Theirs<JsonMap>): JsonMap {
  return mapFromEntries(
    Object.entries(mine).map(([name, inner]) => [
      name,
      of(inner, { value: ownValue(value, name), shown: ownValue(shown, name) }),
    ]),
  )
}

function ofList(
  mine: readonly Json[],
  value: readonly Json[],
  shown: readonly Json[],
): readonly Json[] {
  if (sameJson(mine, shown)) return value
  const placeOf = placesIn(value)
  return mine.map((entry) => {
    const at = placeOf(entry)
    return at === undefined ? null : (of(entry, { value: value[at], shown: shown[at] }) ?? null)
  })
}

/** Finds the place of the entry that stands for the same. */
function placesIn(entries: readonly Json[]): (entry: Json) => number | undefined {
  const byIdentity = IDENTITIES.map((name) => [name, placesBy(name, entries)] as const)
  return (entry) => {
    const found = byIdentity.map(([name, places]) => places.get(identityBy(name, entry)))
    return found.find((at) => at !== undefined && at !== SEVERAL)
  }
}

const SEVERAL = -1

function placesBy(name: string, entries: readonly Json[]): ReadonlyMap<unknown, number> {
  const places = new Map<unknown, number>()
  for (const [at, entry] of entries.entries()) {
    const identity = identityBy(name, entry)
    if (identity !== undefined) places.set(identity, places.has(identity) ? SEVERAL : at)
  }
  return places
}

function identityBy(name: string, entry: Json): string | undefined {
  const identity = isMap(entry) ? ownValue(entry, name) : undefined
  return typeof identity === 'string' ? identity : undefined
}
