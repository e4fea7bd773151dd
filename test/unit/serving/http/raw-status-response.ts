// Builds raw requests, and the Status responses to requests that the server can't read.
import type { TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import { answersIn } from '../../gateway/listening-server.ts'

/** Part of every request, which no response may contain. */
export const CANARY = 'canary-7f3a'

/** A request line and headers with these lines, and the canary in its path and in a header. */
export const head = (lines: readonly string[] = [], start = 'GET /'): string =>
  [`${start}?${CANARY} HTTP/1.1`, 'Host: h', `A: ${CANARY}`, ...lines, '', ''].join('\r\n')

/** The text received on a connection so far; `closed` resolves at its end. */
export interface Received {
  readonly received: () => string
  readonly closed: Promise<unknown>
}

/** Collects the bytes of a connection until it closes. */
export function receivedOn(socket: TLSSocket): Received {
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  // A client that is cut off keeps what it has received.
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  return { received: () => text, closed }
}

/** The first response in a text, with the members that tests compare, and the text after it. */
export function statusResponseIn(text: string): object {
  const [{ code, headers, body } = { code: 0, headers: {}, body: 'null' }] = answersIn(text)
  const { date, 'audit-id': _audit, 'x-request-id': _request, ...others } = headers
  return {
    code,
    isDated: Date.parse(date ?? '') > 0,
    headers: others,
    status: JSON.parse(body) as unknown,
    besides: text.slice(text.indexOf(body) + body.length),
    isEchoed: text.includes(CANARY),
  }
}

/** The expected Status of a failure, as the only response of its connection. */
export const statusResponse = (code: number, reason: string, message: string) => ({
  code,
  isDated: true,
  headers: {
    'content-type': 'application/json',
    'content-length': expect.stringMatching(/^[1-9]\d*$/),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  },
  status: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  },
  besides: '',
  isEchoed: false,
})
