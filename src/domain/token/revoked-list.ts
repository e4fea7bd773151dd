// The list of revoked tokens as a direct endpoint reads it from `<issuer>/revoked`, and which lists it accepts
// (contract 7.4, 9.2). There may be hundreds of thousands of tokens, so the work is done in steps: between two of them the
// caller yields to the event loop.
import { parseTimestamp } from '../time.ts'
import type { Revocations } from './revocation.ts'

/** A list of revoked tokens. */
export interface RevokedList {
  /** The time at which the list was complete, in epoch milliseconds, by the platform's clock. */
  readonly asOfMs: number
  readonly tokens: Revocations
}

/** Work that pauses after each piece of some milliseconds, and ends with a result. */
export type Steps<Result> = Generator<void, Result, void>

/** Entries in a step: one or two milliseconds. */
const STEP = 500

const HEAD = /\s*\{\s*"asOf"\s*:\s*"([^"\\]*)"\s*,\s*"tokens"\s*:\s*\{\s*/y
/** Neither ids nor times need escapes. What follows is the next entry, or the end. */
const ENTRY = /"([!#-[\]-~]+)"\s*:\s*"([!#-[\]-~]+)"\s*(,(?!\s*\})|(?=\}))\s*/y
const TAIL = /\}\s*\}\s*$/y

/**
 * Parses a list: `asOf`, then `tokens`, and nothing else, as every gateway writes it. null = the text is not such a
 * list, has a token twice, or a time that is not RFC 3339.
 */
export function* parseRevokedList(text: string): Steps<RevokedList | null> {
  HEAD.lastIndex = 0
  const asOfMs = parseTimestamp(HEAD.exec(text)?.[1])
  if (asOfMs === null) return null
  const tokens = new Map<string, number>()
  let at = HEAD.lastIndex
  for (let count = 1; text[at] === '"'; count += 1) {
    ENTRY.lastIndex = at
    const [, jti = '', exp] = ENTRY.exec(text) ?? []
    const expiresMs = timeOf(exp)
    if (expiresMs === null || tokens.has(jti)) return null
    tokens.set(jti, expiresMs)
    at = ENTRY.lastIndex
    if (count % STEP === 0) yield
  }
  TAIL.lastIndex = at
  return TAIL.test(text) ? { asOfMs, tokens } : null
}

const SECONDS_IN_UTC = /^(\d{4}-\d\d-\d\dT)(\d\d):(\d\d):(\d\d)Z$/

/** Midnights by date: parseTimestamp is too slow for each of so many times. */
const midnights = new Map<string, number | null>()
const MOST_MIDNIGHTS = 1000

/** Parses a time; as fast as a list needs where it has the form in which the gateway writes times. */
function timeOf(text: string | undefined): number | null {
  const [, date, hours, minutes, seconds] = SECONDS_IN_UTC.exec(text ?? '') ?? []
  if (date === undefined) return parseTimestamp(text)
  const [hour, minute, second] = [Number(hours), Number(minutes), Number(seconds)]
  if (hour > 23 || minute > 59 || second > 59) return parseTimestamp(text)
  const midnightMs = midnights.get(date) ?? midnightOf(date)
  return midnightMs === null ? null : midnightMs + ((hour * 60 + minute) * 60 + second) * 1000
}

function midnightOf(date: string): number | null {
  const midnightMs = parseTimestamp(`${date}00:00:00Z`)
  if (midnights.size >= MOST_MIDNIGHTS) midnights.clear()
  midnights.set(date, midnightMs)
  return midnightMs
}

/** Why a list is rejected, as a clause for the log; a closed set, so that metrics could have it as a label. */
type ListRefusal =
  | 'is older than the last one'
  | 'is dated in the future'
  | 'lacks a token of the last one'
  | 'has an earlier expiry for a token of the last one'

/** How far asOf may be ahead of the answer's Date, in milliseconds. */
const AHEAD_MS = 60_000

/**
 * Why a list is rejected after the last one; null = it is accepted. A lagging replica or a restored backup must not
 * bring a revoked token back: entries of the last list may only expire.
 *
 * @param dateMs Date of the answer in epoch milliseconds
 */
export function* refusalOfList(
  list: RevokedList,
  last: RevokedList | null,
  dateMs: number,
): Steps<ListRefusal | null> {
  if (list.asOfMs > dateMs + AHEAD_MS) return 'is dated in the future'
  if (last === null) return null
  if (list.asOfMs < last.asOfMs) return 'is older than the last one'
  if (list.tokens === last.tokens) return null
  let count = 0
  for (const [jti, expiresMs] of last.tokens) {
    count += 1
    if (count % STEP === 0) yield
    if (expiresMs <= list.asOfMs) continue
    const nowExpiresMs = list.tokens.get(jti)
    if (nowExpiresMs === undefined) return 'lacks a token of the last one'
    if (nowExpiresMs < expiresMs) return 'has an earlier expiry for a token of the last one'
  }
  return null
}

/** The tokens of a list that the last one did not have; all of them without a last list. */
export function* gainedTokens(
  list: RevokedList,
  last: RevokedList | null,
): Steps<readonly string[]> {
  const gained: string[] = []
  let count = 0
  for (const jti of list.tokens.keys()) {
    count += 1
    if (count % STEP === 0) yield
    if (!last?.tokens.has(jti)) gained.push(jti)
  }
  return gained
}

/**
 * The newest of several lists, with every token of the others that has not ended at its asOf: no unexpired revocation is
 * lost, whichever replica knew it. null = there is none.
 */
export function mergedLists(lists: readonly RevokedList[]): RevokedList | null {
  const [newest, ...others] = lists.toSorted((a, b) => b.asOfMs - a.asOfMs)
  if (!newest) return null
  const tokens = new Map(newest.tokens)
  for (const [jti, expiresMs] of others.flatMap((list) => [...list.tokens])) {
    if (expiresMs > newest.asOfMs) tokens.set(jti, Math.max(expiresMs, tokens.get(jti) ?? 0))
  }
  return { asOfMs: newest.asOfMs, tokens }
}
