// What follows a reconcile.

/** What follows a reconcile: nothing, or another reconcile at `atMs` in epoch milliseconds. */
export type Outcome =
  | { readonly result: 'done' }
  | { readonly result: 'later'; readonly atMs: number }

/** No reconcile until the object or a setting changes. */
export const done: Outcome = { result: 'done' }

/** The shortest delay of a requeue after a write, in milliseconds: a time in the past must not make a hot loop. */
export const REQUEUE_AFTER_MS = 1000

/** Another reconcile at that time, in epoch milliseconds; null = none. */
export const requeueAt = (atMs: number | null): Outcome =>
  atMs === null ? done : { result: 'later', atMs }

/** As requeueAt after a write: REQUEUE_AFTER_MS later at the earliest. */
export const requeueAfterWrite = (atMs: number | null, nowMs: number): Outcome =>
  requeueAt(atMs === null ? null : Math.max(atMs, nowMs + REQUEUE_AFTER_MS))

/** The outcome that comes first; `done` comes never. */
export function sooner(a: Outcome, b: Outcome): Outcome {
  if (a.result === 'done') return b
  return b.result === 'done' || a.atMs <= b.atMs ? a : b
}
