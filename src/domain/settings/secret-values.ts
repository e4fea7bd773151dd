// Fills in the secrets of settings (contract 6.3): an environment variable replaces `$NAME`, and the value of the
// Secret replaces `REDACTED` in a list that was copied from status.
import { nestedField } from '../json/field-path.ts'
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
import { type SettingsLayer, sourceOfPath } from './layers.ts'
import {
  REDACTED,
  REDACTORS,
  isRedactedLeaf,
  redactSettings,
  referencedVariable,
} from './redaction.ts'
import { type SettingFault, type SettingSource, settingFault } from './validation/faults.ts'
import { type SettingLeaf, mapLeaves } from './walk.ts'

/** Reads a variable of the operator's environment; undefined when it is not set. */
export type Environment = (name: string) => string | undefined

/** The settings with their secrets, and a fault for each value that could not be resolved. */
interface ResolvedReferences {
  readonly settings: JsonMap
  readonly faults: readonly SettingFault[]
}

const ALMOST_REFERENCE = /^\$\{?PLATFORM_CONFIG/

const ALMOST_REFERENCE_FAULT =
  'is no whole $PLATFORM_CONFIG_<NAME>: use only A-Z, 0-9 and _ in the name'

/** Sent as it is, the name of the variable would be the header. */
const SHOWN_REFERENCE_FAULT =
  'names a variable of the operator, which a value that everybody sees cannot: write the value itself'

const ADVICE =
  'write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put it into the Secret'

/**
 * Replaces `$NAME` in fields that may be secret with the environment variable, and `REDACTED` in a list with the value
 * of its counterpart in the Secret (contract 6.3). Faults are literal secrets outside the Secret, and `REDACTED`
 * without a counterpart. A value with a fault stays unchanged, so that it is not reported as missing too.
 *
 * Fields of status that another manager owns follow the rules of spec, because everyone with read access sees them. In
 * the Secret, a value other than `$PLATFORM_CONFIG_<NAME>` is a literal, even if it begins with `$`.
 */
export function resolveReferences(
  merged: JsonMap,
  layers: readonly SettingsLayer[],
  environment: Environment,
): ResolvedReferences {
  const faults: SettingFault[] = []
  const secret = layers.find(({ source }) => source === 'Secret')?.settings ?? {}
  const inSecret = secretCounterparts(merged, secret)
  const settings = mapLeaves(merged, (leaf) => {
    if (typeof leaf.value !== 'string') return leaf.value
    const source = sourceOfPath(layers, leaf.path) ?? 'spec'
    const original =
      isRedactedLeaf(leaf) && source !== 'Secret' ? nestedField(inSecret, leaf.path) : undefined
    const resolved =
      typeof original === 'string'
        ? resolveRedacted(leaf, original, environment)
        : resolve(leaf.value, leaf.rule.secrecy, source, environment)
    if ('value' in resolved) return resolved.value
    faults.push(settingFault(leaf.path, resolved.source ?? source, resolved.fault))
    return leaf.value
  })
  return { settings, faults }
}

/** The resolved value, or its fault. `source`: where to correct the fault; absent = the source of the value. */
type ResolvedValue =
  | { readonly value: string }
  | { readonly fault: string; readonly source?: SettingSource }

/** The Secret's value; a fault unless it redacts to the same text, because the address in a URL may have changed. */
function resolveRedacted(
  { value, rule: { secrecy } }: SettingLeaf,
  original: string,
  environment: Environment,
): ResolvedValue {
  const resolved = resolve(original, secrecy, 'Secret', environment)
  if ('fault' in resolved) return { ...resolved, source: 'Secret' }
  return REDACTORS[secrecy].redact(resolved.value) === value
    ? resolved
    : { fault: REDACTED_FAULTS.spec }
}

function resolve(
  value: string,
  secrecy: Secrecy,
  source: SettingSource,
  environment: Environment,
): ResolvedValue {
  if (REDACTORS[secrecy].isRedacted(value))
    return { fault: source === 'Secret' ? REDACTED_FAULTS.Secret : REDACTED_FAULTS.spec }
  const name = referencedVariable(value, secrecy)
  if (name !== null) {
    const found = environment(name)
    if (found) return { value: found }
    return { fault: `names ${name}, which is not set in the operator's environment: set it` }
  }
  if (ALMOST_REFERENCE.test(value) && secrecy !== 'text')
    return { fault: secrecy === 'header' ? SHOWN_REFERENCE_FAULT : ALMOST_REFERENCE_FAULT }
  if (source !== 'Secret' && REDACTORS[secrecy].hasSecret(value))
    return { fault: LITERAL_FAULTS[secrecy] }
  return { value }
}

const REDACTED_FAULT_PREFIX = `is ${REDACTED}, which stands for a hidden value and is no value`

const REDACTED_FAULTS = {
  spec: `${REDACTED_FAULT_PREFIX}: write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put the value into the Secret, into an entry of the same id, name or clientId`,
  Secret: `${REDACTED_FAULT_PREFIX}: write the value itself, or $PLATFORM_CONFIG_<NAME>, a variable of the operator`,
} as const

const TEXT_FAULT =
  'holds a URL with user information in the open: leave that out, or put it into the Secret'

const LITERAL_FAULTS = {
  whole: `is a literal secret in the open: ${ADVICE}`,
  url: `is a URL with user information in the open: ${ADVICE}, as a whole`,
  dsn: `is a data source name that may hold a secret, in the open: ${ADVICE}, as a whole`,
  text: TEXT_FAULT,
  header: TEXT_FAULT,
} as const

// A list replaces the Secret's list (contract 6.2). If the list was copied from status, `REDACTED` in an entry stands
// for the value in the matching entry of the Secret's list, its counterpart (6.3).

/** Fields that identify an entry of a list, in order of precedence. */
const IDENTITY_FIELDS = ['id', 'name', 'clientId'] as const

/**
 * The Secret's values in the shape of these settings: each path has the counterpart of the setting at that path; null
 * or absent = there is none. List entries match by a unique id, else name, else clientId; a list that equals the
 * redacted list of the Secret matches entry by entry.
 */
const secretCounterparts = (settings: JsonMap, secret: JsonMap): JsonMap =>
  counterpartOfMap(settings, { value: secret, redacted: redactSettings(secret) })

/** A part of the Secret, and the same part redacted. */
interface SecretPart<Value extends Json = Json> {
  readonly value: Value | undefined
  readonly redacted: Value | undefined
}

function counterpartOf(setting: Json, { value, redacted }: SecretPart): Json | undefined {
  if (isMap(setting))
    return isMap(value) && isMap(redacted)
      ? counterpartOfMap(setting, { value, redacted })
      : undefined
  if (isList(setting))
    return isList(value) && isList(redacted)
      ? counterpartOfList(setting, value, redacted)
      : undefined
  return isMap(value) || isList(value) ? undefined : value
}

function counterpartOfMap(
  setting: JsonMap,
  { value = {}, redacted = {} }: SecretPart<JsonMap>,
): JsonMap {
  return mapFromEntries(
    Object.entries(setting).map(([name, inner]) => [
      name,
      counterpartOf(inner, { value: ownValue(value, name), redacted: ownValue(redacted, name) }),
    ]),
  )
}

function counterpartOfList(
  setting: readonly Json[],
  value: readonly Json[],
  redacted: readonly Json[],
): readonly Json[] {
  if (sameJson(setting, redacted)) return value
  const indexOf = indexByIdentity(value)
  return setting.map((entry) => {
    const at = indexOf(entry)
    return at === undefined
      ? null
      : (counterpartOf(entry, { value: value[at], redacted: redacted[at] }) ?? null)
  })
}

/** Returns a function that finds the index of the only entry with the same identity; undefined = none or several. */
function indexByIdentity(entries: readonly Json[]): (entry: Json) => number | undefined {
  const byIdentity = IDENTITY_FIELDS.map((name) => [name, indexesBy(name, entries)] as const)
  return (entry) => {
    const found = byIdentity.map(([name, indexes]) => indexes.get(identityOf(name, entry)))
    return found.find((at) => at !== undefined && at !== AMBIGUOUS)
  }
}

const AMBIGUOUS = -1

function indexesBy(name: string, entries: readonly Json[]): ReadonlyMap<unknown, number> {
  const indexes = new Map<unknown, number>()
  for (const [at, entry] of entries.entries()) {
    const identity = identityOf(name, entry)
    if (identity !== undefined) indexes.set(identity, indexes.has(identity) ? AMBIGUOUS : at)
  }
  return indexes
}

function identityOf(name: string, entry: Json): string | undefined {
  const identity = isMap(entry) ? ownValue(entry, name) : undefined
  return typeof identity === 'string' ? identity : undefined
}
