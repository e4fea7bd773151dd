// Builds servers with the answers of a test, over each protocol of an upstream, and upstreams to them. Tests of
// a real API server are in test/cluster.
import { type IncomingMessage, type ServerResponse, createServer as createPlain } from 'node:http'
import { type ServerHttp2Session, createSecureServer } from 'node:http2'
import { createServer as createTls } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TLSSocket, createServer as createTlsSocketServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { connect } from '../../../../src/kube/client/connection.ts'
import {
  type Impersonation,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamUnavailable,
} from '../../../../src/kube/proxy/types.ts'
import { createUpstream } from '../../../../src/kube/proxy/upstream.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'
import type { CertificatePair } from '../../../../src/serving/tls/key-pair.ts'
import {
  createAuthority,
  issueClient,
  issueServing,
} from '../../../../tools/control-plane/certificates.ts'
import type { ManualClock } from '../../../support/manual-clock.ts'
import { writeKubeconfig } from '../informer/scripted-server.ts'

/** The protocols of an upstream. `https` speaks no HTTP/2; `http` is plain. */
export const WIRES = ['h2', 'https', 'http'] as const

/** One of WIRES. */
export type Wire = (typeof WIRES)[number]

/** Answers one request, of HTTP/1.1 or HTTP/2. An answer that writes nothing leaves the request open. */
export type Act = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** A server that listens until the test is finished. */
export interface UpstreamServer {
  readonly url: string
  readonly server: Server
  /** Open connections. */
  readonly sockets: ReadonlySet<Socket>
  /** Sessions of HTTP/2. */
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** Number of connections opened so far. */
  readonly opened: () => number
  /** Requests so far, such as `GET /a`. */
  readonly received: readonly string[]
}

const authority = createAuthority('upstream-test')
const serving = issueServing(authority, ['127.0.0.1', 'api.test'])
/** Certificate and key for 127.0.0.1 and api.test. */
export const TLS = {
  cert: serving.certificatePem,
  key: serving.keyPem,
  // Like the API server: a client without a certificate may send a token.
  ca: authority.certificatePem,
  requestCert: true,
  rejectUnauthorized: false,
}

function created(wire: Wire | 'both'): Server {
  // As much as kube-apiserver takes: a megabyte.
  const maxHeaderSize = 1024 * 1024
  if (wire === 'https') return createTls({ ...TLS, maxHeaderSize })
  if (wire === 'http') return createPlain({ maxHeaderSize })
  const settings = { maxHeaderListSize: maxHeaderSize, maxConcurrentStreams: 100 }
  const allowHTTP1 = wire === 'both'
  return createSecureServer({ ...TLS, settings, allowHTTP1, maxHeaderListPairs: 4096 })
}

/** Starts a server for one protocol, or for HTTP/2 and HTTP/1.1 as the API server is. */
export async function startUpstreamServer(
  wire: Wire | 'both',
  respond: Act,
): Promise<UpstreamServer> {
  const server = created(wire)
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  const received: string[] = []
  let opened = 0
  server.on(wire === 'http' ? 'connection' : 'secureConnection', (socket: Socket) => {
    opened += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined)
  })
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session)).on('error', () => undefined)
  })
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    received.push(`${incoming.method} ${incoming.url}`)
    outgoing.on('error', () => undefined)
    incoming.on('error', () => undefined)
    respond(incoming, outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const url = `${wire === 'http' ? 'http' : 'https'}://127.0.0.1:${port}`
  return { url, server, sockets, sessions, opened: () => opened, received }
}

/** A client's certificate that the server knows. */
export const issue = (user: string): CertificatePair => issueClient(authority, { user, groups: [] })

/** Options of an upstream. */
export interface UpstreamParts {
  readonly user?: Readonly<Record<string, unknown>>
  /** Path after the address of the server. */
  readonly prefix?: string
  readonly clock?: Clock
}

/** An upstream, and the answers that its observer recorded, such as `GET 200`. */
export interface UpstreamWithResponses {
  readonly upstream: Upstream
  readonly responses: readonly string[]
}

/** Builds an upstream to a server; closed when the test is finished. */
export async function upstreamTo(
  url: string,
  parts: UpstreamParts = {},
): Promise<UpstreamWithResponses> {
  const { user = { token: 'our-own' }, prefix = '', clock = systemClock() } = parts
  const kubeconfig = await writeKubeconfig({ server: `${url}${prefix}`, user })
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
  const responses: string[] = []
  const observer = {
    responded: ({ method }: UpstreamCall, code: string) => void responses.push(`${method} ${code}`),
  }
  const upstream = createUpstream({ connection, clock, observer })
  onTestFinished(async () => {
    await upstream.close()
    await connection.close()
  })
  return { upstream, responses }
}

