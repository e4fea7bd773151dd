// Sends a request on a stream of an HTTP/2 connection.
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { addAbortSignal } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { HeadLimits } from './head-limits.ts'
import { type FramesInTurn, JoinedFrames } from './http2-pieces.ts'
import { ReceivedBody, takeRest } from './received-body.ts'
import {
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamFailure,
  headersFromRaw,
} from './types.ts'

const { NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants

/** A request in flight. */
interface Http2Exchange {
  /** Resolves with the head of the response. Rejects with UpstreamError. */
  readonly answer: Promise<UpstreamAnswer>
  /**
   * Resolves when the stream is closed. `isCancelled`: this process closed it, and the server may still work on it.
   */
  readonly closed: Promise<{ readonly isCancelled: boolean }>
}

type Cancel = (failure: UpstreamFailure, because: string) => void

/** An open connection. */
export interface Http2Connection {
  readonly session: ClientHttp2Session
  readonly frames: FramesInTurn
}

/** Sends a request on a new stream. The connection must be open. */
export function exchangeOverHttp2(
  { session, frames: inTurn }: Http2Connection,
  call: UpstreamCall,
  clock: Clock,
): Http2Exchange {
  const stream = open(session, call)
  const frames = new JoinedFrames(stream, () => inTurn.add())
  const head = Promise.withResolvers<UpstreamAnswer>()
  const closed = Promise.withResolvers<{ readonly isCancelled: boolean }>()
  let body: ResponseBody | null = null
  let isCancelled = false

  const fail = (failure: UpstreamFailure, cause: Error): void => {
    if (body) body.breakOff(cause)
    else head.reject(new UpstreamError(failure, cause))
  }
  const breakOff = (cause: Error): void =>
    fail(stream.rstCode === NGHTTP2_REFUSED_STREAM ? 'unprocessed' : 'lost', cause)
  const cancel: Cancel = (failure, because) => {
    if (stream.closed) return
    isCancelled = true
    const cause = new Error(because)
    if (body) body.cancel(cause)
    else fail(failure, cause)
    // Not close(), which ends the body first: the server would take the truncated body as complete. Nor destroy(), which
    // resets the stream as after a fault of this process. Only now, as Node adds ten listeners for a signal.
    addAbortSignal(AbortSignal.abort(cause), stream)
  }
  const end = (): void => cancel('lost', 'the request was ended')
  stream.once('response', (...[, , raw]: readonly [unknown, unknown, readonly string[]]) => {
    limits.stop()
    const { ':status': status, ...headers } = headersFromRaw(raw)
    body = new ResponseBody(stream, frames, end)
    head.resolve({ status: Number(status), headers, body })
  })
  stream.on('error', breakOff)
  stream.once('close', () => {
    limits.stop()
    call.signal.removeEventListener('abort', end)
    // Only then: the stack trace of an Error costs as much as a whole stage.
    if (!body?.isComplete) breakOff(new Error('the connection to the API server broke off'))
    closed.resolve({ isCancelled })
  })
  const limits = new HeadLimits(clock, call, (because) => cancel('timedOut', because))
  // Node reports informational responses by this event, also 100.
  stream.on('headers', () => limits.informational())
  send(call.body, stream, { sent: () => limits.sent(), cancel })
  if (call.signal.aborted) end()
  else call.signal.addEventListener('abort', end, { once: true })
  return { answer: head.promise, closed: closed.promise }
}

function open(session: ClientHttp2Session, call: UpstreamCall): ClientHttp2Stream {
  const { method, path, headers, body } = call
  return session.request(
    { ...(headers as Record<string, string | string[]>), ':method': method, ':path': path },
    // By default Node decides by the method, and drops the body of a DELETE.
    { endStream: body === null },
  )
}

/** Writes the body to the stream, and ends the stream. If the body fails, the stream is cancelled. */
function send(
  body: UpstreamCall['body'],
  stream: ClientHttp2Stream,
  { sent, cancel }: { readonly sent: () => void; readonly cancel: Cancel },
): void {
  if (body === null) return
  if (Buffer.isBuffer(body)) {
    stream.end(body)
    return
  }
  const cancelTruncated = (): void => cancel('lost', 'the body of the request broke off')
  // The body may have failed before this listener was added: Node emits no second event.
  if (body.destroyed) return cancelTruncated()
  // If the response ends before the body does, pipeline() would destroy the body, and with it the connection of the
  // client; pipe() would write on, and so destroy the response.
  const write = (chunk: Buffer): void => {
    sent()
    if (stream.writableEnded || stream.destroyed) body.off('data', write).pause()
    else if (!stream.write(chunk)) body.pause()
  }
  stream.on('drain', () => body.resume())
  body.on('data', write)
  body.once('end', () => stream.end())
  body.once('error', cancelTruncated)
  body.once('close', () => body.readableEnded || cancelTruncated())
}

/**
 * The body of a response, which fails if it is truncated. When the connection breaks or the server resets the stream,
 * Node ends the stream as if it were complete: only its code differs.
 */
class ResponseBody extends ReceivedBody {
  readonly #stream: ClientHttp2Stream
  readonly #frames: JoinedFrames
  readonly #cancel: () => void
  #isComplete = false

  constructor(stream: ClientHttp2Stream, frames: JoinedFrames, cancel: () => void) {
    super()
    this.#stream = stream
    this.#frames = frames
    this.#cancel = cancel
    stream.on('data', (chunk: Buffer) => {
      if (this.push(chunk)) return
      stream.pause()
      frames.hold()
    })
    stream.once('end', () => {
      this.#isComplete = (stream.rstCode ?? NGHTTP2_NO_ERROR) === NGHTTP2_NO_ERROR
      if (this.#isComplete) this.push(null)
    })
  }

  /** Whether all of it has arrived. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Fails the body after what has arrived, unless that is all of it. */
  breakOff(cause: Error): void {
    if (this.#isComplete || this.destroyed) return
    takeRest(this.#stream, (bytes) => this.push(bytes))
    const held = this.#frames.takeHeld()
    if (held.length > 0) this.push(held)
    this.breakOffAfterRest(cause)
  }

  /** Fails the body at once, unless it has arrived completely. */
  cancel(cause: Error): void {
    if (!this.#isComplete) this.destroy(cause)
  }

  override _read(): void {
    this.#stream.resume()
    this.#frames.release()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // The stream closes by itself only once request and response are complete.
    if (!this.#isComplete || !this.#stream.writableFinished) this.#cancel()
    done(error)
  }
}
