// Responses to requests that Node can't parse, in place of its bare status lines (contract 10.2, 13.3). Such requests
// never reach the handler and have no request ID.
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Duplex } from 'node:stream'
import { COMMON_HEADERS, type BufferedAnswer, refusalCatalogue, refuse } from './answer.ts'

/** Maximum bytes of the request line and the headers. */
export const LONGEST_HEAD = 16_384

const CLOSING = { connection: 'close' }
const NOT_HTTP = 'it is not valid HTTP; the connection ends'

/** The refusals of malformed requests. Each closes its connection. */
export const MALFORMED_REQUESTS = refusalCatalogue({
  malformed: {
    reason: 'BadRequest',
    message: 'the request is malformed: <fault>',
    headers: CLOSING,
    because: NOT_HTTP,
  },
  hostless: {
    reason: 'BadRequest',
    message: 'the request has no header Host',
    headers: CLOSING,
    because: NOT_HTTP,
  },
  late: {
    reason: 'Timeout',
    code: 408,
    message: 'the request took too long to arrive',
    headers: CLOSING,
    because: 'the connection ends',
  },
  chunkExtensions: {
    reason: 'RequestEntityTooLarge',
    message: 'the body must have no chunk extensions',
    headers: CLOSING,
    because: 'the gateway reads no more than 16 KiB of them; the connection ends',
  },
  longHead: {
    reason: 'RequestHeaderFieldsTooLarge',
    message: 'the path and the headers must have at most <count> bytes',
    headers: CLOSING,
    because: 'see [below](#limits); the connection ends',
  },
})

/** The response to a request of HTTP/1.1 without Host, which RFC 9112 requires to be refused. */
export const HOSTLESS_RESPONSE = refuse(MALFORMED_REQUESTS.hostless)

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** The responses by Node's error code. */
const RESPONSES: Readonly<Record<string, BufferedAnswer>> = {
  [TIMEOUT]: refuse(MALFORMED_REQUESTS.late),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refuse(MALFORMED_REQUESTS.chunkExtensions),
  HPE_HEADER_OVERFLOW: refuse(MALFORMED_REQUESTS.longHead, { count: LONGEST_HEAD }),
}

/**
 * How long the socket stays open after the response: closed with unread bytes, it is reset and loses the response.
 */
const LINGER_MS = 2000

/** An error of Node's HTTP parser, with a reason in words. */
type Fault = Error & { readonly code?: string; readonly reason?: string }

/** Answers malformed requests and closes their connections. `latest` finds the latest response on a socket. */
export function answerMalformedRequests(
  server: Server,
  latest: (socket: Duplex) => ServerResponse | undefined,
): void {
  server.on('clientError', (fault: Fault, socket) => {
    const answer = answerTo(fault)
    if (answer === null) socket.destroy()
    // The response was sent already: the rest of the request is discarded.
    else if (socket.writableEnded) return
    else if (!socket.writable || isResponding(socket, latest(socket))) socket.destroy()
    else end(socket, answer, fault.code === TIMEOUT)
  })
}

/** The response to a fault; null = the connection itself failed. */
function answerTo({ code = '', reason = '' }: Fault): BufferedAnswer | null {
  const known = RESPONSES[code]
  if (known || !code.startsWith('HPE_')) return known ?? null
  return refuse(MALFORMED_REQUESTS.malformed, { fault: reason })
}

/** Whether a response to another request, or to this one, is already under way on the socket. */
function isResponding(socket: Duplex, response: ServerResponse | undefined): boolean {
  if (response === undefined) return false
  // A complete earlier request must be answered first.
  if (response.req.complete) return !response.closed
  // The fault is in the rest of this request, which gets only one response.
  return response.headersSent || response.socket !== socket
}

function end(socket: Duplex, answer: BufferedAnswer, isLate: boolean): void {
  const destroy = (): void => void socket.destroy()
  const timer = setTimeout(destroy, LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.end(bytesOf(answer))
  // The parser still runs: further bytes would become a request.
  if (isLate) socket.once('finish', destroy)
}

function bytesOf({ status, headers, body }: BufferedAnswer): Buffer {
  const date = new Date().toUTCString()
  const lines = Object.entries({
    ...COMMON_HEADERS,
    ...headers,
    date,
    'content-length': body.length,
  })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...lines.map(([name, value]) => `${name}: ${String(value)}`),
    '\r\n',
  ]
  return Buffer.concat([Buffer.from(head.join('\r\n')), body])
}
