/**
 * The state of a reflector.
 * - `stream`: lists and watches in one request (WatchList)
 * - `list`: lists in pages, because the server refused WatchList
 * - `follow`: has everything up to a resourceVersion, and watches from there; `relist` is how it lists again
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
 * How a state ended. `served`: whether an event was read before. `fault`: the error of the sink or the parser;
 * absent when the server or the connection failed.
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
interface Transition {
  readonly state: ReflectorState
  readonly wait: boolean
}

/**
 * The next state after an ending. Every ending has one: a reflector never gives up.
 *
 * After a broken connection it watches from the last resourceVersion. It lists again after `expired` (410),
 * `absent`, and a watch without a single event or bookmark: the server may have been restored to a state
 * before our resourceVersion.
 */
export function afterEnding(state: ReflectorState, ending: Ending): Transition {
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
 * Whether to reset the back-off: a 410 is an answer, and a list mends it. Not after two of them in a row, or
 * the reflector would list every 200 ms.
 */
export const mustRelist = (ending: Ending, before: Ending['how'] | null): boolean =>
  ending.how === 'expired' && before !== 'expired'

/** A fault of the sink, and how often in a row it was met from the same resourceVersion. */
export interface Repeated {
  readonly fault: string
  /** The resourceVersion that it watched from; empty = it listed. */
  readonly from: string
  readonly times: number
}

/** After so many equal faults from one resourceVersion, to read the same events again mends nothing. */
const STUCK_AFTER = 3

/** The repeated fault after an ending. Failures of server or connection in between do not reset it. */
export function repeatedAfter(
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

/** Whether a reflector must list again, and is not current before it has. */
export const isStuck = (repeated: Repeated | null): boolean => (repeated?.times ?? 0) >= STUCK_AFTER

/** The state that lists again. */
export const relistFrom = (state: ReflectorState): ReflectorState => ({ at: wayOf(state) })

/** The state that watches from this resourceVersion, and lists again as this state would. */
export function following(state: ReflectorState, resourceVersion: string): ReflectorState {
  return { at: 'follow', resourceVersion, relist: wayOf(state) }
}

const wayOf = (state: ReflectorState): 'stream' | 'list' =>
  state.at === 'follow' ? state.relist : state.at
