// The quota of self-service: how many keys and tokens one user, team or subject may have, and how large they may be
// (contract 12.2). It counts the objects in this replica's informers, and those that this replica has just stored.
import { ACCESS_KEYS, type Resource, TOKENS } from '../../api/names.ts'
import { type KeyIndex, type TokenIndex, secretDigest } from '../../authn/credential-index.ts'
import { type OwnedAccessKeyObject, accessKeyOf } from '../../domain/accesskey/access-key.ts'
import { type Caps, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import type { KeyRef } from '../../domain/credential-object.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import type { SelfServiceRequest } from './request.ts'
import { ask } from './upstream-client.ts'

/** The most objects of each kind for one user, team or subject. */
interface MostOwn {
  readonly keys: number
  readonly tokens: number
}

/** The objects of a kind that one user, team or subject owns. */
interface Owned {
  /** How many have not ended. */
  readonly live: number
  /** What has ended and may be deleted, the oldest first. */
  readonly ended: readonly Ended[]
}

/** A key or token that has ended. */
interface Ended extends KeyRef {
  readonly resourceVersion: string
  readonly endedMs: number
}

/** A place for one more object, or the refusal. */
export type Place =
  | {
      readonly ok: true
      /** Reports that the object is stored. */
      readonly stored: (made: KeyRef) => void
      /** Gives the place back, unless the object is stored. */
      readonly leave: () => void
      /** Ended objects beyond the bound, the oldest first. */
      readonly beyond: () => readonly Ended[]
    }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Enforces the quota. */
export interface Quota {
  /** Takes a place for one more object of the holder of this identity. */
  readonly take: (resource: Resource, identity: string) => Place
  /** The refusal of a change that makes an ended key work again beyond the quota; null = none. */
  readonly revivalRefusal: (identity: string, before: JsonMap, after: JsonMap) => WholeAnswer | null
}

/** The informers, bounds and clock of a quota. */
interface QuotaOptions {
  readonly keys: KeyIndex
  readonly tokens: TokenIndex
  readonly most: MostOwn
  readonly caps: () => Caps
  readonly clock: Clock
}

/** The informer has an object that this replica stored within this time, in milliseconds. */
const OBSERVED_WITHIN_MS = 10_000

const UNKNOWN = refuse(SELF_SERVICE_ERRORS.tokensNotListed)

/** A reserved place, counted here until the informer has the object, which is counted there. */
interface Reservation {
  isStored: boolean
  isObserved: boolean
  untilMs: number
}

/** Counts from now on. */
export function createQuota(options: QuotaOptions): Quota {
  const { keys, tokens, most, clock } = options
  const awaited = new Map<string, readonly Reservation[]>()
  /** Stored objects that the informer does not have yet, by uid, the oldest first. */
  const unobserved = new Map<string, Reservation>()
  const observe = (uid: string | undefined): void => {
    const one = unobserved.get(uid ?? '')
    if (!one) return
    one.isObserved = true
    unobserved.delete(uid ?? '')
  }
  for (const store of [keys.store, tokens.store])
    store.subscribe(({ before, after }) => {
      observe(before?.uid)
      observe(after?.uid)
    })
  const noteStored = (resource: Resource, { name, uid }: KeyRef, one: Reservation): void => {
    const nowMs = clock.monotonicMs()
    for (const [other, { untilMs }] of unobserved) if (untilMs <= nowMs) unobserved.delete(other)
    const store = resource === ACCESS_KEYS ? keys.store : tokens.store
    one.isStored = true
    one.untilMs = nowMs + OBSERVED_WITHIN_MS
    one.isObserved = store.get(name)?.uid === uid
    if (!one.isObserved) unobserved.set(uid, one)
  }
  const stillAwaited = (of: string): readonly Reservation[] =>
    (awaited.get(of) ?? []).filter(
      ({ isObserved, untilMs }) => !isObserved && clock.monotonicMs() < untilMs,
    )
  const liveOf = (resource: Resource, identity: string): number =>
    ownedOf(options, resource, identity).live
  const isLiveKey = (object: JsonMap): boolean => {
    const key = accessKeyOf(object as unknown as OwnedAccessKeyObject, secretDigest)
    const nowMs = clock.nowMs()
    return isLive(lifetimeOf(key, options.caps(), nowMs).expiresMs, nowMs)
  }
  return {
    revivalRefusal: (identity, before, after) => {
      if (isLiveKey(before) || !isLiveKey(after)) return null
      const being = stillAwaited(`${ACCESS_KEYS.plural} ${identity}`).length
      const count = liveOf(ACCESS_KEYS, identity) + being
      return count < most.keys ? null : refusalOf(ACCESS_KEYS, count, most.keys)
    },
    take: (resource, identity) => {
      if (resource === TOKENS && !tokens.store.synced) return { ok: false, answer: UNKNOWN }
      const of = `${resource.plural} ${identity}`
      const limit = resource === ACCESS_KEYS ? most.keys : most.tokens
      const before = stillAwaited(of)
      const count = liveOf(resource, identity) + before.length
      if (count >= limit) return { ok: false, answer: refusalOf(resource, count, limit) }
      const one: Reservation = {
        isStored: false,
        isObserved: false,
        untilMs: Number.POSITIVE_INFINITY,
      }
      awaited.set(of, [...before, one])
      const leave = (): void => {
        const others = stillAwaited(of).filter((other) => other !== one)
        if (others.length > 0) awaited.set(of, others)
        else awaited.delete(of)
      }
      return {
        ok: true,
        leave: () => {
          if (!one.isStored) leave()
        },
        stored: (made) => noteStored(resource, made, one),
        beyond: () => {
          const { ended } = ownedOf(options, resource, identity)
          return ended.slice(0, Math.max(ended.length - limit, 0))
        },
      }
    },
  }
}

const refusalOf = (resource: Resource, count: number, limit: number): WholeAnswer =>
  resource === ACCESS_KEYS
    ? refuse(SELF_SERVICE_ERRORS.tooManyKeys, { count, limit })
    : refuse(SELF_SERVICE_ERRORS.tooManyTokens, { count, limit })

/** The owned objects of a kind in the informers. */
function ownedOf(
  { keys, tokens, caps, clock }: Omit<QuotaOptions, 'most'>,
  resource: Resource,
  identity: string,
): Owned {
  const nowMs = clock.nowMs()
  if (resource === ACCESS_KEYS) {
    const all = keys.withIdentity(identity).filter(({ isDeleting }) => !isDeleting)
    const ends = all.map((key) => ({ key, endedMs: lifetimeOf(key, caps(), nowMs).expiresMs }))
    return {
      live: ends.filter(({ endedMs }) => isLive(endedMs, nowMs)).length,
      ended: endedAmong(
        ends.map(({ key, endedMs }) => ({ ...key, endedMs, isKept: isKept(key) })),
        nowMs,
      ),
    }
  }
  const all = tokens.ownedByIdentity(identity)
  const live = all.filter(({ expiresMs }) => isLive(expiresMs, nowMs)).length
  return {
    live: live + tokens.countDeleted(identity, nowMs),
    ended: endedAmong(
      all.map((token) => ({ ...token, endedMs: token.expiresMs })),
      nowMs,
    ),
  }
}

const isKept = (key: { readonly isTracked: boolean; readonly onExpiry: string | null }): boolean =>
  key.isTracked || key.onExpiry === 'Keep'

interface Aged extends KeyRef {
  readonly resourceVersion: string
  readonly endedMs: number | null
  readonly isKept: boolean
}

const endedAmong = (all: readonly Aged[], nowMs: number): readonly Ended[] =>
  all
    .filter((one) => !one.isKept && !isLive(one.endedMs, nowMs))
    .map(({ name, uid, resourceVersion, endedMs }) => ({
      name,
      uid,
      resourceVersion,
      endedMs: endedMs ?? 0,
    }))
    .toSorted((a, b) => a.endedMs - b.endedMs)

/** Ended objects that one create deletes: a lowered bound may leave many. */
const MOST_DELETED = 10

/**
 * Creates one more object within the quota, and deletes the oldest ended ones beyond the bound.
 *
 * @param make creates the object, and calls `stored` once it is stored
 */
export async function counted(
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
  if (isStored) for (const one of place.beyond().slice(0, MOST_DELETED)) await deleted(request, one)
  return answer
}

/** An object that was changed or deleted since then stays: the answer is not looked at. */
async function deleted(
  request: SelfServiceRequest,
  { name, uid, resourceVersion }: Ended,
): Promise<void> {
  const preconditions = { uid, resourceVersion }
  const json = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  await ask(request, {
    as: 'gateway',
    method: 'DELETE',
    resource: request.info.resource,
    name,
    query: [],
    body: { type: 'application/json', json },
  })
}

// The size of own keys and tokens (contract 12.2): etcd and every replica hold them in memory.

/** Bytes of a body, and of an object as JSON with all that the API server adds to it. */
export const LARGEST_OWN = 64 * 1024

/**
 * The 413 for a body beyond the bound; null within it. An object that is larger already may be sent, so that it can
 * be made smaller.
 *
 * @param before the object as it is; null = it would be made
 */
export function bodyRefusal(
  { headers }: Pick<HttpRequest, 'headers'>,
  sent: Json,
  before: JsonMap | null,
): WholeAnswer | null {
  const bytes = Math.max(Number(headers['content-length'] ?? 0), lengthOf(sent))
  if (bytes <= Math.max(LARGEST_OWN, before === null ? 0 : lengthOf(before))) return null
  return refuse(SELF_SERVICE_ERRORS.ownBodyTooLarge, { bytes, limit: LARGEST_OWN })
}

/** The 413 for an object that would be stored beyond the bound; null within it, and for one that shrinks. */
export function sizeRefusal(before: JsonMap | null, after: JsonMap): WholeAnswer | null {
  const bytes = lengthOf(after)
  if (bytes <= LARGEST_OWN || (before !== null && bytes < lengthOf(before))) return null
  return refuse(SELF_SERVICE_ERRORS.ownObjectTooLarge, { bytes, limit: LARGEST_OWN })
}

const lengthOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))
