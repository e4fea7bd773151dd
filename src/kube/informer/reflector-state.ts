/**
 * The state of a reflector.
 * - `stream`: it lists and watches in one request (WatchList)
 * - `list`: it lists in pages, because the API server refused WatchList
 * - `follow`: it watches from a resourceVersion; `relist` is the way in which it would list again
 */
export type ReflectorState =
  | { readonly at: 'stream' }
  | { readonly at: 'list' }
  | {
      readonly at: 'follow'
      readonly resourceVersion: string
      readonly relist: 'stream' | 'list'
    }

/**
 * How a state ended. `served`: whether at least one event was read. `fault`: the error of the sink or the parser;
 * absent = the API server or the connection failed.
 */
export type Ending =
  | { readonly how: 'listed'; readonly resourceVersion: string }
  | { readonly how: 'closed'; readonly served: boolean }
  | { readonly how: 'silent'; readonly served: boolean }
  | { readonly how: 'expired' }
  | { readonly how: 'absent' }
  | { readonly how: 'refused' }
  | { readonly how: 'failed'; readonly served: boolean; readonly fault?: string }

/** Label values of platform_watch_restarts_total. */
export const RESTART_REASONS = [
  'closed',
  'silent',
  'expired',
  'absent',
  'refused',
  'failed',
] as const

/** Where a reflector is, and what it remembers of the endings before. */
interface ReflectorProgress {
  readonly state: ReflectorState
  /** Number of retries since the watch last worked. */
  readonly retries: number
  /** The last ending of a watch; null = none has ended. A list does not show whether the watch works. */
  readonly previousEnding: Ending['how'] | null
  /** The fault that occurs again and again; null = none. */
  readonly repeated: Repeated | null
}

/** A reflector that has not begun. */
export const NOT_BEGUN: ReflectorProgress = {
  state: { at: 'stream' },
  retries: 0,
  previousEnding: null,
  repeated: null,
}

/** How a reflector goes on. */
interface Recovery {
  readonly progress: ReflectorProgress
  /** The number of retries whose back-off it waits for first; null = it goes on at once. */
  readonly backOffAfter: number | null
  /** Whether it lists again because of a repeated fault. Until that list its sink is not current. */
  readonly isStuck: boolean
}

/** How the reflector goes on after an ending. @param before its progress, with the state that ended */
export function recoveryAfter(before: ReflectorProgress, ending: Ending): Recovery {
  const { state: ended } = before
  const { state, wait } = afterEnding(ended, ending)
  const repeated = repeatedAfter(before.repeated, ended, ending)
  const isFault = ending.how === 'failed' && ending.fault !== undefined
  const isStuck = isFault && repeated !== null && repeated.times >= STUCK_AFTER
  const previousEnding = ending.how === 'listed' ? before.previousEnding : ending.how
  const retries = mustResetBackoff(ending, before.previousEnding) ? 0 : before.retries
  const progress = { state: isStuck ? relistFrom(ended) : state, previousEnding, repeated }
  if (wait) {
    const hasWorked = ended.at === 'follow' && 'served' in ending && ending.served
    const next = { ...progress, retries: hasWorked ? 0 : retries + 1 }
    return { progress: next, backOffAfter: retries, isStuck }
  }
  // A list after a 410 does not reset the back-off: the watch that follows may get another 410.
  const isListAfterExpiry = ending.how === 'listed' && previousEnding === 'expired'
  const next = { ...progress, retries: isListAfterExpiry ? retries : 0 }
  return { progress: next, backOffAfter: null, isStuck }
}

/** The next state, and whether to wait for the back-off before entering it. */
interface Transition {
  readonly state: ReflectorState
  readonly wait: boolean
}

/**
 * The next state after an ending. Every ending has one: a reflector never gives up.
 *
 * After a broken connection it watches from the last resourceVersion. It lists again after `expired` (410), after
 * `absent`, and after a silent watch without any event or bookmark: the API server may have been restored to an older
 * state.
 */
function afterEnding(state: ReflectorState, ending: Ending): Transition {
  const relist = relistFrom(state)
  switch (ending.how) {
    case 'listed':
      return { state: following(state, ending.resourceVersion), wait: false }
    case 'closed':
      return {
        state: state.at === 'follow' ? state : relist,
        wait: !ending.served || state.at !== 'follow',
      }
    case 'silent':
      return { state: state.at === 'follow' && ending.served ? state : relist, wait: false }
    case 'expired':
    case 'absent':
      return { state: relist, wait: true }
    case 'refused':
      return { state: { at: 'list' }, wait: false }
    case 'failed':
      return { state: state.at === 'follow' ? state : relist, wait: true }
    default:
      return ending satisfies never
  }
}

/**
 * Whether an ending resets the back-off: a 410 does, as the API server responds and a list repairs it. A second one
 * in a row does not, or the reflector would list every 200 ms.
 */
const mustResetBackoff = (ending: Ending, before: Ending['how'] | null): boolean =>
  ending.how === 'expired' && before !== 'expired'

/** A fault of the sink or the parser that occurred again from the same resourceVersion. */
interface Repeated {
  readonly fault: string
  /** The resourceVersion that the reflector watched from; empty = it listed. */
  readonly from: string
  /** Number of occurrences in a row. */
  readonly times: number
}

/** After this number of equal faults from one resourceVersion the reflector lists instead of watching again. */
const STUCK_AFTER = 3

/** The repeated fault after an ending; null = none yet. Failures of API server or connection do not reset it. */
function repeatedAfter(
  before: Repeated | null,
  state: ReflectorState,
  ending: Ending,
): Repeated | null {
  if (ending.how !== 'failed' || ending.fault === undefined) return before
  const { fault } = ending
  const from = state.at === 'follow' ? state.resourceVersion : ''
  const isSame = before?.fault === fault && before.from === from
  return { fault, from, times: isSame ? before.times + 1 : 1 }
}

/** The state in which the reflector lists again. */
export const relistFrom = (state: ReflectorState): ReflectorState => ({ at: listMethodOf(state) })

/** The state in which the reflector watches from this resourceVersion. Its way to list again stays the same. */
export function following(state: ReflectorState, resourceVersion: string): ReflectorState {
  return { at: 'follow', resourceVersion, relist: listMethodOf(state) }
}

const listMethodOf = (state: ReflectorState): 'stream' | 'list' =>
  state.at === 'follow' ? state.relist : state.at
