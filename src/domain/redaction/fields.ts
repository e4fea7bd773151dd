// The hidden fields of our kinds (contract 12.4). A write by a client that can't see them keeps them.
import { ACCESS_KEYS, CONFIGS, type Resource, TEAMS, TOKENS, USERS } from '../../api/names.ts'
import { type NamePath, nestedField, nestedString, setNestedField } from '../json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, mapFromEntries } from '../json/json.ts'
import { redactSettings, redactLiterals } from '../settings/redaction.ts'

/** The path of the key itself. */
export const KEY: NamePath = ['spec', 'key']

/** The path of the signed token. */
export const TOKEN: NamePath = ['status', 'token']

const CONNECTOR_DATA: NamePath = ['spec', 'identity', 'connectorData']
const OIDC_LOGIN: NamePath = ['spec', 'oidcLogin']

/** The fields that redaction removes, by plural. Settings stay, with REDACTED in place of each secret value. */
const HIDDEN: Readonly<Record<string, readonly NamePath[]>> = {
  [ACCESS_KEYS.plural]: [KEY, CONNECTOR_DATA, OIDC_LOGIN],
  [TOKENS.plural]: [TOKEN],
  [CONFIGS.plural]: [],
  [USERS.plural]: [],
  [TEAMS.plural]: [],
}

/** The fields whose values are secrets. */
const SECRETS: Readonly<Record<string, readonly NamePath[]>> = {
  [ACCESS_KEYS.plural]: [
    KEY,
    CONNECTOR_DATA,
    [...OIDC_LOGIN, 'idToken'],
    [...OIDC_LOGIN, 'accessToken'],
    [...OIDC_LOGIN, 'refreshToken'],
  ],
  [TOKENS.plural]: [TOKEN],
}

/** The fields that are removed from objects of a kind. */
export const hiddenFields = ({ plural }: Resource): readonly NamePath[] => HIDDEN[plural] ?? []

/** The object without its hidden fields. */
export function withoutHiddenFields(resource: Resource, object: JsonMap): JsonMap {
  if (resource === CONFIGS) return withoutSecretSettings(object)
  return hiddenFields(resource).reduce(
    (rest, path) => setNestedField(rest, path, undefined),
    object,
  )
}

const withoutSecretSettings = (object: JsonMap): JsonMap =>
  mapFromEntries(
    Object.entries(object).map(([name, value]) => {
      if (!isMap(value)) return [name, value]
      if (name === 'spec') return [name, redactLiterals(value)]
      return [name, name === 'status' ? redactSettings(value) : value]
    }),
  )

/** Reads the value at a path, in the object as clients see it and in the stored object; undefined = none. */
export interface Sides {
  readonly shown: (path: NamePath) => Json | undefined
  readonly current: (path: NamePath) => Json | undefined
}

/**
 * Puts the hidden fields back into a value that a client sent for a path of the object; an empty path = the whole
 * object (contract 12.4). If the client left out the map around a hidden field, the field stays out too.
 */
export function withHiddenFieldsAt(
  resource: Resource,
  { shown, current }: Sides,
  sent: Json,
  path: NamePath,
): Json {
  if (resource === CONFIGS) return restoreSettings(sent, shown(path), current(path))
  return hiddenFields(resource).reduce(
    (whole, field) => restoreField(whole, pathBelow(field, path), current(field)),
    sent,
  )
}

function restoreField(sent: Json, field: NamePath | null, value: Json | undefined): Json {
  if (field === null || field.length === 0 || value === undefined) return sent
  const isMissing =
    nestedField(sent, field) === undefined && isMap(nestedField(sent, field.slice(0, -1)))
  return isMissing && isMap(sent) ? setNestedField(sent, field, value) : sent
}

/** The path of a field from `path` on; null = the field is not below `path`. */
export const pathBelow = (field: NamePath, path: NamePath): NamePath | null =>
  path.every((name, place) => field[place] === name) ? field.slice(path.length) : null

/** Puts the hidden fields back into a whole object that a client sent (contract 12.4). */
export function withHiddenFields(resource: Resource, sent: JsonMap, current: JsonMap): JsonMap {
  const shown = withoutHiddenFields(resource, current)
  const sides: Sides = {
    shown: (path) => nestedField(shown, path),
    current: (path) => nestedField(current, path),
  }
  return withHiddenFieldsAt(resource, sides, sent, []) as JsonMap
}

/** The secrets of an object in clear: no visible field may repeat one. */
export const secretsIn = (resource: Resource, object: JsonMap): readonly string[] =>
  secretsAt(resource, object, [])

/** The secrets in a value that is to be stored at a path of an object. */
export const secretsAt = (
  resource: Resource,
  value: Json | undefined,
  path: NamePath,
): readonly string[] =>
  (SECRETS[resource.plural] ?? [])
    .map((field) => pathBelow(field, path))
    .map((field) => (field === null ? '' : nestedString(value, field)))
    .filter(isSecret)

/**
 * Whether a text in `spec.key` has the prefix of a digest (contract 3.6). Wider than `storedDigestOf`: a malformed
 * digest does not show a key either.
 */
export const isDigest = (text: string): boolean => text.startsWith('sha256:')

/** A digest reveals no key, and a short text may be part of other texts by chance. */
const isSecret = (text: string): boolean => text.length >= SHORTEST_SECRET && !isDigest(text)
const SHORTEST_SECRET = 12

/** Replaces each value that the client sends back as it was shown with the stored value. */
function restoreSettings(sent: Json, shown: Json | undefined, current: Json | undefined): Json {
  if (isMap(sent)) {
    return mapFromEntries(
      Object.entries(sent).map(([name, value]) => [
        name,
        restoreSettings(value, nestedField(shown, [name]), nestedField(current, [name])),
      ]),
    )
  }
  if (isList(sent)) {
    const [shownList, currentList] = [isList(shown) ? shown : [], isList(current) ? current : []]
    // The entries of a list with another length can't be matched.
    return shownList.length === sent.length && currentList.length === sent.length
      ? sent.map((value, place) => restoreSettings(value, shownList[place], currentList[place]))
      : sent
  }
  return sent === shown && current !== undefined && !isMap(current) && !isList(current)
    ? current
    : sent
}
