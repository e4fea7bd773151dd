// Builds a server with the answers of a test, over each protocol of an upstream, and an upstream to it. Tests of
// a real API server are in test/cluster.
import { type IncomingMessage, type ServerResponse, createServer as createPlain } from 'node:http'
import { type ServerHttp2Session, createSecureServer } from 'node:http2'
import { createServer as createTls } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
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
import type { ManualClock } from '../../../support/clock.ts'
import { writeKubeconfig } from '../informer/scripted-server.ts'

/** The protocols of an upstream. `https` speaks no HTTP/2; `http` is plain. */
export const WIRES = ['h2', 'https', 'http'] as const

/** One of WIRES. */
export type Wire = (typeof WIRES)[number]

/** Answers one request; that of HTTP/2 looks the same. One that writes nothing leaves it open. */
export type Act = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/** A server that listens until the test is finished. */
export interface UpstreamServer {
  readonly url: string
  readonly server: Server
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>
  /** Of HTTP/2, with how many streams of each have been opened. */
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** How many connections were ever opened. */
  readonly opened: () => number
  /** Requests so far, such as `GET /a`. */
  readonly received: readonly string[]
}

const authority = createAuthority('upstream-test')
const serving = issueServing(authority, ['127.0.0.1'])
/** Certificate and key for 127.0.0.1. */
export const TLS = {
  cert: serving.certificatePem,
  key: serving.keyPem,
  // As an API server: a client without a certificate may send a token.
  ca: authority.certificatePem,
  requestCert: true,
  rejectUnauthorized: false,
}

function created(wire: Wire): Server {
  // As much as kube-apiserver takes: a megabyte.
  const maxHeaderSize = 1024 * 1024
  if (wire === 'https') return createTls({ ...TLS, maxHeaderSize })
  if (wire === 'http') return createPlain({ maxHeaderSize })
  const settings = { maxHeaderListSize: maxHeaderSize, maxConcurrentStreams: 100 }
  return createSecureServer({ ...TLS, settings, maxHeaderListPairs: 4096 })
}

/** Starts a server. */
export async function startUpstreamServer(wire: Wire, act: Act): Promise<UpstreamServer> {
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
    act(incoming, outgoing)
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
  /** Behind the address of the server. */
  readonly prefix?: string
  readonly clock?: Clock
}

/** An upstream, and the answers that its observer saw, such as `GET 200`. */
export interface Staged {
  readonly upstream: Upstream
  readonly responses: readonly string[]
}

/** The upstream to a server, closed when the test is finished. */
export async function upstreamTo(url: string, parts: UpstreamParts = {}): Promise<Staged> {
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

/** Server and upstream at once. */
export async function stage(
  wire: Wire,
  act: Act,
  parts: UpstreamParts = {},
): Promise<Staged & { readonly server: UpstreamServer }> {
  const server = await startUpstreamServer(wire, act)
  return { ...(await upstreamTo(server.url, parts)), server }
}

/** A GET of `/` as this process, without an end; a row shows its differences. */
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

/** Breaks the connection, whatever its protocol. */
export function breakConnection({ sockets }: UpstreamServer): void {
  for (const socket of sockets) socket.destroy()
}

/**
 * Lets time pass in steps in which the server can say that it is alive: the answer to a word behind it
 * has come. The server must answer `GET /behind`.
 */
export async function pass(clock: ManualClock, upstream: Upstream, ms: number): Promise<void> {
  const STEP_MS = 10_000
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await clock.advance(Math.min(STEP_MS, ms - passed))
    await textOf(await upstream.send(call({ path: '/behind' })))
  }
}

/** The outcome of a request: `whole: …`, `broken` in its middle, or `unavailable`. */
export const outcomeOf = async (sent: Promise<UpstreamAnswer>): Promise<string> => {
  try {
    const { body } = await sent
    const text = Buffer.concat((await body.toArray()) as Buffer[]).toString()
    return `whole: ${text}`
  } catch (error) {
    return error instanceof UpstreamUnavailable ? 'unavailable' : 'broken'
  }
}
