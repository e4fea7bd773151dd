// One request and its answer on a stream of an HTTP/2 connection.
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2'
import { Readable } from 'node:stream'
import type { Clock } from '../runtime/clock.ts'
import { type Fate, HEAD_WITHIN_MS, Unanswered } from './unanswered.ts'
import type { UpstreamAnswer, UpstreamCall, UpstreamHeaders } from './upstream.ts'

const { NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants

/** A request under way: its answer, and how it ends. */
export interface Exchange {
  /** The head. Rejects with Unanswered. */
  readonly answer: Promise<UpstreamAnswer>
  /** Resolves when the stream is closed: whether by us, so that the server may still be at it. */
  readonly closed: Promise<{ readonly isCancelled: boolean }>
}

type Cancel = (fate: Fate, because: string) => void

/** Sends the request on a stream of its own. The connection must be open. */
export function exchange(session: ClientHttp2Session, call: UpstreamCall, clock: Clock): Exchange {
  const cancelling = new AbortController()
  const stream = open(session, call, cancelling.signal)
  const head = Promise.withResolvers<UpstreamAnswer>()
  const closed = Promise.withResolvers<{ readonly isCancelled: boolean }>()
  let body: AnswerBody | null = null
  let isCancelled = false

  const fail = (fate: Fate, cause: Error): void => {
    if (body) body.breakOff(cause)
    else head.reject(new Unanswered(fate, cause))
  }
  const broke = (cause: Error): void =>
    fail(stream.rstCode === NGHTTP2_REFUSED_STREAM ? 'untouched' : 'lost', cause)
  const cancel: Cancel = (fate, because) => {
    if (stream.closed) return
    isCancelled = true
    fail(fate, new Error(because))
    // Not close(), which ends the body first: the server would take what came of it for the whole.
    cancelling.abort()
  }
  const end = (): void => cancel('lost', 'the request was ended')
  const heard = call.isLongRunning ? () => undefined : expectHead(stream, clock, cancel)

  stream.once('response', (...[, , raw]: readonly [unknown, unknown, readonly string[]]) => {
    heard()
    const { ':status': status, ...headers } = headersOf(raw)
    body = new AnswerBody(stream, end)
    head.resolve({ status: Number(status), headers, body })
  })
  stream.on('error', broke)
  stream.once('close', () => {
    heard()
    call.signal.removeEventListener('abort', end)
    broke(new Error('the connection to the API server broke off'))
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
    // Else Node decides by the method, and drops the body of a DELETE.
    { endStream: body === null, signal: cancelled },
  )
}

/** The end of the body ends the stream's; a body that breaks off cancels it. */
function send(body: UpstreamCall['body'], stream: ClientHttp2Stream, cancel: Cancel): void {
  if (body === null) return
  if (Buffer.isBuffer(body)) {
    stream.end(body)
    return
  }
  const brokeOff = (): void => cancel('lost', 'the body of the request broke off')
  // It may have broken off while the connection was opened: nothing tells of that again.
  if (body.destroyed) return brokeOff()
  // Not pipeline(), which would destroy the body, and a client's connection with it, where the answer
  // came first; nor pipe(), which goes on writing then, and so destroys the answer.
  const write = (piece: Buffer): void => {
    if (stream.writableEnded || stream.destroyed) body.off('data', write).pause()
    else if (!stream.write(piece)) body.pause()
  }
  stream.on('drain', () => body.resume())
  body.on('data', write)
  body.once('end', () => stream.end())
  body.once('error', brokeOff)
  body.once('close', () => body.readableEnded || brokeOff())
}

/** Cancels when there is no head in time. The function that is returned ends the wait. */
function expectHead(stream: ClientHttp2Stream, clock: Clock, cancel: Cancel): () => void {
  let stop = (): void => undefined
  const start = (): void => {
    stop = clock.schedule(HEAD_WITHIN_MS, () =>
      cancel('late', 'the API server did not answer in time'),
    )
  }
  // A client may take its time with the body, within limits of its own.
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
 * What the stream holds. Node ends a stream as if it were complete when the connection breaks off or the
 * server resets it: only the code tells, and half a body must never look like a whole one.
 */
class AnswerBody extends Readable {
  readonly #stream: ClientHttp2Stream
  readonly #cancel: () => void
  #isWhole = false

  constructor(stream: ClientHttp2Stream, cancel: () => void) {
    super()
    // Whoever reads it hears of an error all the same; nobody may do so yet.
    this.on('error', () => undefined)
    this.#stream = stream
    this.#cancel = cancel
    stream.on('data', (piece: Buffer) => {
      if (!this.push(piece)) stream.pause()
    })
    stream.once('end', () => {
      this.#isWhole = (stream.rstCode ?? NGHTTP2_NO_ERROR) === NGHTTP2_NO_ERROR
      if (this.#isWhole) this.push(null)
    })
  }

  /** Ends it as broken, unless all of it has come: then it is read to its end. */
  breakOff(cause: Error): void {
    if (!this.#isWhole) this.destroy(cause)
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // The end of the answer is not yet that of the stream, which closes by itself when both have ended.
    if (!this.#isWhole || !this.#stream.writableFinished) this.#cancel()
    done(error)
  }
}
