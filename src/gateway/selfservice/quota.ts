// The quota of self-service: how many keys and tokens one user, team or subject may have (contract 12.2). It counts the
// objects in this replica's informers, and the objects that this replica has just stored.
import { ACCESS_KEYS, type Resource, TOKENS } from '../../api/names.ts'
import { type KeyIndex, secretDigest, type TokenIndex } from '../../authn/credential-index.ts'
import { accessKeyOf, type OwnedAccessKeyObject } from '../../domain/accesskey/access-key.ts'
import { type Caps, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { KeyRef } from '../../domain/shared-metadata.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { PendingObjects } from './pending-objects.ts'
import { type SelfServiceRequest, afterWrite } from './request.ts'
import { sendAndRead } from './upstream-client.ts'

/** Maximum number of objects of each kind for one user, team or subject. */
interface QuotaLimits {
  readonly keys: number
  readonly tokens: number
}

/** The objects of a kind that one user, team or subject has. */
interface OwnedObjects {
  /** How many have not ended. */
  readonly live: number
  /** The objects that have ended and may be deleted, the oldest first. */
  readonly ended: readonly EndedObject[]
}

/** A key or token that has ended. */
interface EndedObject extends KeyRef {
  readonly resourceVersion: string
  readonly endedMs: number
}

/** A reserved place for one more object, or the refusal. */
type Place =
  | {
      readonly ok: true
      /** Reports that the object is stored. */
      readonly stored: (made: KeyRef) => void
      /** Frees the place, unless the object is stored. */
      readonly leave: () => void
      /** The ended objects beyond the limit, the oldest first. */
      readonly beyond: () => readonly EndedObject[]
    }
  | { readonly ok: false; readonly answer: BufferedAnswer }

/** Enforces the quota. */
export interface Quota {
  /** Reserves a place for one more object of this identity. */
  readonly take: (resource: Resource, identity: string) => Place
  /** The refusal of a change that revives an ended key beyond the quota; null = none. */
  readonly revivalRefusal: (
    identity: string,
    before: JsonMap,
    after: JsonMap,
  ) => BufferedAnswer | null
}

/** The informers, limits and clock of a quota. */
interface QuotaOptions {
  readonly keys: KeyIndex
  readonly tokens: TokenIndex
  readonly limits: QuotaLimits
  readonly caps: () => Caps
  readonly clock: Clock
}

const TOKENS_NOT_LISTED = refuse(SELF_SERVICE_ERRORS.tokensNotListed)

/** Creates the quota. */
export function createQuota(options: QuotaOptions): Quota {
  const { keys, tokens, limits, caps, clock } = options
  const pending = new PendingObjects([keys.store, tokens.store], clock)
  const countOf = (resource: Resource, identity: string): number =>
    ownedOf(options, resource, identity).live + pending.count(ownerOf(resource, identity))
  const isLiveKey = (object: JsonMap): boolean => {
    const key = accessKeyOf(object as unknown as OwnedAccessKeyObject, secretDigest)
    const nowMs = clock.nowMs()
    return isLive(lifetimeOf(key, caps(), nowMs).expiresMs, nowMs)
  }
  return {
    revivalRefusal: (identity, before, after) => {
      if (isLiveKey(before) || !isLiveKey(after)) return null
      const count = countOf(ACCESS_KEYS, identity)
      return count < limits.keys ? null : refusalOf(ACCESS_KEYS, count, limits.keys)
    },
    take: (resource, identity) => {
      if (resource === TOKENS && !tokens.store.synced)
        return { ok: false, answer: TOKENS_NOT_LISTED }
      const isKey = resource === ACCESS_KEYS
      const limit = isKey ? limits.keys : limits.tokens
      const count = countOf(resource, identity)
      if (count >= limit) return { ok: false, answer: refusalOf(resource, count, limit) }
      const place = pending.add(ownerOf(resource, identity), isKey ? keys.store : tokens.store)
      return {
        ok: true,
        stored: place.stored,
        leave: place.leave,
        beyond: () => {
          const { ended } = ownedOf(options, resource, identity)
          return ended.slice(0, Math.max(ended.length - limit, 0))
        },
      }
    },
  }
}

const ownerOf = ({ plural }: Resource, identity: string): string => `${plural} ${identity}`

const refusalOf = (resource: Resource, count: number, limit: number): BufferedAnswer =>
  resource === ACCESS_KEYS
    ? refuse(SELF_SERVICE_ERRORS.tooManyKeys, { count, limit })
    : refuse(SELF_SERVICE_ERRORS.tooManyTokens, { count, limit })

/** The objects of a kind that an identity has in the informers, but for the keys of claims. */
function ownedOf(
  { keys, tokens, caps, clock }: Omit<QuotaOptions, 'limits'>,
  resource: Resource,
  identity: string,
): OwnedObjects {
  const nowMs = clock.nowMs()
  if (resource === ACCESS_KEYS) {
    const all = keys.withIdentity(identity).filter((key) => !key.isDeleting && !key.isOfClaim)
    const ends = all.map((key) => ({ key, endedMs: lifetimeOf(key, caps(), nowMs).expiresMs }))
    return {
      live: ends.filter(({ endedMs }) => isLive(endedMs, nowMs)).length,
      ended: endedOf(
        ends.map(({ key, endedMs }) => ({ ...key, endedMs, isKept: isKept(key) })),
        nowMs,
      ),
    }
  }
  const all = tokens.ownedByIdentity(identity)
  const live = all.filter(({ expiresMs }) => isLive(expiresMs, nowMs)).length
  return {
    live: live + tokens.countDeleted(identity, nowMs),
    ended: endedOf(
      all.map((token) => ({ ...token, endedMs: token.expiresMs })),
      nowMs,
    ),
  }
}

const isKept = (key: { readonly isTracked: boolean; readonly onExpiry: string | null }): boolean =>
  key.isTracked || key.onExpiry === 'Keep'

/** A key or token from an informer; `endedMs` null = it never ends. */
interface ListedObject extends KeyRef {
  readonly resourceVersion: string
  readonly endedMs: number | null
  readonly isKept: boolean
}

const endedOf = (all: readonly ListedObject[], nowMs: number): readonly EndedObject[] =>
  all
    .filter((object) => !object.isKept && !isLive(object.endedMs, nowMs))
    .map(({ name, uid, resourceVersion, endedMs }) => ({
      name,
      uid,
      resourceVersion,
      endedMs: endedMs ?? 0,
    }))
    .toSorted((a, b) => a.endedMs - b.endedMs)

/** Maximum number of ended objects that one create deletes: after the limit is lowered, there may be many. */
const MOST_DELETED = 10

/**
 * Creates one more object within the quota, and deletes the oldest ended ones beyond the limit.
 *
 * @param make creates the object, and calls `stored` once it is stored
 */
export async function createWithinQuota(
  request: SelfServiceRequest,
  counts: Quota,
  make: (stored: (made: KeyRef) => void) => Promise<Answer>,
): Promise<Answer> {
  const { info, caller } = request
  const place = counts.take(info.resource, caller.key.identity ?? '')
  if (!place.ok) return place.answer
  let isStored = false
  const stored = (made: KeyRef): void => {
    isStored = true
    place.stored(made)
  }
  const answer = await make(stored).finally(place.leave)
  if (isStored)
    for (const ended of place.beyond().slice(0, MOST_DELETED))
      await deleteEnded(afterWrite(request), ended)
  return answer
}

/** Deletes an ended object. If it has changed since, the precondition fails and it stays: the answer is not needed. */
async function deleteEnded(
  request: SelfServiceRequest,
  { name, uid, resourceVersion }: EndedObject,
): Promise<void> {
  const preconditions = { uid, resourceVersion }
  const json = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  await sendAndRead(request, {
    as: 'gateway',
    method: 'DELETE',
    resource: request.info.resource,
    name,
    query: [],
    body: { type: 'application/json', json },
  })
}
