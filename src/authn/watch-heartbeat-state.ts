// What the heartbeats on the watch of the keys prove (contract 10.4). Pure: each event gives the next state.
import { type Moment, laterMoment, msBetween } from '../runtime/clock.ts'
import { RENEW_AFTER_MS, type SentHeartbeat, momentProvenBy } from './staleness.ts'

/** A replica that finds the heartbeat old waits for a random part of this, so that one is first. */
export const MAX_JITTER_MS = 1000
/** Least time between two tries, unless a write of this process succeeded. */
const RETRY_AFTER_MS = 1000
/** A watch that has not delivered a stored write after this long is broken: a sound one takes milliseconds. */
const DELIVERED_WITHIN_MS = 10_000
/** How many writes of this process may still arrive on the watch. */
const MOST_SENT = 8

/** What this process knows of its watch and of the heartbeat key. */
export interface HeartbeatState {
  /** The moment up to which the watch is known to be complete; null = unknown. */
  readonly provenAt: Moment | null
  /** The list in progress and what it will prove once it is complete; null = no list is in progress. */
  readonly listing: { readonly provenAt: Moment | null } | null
  /** Whether a list was ever complete. Before it is unknown whether the heartbeat key exists. */
  readonly isListed: boolean
  /** A heartbeat did not follow the one before: nothing is proven until the keys are listed again. */
  readonly hasGap: boolean
  /** The last heartbeat on the watch; null = the key does not exist, or has not arrived yet. */
  readonly last: ObservedHeartbeat | null
  /** The annotation that arrived, was read or was written last. */
  readonly annotation: string | undefined
  /** The latest writes of this process. */
  readonly sent: readonly SentHeartbeat[]
  /** When the oldest stored write was sent that the watch has not delivered; null = it delivered all. */
  readonly undelivered: Moment | null
  /** The earliest moment of the next write, on the monotonic clock. */
  readonly notBeforeMs: number
  /** How long this process leaves the next write to others, from 0 to MAX_JITTER_MS. */
  readonly jitterMs: number
}

/** A heartbeat as it arrived on the watch. */
interface ObservedHeartbeat {
  readonly uid: string
  /** The time that its writer gave; undefined = the annotation is missing. */
  readonly annotation: string | undefined
  /** The time that it replaced; empty = none. */
  readonly before: string
}

/**
 * An event of the watch, or of a write of this process.
 * - `writing`: it begins to write `heartbeat`
 * - `read`: it has read the key, with this annotation, to write that one
 * - `stored`: the key has a heartbeat as recent as `sent`; `isOurs`: this process wrote it
 */
export type HeartbeatEvent =
  | { readonly kind: 'listStarted' }
  | { readonly kind: 'listComplete' }
  | { readonly kind: 'observed'; readonly heartbeat: ObservedHeartbeat; readonly now: Moment }
  | { readonly kind: 'removed'; readonly uid: string }
  | { readonly kind: 'writing'; readonly heartbeat: SentHeartbeat; readonly jitterMs: number }
  | { readonly kind: 'read'; readonly annotation: string | undefined; readonly written: string }
  | {
      readonly kind: 'stored'
      readonly sent: Moment
      readonly isOurs: boolean
      readonly now: Moment
    }

/**
 * What follows an event, beside the next state.
 * - `delivered`: the watch delivered a write of this process so long after its sending
 * - `relist`: the watch is not complete. `gap`: it went back to an earlier state, as after etcd was restored and
 *   its versions have caught up; `missedWrite`: it has not delivered a stored write
 */
type HeartbeatEffect =
  | { readonly kind: 'none' }
  | { readonly kind: 'delivered'; readonly tookMs: number }
  | { readonly kind: 'relist'; readonly because: 'gap' | 'missedWrite' }

/** The next state, and what the process must do. */
interface HeartbeatTransition {
  readonly state: HeartbeatState
  readonly effect: HeartbeatEffect
}

/** Before the first list. @param jitterMs from 0 to MAX_JITTER_MS */
export const initialHeartbeatState = (jitterMs: number): HeartbeatState => ({
  provenAt: null,
  listing: null,
  isListed: false,
  hasGap: false,
  last: null,
  annotation: undefined,
  sent: [],
  undelivered: null,
  notBeforeMs: 0,
  jitterMs,
})

