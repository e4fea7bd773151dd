// Sends responses, buffered or streamed, and discards the rest of each request.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { type Answer, BodyCut, completeHeaders } from './answer.ts'
import { type ClosedBy, Delivery } from './delivery.ts'

/** Options of deliver. */
interface DeliverOptions {
  /** ID of the request. */
  readonly id: string
  readonly socket: Socket
  /** Whether the response must close its connection, even if the client would keep it alive. */
  readonly isEnding: () => boolean
  readonly closedBy: ClosedBy
}

/**
 * Sends a response. @throws Error when it can't be sent, such as for an invalid header; its body is destroyed then
 */
export async function deliver(
  response: ServerResponse,
  answer: Answer,
  { id, socket, isEnding, closedBy }: DeliverOptions,
): Promise<void> {
  const delivery = new Delivery(answer.ended, closedBy)
  delivery.follow(response)
  const { req: request } = response
  const isLast = !response.shouldKeepAlive || isEnding()
  // A socket that is closed with unread bytes is reset, and the client loses the response.
  if (isLast && isUnread(request)) await discardBody(request, BEFORE_ANSWER)
  if (!request.complete) response.once('finish', () => void discardRest(request, socket))
  try {
    send(response, answer, { id, isLast, delivery })
  } catch (error) {
    delivery.end('unsendable')
    if (!Buffer.isBuffer(answer.body)) answer.body.destroy()
    throw error
  }
}

/**
 * Writes the response. The rest of an unread request body is discarded; the connection closes if the client may never
 * send that body, because it waits for `100 Continue`.
 */
function send(
  response: ServerResponse,
  answer: Answer,
  {
    id,
    isLast,
    delivery,
  }: { readonly id: string; readonly isLast: boolean; readonly delivery: Delivery },
): void {
  const { status, body } = answer
  const isBuffered = Buffer.isBuffer(body)
  const { req: request } = response
  const keepAlive = !isLast && (request.complete || !awaitsContinue(request))
  const headers = completeHeaders(answer.headers, id)
  // The content-length of a 304 would describe the body that the client has cached.
  if (isBuffered && status !== 304) headers['content-length'] = body.length
  if (!keepAlive) headers['connection'] = 'close'
  response.writeHead(status, headers)
  if (isBuffered) response.end(body)
  else stream(body, response, delivery)
}

const NO_BYTES = Buffer.alloc(0)

/**
 * Streams a body with back-pressure. If it fails, the connection is destroyed after what was written before, so that a
 * truncated response never looks complete; if the client disconnects, the body is destroyed. Not `pipeline`, which costs
 * two AbortControllers each time.
 */
function stream(body: Readable, response: ServerResponse, delivery: Delivery): void {
  if (body.destroyed || response.destroyed) {
    if (!response.destroyed) delivery.bodyFailed()
    body.destroy()
    response.destroy()
    return
  }
  // Sends the head alone if no bytes arrive in this turn: a watch may be silent, and its client waits for the head.
  // Node's flushHeaders would encode header values as UTF-8.
  const headTimer = setImmediate(() => response.write(NO_BYTES))
  let hasEnded = false
  let isBroken = false
  body.on('data', (piece: Buffer) => {
    clearImmediate(headTimer)
    if (!response.write(piece)) body.pause()
  })
  response.on('drain', () => body.resume())
  body.once('end', () => {
    clearImmediate(headTimer)
    hasEnded = true
    response.end()
  })
  const abort = (): void => {
    clearImmediate(headTimer)
    if (!hasEnded) response.destroy()
    body.destroy()
  }
  const breakOff = (): void => {
    if (!hasEnded && !response.destroyed) delivery.bodyFailed()
    if (hasEnded || body.errored instanceof BodyCut || response.destroyed) abort()
    else if (!isBroken) response.write(NO_BYTES, abort)
    isBroken = true
  }
  body.on('error', breakOff).once('close', breakOff)
  response.on('error', abort).once('close', abort)
}

/** Whether the body is unread: the client may read the response only after it has sent the body. */
const isUnread = (request: IncomingMessage): boolean =>
  !request.complete && !request.readableDidRead && !awaitsContinue(request)

/** Whether the client sends its body only after `100 Continue`. */
export const awaitsContinue = (request: IncomingMessage): boolean =>
  request.headers.expect?.toLowerCase() === '100-continue'

/** How much of an unwanted request body is read and discarded, before and after the response. */
const BEFORE_ANSWER = { bytes: 262_144, withinMs: 500 }
const AFTER_ANSWER = { bytes: 1_048_576, withinMs: 5000 }

async function discardRest(request: IncomingMessage, socket: Socket): Promise<void> {
  if (!request.destroyed) await discardBody(request, AFTER_ANSWER)
  if (!request.complete) socket.destroySoon()
}

/** Reads and discards the body until it is complete, or a limit is reached. */
function discardBody(request: IncomingMessage, limits: typeof BEFORE_ANSWER): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let bytes = 0
  const timer = setTimeout(done, limits.withinMs)
  function count(piece: Buffer): void {
    bytes += piece.length
    if (bytes > limits.bytes) done()
  }
  function done(): void {
    clearTimeout(timer)
    request.off('data', count).off('end', done).off('close', done).pause()
    resolve()
  }
  request.on('data', count).once('end', done).once('close', done).resume()
  return promise
}
