// A server that sends single HTTP/2 frames, in orders that no library sends: a truncated answer, a reset in
// its middle, a GOAWAY.
import type { AddressInfo } from 'node:net'
import { type TLSSocket, createServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { TLS } from './upstream-server.ts'

const PREFACE_BYTES = 24
const HEAD_BYTES = 9
const TYPES = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const
const END_STREAM = 1
const END_HEADERS = 4
const ACK = 1
/** `:status: 200`, by its place in the static table. */
const STATUS_200 = Buffer.from([0x88])

/** Codes of RST_STREAM and GOAWAY. */
export const CODES = { none: 0, internal: 2, refused: 7, cancel: 8, calm: 11 } as const

/** Sends frames on a connection. */
export interface Speaker {
  readonly head: (stream: number, isEnd?: boolean) => void
  readonly data: (stream: number, text: string, isEnd?: boolean) => void
  readonly reset: (stream: number, code: number) => void
  readonly goaway: (last: number, code: number) => void
  /** Ends the connection in order, as far as TCP goes. */
  readonly end: () => void
}

/** A server that listens until the test is finished. */
export interface FrameServer {
  readonly url: string
  /** Connections that were ever opened. */
  readonly opened: () => number
  /** Streams that were opened, bodies that the client ended, and streams that it reset, with the code. */
  readonly received: readonly string[]
}

/** Options of a frame server. */
export interface FrameOptions {
  /** Called when a request's head is there; `nth` counts them from 1. */
  readonly asked: (speaker: Speaker, stream: number, nth: number) => void
  /** Whether to answer pings; absent = yes. */
  readonly isAlive?: () => boolean
}

/** Starts a frame server. */
export async function startFrames({
  asked,
  isAlive = () => true,
}: FrameOptions): Promise<FrameServer> {
  const received: string[] = []
  const sockets = new Set<TLSSocket>()
  let opened = 0
  let nth = 0
  const server = createServer({ ...TLS, ALPNProtocols: ['h2'] }, (socket) => {
    opened += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    const frame = (
      type: number,
      flags: number,
      stream: number,
      body: Buffer = Buffer.alloc(0),
    ): void => {
      if (socket.destroyed) return
      const head = Buffer.alloc(HEAD_BYTES)
      head.writeUIntBE(body.length, 0, 3)
      head.writeUInt8(type, 3)
      head.writeUInt8(flags, 4)
      head.writeUInt32BE(stream, 5)
      socket.write(Buffer.concat([head, body]))
    }
    const speaker: Speaker = {
      head: (stream, isEnd = false) =>
        frame(TYPES.headers, END_HEADERS | (isEnd ? END_STREAM : 0), stream, STATUS_200),
      data: (stream, text, isEnd = false) =>
        frame(TYPES.data, isEnd ? END_STREAM : 0, stream, Buffer.from(text)),
      reset: (stream, code) => frame(TYPES.reset, 0, stream, words(code)),
      goaway: (last, code) => frame(TYPES.goaway, 0, 0, words(last, code)),
      end: () => socket.end(),
    }
    frame(TYPES.settings, 0, 0)
    onFrames(socket, (type, flags, stream, body) => {
      if (type === TYPES.settings && (flags & ACK) === 0) frame(TYPES.settings, ACK, 0)
      if (type === TYPES.ping && (flags & ACK) === 0 && isAlive()) frame(TYPES.ping, ACK, 0, body)
      if (type === TYPES.data && (flags & END_STREAM) !== 0) received.push('end')
      if (type === TYPES.reset) received.push(`reset ${body.readUInt32BE()}`)
      if (type !== TYPES.headers) return
      received.push('request')
      nth += 1
      asked(speaker, stream, nth)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}`, opened: () => opened, received }
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => bytes.writeUInt32BE(value, 4 * at))
  return bytes
}

function onFrames(
  socket: TLSSocket,
  take: (type: number, flags: number, stream: number, body: Buffer) => void,
): void {
  let rest: Buffer = Buffer.alloc(0)
  let prefaceLeft = PREFACE_BYTES
  socket.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece.subarray(prefaceLeft)])
    prefaceLeft = Math.max(prefaceLeft - piece.length, 0)
    while (rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3)
      if (rest.length < end) return
      const [type = 0, flags = 0] = rest.subarray(3, 5)
      const body = rest.subarray(HEAD_BYTES, end)
      take(type, flags, rest.readUInt32BE(5) & 0x7fffffff, body)
      rest = rest.subarray(end)
    }
  })
}
