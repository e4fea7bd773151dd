// The Status that a client gets for a request that the server can't read, and such requests.
import type { TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import { answersIn } from '../../gateway/listening-server.ts'

/** Stands in every request: no part of it comes back in a response. */
export const CANARY = 'canary-7f3a'

/** A head with these lines, and a canary in its path and in a header. */
export const head = (lines: readonly string[] = [], start = 'GET /'): string =>
  [`${start}?${CANARY} HTTP/1.1`, 'Host: h', `A: ${CANARY}`, ...lines, '', ''].join('\r\n')

/** The text that has come on a connection so far; `closed` resolves at its end. */
export interface Received {
  readonly received: () => string
  readonly closed: Promise<unknown>
}

/** Collects what comes on a connection until it closes. */
export function receivedOn(socket: TLSSocket): Received {
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  // A client that is cut off keeps what it has received.
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  return { received: () => text, closed }
}

/** The first response in a text, as far as tests compare it, and the text behind it. */
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

/** The Status of a failure as the only and whole response of its connection. */
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
