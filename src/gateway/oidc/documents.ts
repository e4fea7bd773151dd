import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { ConfigMap } from '../../api/objects.ts'
import type { FollowedJwks } from '../../authn/jwks.ts'
import { StoredRevocations } from '../../authn/revocation/stored-revocations.ts'
import { formatTimestamp } from '../../domain/time.ts'
import {
  revocationHourEndMs,
  revokedJtisIn,
  revokedTokensJson,
} from '../../domain/token/revocation.ts'
import { SIGNING_ALGORITHMS } from '../../domain/token/token-claims.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'

/** How long verifiers may keep what they fetched (contract 7.2). */
const CACHE_FOR = 'max-age=300'

/**
 * OpenID Connect discovery, as far as verifiers of tokens go, with the members that a Kubernetes API
 * server publishes for its own: kube-apiserver reads issuer, jwks_uri and the algorithms.
 *
 * @param issuer null = not known yet
 */
export function discoveryAnswer(issuer: string | null): Answer {
  if (issuer === null) return refuse(ERRORS.issuerUnknown)
  const document = {
    issuer,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': CACHE_FOR },
    body: Buffer.from(JSON.stringify(document)),
  }
}

const KEYS_UNKNOWN = refuse(ERRORS.signingKeysUnknown)

/**
 * The JWK Set of `<issuer>/keys` (contract 7.2). The answer is built when the set has changed and not
 * when it is asked for: a kube-apiserver fetches it once per unknown kid, without limit (threats D5).
 */
export function createKeysPage(jwks: FollowedJwks): () => Answer {
  let text: string | null = null
  let answer = KEYS_UNKNOWN
  return () => {
    const current = jwks.current()
    if (current !== text && current !== null) {
      text = current
      answer = {
        status: 200,
        headers: { 'content-type': 'application/jwk-set+json', 'cache-control': CACHE_FOR },
        body: Buffer.from(current),
      }
    }
    return answer
  }
}

const REVOCATIONS_UNKNOWN = refuse(ERRORS.revocationsUnknown)

/** Where the list comes from. */
interface RevokedSources {
  /** All ConfigMaps of the platform's namespace, or at least those of revoked tokens. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  /** When the store was last known to be complete, in epoch milliseconds; null = never. */
  readonly asOfMs: () => number | null
  readonly clock: Clock
}

/** A list that was asked for again this early is the same, whatever was revoked meanwhile. */
const BUILT_EVERY_MS = 1000

/** A list, and what it was built from. */
interface BuiltList {
  readonly beganMs: number
  readonly asOfMs: number
  /** Counts the changes of what is revoked. */
  readonly version: number
  readonly headers: Answer['headers'] & { readonly etag: string }
  /** Built for the first client without this ETag. */
  readonly body: () => Buffer
}

/**
 * The list of `<issuer>/revoked` (contract 7.4). `asOf` is when the records were last known to be
 * complete and not when they are asked for: while the API server is away it ages, and verifiers go by
 * it. It is part of the ETag: a 304 would not carry it.
 *
 * Anybody may ask, and there may be hundreds of thousands of tokens (threat X8): the list is built when
 * something has changed, once a second at most, from the ConfigMaps that did, one in each turn of the event
 * loop; requests meanwhile share it.
 */
export function createRevokedPage(sources: RevokedSources): (call: HttpRequest) => Promise<Answer> {
  const { configMaps, asOfMs: currentAsOfMs, clock } = sources
  const parts = new RevokedParts()
  let version = 0
  let built: BuiltList | null = null
  let building: Promise<BuiltList> | null = null
  configMaps.subscribe(({ name }) => {
    if (isRecord(name)) version += 1
  })

  const build = async (asOfMs: number): Promise<BuiltList> => {
    const began = { beganMs: clock.monotonicMs(), asOfMs, version }
    try {
      built = { ...began, ...listOf(asOfMs, await refreshed(parts, recordsIn(configMaps))) }
      return built
    } finally {
      building = null
    }
  }
  const isCurrent = (list: BuiltList, asOfMs: number): boolean =>
    (list.version === version && list.asOfMs === asOfMs) ||
    clock.monotonicMs() - list.beganMs < BUILT_EVERY_MS
  const current = async (asOfMs: number): Promise<BuiltList> => {
    if (built !== null && isCurrent(built, asOfMs)) return built
    building ??= build(asOfMs)
    return building
  }
  return async ({ headers }) => {
    const asOfMs = currentAsOfMs()
    if (asOfMs === null) return REVOCATIONS_UNKNOWN
    const list = await current(asOfMs)
    if (isHeld(headers['if-none-match'], list.headers.etag))
      return { status: 304, headers: list.headers, body: Buffer.alloc(0) }
    return { status: 200, headers: list.headers, body: list.body() }
  }
}

