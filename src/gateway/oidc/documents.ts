// The public pages below /oidc: discovery, the signing keys and the list of revoked tokens (contract 7.2, 7.4).
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { AS_OF_HEADER } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import type { FollowedJwks } from '../../authn/jwks.ts'
import { formatTimestamp } from '../../domain/time.ts'
import {
  revocationHourEndMs,
  revokedJtisIn,
  revokedTokensJson,
} from '../../domain/token/revocation.ts'
import { PROJECT_PREFIX_MEMBER, SIGNING_ALGORITHMS } from '../../domain/token/token-claims.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { StoredRevocations } from '../../revocation/stored-revocations.ts'
import type { Clock } from '../../runtime/clock.ts'
import { shareRun } from '../../runtime/concurrency/single-flight.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { ERRORS } from '../errors.ts'

/** How long verifiers may cache a page (contract 7.2). */
const CACHE_CONTROL = 'max-age=300'

/**
 * The OpenID Connect discovery document for verifiers of tokens, with the members that a kube-apiserver publishes for
 * its own tokens. A kube-apiserver that verifies tokens reads issuer, jwks_uri and the algorithms. A direct endpoint also
 * reads the prefix of the namespaces of projects, by which it enforces scopes (contract 9.2).
 *
 * @param issuer null = not known yet
 * @param projectNamespacePrefix the setting in force; null = not known yet
 */
export function discoveryAnswer(
  issuer: string | null,
  projectNamespacePrefix: string | null,
): Answer {
  if (issuer === null) return refuse(ERRORS.issuerUnknown)
  if (projectNamespacePrefix === null) return refuse(ERRORS.settingsUnknown)
  const document = {
    issuer,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
    [PROJECT_PREFIX_MEMBER]: projectNamespacePrefix,
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': CACHE_CONTROL },
    body: Buffer.from(JSON.stringify(document)),
  }
}

const KEYS_UNKNOWN = refuse(ERRORS.signingKeysUnknown)

/**
 * The JWK Set of `<issuer>/keys` (contract 7.2). The answer is built once for each change of the set, not for each
 * request: a kube-apiserver fetches it once per unknown kid, without limit.
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
        headers: { 'content-type': 'application/jwk-set+json', 'cache-control': CACHE_CONTROL },
        body: Buffer.from(current),
      }
    }
    return answer
  }
}

const REVOCATIONS_UNKNOWN = refuse(ERRORS.revocationsUnknown)

/** The sources of the list of revoked tokens. */
interface RevokedSources {
  /** All ConfigMaps of the platform's namespace, or at least the records of revoked tokens. */
  readonly configMaps: Store<FullObject<ConfigMap>>
  /** When the store was last known to be complete, in epoch milliseconds; null = never. */
  readonly asOfMs: () => number | null
  readonly clock: Clock
}

/** A list is served for at least this time, whatever is revoked meanwhile. */
const BUILD_INTERVAL_MS = 1000

/** A list, and the state that it was built from. */
interface BuiltList {
  readonly beganMs: number
  readonly asOfMs: number
  /** The number of changes of records when the build began. */
  readonly version: number
  readonly headers: Answer['headers'] & { readonly etag: string }
  /** Built for the first client that does not have this ETag. */
  readonly body: () => Buffer
}

/**
 * The list of `<issuer>/revoked` (contract 7.4). `asOf` is the time at which the records were last known to be
 * complete, not the time of the request: while the API server is down it ages, and verifiers see that. The ETag is weak
 * and only of the tokens: a verifier with the same tokens gets a 304 with the new `asOf` as a header.
 *
 * The page is public, and there may be hundreds of thousands of tokens. So the list is built only after a change, once
 * a second at most, from the changed ConfigMaps, one in each turn of the event loop; concurrent requests share the
 * build.
 */
export function createRevokedPage(sources: RevokedSources): (call: HttpRequest) => Promise<Answer> {
  const { configMaps, asOfMs: currentAsOfMs, clock } = sources
  const parts = new RevokedParts()
  let version = 0
  let built: BuiltList | null = null
  configMaps.subscribe(({ name }) => {
    if (isRecord(name)) version += 1
  })

  const build = shareRun(async (asOfMs: number): Promise<BuiltList> => {
    const startState = { beganMs: clock.monotonicMs(), asOfMs, version }
    built = { ...startState, ...listOf(asOfMs, await updatedParts(parts, recordsIn(configMaps))) }
    return built
  })
  const isCurrent = (list: BuiltList, asOfMs: number): boolean =>
    (list.version === version && list.asOfMs === asOfMs) ||
    clock.monotonicMs() - list.beganMs < BUILD_INTERVAL_MS
  const current = async (asOfMs: number): Promise<BuiltList> =>
    built !== null && isCurrent(built, asOfMs) ? built : build(asOfMs)
  return async ({ headers }) => {
    const asOfMs = currentAsOfMs()
    if (asOfMs === null) return REVOCATIONS_UNKNOWN
    const list = await current(asOfMs)
    if (matchesEtag(headers['if-none-match'], list.headers.etag))
      return { status: 304, headers: list.headers, body: Buffer.alloc(0) }
    return { status: 200, headers: list.headers, body: list.body() }
  }
}

