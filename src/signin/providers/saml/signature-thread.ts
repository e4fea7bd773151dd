// The thread that verifies signatures (contract 25.6 "saml"): one message at a time, and it is ended when one takes too long.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { type Clock, withTimeout } from '../../../runtime/clock.ts'
import type { SignatureAnswer, SignatureRequest } from './signature-protocol.ts'

/** Wall clock of one message, in milliseconds. */
const WITHIN_MS = 2000
/** A thread starts in 100 ms, on a busy machine in a second. */
const STARTED_WITHIN_MS = 10_000
/** How long a thread without work is kept: people come together. */
const KEPT_FOR_MS = 30_000

/**
 * Verifies the signatures of a Response, after those that were asked for before, and returns the bytes that were signed. The
 * signal takes away a request that has not begun.
 *
 * @throws SignInRefused `provider_answer` where a signature does not verify, or takes longer than two seconds
 */
export type VerifySignatures = (
  request: SignatureRequest,
  signal: AbortSignal,
) => Promise<readonly string[]>

/** Creates the way to a thread. It starts with the first request, and ends without work or when the signal aborts. */
export const createSignatureThread = (clock: Clock, signal: AbortSignal): VerifySignatures =>
  new SignatureThread(clock, signal).verify

class SignatureThread {
  readonly #clock: Clock
  /** Of the process, which outlives this: it is listened to while there is a thread. */
  readonly #stopping: AbortSignal
  #worker: Worker | null = null
  #last: Promise<unknown> = Promise.resolve()
  #cancelEnd: () => void = () => undefined

  constructor(clock: Clock, stopping: AbortSignal) {
    this.#clock = clock
    this.#stopping = stopping
  }

  readonly verify: VerifySignatures = (request, signal) => {
    const turn = this.#last.then(() => {
      if (signal.aborted) throw refused('the caller has gone')
      return this.#verifyNow(request)
    })
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Ends the thread, and what it does. The next request starts another. */
  readonly #end = (): void => {
    this.#stopping.removeEventListener('abort', this.#end)
    this.#cancelEnd()
    void this.#worker?.terminate()
    this.#worker = null
  }

  async #verifyNow(request: SignatureRequest): Promise<readonly string[]> {
    this.#cancelEnd()
    const answer = await this.#answerTo(request)
    if (answer === null)
      throw refused('a signature is not of a certificate in the settings, or of another content')
    return answer
  }

  async #answerTo(request: SignatureRequest): Promise<SignatureAnswer> {
    try {
      this.#worker ??= await this.#started()
      const answer = await this.#nextMessage(this.#worker, WITHIN_MS, request)
      this.#cancelEnd = this.#clock.schedule(KEPT_FOR_MS, this.#end)
      return answer as SignatureAnswer
    } catch {
      this.#end()
      throw refused('a signature was not verified within two seconds')
    }
  }

  async #started(): Promise<Worker> {
    this.#stopping.throwIfAborted()
    this.#stopping.addEventListener('abort', this.#end, { once: true })
    const worker = new Worker(new URL('./signature-worker.ts', import.meta.url), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    })
    // A thread without work keeps no process from its end.
    worker.unref()
    // Without a listener, a thread that fails between two requests would end the process.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      if (worker === this.#worker) this.#worker = null
    })
    try {
      await this.#nextMessage(worker, STARTED_WITHIN_MS, null)
      // `end` knows no thread that has not started.
      this.#stopping.throwIfAborted()
      return worker
    } catch (error) {
      void worker.terminate()
      throw error
    }
  }

  /** The next message of the thread. @param request what it is asked; null = nothing @throws Error when it is late or dies */
  #nextMessage(worker: Worker, withinMs: number, request: SignatureRequest | null) {
    return withTimeout(this.#clock, withinMs, async (late) => {
      const next = once(worker, 'message', { signal: late })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
      if (request !== null) worker.postMessage(request)
      const [message]: unknown[] = await next
      return message
    })
  }
}

const refused = (because: string): SignInRefused => new SignInRefused('provider_answer', because)
