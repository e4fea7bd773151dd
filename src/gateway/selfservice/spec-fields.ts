// The allow-list of self-service: the fields of a spec that a write may set without rights on the kind (contract 12.1,
// 12.3). A field that is not listed keeps its value; a new field of a CRD does not compile until it is listed. A rule
// holds for the whole field with all its parts.
import type { DirectClusterEndpointTokenSpec } from '../../api/directclusterendpointtoken.gen.ts'
import { ACCESS_KEYS, type Resource } from '../../api/names.ts'
import type { OwnedAccessKeySpec } from '../../api/ownedaccesskey.gen.ts'
import { nestedMap } from '../../domain/json/field-path.ts'
import { type JsonMap, ownValue, sameJson } from '../../domain/json/json.ts'

/** `open` accepts any value, `checked` the values that validation accepts, `closed` only the stored value. */
type FieldAccess = 'open' | 'checked' | 'closed'

/** The access of self-service to one field. */
interface SelfServiceFieldRule {
  readonly create: FieldAccess
  readonly update: FieldAccess
  /**
   * An update with a key that does not act as a person, which may only take rights away: `onlyTrue` and
   * `neverTrue` for flags, `narrower` for scopes.
   */
  readonly restrict: FieldAccess | 'onlyTrue' | 'neverTrue' | 'narrower'
}

const open = { create: 'open', update: 'open', restrict: 'open' } as const
const closed = { create: 'closed', update: 'closed', restrict: 'closed' } as const

/** The fields of an access key. */
const KEY_FIELDS = {
  displayName: open,
  description: open,
  user: { create: 'checked', update: 'checked', restrict: 'closed' },
  team: closed,
  subject: closed,
  groups: { create: 'checked', update: 'checked', restrict: 'closed' },
  key: { create: 'checked', update: 'checked', restrict: 'closed' },
  disabled: { create: 'open', update: 'open', restrict: 'onlyTrue' },
  ttl: { create: 'checked', update: 'open', restrict: 'checked' },
  ttlAfterLastActivity: { create: 'open', update: 'open', restrict: 'neverTrue' },
  scope: { create: 'checked', update: 'open', restrict: 'narrower' },
  type: { create: 'checked', update: 'open', restrict: 'closed' },
  identity: closed,
  identityRefresh: closed,
  oidcProvider: closed,
  oidcLogin: closed,
  parent: closed,
} as const satisfies Readonly<Record<keyof OwnedAccessKeySpec, SelfServiceFieldRule>>

/** The fields of a token. The operator refuses a token that grants more than the scope of its owner. */
const TOKEN_FIELDS = {
  ttl: open,
  scope: { create: 'checked', update: 'open', restrict: 'open' },
} as const satisfies Readonly<Record<keyof DirectClusterEndpointTokenSpec, SelfServiceFieldRule>>

/** The rules for the spec of an access key or token, by field. */
export const fieldRules = (resource: Resource): Readonly<Record<string, SelfServiceFieldRule>> =>
  resource === ACCESS_KEYS ? KEY_FIELDS : TOKEN_FIELDS

/** The rule for a field of an access key or token; one that is not listed is closed. */
export function fieldRule(resource: Resource, name: string): SelfServiceFieldRule {
  const rules = fieldRules(resource)
  return Object.hasOwn(rules, name) ? (rules[name] ?? closed) : closed
}

/**
 * The first closed field that a write would change; undefined = none. An empty text and false equal absent
 * (contract 1.2).
 *
 * @param before the stored object; null = the write creates it
 */
export function changedClosedField(
  resource: Resource,
  before: JsonMap | null,
  after: JsonMap,
): string | undefined {
  const verb = before === null ? 'create' : 'update'
  const [was, is] = [nestedMap(before ?? {}, ['spec']), nestedMap(after, ['spec'])]
  const names = new Set([
    ...Object.keys(fieldRules(resource)),
    ...Object.keys(was),
    ...Object.keys(is),
  ])
  return [...names].find(
    (name) =>
      fieldRule(resource, name)[verb] === 'closed' &&
      !sameJson(ownValue(was, name) || null, ownValue(is, name) || null),
  )
}
