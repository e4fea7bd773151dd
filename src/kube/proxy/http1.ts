// Sends a request by HTTP/1.1, for servers that do not support HTTP/2.
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
 * Sends a request on a connection of the pool, and waits for the head of the response. undici sends a body of unknown
 * length in chunks, for any method.
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
      body: body instanceof Readable ? shielded(body) : body,
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

/**
 * A copy of the stream. undici destroys the body of a failed request, which would close the connection of the client.
 */
function shielded(body: Readable): Readable {
  const shield = new PassThrough()
  const fail = (): void => void shield.destroy(new Error('the body of the request broke off'))
  // The body may have failed before this listener was added: Node emits no second event.
  if (body.destroyed) fail()
  body.once('error', fail)
  body.once('close', () => body.readableEnded || fail())
  return body.pipe(shield)
}

function failureOf(cause: unknown): UpstreamFailure {
  if (!(cause instanceof Error)) return 'lost'
  if (cause.name === 'HeadersTimeoutError') return 'timedOut'
  const isConnecting = 'syscall' in cause && cause.syscall === 'connect'
  return isConnecting || cause.name === 'ConnectTimeoutError' ? 'unprocessed' : 'lost'
}
