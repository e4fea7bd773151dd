/**
 * Where a watcher stands.
 * - `stream`: asks for everything and what follows in one stream (WatchList)
 * - `list`: asks for everything in pages, because the server refused that
 * - `follow`: has everything up to a resourceVersion and reads what follows; `anew` is how it got
 *   there and would again
 */
export type WatchState =
  | { readonly at: 'stream' }
  | { readonly at: 'list' }
  | {
      readonly at: 'follow'
      readonly resourceVersion: string
      readonly anew: 'stream' | 'list'
    }

/**
 * How a state ended. `served`: whether anything was read before it did. `fault`: what was read can't be taken in,
 * and why; absent where the server or the connection failed.
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

/** The next state, and whether to wait for the back-off before entering it. */
export interface Transition {
  readonly state: WatchState
  readonly wait: boolean
}

/**
 * What a watcher does when a state has ended. Every ending leads on: a watcher never gives up.
 *
 * A connection that broke is taken up where it was. A full listing is the price where what was
 * missed can't be known otherwise: `expired` (410), `absent`, and a stream that was opened and never
 * said a word, as it does when the server was restored to a state before our resourceVersion.
 */
export function afterEnding(state: WatchState, ending: Ending): Transition {
  const anew = anewFrom(state)
  switch (ending.how) {
    case 'listed':
      return { state: following(state, ending.resourceVersion), wait: false }
    case 'closed':
      return {
        state: state.at === 'follow' ? state : anew,
        wait: !ending.served || state.at !== 'follow',
      }
    case 'silent':
      return { state: state.at === 'follow' && ending.served ? state : anew, wait: false }
    case 'expired':
    case 'absent':
      return { state: anew, wait: true }
    case 'refused':
      return { state: { at: 'list' }, wait: false }
    case 'failed':
      return { state: state.at === 'follow' ? state : anew, wait: true }
    default:
      return ending satisfies never
  }
}

/**
 * Whether the back-off begins anew: a version that is too old (410) is an answer, and a listing mends it. Not
 * where the one before was too old as well, or a listing would follow a listing every 200 ms.
 */
export const beginsAnew = (ending: Ending, before: Ending['how'] | null): boolean =>
  ending.how === 'expired' && before !== 'expired'

/** A fault in what a watcher read, and how often it met it in a row from the same place. */
export interface Repeated {
  readonly fault: string
  /** The resourceVersion that it went on from; empty = it asked for everything. */
  readonly from: string
  readonly times: number
}

/** So many faults of one kind at one place are no accident: asking for the same events again mends nothing. */
const STUCK_AFTER = 3

/** What repeats once a state has ended; what the server or the connection does in between changes nothing. */
export function repeatedAfter(
  before: Repeated | null,
  state: WatchState,
  ending: Ending,
): Repeated | null {
  if (ending.how !== 'failed' || ending.fault === undefined) return before
  const { fault } = ending
  const from = state.at === 'follow' ? state.resourceVersion : ''
  const isSame = before?.fault === fault && before.from === from
  return { fault, from, times: isSame ? before.times + 1 : 1 }
}

/** Whether a watcher lists anew, and is not to be relied on before it has everything. */
export const isStuck = (repeated: Repeated | null): boolean => (repeated?.times ?? 0) >= STUCK_AFTER

/** The state that asks for everything again. */
export const anewFrom = (state: WatchState): WatchState => ({ at: wayOf(state) })

/** The same watcher, once it has everything up to this resourceVersion. */
export function following(state: WatchState, resourceVersion: string): WatchState {
  return { at: 'follow', resourceVersion, anew: wayOf(state) }
}

const wayOf = (state: WatchState): 'stream' | 'list' =>
  state.at === 'follow' ? state.anew : state.at
