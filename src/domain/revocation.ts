// Which revoked token is kept where, and for how long (contract 7.4): ConfigMaps of the platform
// namespace, by the UTC hour in which their tokens end, so that a whole one goes when its hour is over.
import type { ConfigMap } from '../api/core.ts'
import { REVOKED_TOKENS_PREFIX } from '../api/group.ts'
import { parseTimestamp, timestamp } from './time.ts'

/** Revoked tokens: `jti` to `exp` in epoch milliseconds. */
export type Revocations = ReadonlyMap<string, number>

/** Most entries in one ConfigMap. */
const MOST_TOKENS_PER_CONFIG_MAP = 2000

const HOUR_MS = 3_600_000
/** Longer than the cache of a stock API server, which takes a token for 10 s beyond its exp. */
const KEPT_AFTER_MS = 60_000

/**
 * Name of a ConfigMap for tokens that end then.
 *
 * @param ordinal 0 for the first of the hour, whose name has no number; 1 for the next
 */
export function revokedTokensName(expiresMs: number, ordinal: number): string {
  const hour = timestamp(expiresMs).replaceAll(/\D/g, '').slice(0, 'YYYYMMDDHH'.length)
  return `${REVOKED_TOKENS_PREFIX}${hour}${ordinal === 0 ? '' : `-${ordinal}`}`
}

const NAME = new RegExp(
  `^${REVOKED_TOKENS_PREFIX}(\\d{4})(\\d{2})(\\d{2})(\\d{2})(?:-[1-9]\\d{0,8})?$`,
)

/** When the hour in a ConfigMap's name ends, in epoch milliseconds; null = it is none of ours. */
export function hourEndMs(name: string): number | null {
  const [, year, month, day, hour] = NAME.exec(name) ?? []
  const startMs = parseTimestamp(`${year}-${month}-${day}T${hour}:00:00Z`)
  return startMs === null ? null : startMs + HOUR_MS
}

/** Whether a ConfigMap of that name holds revoked tokens, and no server takes them any more. */
export function isOver(name: string, nowMs: number): boolean {
  const endMs = hourEndMs(name)
  return endMs !== null && nowMs >= endMs + KEPT_AFTER_MS
}

/** Whether a record of a token that ends then would be dropped at once. */
export const isPastRecording = (expiresMs: number, nowMs: number): boolean =>
  nowMs >= (hourOf(expiresMs) + 1) * HOUR_MS + KEPT_AFTER_MS

/** Whether a ConfigMap can have the `jti` for a key; the uid of every object can be one. */
export const isRecordable = (jti: string): boolean =>
  /^[-._a-zA-Z0-9]{1,253}$/.test(jti) && !/^(?:\.$|\.\.)/.test(jti)

/** The tokens of a ConfigMap, by `jti`; none when it is none of ours. */
export const revokedNamesIn = (configMap: ConfigMap | undefined): readonly string[] =>
  configMap && hourEndMs(configMap.metadata.name) !== null ? Object.keys(configMap.data ?? {}) : []

/**
 * What a ConfigMap holds; nothing when it is none of ours. Where an exp is damaged, or lies outside
 * of the hour in the name, the token stays revoked to the last moment of that hour.
 *
 * @param before the same ConfigMap as it was: what it held in the same words is left out
 */
export function revokedIn(configMap: ConfigMap, before?: ConfigMap): Revocations {
  const { metadata, data = {} } = configMap
  const endMs = hourEndMs(metadata.name)
  if (endMs === null) return new Map()
  const expiresMsOf = (exp: string): number => {
    const expiresMs = parseTimestamp(exp)
    const isInHour = expiresMs !== null && expiresMs >= endMs - HOUR_MS && expiresMs < endMs
    return isInHour ? expiresMs : endMs - 1
  }
  const known = before?.data ?? {}
  const isOther = ([jti, exp]: readonly [string, string]): boolean =>
    !Object.hasOwn(known, jti) || known[jti] !== exp
  const entries = Object.entries(data).filter(isOther)
  return new Map(entries.map(([jti, exp]) => [jti, expiresMsOf(exp)]))
}

/** Entries for one ConfigMap. */
export interface Addition {
  readonly name: string
  /** The ConfigMap as it was seen; null = it is not there yet. */
  readonly configMap: ConfigMap | null
  readonly tokens: Revocations
}

/**
 * What is to be written first so that each token asked for is stored once; null = all are. All that
 * end in one hour go together, that of the first one asked for: into the first ConfigMap of the hour
 * with room, or a new one, as many as it takes. Nothing that is stored moves.
 *
 * @param held every ConfigMap that may hold one; those that are none of ours count for nothing
 */
export function nextAddition(asked: Revocations, held: Iterable<ConfigMap>): Addition | null {
  const ours = [...held].filter(({ metadata }) => hourEndMs(metadata.name) !== null)
  const isMissing = ([jti]: readonly [string, number]): boolean =>
    !ours.some(({ data = {} }) => Object.hasOwn(data, jti))
  const first = [...asked].find(isMissing)
  if (!first) return null
  const hour = hourOf(first[1])
  const tokens = [...asked].filter((entry) => hourOf(entry[1]) === hour && isMissing(entry))
  for (let ordinal = 0; ; ordinal += 1) {
    const name = revokedTokensName(first[1], ordinal)
    const configMap = ours.find(({ metadata }) => metadata.name === name) ?? null
    const room = roomIn(configMap)
    if (room > 0) return { name, configMap, tokens: new Map(tokens.slice(0, room)) }
  }
}

const hourOf = (atMs: number): number => Math.floor(atMs / HOUR_MS)

/** One that nobody can change, or that is about to go, has none. */
function roomIn(configMap: (ConfigMap & { readonly immutable?: boolean }) | null): number {
  if (configMap === null) return MOST_TOKENS_PER_CONFIG_MAP
  const { metadata, data = {}, immutable = false } = configMap
  if (immutable || metadata.deletionTimestamp !== undefined) return 0
  return Math.max(MOST_TOKENS_PER_CONFIG_MAP - Object.keys(data).length, 0)
}

/** The data of the ConfigMap with the entries in it: `<jti>` to exp in RFC 3339. */
export const dataWith = ({ configMap, tokens }: Addition): Readonly<Record<string, string>> => ({
  ...configMap?.data,
  ...expiryTexts(tokens),
})

/**
 * Revoked tokens as members of a JSON object, `<jti>` to exp in RFC 3339, without its braces: a list that
 * is made of parts is put together of these.
 */
export const revokedMembers = (
  tokens: Iterable<readonly [jti: string, expiresMs: number]>,
): string =>
  [...tokens].map(([jti, endMs]) => `${JSON.stringify(jti)}:"${timestamp(endMs)}"`).join(',')

/** fromEntries, for it defines properties: `__proto__` is a key like any other. */
const expiryTexts = (
  tokens: Iterable<readonly [jti: string, expiresMs: number]>,
): Readonly<Record<string, string>> =>
  Object.fromEntries([...tokens].map(([jti, expiresMs]) => [jti, timestamp(expiresMs)]))
