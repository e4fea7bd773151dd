// Escalation checks beyond RBAC, like RBAC's own check for roles (contract 12.1, 12.3). A key that does not act as a
// person creates no key that outlives or exceeds it, only takes rights from existing keys, and stores no digest.
import { ACCESS_KEYS, type Resource } from '../../api/names.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../domain/accesskey/access-key.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import {
  type NamePath,
  nestedField,
  nestedMap,
  nestedString,
} from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, sameJson } from '../../domain/json/json.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { teamUsername } from '../../domain/people/team.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { KEY, isDigest, pathBelow } from '../../domain/redaction/fields.ts'
import { type Change, isAnswer, pathIn } from './patch.ts'
import type { CallerAccess } from './request.ts'
import { fieldRule } from './spec-fields.ts'
import type { FieldRefusal } from './write-options.ts'

/** The fields that name the holder of a key, and the user name that follows from each (contract 10.5). */
const HOLDER_USERNAMES: Readonly<Record<string, (name: string) => string>> = {
  user: (name) => name,
  team: teamUsername,
  subject: (name) => name,
}

/** The field by which a key would have the caller's own user name; undefined = it has another name, or none. */
const ownNameOf = (object: JsonMap, { runsAs }: CallerAccess): string | undefined =>
  Object.keys(HOLDER_USERNAMES).find((field) => {
    const name = nestedString(object, ['spec', field])
    return name !== '' && HOLDER_USERNAMES[field]?.(name) === runsAs
  })

/** Why the calling key must not create this key, whatever RBAC grants; null = RBAC or self-service decides. */
export function creationEscalation(
  resource: Resource,
  object: JsonMap,
  isForSelf: boolean,
  access: CallerAccess,
): FieldRefusal | null {
  if (resource !== ACCESS_KEYS || access.isPerson) return null
  if (nestedString(object, ['spec', 'type']) === 'Login')
    return { field: 'spec.type', because: NO_LOGIN }
  const own = ownNameOf(object, access)
  if (own === undefined || isForSelf) return null
  if (own !== 'user' || access.user === null) return { field: `spec.${own}`, because: NOT_ITSELF }
  if (isDigest(nestedString(object, KEY))) return { field: 'spec.key', because: NO_DIGEST }
  return { field: 'spec.type', because: 'a key made with this access key has type User' }
}

/** Why a key of another user must not be changed like this, whatever RBAC grants; null = RBAC decides. */
export function updateEscalation(
  resource: Resource,
  change: Change,
  before: JsonMap,
  access: CallerAccess,
): FieldRefusal | null {
  if (resource !== ACCESS_KEYS || access.isPerson) return null
  const holder = Object.entries(HOLDER_USERNAMES).find(([field, usernameOf]) => {
    const path = ['spec', field]
    const texts = textsSetAt(change, path).filter((name) => name !== nestedString(before, path))
    return texts.some((name) => usernameOf(name) === access.runsAs)
  })
  return holder === undefined ? null : { field: `spec.${holder[0]}`, because: NOT_ITSELF }
}

/** Whether a change sets a digest that the key does not have yet (contract 12.1). */
export const bringsDigest = (resource: Resource, change: Change, before: JsonMap): boolean =>
  resource === ACCESS_KEYS &&
  textsSetAt(change, KEY).some((text) => isDigest(text) && text !== nestedString(before, KEY))

/** A digest proves no knowledge of the key: any reader of a repository could store one. */
export const NO_DIGEST =
  'this access key cannot store a digest: leave it out to get a generated key, or call with a key of type Login that has no scope and the right to store digests'

const NO_LOGIN =
  'this access key cannot create keys of type Login: call with a key of type Login that has no scope'

const NOT_ITSELF =
  'this access key cannot create a key of its own team or subject, nor put its own user, team or subject into another key: call with a key of type Login that has no scope'

// The values that a change sets at one path of an object.

/** The texts that a change sets at a path, including those that a later operation removes again. */
const textsSetAt = (change: Change, path: NamePath): readonly string[] =>
  (change.by === 'json'
    ? change.sent.map((operation) => valueSetBy(operation, path))
    : [nestedField(change.sent, path)]
  ).filter((value) => typeof value === 'string')

