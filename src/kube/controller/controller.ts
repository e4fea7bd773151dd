import { randomUUID } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import { NoResponseError, NotLeaderError, StatusError, isConflict } from '../client/api-error.ts'
import type { CircuitBreaker } from '../client/circuit-breaker.ts'
import type { CachedObject } from '../informer/store.ts'
import { ReportedFailure } from './reported-failure.ts'
import type { WorkQueue } from './work-queue.ts'
import type { WorkerPlaces } from './worker-places.ts'

/** What follows a reconcile: nothing, or another reconcile at `atMs` in epoch milliseconds. */
export type Outcome =
  | { readonly result: 'done' }
  | { readonly result: 'later'; readonly atMs: number }

/** No reconcile until the object or a setting changes. */
export const done: Outcome = { result: 'done' }

/** Label values for the result of a reconcile, as in controller-runtime. */
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
  /** The places of the workers, which a reconcile can leave for a while; null = none does. */
  readonly places: WorkerPlaces | null
  readonly reconcile: (key: string) => Promise<Outcome>
  /** The object of a key, for the log; undefined when there is none. */
  readonly objectOf: (key: string) => CachedObject | undefined
  readonly clock: Clock
  readonly eventLoop: EventLoopShare
  readonly outage: Pick<CircuitBreaker, 'isCertain'>
  readonly log: Log
  readonly observer: ControllerObserver
}

/** Stops the controller: it takes no more keys. Resolves when the reconciles in flight have finished. */
export type StopController = () => Promise<void>

/**
 * Runs the reconcile loop, one of the two places that catch every error. Errors are retried after the key's back-off
 * or Retry-After, and logged, except conflicts, which mean a stale cache, and what is reported already. During an outage
 * keys wait for the queue's gate.
 */
export function startController(options: ControllerOptions): StopController {
  const keysWithoutAnswer = new Set<string>()
  const running = new Set<Promise<void>>()
  const start = (): void => {
    const isNeeded = (): boolean => running.size <= options.workers + (options.places?.left ?? 0)
    const worker = runWorker(options, keysWithoutAnswer, isNeeded).finally(() =>
      running.delete(worker),
    )
    running.add(worker)
  }
  for (let count = 0; count < options.workers; count += 1) start()
  options.places?.whenLeft(() => {
    if (running.size < options.workers + (options.places?.left ?? 0)) start()
  })
  return async () => {
    options.queue.close()
    while (running.size > 0) await Promise.all(running)
  }
}

async function runWorker(
  options: ControllerOptions,
  keysWithoutAnswer: Set<string>,
  isNeeded: () => boolean,
): Promise<void> {
  const { queue, eventLoop, places } = options
  for (let key = await queue.take(); key !== null; key = await queue.take()) {
    await eventLoop.waitForTurn()
    if (places) await places.take()
    await reconcileKey(options, key, keysWithoutAnswer)
    places?.giveBack()
    queue.done(key)
    if (!isNeeded()) return
  }
}

async function reconcileKey(
  options: ControllerOptions,
  key: string,
  keysWithoutAnswer: Set<string>,
): Promise<void> {
  const { queue, clock, observer, reconcile } = options
  const startedMs = clock.monotonicMs()
  observer.started()
  const finish = (result: ReconcileResult): void => {
    const tookMs = clock.monotonicMs() - startedMs
    observer.finished(result, tookMs / 1000)
    // A resync reconciles 100,000 keys: build only lines that are logged.
    if (options.log.isDebugEnabled) logReconcile(options, key, result, tookMs)
  }
  try {
    const outcome = await reconcile(key)
    queue.forget(key)
    keysWithoutAnswer.delete(key)
    if (outcome.result === 'later') queue.addAt(key, outcome.atMs)
    finish(outcome.result === 'later' ? 'requeue_after' : 'success')
  } catch (error) {
    const isDown = error instanceof NoResponseError && isOutage(options, key, keysWithoutAnswer)
    finish(isDown ? waitForAnswer(options, key, error) : retry(options, key, error))
  }
}

function logReconcile(
  { name: controller, objectOf, log }: ControllerOptions,
  key: string,
  result: ReconcileResult,
  tookMs: number,
): void {
  const found = objectOf(key)
  const object = found ? referenceOf(found) : { name: key }
  log.debug({ controller, object, reconcileID: randomUUID(), result, tookMs }, 'reconciled')
}

const referenceOf = ({ name, namespace, uid, resourceVersion }: CachedObject) => ({
  ...(namespace === undefined ? {} : { namespace }),
  name,
  uid,
  resourceVersion,
})

/**
 * Whether a missing answer counts as an outage, not as a fault of this key. After the first one of a key, other
 * requests must fail as well: a request that always breaks its connection needs a back-off.
 */
function isOutage(
  { outage }: ControllerOptions,
  key: string,
  keysWithoutAnswer: Set<string>,
): boolean {
  const countsAsOutage = outage.isCertain || !keysWithoutAnswer.has(key)
  keysWithoutAnswer.add(key)
  return countsAsOutage
}

function waitForAnswer(
  { name, queue, log }: ControllerOptions,
  key: string,
  err: NoResponseError,
): 'requeue' {
  queue.requeue(key)
  log.debug(
    { controller: name, object: { name: key }, err },
    'no answer: waiting for the API server',
  )
  return 'requeue'
}

function retry(
  { name, queue, log }: ControllerOptions,
  key: string,
  error: unknown,
): 'requeue' | 'error' {
  const isReported = error instanceof ReportedFailure
  const retryAfterMs = isReported || error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0
  const inMs = queue.retry(key, retryAfterMs, isReported ? error.longestMs : null)
  if (isConflict(error) || error instanceof NotLeaderError) {
    log.debug(
      { controller: name, object: { name: key }, inMs, because: error.name },
      'object changed under us, or we lead no more: trying again',
    )
    return 'requeue'
  }
  if (isReported) {
    const fields = { controller: name, object: { name: key }, inMs, because: error.message }
    log.debug(fields, 'as reported: trying again')
    return 'error'
  }
  log.error(
    { controller: name, object: { name: key }, inMs, err: error },
    'reconcile failed, trying again',
  )
  return 'error'
}
