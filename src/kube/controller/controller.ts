import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Log } from '../../runtime/log.ts'
import { NoResponseError, NotLeaderError, StatusError, isConflict } from '../client/api-error.ts'
import type { CircuitBreaker } from '../client/circuit-breaker.ts'
import type { Outcome } from './outcome.ts'
import {
  type LoggedObject,
  type ReconcileContext,
  createReconcileContext,
} from './reconcile-context.ts'
import { ReportedFailure } from './reported-failure.ts'
import type { WorkQueue } from './work-queue.ts'
import type { WorkerPlaces } from './worker-places.ts'

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
interface ControllerOptions {
  readonly name: string
  readonly queue: WorkQueue
  readonly workers: number
  /** The places of the workers, which a reconcile can leave for a while; null = none does. */
  readonly places: WorkerPlaces | null
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<Outcome>
  /** The object of a key, for the log; undefined = the key is its name. */
  readonly objectOf: (key: string) => LoggedObject | undefined
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
  const { name, queue, clock, observer, reconcile, objectOf } = options
  const startedMs = clock.monotonicMs()
  const context = createReconcileContext({ controller: name, key, objectOf, log: options.log })
  observer.started()
  const finish = (result: ReconcileResult): void => {
    const tookMs = clock.monotonicMs() - startedMs
    observer.finished(result, tookMs / 1000)
    // A resync reconciles 100,000 keys: build only lines that are logged.
    if (options.log.isDebugEnabled) context.log.debug({ result, tookMs }, 'reconciled')
  }
  try {
    const outcome = await reconcile(key, context)
    queue.forget(key)
    keysWithoutAnswer.delete(key)
    if (outcome.result === 'later') queue.addAt(key, outcome.atMs)
    finish(outcome.result === 'later' ? 'requeue_after' : 'success')
  } catch (error) {
    const isDown = error instanceof NoResponseError && isOutage(options, key, keysWithoutAnswer)
    const failed = { key, context }
    finish(isDown ? waitForAnswer(queue, failed, error) : retry(queue, failed, error))
  }
}

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

/** A reconcile that failed. */
interface FailedReconcile {
  readonly key: string
  readonly context: ReconcileContext
}

function waitForAnswer(
  queue: WorkQueue,
  { key, context }: FailedReconcile,
  err: NoResponseError,
): 'requeue' {
  queue.requeue(key)
  context.log.debug({ err }, 'no answer: waiting for the API server')
  return 'requeue'
}

function retry(
  queue: WorkQueue,
  { key, context: { log } }: FailedReconcile,
  error: unknown,
): 'requeue' | 'error' {
  const isReported = error instanceof ReportedFailure
  const retryAfterMs = isReported || error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0
  const inMs = queue.retry(key, retryAfterMs, isReported ? error.longestMs : null)
  if (isConflict(error) || error instanceof NotLeaderError) {
    log.debug(
      { inMs, because: error.name },
      'object changed under us, or we lead no more: trying again',
    )
    return 'requeue'
  }
  if (isReported) log.debug({ inMs, because: error.message }, 'as reported: trying again')
  else log.error({ inMs, err: error }, 'reconcile failed, trying again')
  return 'error'
}
