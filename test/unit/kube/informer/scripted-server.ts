// An HTTP(S) server whose answers a test writes, in the words of a real API server where it matters,
// and a client to it. What an API server decides is tested on a real one; this one breaks off,
// stalls and refuses at will.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import { type ServerOptions, createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { Resource } from '../../../../src/api/names.ts'
import type { CircuitBreaker } from '../../../../src/kube/client/circuit-breaker.ts'
import { type KubeClient, createClient } from '../../../../src/kube/client/client.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { type ManualClock, manualClock } from '../../../support/clock.ts'

/** A request as it arrived. */
export interface Received {
  readonly method: string
  /** As it was sent, without the query. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** CN of the client's certificate; null without one. */
  readonly certifiedUser: string | null
}

/** How to answer one request. One that writes nothing leaves it open. */
export type Answer = (response: ServerResponse, request: Received) => void

/** A server that listens until the test is finished. */
export interface ScriptedServer {
  readonly url: string
  readonly received: readonly Received[]
  /** How many connections were ever opened. */
  readonly connections: () => number
}

/** Starts a server; with TLS where its options are given. */
export async function startScripted(answer: Answer, tls?: ServerOptions): Promise<ScriptedServer> {
  const received: Received[] = []
  let connections = 0
  const server = tls ? createTlsServer(tls) : createServer()
  // As long as an API server: Node's five seconds would end connections of a test that is slow.
  server.keepAliveTimeout = 90_000
  server.on(tls ? 'secureConnection' : 'connection', () => (connections += 1))
  server.on('request', (incoming, outgoing) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      const [path = '', query = ''] = (incoming.url ?? '').split('?')
      const request = {
        method: incoming.method ?? '',
        path,
        query: Object.fromEntries(new URLSearchParams(query)),
        headers: incoming.headers,
        body: Buffer.concat(parts).toString(),
        certifiedUser: certifiedUserOf(incoming.socket),
      }
      received.push(request)
      answer(outgoing, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  return { url, received, connections: () => connections }
}

function certifiedUserOf(socket: Socket): string | null {
  const subject = socket instanceof TLSSocket ? socket.getPeerCertificate().subject : undefined
  return subject?.CN?.toString() ?? null
}

/** Answers with JSON. */
export const json =
  (code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }

/** Answers as an API server does that refuses. */
export const refuse = (
  code: number,
  status: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Answer =>
  json(code, { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, ...status }, headers)

/** Breaks the connection without a word. */
export const breakOff: Answer = (response) => void response.destroy()

/** Says nothing. */
export const stall: Answer = () => undefined

/** The first request gets the first answer, and so on; those beyond the last are left open. */
export function inTurn(...answers: readonly Answer[]): Answer {
  let turn = 0
  return (response, request) => {
    const answer = answers[turn] ?? stall
    turn += 1
    answer(response, request)
  }
}

/** A folder that is removed when the test is finished. */
export async function scratchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** What a kubeconfig says of one cluster and one user. */
export interface KubeconfigParts {
  readonly server: string
  readonly cluster?: Readonly<Record<string, unknown>>
  readonly user?: Readonly<Record<string, unknown>>
  /** Where the file goes; absent: a scratch folder of its own. */
  readonly folder?: string
}

/** Writes a kubeconfig; JSON is YAML. client-node wants to be told that plain HTTP is meant. */
export async function writeKubeconfig(parts: KubeconfigParts): Promise<string> {
  const { server, cluster = { 'insecure-skip-tls-verify': true }, user = {} } = parts
  const path = join(parts.folder ?? (await scratchFolder()), 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server, ...cluster } }],
    users: [{ name: 'it', user }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
  }
  await writeFile(path, JSON.stringify(config))
  return path
}

/** A client with all that a test looks at. */
export interface Connected {
  readonly client: KubeClient
  readonly clock: ManualClock
  readonly outage: CircuitBreaker
  /** Each answer, such as `GET 200`, and each write, such as `Thing because`. */
  readonly told: string[]
  /** Date headers of the answers. */
  readonly dates: (number | null)[]
}

/** Connects with a kubeconfig; closed when the test is finished. */
export async function connectTo(
  kubeconfig: string,
  mayWrite: () => void = () => undefined,
): Promise<Connected> {
  const clock = manualClock(Date.parse('2026-11-21T10:00:00Z'))
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
  onTestFinished(() => connection.close())
  const told: string[] = []
  const dates: (number | null)[] = []
  const observer = {
    responded: (method: string, code: string, date: number | null): void => {
      told.push(`${method} ${code}`)
      dates.push(date)
    },
    wrote: (kind: string, reason: string): void => void told.push(`${kind} ${reason}`),
  }
  const client = createClient({
    connection,
    clock,
    observer,
    userAgent: 'tester/1',
    fieldManager: 'tester',
    mayWrite,
  })
  return { client, clock, outage: connection.breaker, told, dates }
}

/** Kinds that no program knows. */
export const THINGS: Resource = { group: 'g.io', version: 'v1', plural: 'things', kind: 'Thing' }

/** One of them as an API server sends it. */
export const thing = (name: string, version: number) => ({
  apiVersion: 'g.io/v1',
  kind: 'Thing',
  metadata: {
    name,
    uid: `${name}-uid`,
    resourceVersion: String(version),
    creationTimestamp: '2026-11-21T10:00:00Z',
  },
})