const isRecord = (name: string): boolean => revocationHourEndMs(name) !== null

/** As they are at one moment: what comes while a list is being built is for the next. */
const recordsIn = (configMaps: Store<FullObject<ConfigMap>>): ReadonlyMap<string, ConfigMap> =>
  new Map(
    [...configMaps.values()]
      .filter(({ name }) => isRecord(name))
      .map(({ name, object }) => [name, object]),
  )

/** The parts of the list as these records have it. Nothing else touches them meanwhile. */
async function refreshed(
  parts: RevokedParts,
  records: ReadonlyMap<string, ConfigMap>,
): Promise<readonly RevokedPart[]> {
  for (const name of new Set([...parts.names(), ...records.keys()])) {
    if (parts.take(name, records.get(name))) await setImmediate()
  }
  const all: RevokedPart[] = []
  for (const name of parts.names()) {
    const { part, isNew } = parts.partOf(name)
    all.push(part)
    if (isNew) await setImmediate()
  }
  return all.filter(({ text }) => text.length > 0)
}

function listOf(
  asOfMs: number,
  parts: readonly RevokedPart[],
): Pick<BuiltList, 'headers' | 'body'> {
  const asOf = formatTimestamp(asOfMs)
  const hash = createHash('sha256').update(asOf)
  for (const { digest } of parts) hash.update(digest)
  const etag = `"${hash.digest('base64url')}"`
  let body: Buffer | null = null
  return {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache', etag },
    body: () => {
      body ??= bodyOf(asOf, parts)
      return body
    },
  }
}

const COMMA = Buffer.from(',')

const bodyOf = (asOf: string, parts: readonly RevokedPart[]): Buffer =>
  Buffer.concat([
    Buffer.from(`{"asOf":"${asOf}","tokens":{`),
    ...parts.flatMap(({ text }, at) => (at === 0 ? [text] : [COMMA, text])),
    Buffer.from('}}'),
  ])

/** Whether the client holds what has this tag; a proxy may have made it a weak one. */
const isHeld = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) ?? false

/** What one ConfigMap adds to the list of revoked tokens. */
interface RevokedPart {
  /** Members of a JSON object, without its braces; empty where there are none. */
  readonly text: Buffer
  readonly digest: Buffer
}

interface HeldConfigMap {
  readonly configMap: ConfigMap
  /** null = to be made. */
  part: RevokedPart | null
}

/**
 * The list of revoked tokens in parts, one for each ConfigMap: one that has not changed is not read again.
 * A token that is in several is in the part of one of them, with its latest end.
 */
class RevokedParts {
  readonly #stored = new StoredRevocations()
  readonly #held = new Map<string, HeldConfigMap>()

  /** Names of the ConfigMaps that were taken, the last hour first: what is cut off its end ends soonest. */
  names(): readonly string[] {
    return [...this.#held.keys()].toSorted((a, b) => (a > b ? -1 : 1))
  }

  /** Takes a ConfigMap as it is now; undefined = it is not there. Returns whether it is another than before. */
  take(name: string, configMap: ConfigMap | undefined): boolean {
    const before = this.#held.get(name)?.configMap
    if (before === configMap) return false
    if (configMap) this.#held.set(name, { configMap, part: null })
    else this.#held.delete(name)
    const { shared } = this.#stored.update(before, configMap)
    for (const held of this.#held.values()) {
      if (shared.some((jti) => isIn(held, jti))) held.part = null
    }
    return true
  }

  /** The part of a ConfigMap that was taken, and whether it was made just now. */
  partOf(name: string): { readonly part: RevokedPart; readonly isNew: boolean } {
    const held = this.#held.get(name)
    const isNew = held?.part === null
    if (isNew) held.part = partWith(revokedTokensJson(this.#members(name, held)))
    return { part: held?.part ?? EMPTY, isNew }
  }

  #members(name: string, { configMap }: HeldConfigMap): readonly (readonly [string, number])[] {
    return revokedJtisIn(configMap).flatMap((jti) => {
      const { places, endMs } = this.#stored.get(jti) ?? NOWHERE
      return places === 1 || this.#isFirst(name, jti) ? [[jti, endMs] as const] : []
    })
  }

  /** Whether no ConfigMap with an earlier name has it, too. */
  #isFirst(name: string, jti: string): boolean {
    return ![...this.#held].some(([other, held]) => other < name && isIn(held, jti))
  }
}

const partWith = (members: string): RevokedPart => {
  const text = Buffer.from(members)
  return { text, digest: createHash('sha256').update(text).digest() }
}

const EMPTY = partWith('')
const NOWHERE = { places: 0, endMs: 0 }

const isIn = ({ configMap: { data = {} } }: HeldConfigMap, jti: string): boolean =>
  Object.hasOwn(data, jti)
