// Evaluates the expressions of patches in a worker thread, which is killed when an expression overruns.
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../runtime/clock.ts'
import {
  BOUNDS,
  type Evaluate,
  type EvaluationRequest,
  type EvaluationResult,
  OVERRUN,
  type TimeBounds,
  type WorkerMessage,
  failedForNow,
} from './protocol.ts'

/** A sandbox for expressions. */
interface Sandbox {
  /** Evaluates after those that were asked for before. After `close` it answers with a failure. */
  readonly evaluate: Evaluate
  /** Ends the worker. */
  readonly close: () => Promise<void>
}

interface QueuedEvaluation {
  readonly request: EvaluationRequest
  readonly resolve: (result: EvaluationResult) => void
}

/**
 * Starts the worker.
 *
 * @param clock bounds each evaluation by the wall clock
 * @param bounds its times in milliseconds; absent = those of contract 19.4
 */
export const createSandbox = (clock: Clock, bounds: TimeBounds = BOUNDS): Sandbox =>
  new WorkerSandbox(clock, bounds)

const CLOSED = failedForNow('the process ends')
const DIED = failedForNow('it ended the sandbox')
const NOT_STARTED = failedForNow('the sandbox can not start')

class WorkerSandbox implements Sandbox {
  readonly #clock: Clock
  readonly #bounds: TimeBounds
  readonly #waiting: QueuedEvaluation[] = []
  /** null after one that could not start: the next request starts another. */
  #worker: Worker | null
  #isReady = false
  #isClosed = false
  #current: { readonly waiting: QueuedEvaluation; readonly cancel: () => void } | null = null

  constructor(clock: Clock, bounds: TimeBounds) {
    this.#clock = clock
    this.#bounds = bounds
    this.#worker = this.#start()
  }

  readonly evaluate: Evaluate = (request) => {
    if (this.#isClosed) return Promise.resolve(CLOSED)
    this.#worker ??= this.#start()
    return new Promise((resolve) => {
      this.#waiting.push({ request, resolve })
      this.#next()
    })
  }

  readonly close = async (): Promise<void> => {
    this.#isClosed = true
    this.#answer(CLOSED)
    this.#answerWaiting(CLOSED)
    await this.#worker?.terminate()
  }

  #start(): Worker {
    this.#isReady = false
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
      workerData: this.#bounds.interruptMs,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    // A worker that was replaced says nothing that counts.
    const isCurrent = (): boolean => worker === this.#worker
    worker.on('message', (message: WorkerMessage) => {
      if (isCurrent()) this.#receive(message)
    })
    worker.on('error', () => {
      if (isCurrent()) this.#fail()
    })
    return worker
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === 'ready') this.#isReady = true
    else if (message.isBroken) return this.#replace(message.result)
    else this.#answer(message.result)
    this.#next()
  }

  #next(): void {
    if (!this.#worker || !this.#isReady || this.#current || this.#isClosed) return
    const waiting = this.#waiting.shift()
    if (!waiting) return
    // The result may have arrived while this thread was busy: it is read before the check.
    const cancel = this.#clock.schedule(this.#bounds.wallMs, () => {
      setImmediate(() => {
        if (this.#current?.waiting === waiting) this.#replace(OVERRUN)
      })
    })
    this.#current = { waiting, cancel }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    this.#worker.postMessage(waiting.request)
  }

  /** One that fails before it is ready would do so again: all requests end. */
  #fail(): void {
    if (this.#isReady) return this.#replace(DIED)
    this.#worker = null
    this.#answerWaiting(NOT_STARTED)
  }

  #answerWaiting(result: EvaluationResult): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(result)
  }

  #replace(result: EvaluationResult): void {
    void this.#worker?.terminate()
    if (!this.#isClosed) this.#worker = this.#start()
    this.#answer(result)
  }

  #answer(result: EvaluationResult): void {
    const current = this.#current
    if (!current) return
    this.#current = null
    current.cancel()
    current.waiting.resolve(result)
  }
}
