// What somebody may see and do with keys by the key that he calls with (contract 12.1, 12.3).
import { ACCESS_KEYS, CONFIGS } from '../../api/names.ts'
import type { ObjectMeta } from '../../api/objects.ts'
import type { Scope } from '../../api/scope.gen.ts'
import type { Caller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type KeyRef, owningKeyOf } from '../../domain/accesskey/owner-chain.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { nestedMap, nestedString } from '../../domain/json/nested-fields.ts'
import { within } from '../../domain/scope/covers.ts'
import type { Asked } from './request.ts'

/** A caller, as far as keys and tokens go. */
export interface CallerAccess {
  /** Whose keys are his own; null for the key of a team or subject, which has none. */
  readonly user: string | null
  /** As whom he is known to the API server: two keys with the same are the same to it (contract 10.5). */
  readonly runsAs: string
  readonly key: KeyRef
  /** Groups that the calling key adds to its user. */
  readonly groups: readonly string[]
  /** null = the user's full rights. */
  readonly scope: Scope | null
  /** He calls with a Login key without a scope: the user himself acts. */
  readonly isPerson: boolean
  /** When the calling key stops working, epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}

/** Finds a key by name among those that are known. */
export type FindKey = (name: string) => AccessKey | undefined

const USER = 'user:'

/** The standing of a caller. */
export function callerAccessOf({
  key,
  identity: { user: runsAs },
  expiresMs,
}: Caller): CallerAccess {
  const { name, uid, identity, groups, scope, type } = key
  return {
    user: identity?.startsWith(USER) ? identity.slice(USER.length) : null,
    runsAs,
    key: { name, uid },
    groups,
    scope,
    isPerson: type === 'Login' && scope === null,
    expiresMs,
  }
}

/** Whether an object is his own (contract 12.1): a key of his user, or a token that such a key owns. */
export function isOwn(
  asked: Pick<Asked, 'resource'>,
  object: JsonMap,
  standing: CallerAccess,
  find: FindKey,
): boolean {
  const { user, key } = standing
  if (asked.resource === ACCESS_KEYS)
    return user !== null && nestedString(object, ['spec', 'user']) === user
  const owner = asked.resource === CONFIGS ? null : ownerIn(object)
  if (owner === null) return false
  return owner.uid === key.uid || (user !== null && known(owner, find)?.identity === USER + user)
}

/** Whether he may know of an object at all: under a scope, only of what is within it (contract 12.3). */
export function isVisible(
  asked: Pick<Asked, 'resource'>,
  object: JsonMap,
  { scope, key }: CallerAccess,
  find: FindKey,
): boolean {
  if (scope === null || asked.resource === CONFIGS) return true
  if (asked.resource === ACCESS_KEYS)
    return nestedString(object, ['metadata', 'uid']) === key.uid || isInside(scopeIn(object), scope)
  const owner = ownerIn(object)
  if (owner === null) return false
  const ownerScope = owner.uid === key.uid ? scope : (known(owner, find)?.scope ?? null)
  return isInside(ownerScope, scope) && isInside(scopeIn(object) ?? ownerScope, scope)
}

/**
 * Whether a caller is shown the token in a token's status: his own, and with a key that does not stand
 * for him in person only one that ends with that key (contract 12.3, 12.4).
 */
export function mayReadToken(object: JsonMap, standing: CallerAccess, find: FindKey): boolean {
  const { user, key, isPerson } = standing
  const owner = ownerIn(object)
  if (owner === null) return false
  if (owner.uid === key.uid) return true
  return isPerson && user !== null && known(owner, find)?.identity === USER + user
}

/** Without a scope it is wider than any. */
const isInside = (child: Scope | null, parent: Scope): boolean =>
  child !== null && within(child, parent) === null

/** The scope of a key or token; null where it has none. */
export function scopeIn(object: JsonMap): Scope | null {
  const spec = nestedMap(object, ['spec'])
  return Object.hasOwn(spec, 'scope') && spec['scope'] !== null
    ? (spec['scope'] as unknown as Scope)
    : null
}

/** The access key that controls an object; null = none. */
export const ownerIn = (object: JsonMap): KeyRef | null =>
  owningKeyOf(nestedMap(object, ['metadata']) as unknown as ObjectMeta)

const known = ({ name, uid }: KeyRef, find: FindKey): AccessKey | undefined => {
  const key = find(name)
  return key?.uid === uid ? key : undefined
}
