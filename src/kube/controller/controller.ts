import { randomUUID } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import { NoResponseError, NotLeaderError, StatusError, isConflict } from '../client/api-error.ts'
import type { CircuitBreaker } from '../client/circuit-breaker.ts'
import type { CachedObject } from '../informer/store.ts'
import type { WorkQueue } from './work-queue.ts'

/** What a reconcile leaves to do: nothing, or another reconcile at a time in epoch milliseconds. */
export type Outcome =
  | { readonly result: 'done' }
  | { readonly result: 'later'; readonly atMs: number }

/** Nothing to do until the object or a setting changes. */
export const done: Outcome = { result: 'done' }

/** How a reconcile ended, in controller-runtime's words. */
export const RECONCILE_RESULTS = ['success', 'requeue', 'requeue_after', 'error'] as const

/** One of RECONCILE_RESULTS. */
type ReconcileResult = (typeof RECONCILE_RESULTS)[number]

/** Called for each reconcile, for the controller_runtime_* metrics. */
export interface ControllerObserver {
  started(): void
  finished(result: ReconcileResult, seconds: number): void
}

/** One controller: a queue of keys, its workers, and the function that reconciles one key. */
export interface ControllerOptions {
  readonly name: string
  readonly queue: WorkQueue
  readonly workers: number
  readonly reconcile: (key: string) => Promise<Outcome>
  /** The object of a key, for the log; undefined when there is none. */
  readonly objectOf: (key: string) => CachedObject | undefined
  readonly clock: Clock
  readonly turns: EventLoopShare
  readonly outage: Pick<CircuitBreaker, 'isCertain'>
  readonly log: Log
  readonly observer: ControllerObserver
}

/** Takes no more keys; resolves when reconciles in flight have finished. */
export type StopController = () => Promise<void>

/**
 * Runs the loop. One of the two places that catch every error. A conflict means a stale cache: it is retried
 * without a log line. Any other error is logged and retried after the key's back-off, or Retry-After.
 * Without an answer from the API server the key waits for the queue's gate.
 */
export function startController(options: ControllerOptions): StopController {
  const unanswered = new Set<string>()
  const workers = Array.from({ length: options.workers }, () => work(options, unanswered))
  return async () => {
    options.queue.close()
    await Promise.all(workers)
  }
}

async function work(options: ControllerOptions, unanswered: Set<string>): Promise<void> {
  const { queue, turns } = options
  for (let key = await queue.take(); key !== null; key = await queue.take()) {
    await turns.pass()
    await handle(options, key, unanswered)
    queue.done(key)
  }
}

async function handle(
  options: ControllerOptions,
  key: string,
  unanswered: Set<string>,
): Promise<void> {
  const { queue, clock, observer, reconcile } = options
  const startedMs = clock.monotonicMs()
  observer.started()
  const finish = (result: ReconcileResult): void => {
    const tookMs = clock.monotonicMs() - startedMs
    observer.finished(result, tookMs / 1000)
    // A refresh reconciles 100,000 keys: build no line that is not logged.
    if (options.log.tellsDebug) logReconcile(options, key, result, tookMs)
  }
  try {
    const outcome = await reconcile(key)
    queue.forget(key)
    unanswered.delete(key)
    if (outcome.result === 'later') queue.addAt(key, outcome.atMs)
    finish(outcome.result === 'later' ? 'requeue_after' : 'success')
  } catch (error) {
    const isAway = error instanceof NoResponseError && isOutage(options, key, unanswered)
    finish(isAway ? waitForAnswer(options, key, error) : tryAgain(options, key, error))
  }
}

function logReconcile(
  { name: controller, objectOf, log }: ControllerOptions,
  key: string,
  result: ReconcileResult,
  tookMs: number,
): void {
  const found = objectOf(key)
  const object = found
    ? { name: found.name, uid: found.uid, resourceVersion: found.resourceVersion }
    : { name: key }
  log.debug({ controller, object, reconcileID: randomUUID(), result, tookMs }, 'reconciled')
}

/**
 * Whether the missing answer is an outage and no fault of this key. The first time, yes. Then other requests
 * must lack answers too: a request that breaks its connection each time needs a back-off.
 */
function isOutage({ outage }: ControllerOptions, key: string, unanswered: Set<string>): boolean {
  const isTrusted = outage.isCertain || !unanswered.has(key)
  unanswered.add(key)
  return isTrusted
}

function waitForAnswer(
  { name, queue, log }: ControllerOptions,
  key: string,
  err: NoResponseError,
): 'requeue' {
  queue.add(key, 'due')
  log.debug(
    { controller: name, object: { name: key }, err },
    'no answer: waiting for the API server',
  )
  return 'requeue'
}

function tryAgain(
  { name, queue, log }: ControllerOptions,
  key: string,
  error: unknown,
): 'requeue' | 'error' {
  const retryAfterMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0
  const inMs = queue.retry(key, retryAfterMs)
  if (isConflict(error) || error instanceof NotLeaderError) {
    log.debug(
      { controller: name, object: { name: key }, inMs, because: error.name },
      'object changed under us, or we lead no more: trying again',
    )
    return 'requeue'
  }
  log.error(
    { controller: name, object: { name: key }, inMs, err: error },
    'reconcile failed, trying again',
  )
  return 'error'
}
