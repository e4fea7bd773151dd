// Sends answers: whole ones at once, others as they come, each with what is left of its request thrown away.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { ALWAYS, type Answer } from './answer.ts'

/** How an answer is sent. */
interface DeliverOptions {
  readonly socket: Socket
  /** Whether the answer is to be the last of its connection, even if the client would send another request. */
  readonly isEnding: () => boolean
}

/** Sends an answer. @throws Error where it can't be sent as it is; its body is destroyed then */
export async function deliver(
  response: ServerResponse,
  answer: Answer,
  { socket, isEnding }: DeliverOptions,
): Promise<void> {
  const { req: request } = response
  const isLast = !response.shouldKeepAlive || isEnding()
  // Closed with unread bytes, a socket is reset, and the client loses the answer.
  if (isLast && isUnread(request)) await drained(request, BEFORE_ANSWER)
  if (!request.complete) response.once('finish', () => void throwAwayRest(request, socket))
  try {
    send(response, answer, isLast)
  } catch (error) {
    if (!Buffer.isBuffer(answer.body)) answer.body.destroy()
    throw error
  }
}

/**
 * An answer that comes before the end of a body leaves the rest of it to be thrown away; where that is
 * much, or may never come, the connection ends as well.
 */
function send(response: ServerResponse, answer: Answer, isLast: boolean): void {
  const { status, headers, body } = answer
  const isWhole = Buffer.isBuffer(body)
  const { req: request } = response
  const keepAlive = !isLast && (request.complete || !awaitsContinue(request))
  response.writeHead(status, {
    ...ALWAYS,
    ...headers,
    // That of a 304 would be the length of the body that the client has.
    ...(isWhole && status !== 304 ? { 'content-length': body.length } : {}),
    ...(keepAlive ? {} : { connection: 'close' }),
  })
  if (isWhole) response.end(body)
  else stream(body, response)
}

const NOTHING = Buffer.alloc(0)

/**
 * Passes a body on with back-pressure, the head in one write with its first bytes where they are there already.
 * A body that breaks off ends the connection: a complete end would be a lie about it. A client that is gone
 * destroys the body. By hand, because `pipeline` costs two AbortControllers and a DOMException for each answer.
 */
function stream(body: Readable, response: ServerResponse): void {
  if (body.destroyed || response.destroyed) {
    body.destroy()
    response.destroy()
    return
  }
  // A watch may be silent for a while, and its client waits for the head. Node's flushHeaders would encode the
  // bytes of its values as UTF-8.
  const head = setImmediate(() => response.write(NOTHING))
  let hasEnded = false
  body.on('data', (piece: Buffer) => {
    clearImmediate(head)
    if (!response.write(piece)) body.pause()
  })
  response.on('drain', () => body.resume())
  body.once('end', () => {
    clearImmediate(head)
    hasEnded = true
    response.end()
  })
  const giveUp = (): void => {
    clearImmediate(head)
    if (!hasEnded) response.destroy()
    body.destroy()
  }
  body.on('error', giveUp).once('close', giveUp)
  response.on('error', giveUp).once('close', giveUp)
}

/** Whether no one has read the body yet: its client may be sending it without looking for an answer. */
const isUnread = (request: IncomingMessage): boolean =>
  !request.complete && !request.readableDidRead && !awaitsContinue(request)

/** Whether the client sends its body only once it is asked to. */
export const awaitsContinue = (request: IncomingMessage): boolean =>
  request.headers.expect?.toLowerCase() === '100-continue'

/** How much of an unwanted body is read, before and after its answer. */
const BEFORE_ANSWER = { bytes: 262_144, withinMs: 500 }
const AFTER_ANSWER = { bytes: 1_048_576, withinMs: 5000 }

async function throwAwayRest(request: IncomingMessage, socket: Socket): Promise<void> {
  if (!request.destroyed) await drained(request, AFTER_ANSWER)
  if (!request.complete) socket.destroySoon()
}

/** Reads on until the request is complete, or too long, or too slow. */
function drained(request: IncomingMessage, limits: typeof BEFORE_ANSWER): Promise<void> {
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
