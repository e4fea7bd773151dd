// How many keys and tokens one user, team or subject may have by self-service (contract 12.2). Counted is what
// this replica's watches have told, and what it has just stored itself.
import { ACCESS_KEYS, type Resource, TOKENS } from '../../api/names.ts'
import { type KeyIndex, secretDigest } from '../../authn/key-index.ts'
import type { TokenIndex } from '../../authn/token-index.ts'
import { type OwnedAccessKeyObject, accessKeyOf } from '../../domain/accesskey/access-key.ts'
import { type Caps, isLive, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import type { KeyRef } from '../../domain/credential-object.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, type WholeAnswer, failure } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { type SelfServiceRequest, ask } from './request.ts'

/** The most that somebody may have of each kind. */
export interface MostOwn {
  readonly keys: number
  readonly tokens: number
}

/** What somebody has of a kind. */
export interface Owned {
  /** How many have not ended. */
  readonly live: number
  /** What has ended and may be deleted, the oldest first. */
  readonly ended: readonly Ended[]
}

/** Something that has ended. */
export interface Ended extends KeyRef {
  readonly resourceVersion: string
  readonly endedMs: number
}

/** A place for one more. */
export type Place =
  | {
      readonly ok: true
      /** It has been stored as this. */
      readonly stored: (made: KeyRef) => void
      /** Nothing more is stored for it. */
      readonly leave: () => void
      /** What has ended beyond what is kept, oldest first. */
      readonly beyond: () => readonly Ended[]
    }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Counts what people have. */
export interface Quota {
  /** A place for one more of a kind, for whom a key of this identity stands. */
  readonly take: (resource: Resource, identity: string) => Place
  /** Why a change of a key that has ended may not give it a longer life; null = it may, or does no such thing. */
  readonly revivalRefusal: (identity: string, before: JsonMap, after: JsonMap) => WholeAnswer | null
}

/** What is counted, and by what. */
export interface QuotaOptions {
  readonly keys: KeyIndex
  readonly tokens: TokenIndex
  readonly most: MostOwn
  readonly caps: () => Caps
  readonly clock: Clock
}

/** What was stored here is told by the watch within this time, in milliseconds. */
const TOLD_WITHIN_MS = 10_000

const UNKNOWN = failure(
  'ServiceUnavailable',
  'this gateway has not listed the tokens yet, try again',
  { 'retry-after': '1' },
)

/** What is about to be stored, or was; told of, it is counted where the watch tells of it. */
interface Awaited {
  isStored: boolean
  isTold: boolean
  untilMs: number
}

/** Counts from now on. */
export function createQuota(options: QuotaOptions): Quota {
  const { keys, tokens, most, clock } = options
  const awaited = new Map<string, readonly Awaited[]>()
  /** What was stored here, by uid, the oldest first. */
  const untold = new Map<string, Awaited>()
  const tell = (uid: string | undefined): void => {
    const one = untold.get(uid ?? '')
    if (!one) return
    one.isTold = true
    untold.delete(uid ?? '')
  }
  for (const store of [keys.store, tokens.store])
    store.subscribe(({ before, after }) => {
      tell(before?.uid)
      tell(after?.uid)
    })
  const noteStored = (resource: Resource, { name, uid }: KeyRef, one: Awaited): void => {
    const nowMs = clock.monotonicMs()
    for (const [other, { untilMs }] of untold) if (untilMs <= nowMs) untold.delete(other)
    const store = resource === ACCESS_KEYS ? keys.store : tokens.store
    one.isStored = true
    one.untilMs = nowMs + TOLD_WITHIN_MS
    one.isTold = store.get(name)?.uid === uid
    if (!one.isTold) untold.set(uid, one)
  }
  const stillAwaited = (of: string): readonly Awaited[] =>
    (awaited.get(of) ?? []).filter(
      ({ isTold, untilMs }) => !isTold && clock.monotonicMs() < untilMs,
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
      const one: Awaited = { isStored: false, isTold: false, untilMs: Number.POSITIVE_INFINITY }
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
    ? failure(
        'Forbidden',
        `this user has ${count} access keys that have not ended, and ${limit} is the most (--max-keys-per-user): delete some first`,
      )
    : failure(
        'Forbidden',
        `this user, team or subject has ${count} tokens that have not ended, deleted ones among them, and ${limit} is the most (--max-tokens-per-user): let some end first`,
      )

/** What somebody has of a kind, by what is known now. */
export function ownedOf(
  { keys, tokens, caps, clock }: Omit<QuotaOptions, 'most'>,
  resource: Resource,
  identity: string,
): Owned {
  const nowMs = clock.nowMs()
  if (resource === ACCESS_KEYS) {
    const all = keys.of(identity).filter(({ isDeleting }) => !isDeleting)
    const ends = all.map((key) => ({ key, endedMs: lifetimeOf(key, caps(), nowMs).expiresMs }))
    return {
      live: ends.filter(({ endedMs }) => isLive(endedMs, nowMs)).length,
      ended: endedAmong(
        ends.map(({ key, endedMs }) => ({ ...key, endedMs, isKept: isKept(key) })),
        nowMs,
      ),
    }
  }
  const all = tokens.of(identity)
  const live = all.filter(({ expiresMs }) => isLive(expiresMs, nowMs)).length
  return {
    live: live + tokens.deletedOf(identity, nowMs),
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

/** So many of them go with one create: there were more when the bound was another. */
const MOST_DELETED = 10

/**
 * Makes one more, where there is a place for it; the oldest of what has ended beyond what is kept goes.
 *
 * @param make makes it, and tells as what it was stored
 */
export async function counted(
  exchange: SelfServiceRequest,
  counts: Quota,
  make: (stored: (made: KeyRef) => void) => Promise<Answer>,
): Promise<Answer> {
  const { asked, caller } = exchange
  const place = counts.take(asked.resource, caller.key.identity ?? '')
  if (!place.ok) return place.answer
  let isStored = false
  const stored = (made: KeyRef): void => {
    isStored = true
    place.stored(made)
  }
  const answer = await make(stored).finally(place.leave)
  if (isStored)
    for (const one of place.beyond().slice(0, MOST_DELETED)) await deleted(exchange, one)
  return answer
}

/** Of what somebody has changed or deleted meanwhile there is nothing to do. */
async function deleted(
  exchange: SelfServiceRequest,
  { name, uid, resourceVersion }: Ended,
): Promise<void> {
  const preconditions = { uid, resourceVersion }
  const json = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  await ask(exchange, {
    as: 'gateway',
    method: 'DELETE',
    resource: exchange.asked.resource,
    name,
    query: [],
    body: { type: 'application/json', json },
  })
}

// How large people's own keys and tokens may be (contract 12.2): etcd and every replica have them in memory.

/** Bytes of a body, and of an object as JSON with all that the API server adds to it. */
export const LARGEST_OWN = 64 * 1024

/**
 * The 413 for a body that is longer than what self-service takes; null where it is not. What is larger already
 * may be sent to be made smaller.
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
  return failure(
    'RequestEntityTooLarge',
    `the body has ${bytes} bytes: to write your own keys and tokens it may have ${LARGEST_OWN}`,
  )
}

/** The 413 for an object that would be larger when it is stored; null for one that may be, or shrinks. */
export function sizeRefusal(before: JsonMap | null, after: JsonMap): WholeAnswer | null {
  const bytes = lengthOf(after)
  if (bytes <= LARGEST_OWN || (before !== null && bytes < lengthOf(before))) return null
  return failure(
    'RequestEntityTooLarge',
    `the object would have ${bytes} bytes: your own keys and tokens may have ${LARGEST_OWN} each, with all that the API server adds`,
  )
}

const lengthOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))
