// What the sign-in process reports of the person of a Login key after the sign-in (contract 25.7). The process may not change keys,
// so it keeps the report in a ConfigMap of its namespace, and the operator takes it over into the key.
import { fieldsOf, isMap, type Json, type JsonMap, parseJsonMap, stringOf } from '../json/json.ts'
import { formatTimestamp, parseTimestamp } from '../time.ts'

/** Data key of the ConfigMap. */
export const REPORT_DATA_KEY = 'report'

/** Why a person is gone, as annotation `identity-gone` says it. */
export type GoneReason = 'IdentityGone' | 'SignInAgain'

/** A report. */
export interface IdentityReport {
  /** uid of the key: another one of its name may be another person's. */
  readonly keyUid: string
  /** What the provider said last, with its time; null = nothing since the sign-in. */
  readonly refreshed: {
    readonly atMs: number
    /** Field `identity` of the key. */
    readonly identity: JsonMap
  } | null
  /** Since when the person is gone, for good; null = the person is not. */
  readonly gone: { readonly atMs: number; readonly reason: GoneReason } | null
}

/** The text of the ConfigMap. */
export const identityReportText = ({ keyUid, refreshed, gone }: IdentityReport): string =>
  JSON.stringify({
    keyUid,
    ...(refreshed === null ? {} : { refreshed: shownTime(refreshed) }),
    ...(gone === null ? {} : { gone: shownTime(gone) }),
  })

const shownTime = <Rest extends object>({ atMs, ...rest }: Rest & { readonly atMs: number }) => ({
  time: formatTimestamp(atMs),
  ...rest,
})

/** The longest text of a report, in UTF-16 units: a ConfigMap holds no longer one, and 200 groups have names of 200 KiB. */
const LONGEST_TEXT = 1_048_576

/** Levels of an identity, twice those of a provider's answer: to write one with thousands of them would overflow the stack. */
const MOST_LEVELS = 64

/** The report in the text of the ConfigMap; null = the text is malformed or too long, and says nothing. */
export function identityReportIn(text: string): IdentityReport | null {
  const { keyUid, refreshed, gone } = (text.length <= LONGEST_TEXT && parseJsonMap(text)) || {}
  if (typeof keyUid !== 'string' || keyUid === '') return null
  return { keyUid, refreshed: refreshedIn(refreshed), gone: goneIn(gone) }
}

function refreshedIn(value: unknown): IdentityReport['refreshed'] {
  const { time, identity } = fieldsOf(value)
  const atMs = parseTimestamp(stringOf(time))
  const isWritable = isMap(identity) && !isDeeper(identity, MOST_LEVELS)
  return atMs === null || !isWritable ? null : { atMs, identity }
}

const isDeeper = (value: Json, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner: Json) => isDeeper(inner, levels - 1)))

function goneIn(value: unknown): IdentityReport['gone'] {
  const { time, reason } = fieldsOf(value)
  const atMs = parseTimestamp(stringOf(time))
  const isReason = reason === 'IdentityGone' || reason === 'SignInAgain'
  return atMs === null || !isReason ? null : { atMs, reason }
}