const isRecord = (name: string): boolean => revocationHourEndMs(name) !== null

/** The records at this moment: a change during the build is for the next list. */
const recordsIn = (configMaps: Store<FullObject<ConfigMap>>): ReadonlyMap<string, ConfigMap> =>
  new Map(
    [...configMaps.values()]
      .filter(({ name }) => isRecord(name))
      .map(({ name, object }) => [name, object]),
  )

/** Updates the parts to these records, and returns those that list a token. One build runs at a time. */
async function updatedParts(
  parts: RevokedParts,
  records: ReadonlyMap<string, ConfigMap>,
): Promise<readonly RevokedPart[]> {
  for (const name of new Set([...parts.names(), ...records.keys()])) {
    if (parts.set(name, records.get(name))) await setImmediate()
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
  const hash = createHash('sha256')
  for (const { digest } of parts) hash.update(digest)
  const etag = `W/"${hash.digest('base64url')}"`
  let body: Buffer | null = null
  return {
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-cache',
      etag,
      [AS_OF_HEADER]: asOf,
    },
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

/** Whether the client has a list with these tokens. Weak comparison: a proxy may have dropped the mark of the tag. */
const matchesEtag = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch?.split(',').some((tag) => isSameTag(tag.trim(), etag)) ?? false

const isSameTag = (a: string, b: string): boolean => opaque(a) === opaque(b)
const opaque = (tag: string): string => tag.replace(/^W\//, '')

/** The part of the list that comes from one ConfigMap. */
interface RevokedPart {
  /** Members of a JSON object, without its braces; empty where there are none. */
  readonly text: Buffer
  readonly digest: Buffer
}

/** A ConfigMap with its part of the list. */
interface KnownConfigMap {
  readonly configMap: ConfigMap
  /** null = must be built again. */
  part: RevokedPart | null
}

/**
 * The list of revoked tokens in parts, one for each ConfigMap: an unchanged ConfigMap is not read again. A token in
 * several ConfigMaps is in one part only, with its latest end.
 */
class RevokedParts {
  readonly #stored = new StoredRevocations()
  readonly #known = new Map<string, KnownConfigMap>()

  /**
   * Names of the known ConfigMaps, the latest hour first: if a reader gets only the beginning, it lacks the tokens that
   * end soonest.
   */
  names(): readonly string[] {
    return [...this.#known.keys()].toSorted((a, b) => (a > b ? -1 : 1))
  }

  /** Stores the current ConfigMap; undefined = it is gone. Returns whether it has changed. */
  set(name: string, configMap: ConfigMap | undefined): boolean {
    const before = this.#known.get(name)?.configMap
    if (before === configMap) return false
    if (configMap) this.#known.set(name, { configMap, part: null })
    else this.#known.delete(name)
    const { shared } = this.#stored.update(before, configMap)
    for (const known of this.#known.values()) {
      if (shared.some((jti) => isIn(known, jti))) known.part = null
    }
    return true
  }

  /** The part of a known ConfigMap, and whether this call has built it. */
  partOf(name: string): { readonly part: RevokedPart; readonly isNew: boolean } {
    const known = this.#known.get(name)
    const isNew = known?.part === null
    if (isNew) known.part = newPart(revokedTokensJson(this.#members(name, known)))
    return { part: known?.part ?? EMPTY, isNew }
  }

  #members(name: string, { configMap }: KnownConfigMap): readonly (readonly [string, number])[] {
    return revokedJtisIn(configMap).flatMap((jti) => {
      const { places, endMs } = this.#stored.get(jti) ?? NOT_STORED
      return places === 1 || this.#isFirst(name, jti) ? [[jti, endMs] as const] : []
    })
  }

  /** Whether no ConfigMap with an earlier name has the token too. */
  #isFirst(name: string, jti: string): boolean {
    return ![...this.#known].some(([other, known]) => other < name && isIn(known, jti))
  }
}

const newPart = (members: string): RevokedPart => {
  const text = Buffer.from(members)
  return { text, digest: createHash('sha256').update(text).digest() }
}

const EMPTY = newPart('')
const NOT_STORED = { places: 0, endMs: 0 }

const isIn = ({ configMap: { data = {} } }: KnownConfigMap, jti: string): boolean =>
  Object.hasOwn(data, jti)