/** Starts a server and builds an upstream to it. */
export async function startServerAndUpstream(
  wire: Wire | 'both',
  respond: Act,
  parts: UpstreamParts = {},
): Promise<UpstreamWithResponses & { readonly server: UpstreamServer }> {
  const server = await startUpstreamServer(wire, respond)
  return { ...(await upstreamTo(server.url, parts)), server }
}

/** A GET of `/` as this process, without a timeout; parts may differ. */
export const call = (parts: Partial<UpstreamCall> = {}): UpstreamCall => ({
  method: 'GET',
  path: '/',
  headers: {},
  impersonation: null,
  body: null,
  isLongRunning: false,
  signal: new AbortController().signal,
  ...parts,
})

/** An impersonated user. */
export const ANN: Impersonation = {
  'impersonate-user': 'ann',
  'impersonate-group': ['a', 'b'],
  'impersonate-extra-platform.sh%2faccess-key': 'key-1',
}

/** The body of an answer as text. */
export const textOf = async ({ body }: UpstreamAnswer): Promise<string> =>
  (await buffer(body)).toString()

/** Answers with the method, the path and the body of the request. */
export const echo: Act = (incoming, outgoing) => {
  void buffer(incoming).then(
    (body) => outgoing.end(`${incoming.method} ${incoming.url} ${body.toString()}`),
    () => undefined,
  )
}

/** Destroys all connections of the server. */
export function breakConnection({ sockets }: UpstreamServer): void {
  for (const socket of sockets) socket.destroy()
}

/**
 * Advances the clock in steps of 10 s, each followed by a request, so that answers to pings arrive in between.
 * The server must answer `GET /behind`.
 */
export async function advanceWithRequests(
  clock: ManualClock,
  upstream: Upstream,
  ms: number,
): Promise<void> {
  const STEP_MS = 10_000
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await clock.advance(Math.min(STEP_MS, ms - passed))
    await textOf(await upstream.send(call({ path: '/behind' })))
  }
}

/** The outcome of a request: `whole: …`, `broken` (truncated), or `unavailable`. */
export const outcomeOf = async (sent: Promise<UpstreamAnswer>): Promise<string> => {
  try {
    const { body } = await sent
    const text = Buffer.concat((await body.toArray()) as Buffer[]).toString()
    return `whole: ${text}`
  } catch (error) {
    return error instanceof UpstreamUnavailable ? 'unavailable' : 'broken'
  }
}

const PREFACE_BYTES = 24
const HEAD_BYTES = 9
const TYPES = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const
const END_STREAM = 1
const END_HEADERS = 4
const ACK = 1
/** `:status: 200`, by its index in the static table of HPACK. */
const STATUS_200 = Buffer.from([0x88])

/** Error codes of RST_STREAM and GOAWAY. */
export const ERROR_CODES = { none: 0, internal: 2, refused: 7, cancel: 8, calm: 11 } as const

/** Sends frames on a connection. */
export interface FrameSender {
  readonly head: (stream: number, isEnd?: boolean) => void
  readonly data: (stream: number, text: string, isEnd?: boolean) => void
  readonly reset: (stream: number, code: number) => void
  readonly goaway: (last: number, code: number) => void
  /** Closes the TCP connection without an error. */
  readonly end: () => void
}

/** A server that listens until the test is finished. */
export interface FrameServer {
  readonly url: string
  /** Number of connections opened so far. */
  readonly opened: () => number
  /** `request` for each opened stream, `end` for each ended body, and `reset <code>` for each reset by the client. */
  readonly received: readonly string[]
}

/** Options of a frame server. */
export interface FrameOptions {
  /** Called with the headers of a request; `count` numbers requests from 1. */
  readonly onRequest: (sender: FrameSender, stream: number, count: number) => void
  /** Whether to answer pings; absent = yes. */
  readonly isAlive?: () => boolean
}

/** Starts a server that sends single HTTP/2 frames, in orders that no library sends, such as a truncated answer. */
export async function startFrameServer({
  onRequest,
  isAlive = () => true,
}: FrameOptions): Promise<FrameServer> {
  const received: string[] = []
  const sockets = new Set<TLSSocket>()
  let opened = 0
  let count = 0
  const server = createTlsSocketServer({ ...TLS, ALPNProtocols: ['h2'] }, (socket) => {
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
    const sender: FrameSender = {
      head: (stream, isEnd = false) =>
        frame(TYPES.headers, END_HEADERS | (isEnd ? END_STREAM : 0), stream, STATUS_200),
      data: (stream, text, isEnd = false) =>
        frame(TYPES.data, isEnd ? END_STREAM : 0, stream, Buffer.from(text)),
      reset: (stream, code) => frame(TYPES.reset, 0, stream, uint32s(code)),
      goaway: (last, code) => frame(TYPES.goaway, 0, 0, uint32s(last, code)),
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
      count += 1
      onRequest(sender, stream, count)
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

function uint32s(...values: readonly number[]): Buffer {
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
