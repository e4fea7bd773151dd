// What a key may do to keys that it does not stand for in person: give them less (contract 12.3).
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../domain/accesskey/access-key.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { type Json, type JsonMap, sameJson } from '../../domain/json/json.ts'
import { nestedField, nestedMap } from '../../domain/json/nested-fields.ts'
import { within } from '../../domain/scope/covers.ts'
import { formatTimestamp } from '../../domain/time/time.ts'
import type { Fault } from './validation.ts'

/** The view of a key object, without a look at its secret. */
export const viewOf = (object: JsonMap): AccessKey =>
  accessKeyOf(object as unknown as OwnedAccessKeyObject, () => '')

/** Why a key that a caller makes would outlive the one that it is made with; null = it would not. */
export function endsWithin(
  made: JsonMap,
  expiresMs: number | null,
  caps: Caps,
  nowMs: number,
): Fault | null {
  if (expiresMs === null) return null
  const endMs = lifetimeOf(viewOf(made), caps, nowMs).expiresMs
  if (endMs !== null && endMs <= expiresMs) return null
  const longest = longestTtl(made, expiresMs)
  const because = `the calling access key ends ${formatTimestamp(expiresMs)}: a key made with it has a ttl of ${longest} s at most`
  return { field: 'spec.ttl', because }
}

/** The whole seconds from the making of a key to that end. */
export const longestTtl = (made: JsonMap, expiresMs: number): number => {
  const { creationMs, firstSeenMs } = viewOf(made)
  return Math.max(
    Math.floor((expiresMs - Math.min(creationMs, firstSeenMs ?? creationMs)) / 1000),
    0,
  )
}

/** Why a change gives a key more, or anything else than less; null = it does not. */
export function givesLess(
  before: JsonMap,
  after: JsonMap,
  caps: Caps,
  nowMs: number,
): Fault | null {
  const [was, is] = [nestedMap(before, ['spec']), nestedMap(after, ['spec'])]
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const [old, now] = [nestedField(was, [name]), nestedField(is, [name])]
    const isSame = sameJson(old || null, now || null)
    if (!isSame && !isLess(name, old, now)) return { field: `spec.${name}`, because: ADVICE }
  }
  const [oldSeconds, seconds] = [before, after].map(
    (key) => lifetimeOf(viewOf(key), caps, nowMs).ownSeconds,
  )
  const isShorter =
    typeof oldSeconds !== 'number' || (typeof seconds === 'number' && seconds <= oldSeconds)
  return isShorter ? null : { field: 'spec.ttl', because: ADVICE }
}

const ADVICE =
  'this access key can only disable or delete existing keys, narrow their scope, shorten their ttl and change their names and labels: for other changes call with a key of type Login that has no scope'

/** Whether a field may become that. Of ttl the lifetimes tell. */
function isLess(name: string, old: Json | undefined, now: Json | undefined): boolean {
  switch (name) {
    case 'displayName':
    case 'description':
    case 'ttl':
      return true
    case 'disabled':
      return now === true
    case 'ttlAfterLastActivity':
      return now !== true
    case 'scope':
      return isNarrower(now, old)
    default:
      return false
  }
}

/** No scope at all is wider than any. */
function isNarrower(scope: Json | undefined, than: Json | undefined): boolean {
  if (!scope) return false
  return !than || within(scope as object, than as object) === null
}
