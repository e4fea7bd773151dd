// One request and its answer on a stream of an HTTP/2 connection.
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { Readable } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import {
  HEAD_WITHIN_MS,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamHeaders,
} from './types.ts'

const { NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants

/** A request in flight. */
interface Http2Exchange {
  /** The head of the answer. Rejects with UpstreamError. */
  readonly answer: Promise<UpstreamAnswer>
  /** Resolves when the stream is closed. `isCancelled`: we closed it, so the server may still work on it. */
  readonly closed: Promise<{ readonly isCancelled: boolean }>
}

type Cancel = (failure: UpstreamFailure, because: string) => void

/** Sends the request on a stream of its own. The connection must be open. */
export function exchangeOverHttp2(
  session: ClientHttp2Session,
  call: UpstreamCall,
  clock: Clock,
): Http2Exchange {
  const cancelling = new AbortController()
  const stream = open(session, call, cancelling.signal)
  const head = Promise.withResolvers<UpstreamAnswer>()
  const closed = Promise.withResolvers<{ readonly isCancelled: boolean }>()
  let body: AnswerBody | null = null
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
    fail(failure, new Error(because))
    // Not close(): it ends the body first, and the server would take the truncated body as complete.
    cancelling.abort()
  }
  const end = (): void => cancel('lost', 'the request was ended')
  const cancelTimeout = call.isLongRunning ? () => undefined : timeoutOfHead(stream, clock, cancel)

  stream.once('response', (...[, , raw]: readonly [unknown, unknown, readonly string[]]) => {
    cancelTimeout()
    const { ':status': status, ...headers } = headersOf(raw)
    body = new AnswerBody(stream, end)
    head.resolve({ status: Number(status), headers, body })
  })
  stream.on('error', breakOff)
  stream.once('close', () => {
    cancelTimeout()
    call.signal.removeEventListener('abort', end)
    breakOff(new Error('the connection to the API server broke off'))
    closed.resolve({ isCancelled })
  })
  send(call.body, stream, cancel)
  if (call.signal.aborted) end()
  else call.signal.addEventListener('abort', end, { once: true })
  return { answer: head.promise, closed: closed.promise }
}

function open(
  session: ClientHttp2Session,
  call: UpstreamCall,
  cancelled: AbortSignal,
): ClientHttp2Stream {
  const { method, path, headers, body } = call
  return session.request(
    { ...(headers as Record<string, string | string[]>), ':method': method, ':path': path },
    // Without it Node decides by the method, and drops the body of a DELETE.
    { endStream: body === null, signal: cancelled },
  )
}

/** Writes the body to the stream, and ends it. A body that breaks off cancels the stream. */
function send(body: UpstreamCall['body'], stream: ClientHttp2Stream, cancel: Cancel): void {
  if (body === null) return
  if (Buffer.isBuffer(body)) {
    stream.end(body)
    return
  }
  const brokeOff = (): void => cancel('lost', 'the body of the request broke off')
  // It may have broken off while the connection was opened: Node emits no second event.
  if (body.destroyed) return brokeOff()
  // When the answer arrives before the end of the body, pipeline() destroys the body, and with it the client's
  // connection; pipe() goes on writing, and so destroys the answer.
  const write = (chunk: Buffer): void => {
    if (stream.writableEnded || stream.destroyed) body.off('data', write).pause()
    else if (!stream.write(chunk)) body.pause()
  }
  stream.on('drain', () => body.resume())
  body.on('data', write)
  body.once('end', () => stream.end())
  body.once('error', brokeOff)
  body.once('close', () => body.readableEnded || brokeOff())
}

/** Cancels the stream when the head of the answer takes too long. @returns ends the timeout */
function timeoutOfHead(stream: ClientHttp2Stream, clock: Clock, cancel: Cancel): () => void {
  let stop = (): void => undefined
  const start = (): void => {
    stop = clock.schedule(HEAD_WITHIN_MS, () =>
      cancel('timedOut', 'the API server did not answer in time'),
    )
  }
  // The time of the body does not count: the server of the gateway limits it.
  if (stream.writableFinished) start()
  else stream.once('finish', start)
  return () => {
    stream.off('finish', start)
    stop()
  }
}

function headersOf(raw: readonly string[]): UpstreamHeaders & { readonly ':status'?: string } {
  const headers = new Map<string, string | readonly string[]>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2)
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : [before, value].flat())
  }
  return Object.fromEntries(headers)
}

/**
 * The body of the answer. When the connection breaks or the server resets the stream, Node ends it as if it
 * were complete. Only the code differs, and a truncated body must never look complete.
 */
class AnswerBody extends Readable {
  readonly #stream: ClientHttp2Stream
  readonly #cancel: () => void
  #isComplete = false

  constructor(stream: ClientHttp2Stream, cancel: () => void) {
    super()
    // A reader gets the error anyway; without a reader, Node would throw it.
    this.on('error', () => undefined)
    this.#stream = stream
    this.#cancel = cancel
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause()
    })
    stream.once('end', () => {
      this.#isComplete = (stream.rstCode ?? NGHTTP2_NO_ERROR) === NGHTTP2_NO_ERROR
      if (this.#isComplete) this.push(null)
    })
  }

  /** Fails the body, unless it has arrived completely. */
  breakOff(cause: Error): void {
    if (!this.#isComplete) this.destroy(cause)
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // The stream closes by itself only when the request has ended, too.
    if (!this.#isComplete || !this.#stream.writableFinished) this.#cancel()
    done(error)
  }
}
