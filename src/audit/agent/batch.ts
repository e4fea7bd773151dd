// Batches of events on their way to the platform, and what follows from its answers (contract 23.1, 23.2). Pure.
import { eventListOf } from '../../domain/audit/event-list.ts'

/** The most events of a batch, and bytes of its EventList. */
export const MOST_EVENTS = 1000
export const MOST_BYTES = 3 * 1024 * 1024

/** A line of the log. */
export interface SpooledLine {
  /** The JSON of an event; null = the line has none, or one that fits no batch. */
  readonly event: string | null
  /** Where it ends in its file, in bytes. */
  readonly end: number
}

/** What is sent at once. */
interface Batch {
  readonly events: readonly string[]
  /** How many lines it takes, with those without an event. */
  readonly lines: number
}

const ENVELOPE_BYTES = Buffer.byteLength(eventListOf([''], null))

/** The comma and the line feed between two events. */
const SEPARATOR_BYTES = 2

/** Whether a batch of this event alone is within the bounds. */
export const fitsBatch = (event: string): boolean =>
  ENVELOPE_BYTES + SEPARATOR_BYTES + Buffer.byteLength(event) <= MOST_BYTES

/**
 * The first lines, as many as one batch takes: one event at least, if there is one.
 *
 * @param mostEvents 1 at least
 */
export function nextBatch(lines: readonly SpooledLine[], mostEvents: number): Batch {
  const events: string[] = []
  let bytes = ENVELOPE_BYTES
  for (const [place, { event }] of lines.entries()) {
    if (event === null) continue
    bytes += Buffer.byteLength(event) + SEPARATOR_BYTES
    const isFull = events.length === mostEvents || (bytes > MOST_BYTES && events.length > 0)
    if (isFull) return { events, lines: place }
    events.push(event)
  }
  return { events, lines: lines.length }
}

/**
 * What follows from an answer: the next batch, a batch of half the events, nothing of what is unsent, or the same once
 * more.
 */
type BatchOutcome = 'accepted' | 'refused' | 'unwanted' | 'again'

/** @param status of the answer */
export function outcomeOf(status: number): BatchOutcome {
  switch (status) {
    case 200:
      return 'accepted'
    case 400:
    case 413:
      return 'refused'
    case 409:
      return 'unwanted'
    default:
      return 'again'
  }
}
