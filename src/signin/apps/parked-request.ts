// Requests of apps that wait while their person signs in (contract 26.3): each in one sealed cookie of its browser, so that any
// replica takes it up again.
import { fieldsOf, isMap, stringOf } from '../../domain/json/json.ts'
import { APPS_PATH } from '../../domain/signin/app-routes.ts'
import { APP_REQUEST_PREFIX } from '../http/cookies.ts'
import { type SealingKeys, seal, unseal } from '../sealing/seal.ts'

/** A request that waits. */
interface ParkedRequest {
  /** The parameters that mean something here. */
  readonly parameters: URLSearchParams
  /** The only person who may answer it, by uid; null = anybody. */
  readonly subject: string | null
  /** When it came, in epoch milliseconds. */
  readonly begunMs: number
}

/** How long it waits. */
export const PARKED_MS = 600_000
/** What a browser keeps; the oldest go. */
const MOST = 5
/** It sends all of them with each request, beside attempts, session and address: the gateway reads 16 KiB, and proxies often 8. */
const MOST_CHARACTERS = 4096
/** Characters of one cookie that a browser keeps. */
const LONGEST = 3800

const ID_BYTES = 4
const ID = /^[0-9a-f]{8}$/
const KEPT: readonly string[] = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'max_age',
]

/** A cookie that holds a request, and where the browser takes it up again. */
interface Parking {
  readonly cookie: { readonly name: string; readonly value: string }
  /** Path, with its query. */
  readonly resumeAt: string
}

/** Parks a request; null = it is too long for a cookie. @param random returns that many random bytes */
export function parkRequest(
  { parameters, subject, begunMs }: ParkedRequest,
  keys: SealingKeys,
  random: (bytes: number) => Buffer,
): Parking | null {
  const id = random(ID_BYTES).toString('hex')
  const kept = Object.fromEntries([...parameters].filter(([name]) => KEPT.includes(name)))
  const name = `${APP_REQUEST_PREFIX}${id}`
  const value = seal({ parameters: kept, subject, begunMs }, name, keys, random)
  return value.length > LONGEST ? null : { cookie: { name, value }, resumeAt: `${RESUME}${id}` }
}

const RESUME = `${APPS_PATH}/authorize?resume=`

/** The cookie of the request that a path takes up again; null = it is no such path. */
export const cookieOfPath = (path: string): string | null =>
  path.startsWith(RESUME) ? cookieOfId(path.slice(RESUME.length)) : null

/** The cookie of a request by parameter `resume`; null = it is malformed. */
export const cookieOfId = (id: string): string | null =>
  ID.test(id) ? `${APP_REQUEST_PREFIX}${id}` : null

/** The request in a cookie; null = this browser has none of that name, or it waited for too long. */
export function parkedRequest(
  name: string | null,
  cookies: ReadonlyMap<string, string>,
  keys: SealingKeys,
  nowMs: number,
): ParkedRequest | null {
  const value = cookies.get(name ?? '')
  if (name === null || value === undefined) return null
  const { parameters, subject, begunMs } = fieldsOf(unseal(value, name, keys))
  if (!isMap(parameters) || typeof begunMs !== 'number') return null
  if (Math.abs(nowMs - begunMs) > PARKED_MS) return null
  const texts = Object.entries(parameters).flatMap(([key, text]): readonly [string, string][] =>
    typeof text === 'string' ? [[key, text]] : [],
  )
  return { parameters: new URLSearchParams(texts), subject: stringOf(subject) ?? null, begunMs }
}

/**
 * Names of the cookies to clear before another one is set: what is unreadable or over, and the oldest beyond what a browser keeps.
 *
 * @param nextLength characters of the value to be set
 */
export function surplusRequests(
  cookies: ReadonlyMap<string, string>,
  nextLength: number,
  keys: SealingKeys,
  nowMs: number,
): readonly string[] {
  const held = [...cookies]
    .filter(([name]) => name.startsWith(APP_REQUEST_PREFIX))
    .map(([name, { length }]) => {
      const begunMs = parkedRequest(name, cookies, keys, nowMs)?.begunMs ?? null
      return { name, length, begunMs }
    })
  const newestFirst = held.toSorted((a, b) => (b.begunMs ?? 0) - (a.begunMs ?? 0))
  let characters = nextLength
  return newestFirst
    .filter(({ length, begunMs }, at) => {
      characters += length
      return begunMs === null || at >= MOST - 1 || characters > MOST_CHARACTERS
    })
    .map(({ name }) => name)
}
