// Storage of revoked tokens (contract 7.4): ConfigMaps of the platform namespace, by the UTC hour of their expiry, so
// that a whole ConfigMap is deleted after its hour.
import { REVOKED_TOKENS_PREFIX } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { formatTimestamp, parseTimestamp } from '../time.ts'

/** Revoked tokens: `jti` to `exp` in epoch milliseconds. */
export type Revocations = ReadonlyMap<string, number>

/** Most entries in one ConfigMap. */
const MOST_TOKENS_PER_CONFIG_MAP = 2000

const HOUR_MS = 3_600_000
/** Longer than the cache of an API server, which accepts a token for 10 s after its exp. */
const KEPT_AFTER_MS = 60_000

/**
 * Name of a ConfigMap for tokens that end at this time.
 *
 * @param ordinal 0 for the first of the hour, whose name has no number; 1 for the next
 */
export function revokedTokensName(expiresMs: number, ordinal: number): string {
  const hour = formatTimestamp(expiresMs).replaceAll(/\D/g, '').slice(0, 'YYYYMMDDHH'.length)
  return `${REVOKED_TOKENS_PREFIX}${hour}${ordinal === 0 ? '' : `-${ordinal}`}`
}

const NAME = new RegExp(
  `^${REVOKED_TOKENS_PREFIX}(\\d{4})(\\d{2})(\\d{2})(\\d{2})(?:-[1-9]\\d{0,8})?$`,
)

/** End of the hour in a ConfigMap's name, in epoch milliseconds; null = it holds no revoked tokens. */
export function revocationHourEndMs(name: string): number | null {
  const [, year, month, day, hour] = NAME.exec(name) ?? []
  const startMs = parseTimestamp(`${year}-${month}-${day}T${hour}:00:00Z`)
  return startMs === null ? null : startMs + HOUR_MS
}

/** Whether a ConfigMap of this name has only revoked tokens that every server refuses as expired. */
export function isPastRetention(name: string, nowMs: number): boolean {
  const endMs = revocationHourEndMs(name)
  return endMs !== null && nowMs >= endMs + KEPT_AFTER_MS
}

/** Whether the ConfigMap for a token with this expiry would be deleted at once. */
export const isTooLateToRecord = (expiresMs: number, nowMs: number): boolean =>
  nowMs >= (hourOf(expiresMs) + 1) * HOUR_MS + KEPT_AFTER_MS

/** Whether the `jti` is a valid key in a ConfigMap; the uid of every object is. */
export const isRecordable = (jti: string): boolean =>
  /^[-._a-zA-Z0-9]{1,253}$/.test(jti) && !/^(?:\.$|\.\.)/.test(jti)

/** The `jti`s in a ConfigMap; empty when it holds no revoked tokens. */
export const revokedJtisIn = (configMap: ConfigMap | undefined): readonly string[] =>
  configMap && revocationHourEndMs(configMap.metadata.name) !== null
    ? Object.keys(configMap.data ?? {})
    : []

/**
 * The revoked tokens in a ConfigMap; none when it is not one of ours. With a damaged exp, or one outside of the hour
 * in the name, the token stays revoked until the end of that hour.
 *
 * @param before the same ConfigMap before a change: unchanged entries are left out
 */
export function revokedTokensIn(configMap: ConfigMap, before?: ConfigMap): Revocations {
  const { metadata, data = {} } = configMap
  const endMs = revocationHourEndMs(metadata.name)
  if (endMs === null) return new Map()
  const expiresMsOf = (exp: string): number => {
    const expiresMs = parseTimestamp(exp)
    const isInHour = expiresMs !== null && expiresMs >= endMs - HOUR_MS && expiresMs < endMs
    return isInHour ? expiresMs : endMs - 1
  }
  const known = before?.data ?? {}
  const isChanged = ([jti, exp]: readonly [string, string]): boolean =>
    !Object.hasOwn(known, jti) || known[jti] !== exp
  const entries = Object.entries(data).filter(isChanged)
  return new Map(entries.map(([jti, exp]) => [jti, expiresMsOf(exp)]))
}

/** A write that adds revoked tokens to one ConfigMap. */
export interface RevocationWrite {
  readonly name: string
  /** The ConfigMap as last read; null = it does not exist yet. */
  readonly configMap: ConfigMap | null
  readonly tokens: Revocations
}

/**
 * The next write that stores revoked tokens; null = all are stored. It has the tokens that expire in the same hour as
 * the first missing one, up to the room in the first ConfigMap of that hour, or a new one. No stored entry moves.
 *
 * @param held every ConfigMap that may store one; ConfigMaps of others are ignored
 */
export function nextRevocationWrite(
  asked: Revocations,
  held: Iterable<ConfigMap>,
): RevocationWrite | null {
  const ours = [...held].filter(({ metadata }) => revocationHourEndMs(metadata.name) !== null)
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

/** An immutable ConfigMap, or one being deleted, has no room. */
function roomIn(configMap: (ConfigMap & { readonly immutable?: boolean }) | null): number {
  if (configMap === null) return MOST_TOKENS_PER_CONFIG_MAP
  const { metadata, data = {}, immutable = false } = configMap
  if (immutable || metadata.deletionTimestamp !== undefined) return 0
  return Math.max(MOST_TOKENS_PER_CONFIG_MAP - Object.keys(data).length, 0)
}

/** The data of the ConfigMap with the entries added: `<jti>` to exp in RFC 3339. */
export const configMapDataAfter = ({
  configMap,
  tokens,
}: RevocationWrite): Readonly<Record<string, string>> => ({
  ...configMap?.data,
  ...expiryTexts(tokens),
})

/**
 * Revoked tokens as members of a JSON object, `<jti>` to exp in RFC 3339, without braces: the caller joins
 * several parts.
 */
export const revokedTokensJson = (
  tokens: Iterable<readonly [jti: string, expiresMs: number]>,
): string =>
  [...tokens].map(([jti, endMs]) => `${JSON.stringify(jti)}:"${formatTimestamp(endMs)}"`).join(',')

/** Object.fromEntries defines properties, so that `__proto__` is a key like any other. */
const expiryTexts = (
  tokens: Iterable<readonly [jti: string, expiresMs: number]>,
): Readonly<Record<string, string>> =>
  Object.fromEntries([...tokens].map(([jti, expiresMs]) => [jti, formatTimestamp(expiresMs)]))
