// Sends a request by HTTP/1.1. By undici's `dispatch`: the objects of its `request` cost as much as all the rest, and
// survive the collection of young objects.
import { Readable, Transform } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { HeadLimits } from './head-limits.ts'
import type { ReadPool } from './reads/read-pool.ts'
import { ReceivedBody } from './received-body.ts'
import {
  ArrivedAnswer,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamHeaders,
} from './types.ts'

/**
 * Sends a request on a connection of the pool, and waits for the head of the response. undici sends a body of unknown
 * length in chunks, for any method.
 *
 * @param closed called once when the request and its response are over
 * @throws UpstreamError
 */
export function exchangeOverHttp1(
  pool: Dispatcher,
  call: UpstreamCall,
  clock: Clock,
  closed: () => void,
): Promise<UpstreamAnswer> {
  const { method, path, headers, body } = call
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>()
  const exchange = new Http1Exchange(call, clock, { resolve, reject, closed })
  pool.dispatch(
    {
      method,
      path,
      headers: headers as Record<string, string | string[]>,
      body: body instanceof Readable ? shielded(body, () => exchange.bodySent()) : body,
      // undici's own timeout starts again with each informational response.
      headersTimeout: 0,
    },
    exchange,
  )
  return promise
}

/**
 * Sends a read, which has no body, on a connection of the pool.
 *
 * @param closed called once when the request and its response are over
 * @throws UpstreamError
 */
export function readOverHttp1(
  pool: ReadPool,
  call: UpstreamCall,
  clock: Clock,
  closed: () => void,
): Promise<UpstreamAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>()
  pool.dispatch(call, new Http1Exchange(call, clock, { resolve, reject, closed }))
  return promise
}

/** Callbacks with the results of an exchange. */
interface Http1Results {
  readonly resolve: (answer: UpstreamAnswer) => void
  readonly reject: (error: UpstreamError) => void
  readonly closed: () => void
}

/** One request and its response. */
class Http1Exchange implements Dispatcher.DispatchHandler {
  readonly #call: UpstreamCall
  readonly #clock: Clock
  readonly #results: Http1Results
  readonly #end = (): void => {
    this.#isEnded = true
    this.#controller?.abort(ENDED)
  }
  /** null = not sent yet. */
  #limits: HeadLimits | null = null
  /** null = not sent yet, or over. */
  #controller: Dispatcher.DispatchController | null = null
  /** Whether this process has ended it. */
  #isEnded: boolean
  #isSent = false
  #isOver = false
  /** Bytes that have arrived and are not passed on yet. */
  #arrived: Buffer[] = []
  #body: Http1Body | null = null
  /** Whether the reader has enough for now. */
  #isFull = false
  /** Whether this turn of the event loop has read its share. */
  #isResting = false

  constructor(call: UpstreamCall, clock: Clock, results: Http1Results) {
    this.#call = call
    this.#clock = clock
    this.#results = results
    this.#isEnded = call.signal.aborted
    call.signal.addEventListener('abort', this.#end, { once: true })
  }

  /** A request that has ended waits for its connection, too: otherwise many would open more and more connections. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isEnded || this.#call.maySend?.() === false) this.#end()
    else {
      this.#isSent = true
      this.#limits = new HeadLimits(this.#clock, this.#call, (because) =>
        controller.abort(new HeadLimitExceeded(because)),
      )
    }
  }

  /** A chunk of the body of the request was passed on. */
  bodySent(): void {
    this.#limits?.sent()
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, unknown>): void {
    if (status === 101)
      this.#controller?.abort(new Error('the API server changed to another protocol'))
    else if (status < 200) this.#limits?.informational()
    if (status < 200) return
    this.#limits?.stop()
    // Answer in the next microtask, when all that came together with the head is here: mostly the whole body.
    queueMicrotask(() => this.#answer(status, headers as UpstreamHeaders))
  }

  /** Passed on in the next microtask too: a list arrives in hundreds of chunks, many in each turn. */
  onResponseData(_: unknown, piece: Buffer): void {
    if (this.#body !== null && this.#arrived.length === 0) queueMicrotask(() => this.#pass())
    this.#arrived.push(piece)
    if (this.#arrived.length >= MOST_PIECES) this.#rest()
  }

  /** Reads on in the next turn of the event loop. */
  #rest(): void {
    if (this.#isResting) return
    this.#isResting = true
    this.#controller?.pause()
    setImmediate(() => {
      this.#isResting = false
      this.#resume()
    })
  }

  #resume(): void {
    if (!this.#isFull && !this.#isResting) this.#controller?.resume()
  }

  onResponseEnd(): void {
    this.#close()
    this.#pass()
    this.#body?.push(null)
  }

  onResponseError(_: unknown, cause: Error): void {
    this.#close()
    this.#pass()
    if (this.#body) {
      if (this.#isEnded) this.#body.destroy(cause)
      else this.#body.breakOffAfterRest(cause)
    } else this.#results.reject(new UpstreamError(failureOf(cause, this.#isSent), cause))
  }

  #answer(status: number, headers: UpstreamHeaders): void {
    if (this.#isOver) {
      this.#results.resolve(new ArrivedAnswer(status, headers, joined(this.#arrived)))
      return
    }
    const read = (): void => {
      this.#isFull = false
      this.#resume()
    }
    const body = new Http1Body(read, this.#end)
    this.#body = body
    this.#pass()
    this.#results.resolve({ status, headers, body })
  }

  #pass(): void {
    if (this.#body === null || this.#arrived.length === 0) return
    const pieces = this.#arrived
    this.#arrived = []
    if (this.#body.push(joined(pieces))) return
    this.#isFull = true
    this.#controller?.pause()
  }

  #close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller = null
    this.#limits?.stop()
    this.#call.signal.removeEventListener('abort', this.#end)
    this.#results.closed()
  }
}

/**
 * Maximum pieces of a body that are read in one turn of the event loop: a server may send each byte in a chunk of its
 * own, ten thousand in what one read of the socket gives. API servers send kilobytes in each.
 */
const MOST_PIECES = 64

/** The body of a response; destroying it ends the request. */
class Http1Body extends ReceivedBody {
  readonly #resume: () => void
  readonly #end: () => void

  constructor(resume: () => void, end: () => void) {
    super()
    this.#resume = resume
    this.#end = end
  }

  override _read(): void {
    this.#resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#end()
    done(error)
  }
}

/** The bytes of the pieces; a single piece is not copied. */
const joined = (pieces: readonly Buffer[]): Buffer => {
  const [first, ...others] = pieces
  return first && others.length === 0 ? first : Buffer.concat(pieces)
}

/** No head came in time, or too many informational responses. */
class HeadLimitExceeded extends Error {
  override readonly name = 'HeadLimitExceeded'
}

const ENDED = new Error('the request was ended')

/**
 * A copy of the stream; calls `sent` for each chunk. undici destroys the body of a failed request, which would close
 * the connection of the client.
 */
function shielded(body: Readable, sent: () => void): Readable {
  const shield = new Transform({
    transform: (piece: Buffer, _, pass) => {
      sent()
      pass(null, piece)
    },
  })
  const fail = (): void => void shield.destroy(new Error('the body of the request broke off'))
  // The body may have failed before this listener was added: Node emits no second event.
  if (body.destroyed) fail()
  body.once('error', fail)
  body.once('close', () => body.readableEnded || fail())
  return body.pipe(shield)
}

function failureOf(cause: unknown, isSent: boolean): UpstreamFailure {
  if (!isSent) return 'unprocessed'
  return cause instanceof HeadLimitExceeded ? 'timedOut' : 'lost'
}
