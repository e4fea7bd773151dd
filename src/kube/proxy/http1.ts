// One request by HTTP/1.1, for servers that do not speak HTTP/2.
import { PassThrough, Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import {
  HEAD_WITHIN_MS,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamHeaders,
} from './types.ts'

/**
 * Sends the request on a connection of the pool, and waits for the head of the answer. undici frames a
 * body of unknown length in chunks, whatever the method.
 *
 * @throws UpstreamError
 */
export async function exchangeOverHttp1(
  pool: Dispatcher,
  call: UpstreamCall,
): Promise<UpstreamAnswer> {
  const { method, path, headers, body, signal, isLongRunning } = call
  try {
    const answer = await pool.request({
      method,
      path,
      headers: headers as Record<string, string | string[]>,
      body: body instanceof Readable ? withShield(body) : body,
      signal,
      headersTimeout: isLongRunning ? 0 : HEAD_WITHIN_MS,
    })
    const { statusCode: status } = answer
    answer.body.on('error', () => undefined)
    return { status, headers: answer.headers as UpstreamHeaders, body: answer.body }
  } catch (cause) {
    throw new UpstreamError(failureOf(cause), cause)
  }
}

/** undici destroys the body of a failed request, and with a client's body the client's connection. */
function withShield(body: Readable): Readable {
  const shield = new PassThrough()
  const breakOff = (): void => void shield.destroy(new Error('the body of the request broke off'))
  // It may have broken off while the connection was opened: Node emits no second event.
  if (body.destroyed) breakOff()
  body.once('error', breakOff)
  body.once('close', () => body.readableEnded || breakOff())
  return body.pipe(shield)
}

function failureOf(cause: unknown): UpstreamFailure {
  if (!(cause instanceof Error)) return 'lost'
  if (cause.name === 'HeadersTimeoutError') return 'timedOut'
  const isConnecting = 'syscall' in cause && cause.syscall === 'connect'
  return isConnecting || cause.name === 'ConnectTimeoutError' ? 'unprocessed' : 'lost'
}
