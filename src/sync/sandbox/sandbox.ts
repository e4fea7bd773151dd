// Evaluates the expressions of patches in a worker thread, which is killed when an expression overruns.
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../runtime/clock.ts'
import { EvaluationQueue, type QueuedEvaluation } from './evaluation-queue.ts'
import {
  BOUNDS,
  type EvaluationRequest,
  type EvaluationResult,
  failedForNow,
  isBreach,
  OVERRUN,
  type SandboxEvaluate,
  type TimeBounds,
  type WorkerMessage,
  type WorkerRequest,
} from './protocol.ts'

/** A sandbox for expressions. */
export interface Sandbox {
  /** Evaluates in the order of requests, but for those that take long. After `close` it answers with a failure. */
  readonly evaluate: SandboxEvaluate
  /** Ends the worker. */
  readonly close: () => Promise<void>
}

/** A request that has no answer yet. */
interface Waiting {
  readonly resolve: (result: EvaluationResult) => void
  readonly place: Parameters<SandboxEvaluate>[1]
  hasLeft: boolean
}

/**
 * Starts the worker.
 *
 * @param clock bounds each evaluation by the wall clock
 * @param bounds its times in milliseconds; absent = the bounds of contract 19.4
 */
export const createSandbox = (clock: Clock, bounds: TimeBounds = BOUNDS): Sandbox =>
  new WorkerSandbox(clock, bounds)

const CLOSED = failedForNow('the process ends')
const DIED = failedForNow('it ended the sandbox')
const NOT_STARTED = failedForNow('the sandbox cannot start')

class WorkerSandbox implements Sandbox {
  readonly #clock: Clock
  readonly #bounds: TimeBounds
  readonly #queue: EvaluationQueue
  readonly #waiting = new Map<EvaluationRequest, Waiting>()
  /** null after one that could not start: the next request starts another. */
  #worker: Worker | null
  #isReady = false
  #isClosed = false
  #current: { readonly queued: QueuedEvaluation; readonly cancel: () => void } | null = null

  constructor(clock: Clock, bounds: TimeBounds) {
    this.#clock = clock
    this.#bounds = bounds
    this.#queue = new EvaluationQueue(bounds.sliceMs)
    this.#worker = this.#start()
  }

  readonly evaluate: SandboxEvaluate = (given, place) => {
    if (this.#isClosed) return Promise.resolve(CLOSED)
    this.#worker ??= this.#start()
    // One of its own, as the same request may be made twice.
    const request = { ...given }
    return new Promise((resolve) => {
      this.#waiting.set(request, { resolve, place, hasLeft: false })
      if (this.#queue.add(request)) this.#leave(request)
      this.#next()
    })
  }

  readonly close = async (): Promise<void> => {
    this.#isClosed = true
    this.#current?.cancel()
    this.#current = null
    this.#answerAll(CLOSED)
    await this.#worker?.terminate()
  }

  #start(): Worker {
    this.#isReady = false
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
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
    else this.#finish(message.result)
    this.#next()
  }

  #next(): void {
    if (!this.#worker || !this.#isReady || this.#current || this.#isClosed) return
    const queued = this.#queue.shift()
    if (!queued) return
    // The result may have arrived while this thread was busy: it is read before the check.
    const cancel = this.#clock.schedule(this.#bounds.wallMs, () => {
      setImmediate(() => {
        if (this.#current?.queued === queued) this.#replace(OVERRUN)
      })
    })
    this.#current = { queued, cancel }
    const interruptMs = queued.sliceMs ?? this.#bounds.interruptMs
    const message: WorkerRequest = { request: queued.request, interruptMs }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    this.#worker.postMessage(message)
  }

  /** One that fails before it is ready would do so again: all requests end. */
  #fail(): void {
    if (this.#isReady) return this.#replace(DIED)
    this.#worker = null
    this.#answerAll(NOT_STARTED)
  }

  #replace(result: EvaluationResult): void {
    void this.#worker?.terminate()
    if (!this.#isClosed) this.#worker = this.#start()
    // An evaluation that was ended gets no more time.
    this.#learn(result)
  }

  /** An evaluation that overran a slice runs again, once no other one waits for a slice. */
  #finish(result: EvaluationResult): void {
    const isOverrun = result.kind === 'failed' && result.isTransient
    const { queued } = this.#current ?? {}
    if (!queued || queued.sliceMs === null || !isOverrun) return this.#learn(result)
    this.#current?.cancel()
    this.#current = null
    this.#queue.addAgain(queued.request)
    this.#leave(queued.request)
  }

  #learn(result: EvaluationResult): void {
    if (!this.#current) return
    const { request } = this.#current.queued
    this.#current.cancel()
    this.#current = null
    if (isBreach(result)) this.#queue.broke(request)
    else this.#queue.kept(request)
    this.#answer(request, result)
  }

  #leave(request: EvaluationRequest): void {
    const waiting = this.#waiting.get(request)
    if (!waiting) return
    waiting.hasLeft = true
    waiting.place?.leave()
  }

  #answer(request: EvaluationRequest, result: EvaluationResult): void {
    const waiting = this.#waiting.get(request)
    this.#waiting.delete(request)
    if (!waiting) return
    const { place, hasLeft, resolve } = waiting
    if (hasLeft && place) void place.enter().then(() => resolve(result))
    else resolve(result)
  }

  #answerAll(result: EvaluationResult): void {
    this.#queue.clear()
    for (const request of this.#waiting.keys()) this.#answer(request, result)
  }
}
