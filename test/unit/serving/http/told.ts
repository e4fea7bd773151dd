// What a client whose request can't be read has been told, and requests for it.
import type { TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import { answersIn } from '../../gateway/served.ts'

/** Stands in every request: nothing of one comes back in what is told. */
export const CANARY = 'canary-7f3a'

/** A head with these lines, and a canary in its path and in a header. */
export const head = (lines: readonly string[] = [], start = 'GET /'): string =>
  [`${start}?${CANARY} HTTP/1.1`, 'Host: h', `A: ${CANARY}`, ...lines, '', ''].join('\r\n')

/** What comes on a connection, so far; resolves when it has ended. */
export interface Hearing {
  readonly heard: () => string
  readonly closed: Promise<unknown>
}

/** A connection: everything that has come on it, and its end. */
export function hearing(socket: TLSSocket): Hearing {
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  // Whoever is cut off has heard what there was.
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  return { heard: () => text, closed }
}

/** What a text tells: what is looked at of its first answer, and all that is in it besides. */
export function toldIn(text: string): object {
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

/** A failure, told once, whole, and last. */
export const told = (code: number, reason: string, message: string) => ({
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
