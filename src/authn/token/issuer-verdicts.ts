// Decides which answers of the issuer a direct endpoint accepts (contract 9.2). Replicas of the platform may lag behind
// each other, and a platform may be restored from a backup: then the last accepted state stays. Pure.
import type { PublicJwk } from '../../domain/signingkey/signing-key.ts'
import {
  gainedTokens,
  type RevokedList,
  refusalOfList,
  type Steps,
} from '../../domain/token/revoked-list.ts'
import type { IssuerAnswer } from './issuer-client.ts'
import {
  type ParsedDocument,
  parseDiscovery,
  parseKeys,
  parseListDocument,
} from './issuer-documents.ts'

/** An accepted document, or why it is rejected, as a clause. */
export type Verdict<Document> =
  | { readonly ok: true; readonly value: Document }
  | { readonly ok: false; readonly because: string }

/** Tolerated difference of the clocks: the Date header has whole seconds, and answers take time. */
export const TOLERATED_SKEW_MS = 2000

/** How far Date may be behind the local clock, which may be an hour ahead (threats F11), and answers take time. */
const OLDEST_DATE_MS = 65 * 60_000

/** Judges the discovery document, whose value is the prefix of the namespaces of projects. null = it was not read. */
export const judgeDiscovery = (
  answer: IssuerAnswer | null,
  issuer: string,
): ParsedDocument<string> | null => (answer?.body ? parseDiscovery(answer.body, issuer) : null)

/** Published keys, and the Date of their answer in epoch milliseconds. */
export interface DatedKeys {
  readonly keys: readonly PublicJwk[]
  readonly dateMs: number
}

/**
 * Judges the signing keys. One of two caches may lag behind. null = they were not read.
 *
 * @param lastMs Date of the last accepted keys, in epoch milliseconds; null = there were none
 */
export function judgeKeys(
  answer: IssuerAnswer | null,
  lastMs: number | null,
): Verdict<DatedKeys> | null {
  if (!answer?.body) return null
  const parsed = parseKeys(answer.body)
  if (!parsed.ok) return parsed
  const { dateMs } = answer
  if (dateMs === null) return reject('its answer has no Date')
  return lastMs !== null && dateMs < lastMs - TOLERATED_SKEW_MS
    ? reject('it is older than the last one')
    : { ok: true, value: { keys: parsed.value, dateMs } }
}

/** A list of revoked tokens that is valid after its answer. */
export interface AcceptedList {
  readonly list: RevokedList
  /** Whether it has the same tokens as the last list; its `asOf` may be new. */
  readonly isUnchanged: boolean
  /** The tokens that the last list did not have. */
  readonly newlyRevoked: readonly string[]
  /** Date of the answer, in epoch milliseconds. */
  readonly dateMs: number
}

/** `isListFault`: the list itself is rejected, rather than its answer for its Date. */
type ListVerdict =
  | { readonly ok: true; readonly value: AcceptedList }
  | { readonly ok: false; readonly because: string; readonly isListFault: boolean }

/** Judges the list of revoked tokens, in steps. @param last the last accepted list; null = there was none */
export function* judgeList(
  answer: IssuerAnswer,
  last: RevokedList | null,
  nowMs: number,
): Steps<ListVerdict> {
  const { body, dateMs, asOfMs } = answer
  if (dateMs === null) return rejectList('its answer has no Date', false)
  if (nowMs - dateMs > OLDEST_DATE_MS)
    return rejectList('its answer is more than an hour older than the clock of this machine', false)
  if (body === null && last === null)
    return rejectList('it is a 304, but no list was accepted before', true)
  const list = body === null ? unchangedList(last, asOfMs) : yield* parseListDocument(body)
  if (list === null) return rejectList('it is not a list of revoked tokens', true)
  const because = yield* refusalOfList(list, last, dateMs)
  if (because !== null) return rejectList(`it ${because}`, true)
  const isUnchanged = list.tokens === last?.tokens
  const newlyRevoked = isUnchanged ? [] : yield* gainedTokens(list, last)
  return { ok: true, value: { list, isUnchanged, newlyRevoked, dateMs } }
}

/** The last list after a 304, whose header may have a new `asOf`. */
const unchangedList = (last: RevokedList | null, asOfMs: number | null): RevokedList | null =>
  last === null || asOfMs === null ? last : { ...last, asOfMs }

const reject = (because: string): { readonly ok: false; readonly because: string } => ({
  ok: false,
  because,
})

const rejectList = (because: string, isListFault: boolean): ListVerdict => ({
  ok: false,
  because,
  isListFault,
})