function valueSetBy(operation: Json, path: NamePath): Json | undefined {
  const place = pathIn(operation)
  if (isAnswer(place) || !SETTING_OPERATIONS.has(nestedString(operation, ['op']))) return undefined
  const rest = pathBelow(path, place)
  return rest === null ? undefined : nestedField(nestedField(operation, ['value']), rest)
}

/** The operations of a JSON patch that set a value. */
const SETTING_OPERATIONS: ReadonlySet<string> = new Set(['add', 'replace'])

// The rights that a key which does not act as a person may take from existing keys (contract 12.3).

/** The view of a key object, with an empty digest. */
const viewOf = (object: JsonMap): AccessKey =>
  accessKeyOf(object as unknown as OwnedAccessKeyObject, () => '')

/** The refusal of a new key that would outlive the calling key; null = it would not. */
export function endsWithin(
  made: JsonMap,
  expiresMs: number | null,
  caps: Caps,
  nowMs: number,
): FieldRefusal | null {
  if (expiresMs === null) return null
  const endMs = lifetimeOf(viewOf(made), caps, nowMs).expiresMs
  if (endMs !== null && endMs <= expiresMs) return null
  const longest = longestTtl(made, expiresMs)
  const because = `the calling access key ends ${formatTimestamp(expiresMs)}: a key made with it has a ttl of ${longest} s at most`
  return { field: 'spec.ttl', because }
}

/** The whole seconds from the creation of a key to that time, at least 0. */
export const longestTtl = (made: JsonMap, expiresMs: number): number => {
  const { creationMs, firstSeenMs } = viewOf(made)
  return Math.max(
    Math.floor((expiresMs - Math.min(creationMs, firstSeenMs ?? creationMs)) / 1000),
    0,
  )
}

/** The refusal of a change that does more than take rights from a key; null = it only takes rights. */
export function rightsIncreaseRefusal(
  before: JsonMap,
  after: JsonMap,
  caps: Caps,
  nowMs: number,
): FieldRefusal | null {
  const [was, is] = [nestedMap(before, ['spec']), nestedMap(after, ['spec'])]
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const [oldValue, newValue] = [nestedField(was, [name]), nestedField(is, [name])]
    const isSame = sameJson(oldValue || null, newValue || null)
    if (!isSame && !isAllowedReduction(name, oldValue, newValue))
      return { field: `spec.${name}`, because: RIGHTS_ONLY_REDUCED }
  }
  const [oldSeconds, seconds] = [before, after].map(
    (key) => lifetimeOf(viewOf(key), caps, nowMs).ownSeconds,
  )
  const isShorter =
    typeof oldSeconds !== 'number' || (typeof seconds === 'number' && seconds <= oldSeconds)
  return isShorter ? null : { field: 'spec.ttl', because: RIGHTS_ONLY_REDUCED }
}

const RIGHTS_ONLY_REDUCED =
  'this access key can only disable or delete existing keys, narrow their scope, shorten their ttl and change their names and labels: for other changes call with a key of type Login that has no scope'

/** Whether the rule of a field allows this change. Any ttl is allowed here: the caller compares the lifetimes. */
function isAllowedReduction(
  name: string,
  oldValue: Json | undefined,
  newValue: Json | undefined,
): boolean {
  const rule = fieldRule(ACCESS_KEYS, name).restrict
  switch (rule) {
    case 'open':
    case 'checked':
      return true
    case 'onlyTrue':
      return newValue === true
    case 'neverTrue':
      return newValue !== true
    case 'narrower':
      return isNarrower(newValue, oldValue)
    case 'closed':
      return false
    default:
      return rule satisfies never
  }
}

/** Whether a scope grants no more than another one. No scope at all grants everything. */
function isNarrower(scope: Json | undefined, than: Json | undefined): boolean {
  if (!scope) return false
  return !than || firstUncoveredEntry(scope as object, than as object) === null
}
