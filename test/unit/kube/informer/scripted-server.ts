// An HTTP(S) server whose answers a test writes, worded like a real API server's where it matters,
// and a client to it. Behaviour of the API server is tested on a real one; this one drops connections,
// stalls and refuses as the test says.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import { type ServerOptions, createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { Resource } from '../../../../src/api/names.ts'
import type { KubeObject } from '../../../../src/api/objects.ts'
import type { CircuitBreaker } from '../../../../src/kube/client/circuit-breaker.ts'
import { type KubeClient, createClient } from '../../../../src/kube/client/client.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string
  /** As it was sent, without the query. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** CN of the client's certificate; null without one. */
  readonly certifiedUser: string | null
}

/** Answers one request. An answer that writes nothing leaves the request open. */
export type Answer = (response: ServerResponse, request: ReceivedRequest) => void

/** A server that listens until the test is finished. */
export interface ScriptedServer {
  readonly url: string
  readonly received: readonly ReceivedRequest[]
  /** Number of connections opened so far. */
  readonly connections: () => number
}

/** Starts a server; with TLS where its options are given. */
export async function startScriptedServer(
  answer: Answer,
  tls?: ServerOptions,
): Promise<ScriptedServer> {
  const received: ReceivedRequest[] = []
  let connections = 0
  const server = tls ? createTlsServer(tls) : createServer()
  // As long as the API server's: Node's default of 5 s would close connections of a slow test.
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

/** Answers with this code and JSON body. */
export const json =
  (code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }

/** Answers with a Status of reason Failure, as the API server does. */
export const refuse = (
  code: number,
  status: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Answer =>
  json(code, { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, ...status }, headers)

/** Closes the connection without an answer. */
export const dropConnection: Answer = (response) => void response.destroy()

/** Leaves the request open. */
export const neverAnswer: Answer = () => undefined

/** The first request gets the first answer, and so on; requests beyond the last are left open. */
export function answersInTurn(...answers: readonly Answer[]): Answer {
  let turn = 0
  return (response, request) => {
    const answer = answers[turn] ?? neverAnswer
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

/** The cluster and the user of a kubeconfig. */
export interface KubeconfigParts {
  readonly server: string
  readonly cluster?: Readonly<Record<string, unknown>>
  readonly user?: Readonly<Record<string, unknown>>
  /** Folder of the file; absent: a new scratch folder. */
  readonly folder?: string
}

/** Writes a kubeconfig (JSON is YAML). Plain HTTP is accepted only with insecure-skip-tls-verify. */
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

/** A client, and what its observer recorded. */
export interface Connected {
  readonly client: KubeClient
  readonly clock: ManualClock
  readonly outage: CircuitBreaker
  /** Each answer, such as `GET 200`, and each write, such as `Thing because`. */
  readonly observed: string[]
  /** Date headers of the answers. */
  readonly dates: (number | null)[]
}

/** Connects with a kubeconfig; the connection is closed when the test is finished. */
export async function connectTo(
  kubeconfig: string,
  mayWrite: () => void = () => undefined,
): Promise<Connected> {
  const clock = manualClock(Date.parse('2026-11-21T10:00:00Z'))
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
  onTestFinished(() => connection.close())
  const observed: string[] = []
  const dates: (number | null)[] = []
  const observer = {
    responded: (method: string, code: string, date: number | null): void => {
      observed.push(`${method} ${code}`)
      dates.push(date)
    },
    wrote: (kind: string, reason: string): void => void observed.push(`${kind} ${reason}`),
  }
  const client = createClient({
    connection,
    clock,
    observer,
    userAgent: 'tester/1',
    fieldManager: 'tester',
    mayWrite,
  })
  return { client, clock, outage: connection.breaker, observed, dates }
}

/** A resource that the product doesn't know. */
export const THINGS: Resource = { group: 'g.io', version: 'v1', plural: 'things', kind: 'Thing' }

/** A Thing as the API server sends it: `thing('a', 5)` is a@5, cluster-scoped, with uid `a-uid`. */
export const thing = (
  name: string,
  version: number,
  { uid = `${name}-uid`, owner = '', namespace = '' } = {},
): KubeObject => ({
  apiVersion: 'g.io/v1',
  kind: 'Thing',
  metadata: {
    name,
    ...(namespace === '' ? {} : { namespace }),
    uid,
    resourceVersion: String(version),
    creationTimestamp: '2026-11-21T10:00:00Z',
  },
  ...(owner === '' ? {} : { spec: { owner } }),
})
