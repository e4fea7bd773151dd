// What is said to a client whose request can't be read, where Node says a bare line (contract 10.2, 13.3).
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Duplex } from 'node:stream'
import { ALWAYS, type WholeAnswer, statusAnswer } from './answer.ts'

/** Bytes of a request before its body, at most. */
export const LONGEST_HEAD = 16_384

const REASONS = {
  400: 'BadRequest',
  408: 'Timeout',
  413: 'RequestEntityTooLarge',
  431: 'RequestHeaderFieldsTooLarge',
} as const

const saying = (code: keyof typeof REASONS, message: string): WholeAnswer =>
  statusAnswer(code, REASONS[code], message, { connection: 'close' })

/** For a request of HTTP/1.1 that names no host: RFC 9112 has it refused. */
export const HOSTLESS = saying(400, 'the request has no header Host')

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'
const SAYINGS: Readonly<Record<string, WholeAnswer>> = {
  [TIMEOUT]: saying(408, 'the request took too long to come in'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: saying(413, 'the body must have no chunk extensions'),
  HPE_HEADER_OVERFLOW: saying(
    431,
    `the path and the headers must have at most ${LONGEST_HEAD} bytes`,
  ),
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
  const known = SAYINGS[code]
  if (known || !code.startsWith('HPE_')) return known ?? null
  return saying(400, `the request is malformed: ${reason}`)
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
