// The state machine of the watch heartbeat (contract 10.4): which moment heartbeats prove. Pure: no clock, no calls.
import { laterMoment, type Moment, msBetween } from '../runtime/clock.ts'
import { momentProvenBy, RENEW_AFTER_MS, type SentHeartbeat } from './staleness.ts'

/** Each replica delays a due write by a random part of this, so that mostly one replica writes. */
export const MAX_JITTER_MS = 1000
/** Minimum time between two attempts to write; after a success it is RENEW_AFTER_MS. */
const RETRY_AFTER_MS = 1000
/** A watch that has not delivered a stored write after this time is broken; normally that takes milliseconds. */
const DELIVERED_WITHIN_MS = 10_000
/** How many writes of this process are remembered until the watch delivers them. */
const MAX_SENT = 8

/** The knowledge of this process about its watch and the heartbeat key. */
interface HeartbeatState {
  /** The moment up to which the watch is proven complete; null = there is no proof. */
  readonly provenAt: Moment | null
  /** The list in progress, with the moment that it proves once it is complete; null = no list is in progress. */
  readonly listing: { readonly provenAt: Moment | null } | null
  /** Whether a list was ever complete; until then it is unknown whether the heartbeat key exists. */
  readonly isListed: boolean
  /** Whether the watch went back to an earlier state, or may have: nothing is proven until the objects are listed again. */
  readonly hasGap: boolean
  /** The last heartbeat on the watch; null = the heartbeat key does not exist, or has not arrived yet. */
  readonly last: ObservedHeartbeat | null
  /** The last annotation that the watch delivered or that this process read or wrote. */
  readonly annotation: string | undefined
  /** The latest writes of this process. */
  readonly sent: readonly SentHeartbeat[]
  /** When the oldest stored write that the watch has not delivered was sent; null = the watch delivered all. */
  readonly undelivered: Moment | null
  /** Earliest time of the next write, on the monotonic clock. */
  readonly notBeforeMs: number
  /** How long this process delays a due write, from 0 to MAX_JITTER_MS, so that another replica may be first. */
  readonly jitterMs: number
}

/** A heartbeat as it arrived on the watch. */
interface ObservedHeartbeat {
  readonly uid: string
  /** Time of the write, by the clock of its writer; undefined = the annotation is missing. */
  readonly annotation: string | undefined
  /** The previous value of the annotation, as the writer recorded it; empty = none. */
  readonly before: string
}

/**
 * An event on the watch, or in a write of this process.
 * - `distrusted`: the watch of another kind went back to an earlier state, so this one may have, too
 * - `writing`: this process begins to write `heartbeat`
 * - `read`: before the write of `written`, this process read the key with `annotation`
 * - `stored`: the key has a heartbeat at least as recent as `sent`; `isOurs`: this process wrote it
 */
export type HeartbeatEvent =
  | { readonly kind: 'listStarted' }
  | { readonly kind: 'listComplete' }
  | { readonly kind: 'observed'; readonly heartbeat: ObservedHeartbeat; readonly now: Moment }
  | { readonly kind: 'removed'; readonly uid: string }
  | { readonly kind: 'distrusted' }
  | { readonly kind: 'writing'; readonly heartbeat: SentHeartbeat; readonly jitterMs: number }
  | { readonly kind: 'read'; readonly annotation: string | undefined; readonly written: string }
  | {
      readonly kind: 'stored'
      readonly sent: Moment
      readonly isOurs: boolean
      readonly now: Moment
    }

/**
 * The reaction of the process to an event.
 * - `delivered`: report that the watch delivered a write of this process `tookMs` after it was sent
 * - `relist`: list again, because the watch is not complete. `gap`: it went back to an earlier state, as after a
 *   restore of etcd whose versions have caught up; `distrusted`: that of another kind did; `missedWrite`: it has not
 *   delivered a stored write
 */
type HeartbeatEffect =
  | { readonly kind: 'none' }
  | { readonly kind: 'delivered'; readonly tookMs: number }
  | { readonly kind: 'relist'; readonly because: 'gap' | 'distrusted' | 'missedWrite' }

/** The state after an event, and what the process must do. */
interface HeartbeatTransition {
  readonly state: HeartbeatState
  readonly effect: HeartbeatEffect
}

/** The state before the first list. @param jitterMs from 0 to MAX_JITTER_MS */
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

