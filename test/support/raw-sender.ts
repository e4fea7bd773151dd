// Sends requests byte by byte, without an HTTP client that would normalize or reject them.
import { once } from 'node:events'
import { type ConnectionOptions, type TLSSocket, connect } from 'node:tls'

/** A raw request. */
export interface RawRequest {
  readonly method: string
  /** The request target; one byte per character. */
  readonly target: string
  /** Header lines, `name: value`. */
  readonly headers: readonly string[]
  /** None when absent. */
  readonly body?: string
}

/** Sends requests over a few connections; returns the status code of each, 0 without a response. */
export interface Sender {
  send(requests: readonly RawRequest[]): Promise<readonly number[]>
  close(): void
}

const CONNECTIONS = 8
const STALLED_AFTER_MS = 20_000

/** A sender to a server. */
export function createSender(server: ConnectionOptions): Sender {
  const lanes = Array.from({ length: CONNECTIONS }, () => createLane(server))
  return {
    send: async (requests) => {
      const codes: number[] = []
      const queue = requests.entries()
      await Promise.all(
        lanes.map(async (lane) => {
          for (const [at, request] of queue) codes[at] = await lane.exchange(request)
        }),
      )
      return codes
    },
    close: () => {
      for (const lane of lanes) lane.close()
    },
  }
}

/** One request at a time on a connection, which is reopened when the server closes it. */
function createLane(server: ConnectionOptions) {
  let socket: TLSSocket | null = null
  const opened = async (): Promise<TLSSocket> => {
    const fresh = connect(server)
    fresh.setTimeout(STALLED_AFTER_MS, () => fresh.destroy())
    fresh.on('error', () => undefined)
    fresh.once('close', () => (socket = socket === fresh ? null : socket))
    await once(fresh, 'secureConnect')
    return fresh
  }
  return {
    exchange: async (request: RawRequest): Promise<number> => {
      // A CONNECT is the last request on its connection, so it gets a new one.
      if (request.method === 'CONNECT') {
        socket?.destroy()
        socket = null
      }
      socket ??= await opened()
      const { code, isLast } = await answered(socket, request)
      if (isLast) {
        socket?.destroy()
        socket = null
      }
      return code
    },
    close: () => socket?.destroy(),
  }
}

interface Answered {
  readonly code: number
  /** The connection takes no more requests. */
  readonly isLast: boolean
}

function answered(socket: TLSSocket, request: RawRequest): Promise<Answered> {
  const { method, target, headers, body = '' } = request
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: api',
    `Content-Length: ${body.length}`,
    ...headers,
    '',
    body,
  ]
  return new Promise((resolve) => {
    let text = ''
    const settle = (answer: Answered): void => {
      socket.off('data', read).off('close', closed)
      resolve(answer)
    }
    const read = (part: Buffer): void => {
      text += part.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = text.slice(0, end).toLowerCase()
      if (isComplete(head, text.length - end - 4, text.slice(-7), method))
        settle({ code: codeOf(head), isLast: head.includes('\r\nconnection: close') })
    }
    const closed = (): void => settle({ code: codeOf(text), isLast: true })
    socket.on('data', read).once('close', closed)
    socket.write(lines.join('\r\n'), 'latin1')
  })
}

const codeOf = (text: string): number => Number(/^http\/1\.1 (\d{3})/i.exec(text)?.[1] ?? 0)

function isComplete(head: string, bodyLength: number, tail: string, method: string): boolean {
  if (method === 'HEAD' || [204, 304].includes(codeOf(head))) return true
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  if (length !== undefined) return bodyLength >= Number(length)
  return head.includes('\r\ntransfer-encoding: chunked') && tail.endsWith('0\r\n\r\n')
}