/** The state after an event. */
export function afterHeartbeatEvent(
  state: HeartbeatState,
  event: HeartbeatEvent,
): HeartbeatTransition {
  switch (event.kind) {
    case 'listStarted':
      return only({ ...state, listing: { provenAt: null }, last: null })
    case 'listComplete':
      return only(afterList(state))
    case 'observed':
      return afterObserved(state, event.heartbeat, event.now)
    case 'removed':
      return only(event.uid === state.last?.uid ? { ...state, last: null } : state)
    case 'writing':
      return only({
        ...state,
        sent: [...state.sent, event.heartbeat].slice(-MOST_SENT),
        jitterMs: event.jitterMs,
        notBeforeMs: event.heartbeat.sent.monotonicMs + RETRY_AFTER_MS,
      })
    case 'read': {
      const isNews = isUnseen(state, event.annotation)
      return only({ ...state, annotation: isNews ? event.annotation : event.written })
    }
    case 'stored':
      return afterStored(state, event.sent, event.isOurs, event.now)
    default:
      return event satisfies never
  }
}

/** Milliseconds until this process must write; 0 or less = now. */
export function dueInMs(state: HeartbeatState, now: Moment): number {
  if (!state.isListed) return RETRY_AFTER_MS / 4
  const agedInMs = RENEW_AFTER_MS + state.jitterMs - msBetween(state.provenAt, now)
  return Math.max(agedInMs, state.notBeforeMs - now.monotonicMs)
}

/** Whether another replica wrote this annotation, and the watch has not delivered it yet. */
export const isUnseen = (state: HeartbeatState, annotation: string | undefined): boolean =>
  annotation !== undefined && annotation !== state.annotation

const only = (state: HeartbeatState): HeartbeatTransition => ({ state, effect: { kind: 'none' } })

const afterList = (state: HeartbeatState): HeartbeatState =>
  withProof(
    { ...state, listing: null, isListed: true, hasGap: false, undelivered: null },
    state.listing?.provenAt ?? null,
  )

function afterObserved(
  before: HeartbeatState,
  heartbeat: ObservedHeartbeat,
  now: Moment,
): HeartbeatTransition {
  const { annotation } = heartbeat
  const state = { ...before, last: heartbeat, annotation }
  const proof = momentProvenBy(annotation, now, before.sent)
  // The rest of the list, behind this object, is not known yet.
  if (state.listing)
    return only({ ...state, listing: { provenAt: laterMoment(state.listing.provenAt, proof) } })
  if (state.hasGap) return only(state)
  if (before.last && !follows(heartbeat, before.last))
    return {
      state: { ...state, hasGap: true, provenAt: null },
      effect: { kind: 'relist', because: 'gap' },
    }
  const proven = withProof(state, proof)
  const own = before.sent.find(({ written }) => written === annotation)
  if (!own || proven.provenAt === before.provenAt) return only(proven)
  const tookMs = now.monotonicMs - own.sent.monotonicMs
  return { state: proven, effect: { kind: 'delivered', tookMs } }
}

/** The watch is broken where a write was stored long ago and no event as recent has arrived. */
function afterStored(
  before: HeartbeatState,
  sent: Moment,
  isOurs: boolean,
  now: Moment,
): HeartbeatTransition {
  const notBeforeMs = isOurs ? sent.monotonicMs + RENEW_AFTER_MS : before.notBeforeMs
  const state = { ...before, notBeforeMs }
  if (isProven(state, sent)) return only(state)
  const undelivered = state.undelivered ?? sent
  if (msBetween(undelivered, now) < DELIVERED_WITHIN_MS) return only({ ...state, undelivered })
  return {
    state: { ...state, undelivered: null },
    effect: { kind: 'relist', because: 'missedWrite' },
  }
}

function withProof(before: HeartbeatState, proof: Moment | null): HeartbeatState {
  const state = { ...before, provenAt: laterMoment(before.provenAt, proof) }
  const isDelivered = state.undelivered !== null && isProven(state, state.undelivered)
  return isDelivered ? { ...state, undelivered: null } : state
}

const isProven = ({ provenAt }: HeartbeatState, moment: Moment): boolean =>
  provenAt !== null && provenAt.monotonicMs >= moment.monotonicMs

const follows = (now: ObservedHeartbeat, last: ObservedHeartbeat): boolean => {
  const lastTime = last.annotation ?? ''
  return now.uid === last.uid && ((now.annotation ?? '') === lastTime || now.before === lastTime)
}
