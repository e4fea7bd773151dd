// Continue tokens of questions to the audit log: where the next page begins, and of which question it is (contract 22.4).
import { parseJson } from '../json/json.ts'

/** The last event of a page; the next page begins after it. */
export interface EventPosition {
  readonly stageTimeMs: number
  /** The `id` of the event in the store. */
  readonly id: number
  /** The highest `id` in the store at the first page: what came later is in no page. */
  readonly snapshotId: number
  /** Whose ids these are: the replica with a store of its own; empty = one store for all replicas. */
  readonly store: string
}

/** The interval of stage times that was asked for, in epoch milliseconds; null = open. */
export interface TimeInterval {
  /** Inclusive. */
  readonly sinceMs: number | null
  /** Exclusive. */
  readonly untilMs: number | null
}

/** What a token says. */
export interface ContinueToken {
  /** The filters of the question, as `filtersDigest` has them. */
  readonly filters: string
  /** As the first page had it: `since=1h` would be another one at each page. */
  readonly interval: TimeInterval
  readonly position: EventPosition
}

/** Longer than any token that was given out. */
const LONGEST_TOKEN = 1024

const VERSION = 1

/** The token as text, without characters that a URL would escape. */
export function encodeContinue({ filters, interval, position }: ContinueToken): string {
  const { sinceMs, untilMs } = interval
  const { stageTimeMs, id, snapshotId, store } = position
  const parts = [VERSION, filters, sinceMs, untilMs, stageTimeMs, id, snapshotId, store]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** The token of a text; null = it is none. */
export function decodeContinue(text: string): ContinueToken | null {
  if (text.length > LONGEST_TOKEN || !/^[\w-]+$/.test(text)) return null
  const parts = parseJson(Buffer.from(text, 'base64url').toString())
  if (!Array.isArray(parts) || parts.length !== 8 || parts[0] !== VERSION) return null
  const [, filters, sinceMs, untilMs, stageTimeMs, id, snapshotId, store] = parts as unknown[]
  const areTimes = isWhole(stageTimeMs) && isWholeOrNull(sinceMs) && isWholeOrNull(untilMs)
  if (!areTimes || !isWhole(id) || !isWhole(snapshotId)) return null
  if (typeof filters !== 'string' || typeof store !== 'string') return null
  return {
    filters,
    interval: { sinceMs, untilMs },
    position: { stageTimeMs, id, snapshotId, store },
  }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value)

const isWholeOrNull = (value: unknown): value is number | null => value === null || isWhole(value)

const OFFSET_BASIS = 0xcbf29ce484222325n
const PRIME = 0x100000001b3n

/**
 * A short text for the filters (FNV-1a, 64 bits), to tell two questions apart. Nothing is protected
 * by it: a page is given by the filters beside the token.
 */
export function filtersDigest(filters: readonly (readonly [name: string, text: string])[]): string {
  const sorted = filters.toSorted(([one], [other]) => (one < other ? -1 : 1))
  let hash = OFFSET_BASIS
  for (const byte of Buffer.from(JSON.stringify(sorted)))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME)
  return hash.toString(36)
}
