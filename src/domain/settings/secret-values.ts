// The values of secrets in settings (contract 6.3): variables of the environment for `$NAME`, and the Secret's own value
// for `REDACTED` in a list that was copied from status.
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

/** The operator's environment: the value of a variable, undefined when it is not set. */
export type Environment = (name: string) => string | undefined

/** The settings with the values of secrets, and a fault for each value that stays unresolved. */
interface ResolvedReferences {
  readonly settings: JsonMap
  readonly faults: readonly SettingFault[]
}

const ALMOST_REFERENCE = /^\$\{?PLATFORM_CONFIG/

const ADVICE =
  'write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put it into the Secret'

/**
 * Replaces `$NAME` in fields that may be secret by the variable of the environment, and `REDACTED` in a list by the
 * value of the Secret's counterpart (contract 6.3). Faults: a literal secret outside the Secret, and `REDACTED` without
 * a counterpart. A value with a fault stays as it is, so that it is not reported as missing too.
 *
 * A field of status that another manager owns follows the rules of spec: everyone with read access sees it. In the
 * Secret, a value that is not `$PLATFORM_CONFIG_<NAME>` is a literal, also when it begins with `$`.
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

/** `source` of a fault: the source to mend; absent = the one that the value came from. */
type ResolvedValue =
  | { readonly value: string }
  | { readonly fault: string; readonly source?: SettingSource }

/** The Secret's value; a fault unless its redaction equals this value: the address in it may have changed. */
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
  if (secrecy !== 'text' && ALMOST_REFERENCE.test(value))
    return { fault: 'is no whole $PLATFORM_CONFIG_<NAME>: use only A-Z, 0-9 and _ in the name' }
  if (source !== 'Secret' && REDACTORS[secrecy].hasSecret(value))
    return { fault: LITERAL_FAULTS[secrecy] }
  return { value }
}

const IS_REDACTED = `is ${REDACTED}, which stands for a hidden value and is no value`

const REDACTED_FAULTS = {
  spec: `${IS_REDACTED}: write $PLATFORM_CONFIG_<NAME>, a variable of the operator, or put the value into the Secret, into an entry of the same id, name or clientId`,
  Secret: `${IS_REDACTED}: write the value itself, or $PLATFORM_CONFIG_<NAME>, a variable of the operator`,
} as const

const LITERAL_FAULTS = {
  whole: `is a literal secret in the open: ${ADVICE}`,
  url: `is a URL with user information in the open: ${ADVICE}, as a whole`,
  dsn: `is a data source name that may hold a secret, in the open: ${ADVICE}, as a whole`,
  text: 'holds a URL with user information in the open: leave that out, or put it into the Secret',
} as const

// A list replaces the Secret's list (contract 6.2). When it was copied from status, `REDACTED` in an entry stands for the
// value in the same entry of the Secret, its counterpart (6.3).

/** Fields that identify an entry of a list, tried in this order. */
const IDENTITIES = ['id', 'name', 'clientId'] as const

/**
 * The Secret's values in the shape of these settings: the value at a path of the result is the Secret's counterpart of
 * the value at that path of the settings; null or absent = there is none. Entries of lists match by id, else by name,
 * else by clientId, if one entry alone has it; a list that equals the Secret's redacted list matches entry by entry.
 */
const secretCounterparts = (settings: JsonMap, secret: JsonMap): JsonMap =>
  counterpartOfMap(settings, { value: secret, redacted: redactSettings(secret) })

/** A part of the Secret, and its redacted form. */
interface SecretPart<Value extends Json = Json> {
  readonly value: Value | undefined
  readonly redacted: Value | undefined
}

function counterpartOf(mine: Json, { value, redacted }: SecretPart): Json | undefined {
  if (isMap(mine))
    return isMap(value) && isMap(redacted) ? counterpartOfMap(mine, { value, redacted }) : undefined
  if (isList(mine))
    return isList(value) && isList(redacted) ? counterpartOfList(mine, value, redacted) : undefined
  return isMap(value) || isList(value) ? undefined : value
}

function counterpartOfMap(
  mine: JsonMap,
  { value = {}, redacted = {} }: SecretPart<JsonMap>,
): JsonMap {
  return mapFromEntries(
    Object.entries(mine).map(([name, inner]) => [
      name,
      counterpartOf(inner, { value: ownValue(value, name), redacted: ownValue(redacted, name) }),
    ]),
  )
}

function counterpartOfList(
  mine: readonly Json[],
  value: readonly Json[],
  redacted: readonly Json[],
): readonly Json[] {
  if (sameJson(mine, redacted)) return value
  const indexOf = indexByIdentity(value)
  return mine.map((entry) => {
    const at = indexOf(entry)
    return at === undefined
      ? null
      : (counterpartOf(entry, { value: value[at], redacted: redacted[at] }) ?? null)
  })
}

/** A look-up of the index of the only entry with the same identity. */
function indexByIdentity(entries: readonly Json[]): (entry: Json) => number | undefined {
  const byIdentity = IDENTITIES.map((name) => [name, indexesBy(name, entries)] as const)
  return (entry) => {
    const found = byIdentity.map(([name, indexes]) => indexes.get(identityOf(name, entry)))
    return found.find((at) => at !== undefined && at !== SEVERAL)
  }
}

const SEVERAL = -1

function indexesBy(name: string, entries: readonly Json[]): ReadonlyMap<unknown, number> {
  const indexes = new Map<unknown, number>()
  for (const [at, entry] of entries.entries()) {
    const identity = identityOf(name, entry)
    if (identity !== undefined) indexes.set(identity, indexes.has(identity) ? SEVERAL : at)
  }
  return indexes
}

function identityOf(name: string, entry: Json): string | undefined {
  const identity = isMap(entry) ? ownValue(entry, name) : undefined
  return typeof identity === 'string' ? identity : undefined
}
