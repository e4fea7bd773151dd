// The format of the stored revocation records (contract 7.4): one or more ConfigMaps for each UTC hour in which tokens
// expire, so that a whole ConfigMap is deleted after its hour.
import { REVOKED_TOKENS_PREFIX } from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { isDataKey } from '../data-key.ts'
import { formatTimestamp, parseTimestamp } from '../time.ts'

/** Revoked tokens: `jti` to `exp` in epoch milliseconds. */
export type Revocations = ReadonlyMap<string, number>

/** Maximum number of entries in one ConfigMap. */
const MAX_TOKENS_PER_CONFIG_MAP = 2000

const HOUR_MS = 3_600_000
/** Records outlive their hour by this: an API server may accept a cached token for 10 s after its exp. */
const KEPT_AFTER_MS = 60_000

/**
 * Name of a ConfigMap for tokens that expire at this time.
 *
 * @param ordinal 0 for the first ConfigMap of the hour, whose name has no number; 1 for the next
 */
export function revokedTokensName(expiresMs: number, ordinal: number): string {
  const hour = formatTimestamp(expiresMs).replaceAll(/\D/g, '').slice(0, 'YYYYMMDDHH'.length)
  return `${REVOKED_TOKENS_PREFIX}${hour}${ordinal === 0 ? '' : `-${ordinal}`}`
}

const NAME = new RegExp(
  `^${REVOKED_TOKENS_PREFIX}(\\d{4})(\\d{2})(\\d{2})(\\d{2})(?:-[1-9]\\d{0,8})?$`,
)

/** End of the hour in a ConfigMap's name, in epoch milliseconds; null = the ConfigMap is not for revoked tokens. */
export function revocationHourEndMs(name: string): number | null {
  const [, year, month, day, hour] = NAME.exec(name) ?? []
  const startMs = parseTimestamp(`${year}-${month}-${day}T${hour}:00:00Z`)
  return startMs === null ? null : startMs + HOUR_MS
}

/** Whether a ConfigMap of this name may be deleted: every server refuses its tokens as expired. */
export function isPastRetention(name: string, nowMs: number): boolean {
  const endMs = revocationHourEndMs(name)
  return endMs !== null && nowMs >= endMs + KEPT_AFTER_MS
}

/** Whether a record of a token with this expiry is useless: its ConfigMap would be deleted at once. */
export const isTooLateToRecord = (expiresMs: number, nowMs: number): boolean =>
  nowMs >= (hourOf(expiresMs) + 1) * HOUR_MS + KEPT_AFTER_MS

/** Whether the `jti` is a valid data key of a ConfigMap; the uid of every object is valid. */
export const isRecordable = (jti: string): boolean => isDataKey(jti)

/** The `jti`s in a ConfigMap; empty when the ConfigMap is not for revoked tokens. */
export const revokedJtisIn = (configMap: ConfigMap | undefined): readonly string[] =>
  configMap && revocationHourEndMs(configMap.metadata.name) !== null
    ? Object.keys(configMap.data ?? {})
    : []

/**
 * The revoked tokens in a ConfigMap; empty when the ConfigMap is not for revoked tokens. A token whose exp is malformed
 * or outside the hour in the name stays revoked until the end of that hour.
 *
 * @param before the ConfigMap before a change: entries that did not change are left out
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
  /** The ConfigMap as last read; null = it must be created. */
  readonly configMap: ConfigMap | null
  readonly tokens: Revocations
}

/**
 * The next write that stores revoked tokens; null = all are stored. It contains the missing tokens of one hour, as many
 * as fit into the first ConfigMap of that hour with room, or into a new one. Stored entries never move.
 *
 * @param configMaps every ConfigMap that may have records; others are ignored
 */
export function nextRevocationWrite(
  requested: Revocations,
  configMaps: Iterable<ConfigMap>,
): RevocationWrite | null {
  const ours = [...configMaps].filter(({ metadata }) => revocationHourEndMs(metadata.name) !== null)
  const isMissing = ([jti]: readonly [string, number]): boolean =>
    !ours.some(({ data = {} }) => Object.hasOwn(data, jti))
  const first = [...requested].find(isMissing)
  if (!first) return null
  const hour = hourOf(first[1])
  const tokens = [...requested].filter((entry) => hourOf(entry[1]) === hour && isMissing(entry))
  for (let ordinal = 0; ; ordinal += 1) {
    const name = revokedTokensName(first[1], ordinal)
    const configMap = ours.find(({ metadata }) => metadata.name === name) ?? null
    const room = roomIn(configMap)
    if (room > 0) return { name, configMap, tokens: new Map(tokens.slice(0, room)) }
  }
}

const hourOf = (atMs: number): number => Math.floor(atMs / HOUR_MS)

/** How many entries fit into the ConfigMap; none if it is immutable or being deleted. */
function roomIn(configMap: (ConfigMap & { readonly immutable?: boolean }) | null): number {
  if (configMap === null) return MAX_TOKENS_PER_CONFIG_MAP
  const { metadata, data = {}, immutable = false } = configMap
  if (immutable || metadata.deletionTimestamp !== undefined) return 0
  return Math.max(MAX_TOKENS_PER_CONFIG_MAP - Object.keys(data).length, 0)
}

/** The data of the ConfigMap after the write: `<jti>` to exp in RFC 3339. */
export const configMapDataAfter = ({
  configMap,
  tokens,
}: RevocationWrite): Readonly<Record<string, string>> => ({
  ...configMap?.data,
  ...expiryTexts(tokens),
})

/**
 * Revoked tokens as members of a JSON object, `<jti>` to exp in RFC 3339; without braces, because callers join several
 * parts.
 */
export const revokedTokensJson = (
  tokens: Iterable<readonly [jti: string, expiresMs: number]>,
): string =>
  [...tokens].map(([jti, endMs]) => `${JSON.stringify(jti)}:"${formatTimestamp(endMs)}"`).join(',')

/** Object.fromEntries defines properties, so `__proto__` is an ordinary key. */
const expiryTexts = (
  tokens: Iterable<readonly [jti: string, expiresMs: number]>,
): Readonly<Record<string, string>> =>
  Object.fromEntries([...tokens].map(([jti, expiresMs]) => [jti, formatTimestamp(expiresMs)]))
