// An API server that means harm, in a process of its own, which executes this file too: what it does must not slow the
// measurements down.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, Server, Socket } from 'node:net'
import { type TLSSocket, createServer } from 'node:tls'
import { type ServerPair, serverPair } from './certificate-builder.ts'
import {
  HOSTILE_ANSWERS,
  type HostileAnswer,
  type HostileWire,
  ORDINARY,
  h2Frame,
} from './hostile-answers.ts'

/** Maximum bytes of one answer: a server that holds them all must fail the test, and not the machine. */
const MOST_BYTES = 48 * 1024 * 1024

/** Its answer to /version: the only honest one, which no forged answer may replace. */
export const GENUINE = '{"gitVersion":"genuine"}'

/** The argument that makes this file serve. */
const CHILD = 'serve-hostile-answers'

/** Its address for each wire, and the CA of its certificates (PEM). */
export interface HostileTarget {
  readonly urls: Readonly<Record<HostileWire, string>>
  readonly caPem: string
  /**
   * Chooses the answer of the wire `frames`, where the names of requests are compressed, for all requests from now on; null =
   * the honest one. On the other wires a request names its answer in the parameter `hostile`.
   */
  readonly choose: (name: string | null) => Promise<void>
  readonly stop: () => void
}

/** Starts it. */
export async function startHostileTarget(): Promise<HostileTarget> {
  const pair = serverPair('hostile')
  const child = fork(import.meta.filename, [CHILD], { execArgv: [] })
  child.send(pair)
  const [ports] = (await once(child, 'message')) as [Readonly<Record<HostileWire, number>>]
  const urlOf = (wire: HostileWire): string => `https://127.0.0.1:${ports[wire]}`
  return {
    urls: { h1: urlOf('h1'), h2: urlOf('h2'), frames: urlOf('frames') },
    caPem: pair.caPem,
    choose: async (name) => {
      const chosen = once(child, 'message')
      child.send({ name })
      await chosen
    },
    stop: () => void child.kill(),
  }
}

const answerTo = (request: string): HostileAnswer | undefined => {
  const name = decodeURIComponent(/[?&]hostile=([^& ]*)/.exec(request)?.[1] ?? '')
  return [ORDINARY, ...HOSTILE_ANSWERS].find((answer) => answer.name === name)
}

/** A stream that bytes go to. */
interface Sink {
  readonly destroyed: boolean
  write(bytes: Buffer): boolean
  once(event: 'drain', act: () => void): unknown
}

function give(sink: Sink, { head, more }: HostileAnswer, stream: number, done: () => void): void {
  const first = head(stream)
  if (first.length > 0) sink.write(first)
  const piece = more?.(stream)
  let bytes = 0
  const next = (): void => {
    if (piece === undefined || bytes >= MOST_BYTES || sink.destroyed) return done()
    bytes += piece.length
    // In turns, so that one flood does not keep the others waiting.
    if (sink.write(piece)) setImmediate(next)
    else sink.once('drain', next)
  }
  next()
}

function finished(socket: TLSSocket, { afterwards }: HostileAnswer): void {
  if (afterwards === 'end') socket.end()
  else if (afterwards === 'reset') setTimeout(() => reset(socket), 50)
}

/** Resets the connection below TLS, where Node lets nobody else do it. */
function reset(socket: TLSSocket): void {
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket }
  if (below && !below.destroyed) below.resetAndDestroy()
  else socket.destroy()
}

function serveHttp1(pair: object): Server {
  return createServer({ ...pair, ALPNProtocols: ['http/1.1'] }, (socket) => {
    socket.on('error', () => undefined)
    let head = ''
    socket.on('data', (bytes: Buffer) => {
      head += bytes.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) return
      const isRequest = / HTTP\/1\.1\r\n/.test(head)
      const answer = answerTo(head.slice(0, end))
      head = ''
      // The rest is the end of a body.
      if (!isRequest) return
      if (answer) give(socket, answer, 0, () => finished(socket, answer))
      else
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${GENUINE.length}\r\n\r\n${GENUINE}`,
        )
    })
  })
}

function serveHttp2(pair: object): Server {
  const server = createSecureServer({ ...pair, allowHTTP1: false })
  server.on('sessionError', () => undefined)
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    const answer = answerTo(headers[':path'] ?? '')
    stream.respond({ ':status': 200, 'content-type': 'application/json' })
    if (answer) give(stream, answer, 0, () => undefined)
    else stream.end(GENUINE)
  })
  return server
}

const PREFACE_BYTES = 24

let chosen: string | null = null

/** Frames as they are. */
function serveFrames(pair: object): Server {
  return createServer({ ...pair, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => undefined)
    socket.write(h2Frame('settings', 0, 0))
    let rest = Buffer.alloc(0)
    let prefaceLeft = PREFACE_BYTES
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes.subarray(prefaceLeft)])
      prefaceLeft = Math.max(prefaceLeft - bytes.length, 0)
      for (;;) {
        if (rest.length < 9 || rest.length < 9 + rest.readUIntBE(0, 3)) return
        const length = rest.readUIntBE(0, 3)
        const [type = 0, flags = 0] = rest.subarray(3, 5)
        const stream = rest.readUInt32BE(5) & 0x7fffffff
        const body = rest.subarray(9, 9 + length)
        rest = rest.subarray(9 + length)
        if (type === 4 && (flags & 1) === 0) socket.write(h2Frame('settings', 1, 0))
        if (type === 6 && (flags & 1) === 0)
          socket.write(h2Frame('ping', 1, 0, body.toString('latin1')))
        if (type === 1) answerFrames(socket, stream)
      }
    })
  })
}

function answerFrames(socket: TLSSocket, stream: number): void {
  const answer = HOSTILE_ANSWERS.find(({ name }) => name === chosen)
  if (answer) {
    give(socket, answer, stream, () => finished(socket, answer))
    return
  }
  socket.write(h2Frame('headers', 4, stream, '\x88'))
  socket.write(h2Frame('data', 1, stream, GENUINE))
}

if (process.argv[2] === CHILD) {
  process.once('message', ({ keyPem, certificatePem }: ServerPair) => {
    const pair = { key: keyPem, cert: certificatePem }
    const servers = { h1: serveHttp1(pair), h2: serveHttp2(pair), frames: serveFrames(pair) }
    const listening = Object.values(servers).map(async (server) => {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    })
    void Promise.all(listening).then(() => {
      const portOf = (server: Server): number => (server.address() as AddressInfo).port
      process.send?.({
        h1: portOf(servers.h1),
        h2: portOf(servers.h2),
        frames: portOf(servers.frames),
      })
    })
  })
  process.on('message', ({ name }: { readonly name?: string | null }) => {
    if (name === undefined) return
    chosen = name
    process.send?.('chosen')
  })
  process.once('disconnect', () => process.exit())
}
