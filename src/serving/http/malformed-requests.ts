// Answers to requests that can't be read, in place of Node's bare lines (contract 10.2, 13.3). They never become a
// request, so that they have no request ID.
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Duplex } from 'node:stream'
import { ALWAYS, type WholeAnswer, catalogue, refuse } from './answer.ts'

/** Bytes of a request before its body, at most. */
export const LONGEST_HEAD = 16_384

const CLOSING = { connection: 'close' }
const NOT_HTTP = 'it is no valid HTTP; the connection ends'

/** The refusals of requests that can't be read, each the last answer of its connection. */
export const MALFORMED_REQUESTS = catalogue({
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
    message: 'the request took too long to come in',
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

/** For a request of HTTP/1.1 that names no host: RFC 9112 has it refused. */
export const HOSTLESS = refuse(MALFORMED_REQUESTS.hostless)

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

/** The answer to each error that Node has for a request. */
const ANSWERS: Readonly<Record<string, WholeAnswer>> = {
  [TIMEOUT]: refuse(MALFORMED_REQUESTS.late),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refuse(MALFORMED_REQUESTS.chunkExtensions),
  HPE_HEADER_OVERFLOW: refuse(MALFORMED_REQUESTS.longHead, { count: LONGEST_HEAD }),
}

/** Closed with something unread, a socket is reset, and takes with it what was just said. */
const LINGER_MS = 2000

/** An error of Node's parser has a reason, in words of its own. */
type Fault = Error & { readonly code?: string; readonly reason?: string }

/** Answers what can't be read, and ends its connection; `latest` is the last response that was begun on it. */
export function answerBroken(
  server: Server,
  latest: (socket: Duplex) => ServerResponse | undefined,
): void {
  server.on('clientError', (fault: Fault, socket) => {
    const answer = answerTo(fault)
    if (answer === null) socket.destroy()
    // It has been said: what still comes of the request is thrown away.
    else if (socket.writableEnded) return
    else if (!socket.writable || isTaken(socket, latest(socket))) socket.destroy()
    else end(socket, answer, fault.code === TIMEOUT)
  })
}

/** Null where the connection itself failed, or never came to be. */
function answerTo({ code = '', reason = '' }: Fault): WholeAnswer | null {
  const known = ANSWERS[code]
  if (known || !code.startsWith('HPE_')) return known ?? null
  return refuse(MALFORMED_REQUESTS.malformed, { fault: reason })
}

/** Whether another answer is, or may come to be, where this one would stand. */
function isTaken(socket: Duplex, last: ServerResponse | undefined): boolean {
  if (last === undefined) return false
  // A whole request was before this one: it is answered first.
  if (last.req.complete) return !last.closed
  // This is the rest of its request: it has one answer, when its turn has come.
  return last.headersSent || last.socket !== socket
}

function end(socket: Duplex, answer: WholeAnswer, isLate: boolean): void {
  const destroy = (): void => void socket.destroy()
  const timer = setTimeout(destroy, LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.end(bytesOf(answer))
  // The parser still runs: what comes now would be a request.
  if (isLate) socket.once('finish', destroy)
}

function bytesOf({ status, headers, body }: WholeAnswer): Buffer {
  const date = new Date().toUTCString()
  const lines = Object.entries({ ...ALWAYS, ...headers, date, 'content-length': body.length })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...lines.map(([name, value]) => `${name}: ${String(value)}`),
    '\r\n',
  ]
  return Buffer.concat([Buffer.from(head.join('\r\n')), body])
}