/** Applies an event to the state. */
export function afterHeartbeatEvent(
  state: HeartbeatState,
  event: HeartbeatEvent,
): HeartbeatTransition {
  switch (event.kind) {
    case 'listStarted':
      return withoutEffect({ ...state, listing: { provenAt: null }, last: null })
    case 'listComplete':
      return withoutEffect(afterList(state))
    case 'observed':
      return afterObserved(state, event.heartbeat, event.now)
    case 'removed':
      return withoutEffect(event.uid === state.last?.uid ? { ...state, last: null } : state)
    case 'distrusted':
      return state.hasGap || !state.isListed ? withoutEffect(state) : afterGap(state, 'distrusted')
    case 'writing':
      return withoutEffect({
        ...state,
        sent: [...state.sent, event.heartbeat].slice(-MAX_SENT),
        jitterMs: event.jitterMs,
        notBeforeMs: event.heartbeat.sent.monotonicMs + RETRY_AFTER_MS,
      })
    case 'read': {
      const wasUnseen = isUnseen(state, event.annotation)
      return withoutEffect({ ...state, annotation: wasUnseen ? event.annotation : event.written })
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
  const proofAgesInMs = RENEW_AFTER_MS + state.jitterMs - msBetween(state.provenAt, now)
  return Math.max(proofAgesInMs, state.notBeforeMs - now.monotonicMs)
}

/** Whether another replica wrote this annotation and the watch has not delivered it yet. */
export const isUnseen = (state: HeartbeatState, annotation: string | undefined): boolean =>
  annotation !== undefined && annotation !== state.annotation

const withoutEffect = (state: HeartbeatState): HeartbeatTransition => ({
  state,
  effect: { kind: 'none' },
})

const afterList = (state: HeartbeatState): HeartbeatState =>
  withProof(
    { ...state, listing: null, isListed: true, hasGap: false, undelivered: null },
    state.listing?.provenAt ?? null,
  )

function afterObserved(
  previous: HeartbeatState,
  heartbeat: ObservedHeartbeat,
  now: Moment,
): HeartbeatTransition {
  const { annotation } = heartbeat
  const state = { ...previous, last: heartbeat, annotation }
  const proof = momentProvenBy(annotation, now, previous.sent)
  // The list is incomplete, so it proves nothing yet.
  if (state.listing)
    return withoutEffect({
      ...state,
      listing: { provenAt: laterMoment(state.listing.provenAt, proof) },
    })
  if (state.hasGap) return withoutEffect(state)
  if (previous.last && !isSuccessor(heartbeat, previous.last)) return afterGap(state, 'gap')
  const proven = withProof(state, proof)
  const ownWrite = previous.sent.find(({ written }) => written === annotation)
  if (!ownWrite || proven.provenAt === previous.provenAt) return withoutEffect(proven)
  const tookMs = now.monotonicMs - ownWrite.sent.monotonicMs
  return { state: proven, effect: { kind: 'delivered', tookMs } }
}

const afterGap = (state: HeartbeatState, because: 'gap' | 'distrusted'): HeartbeatTransition => ({
  state: { ...state, hasGap: true, provenAt: null },
  effect: { kind: 'relist', because },
})

/** Relists if a write was stored long ago and the watch has not delivered it, nor a later one. */
function afterStored(
  previous: HeartbeatState,
  sent: Moment,
  isOurs: boolean,
  now: Moment,
): HeartbeatTransition {
  const notBeforeMs = isOurs ? sent.monotonicMs + RENEW_AFTER_MS : previous.notBeforeMs
  const state = { ...previous, notBeforeMs }
  if (isProven(state, sent)) return withoutEffect(state)
  const undelivered = state.undelivered ?? sent
  if (msBetween(undelivered, now) < DELIVERED_WITHIN_MS)
    return withoutEffect({ ...state, undelivered })
  return {
    state: { ...state, undelivered: null },
    effect: { kind: 'relist', because: 'missedWrite' },
  }
}

function withProof(previous: HeartbeatState, proof: Moment | null): HeartbeatState {
  const state = { ...previous, provenAt: laterMoment(previous.provenAt, proof) }
  const isDelivered = state.undelivered !== null && isProven(state, state.undelivered)
  return isDelivered ? { ...state, undelivered: null } : state
}

const isProven = ({ provenAt }: HeartbeatState, moment: Moment): boolean =>
  provenAt !== null && provenAt.monotonicMs >= moment.monotonicMs

const isSuccessor = (now: ObservedHeartbeat, last: ObservedHeartbeat): boolean => {
  const lastTime = last.annotation ?? ''
  return now.uid === last.uid && ((now.annotation ?? '') === lastTime || now.before === lastTime)
}
