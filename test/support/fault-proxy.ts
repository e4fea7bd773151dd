// A proxy between a client and an API server that loses, delays and invents answers on demand. It
// ends TLS under an authority of its own, so credentials must be tokens: those pass as they are.
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer, request as sendRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { SELF_SUBJECT_ACCESS_REVIEWS } from '../../src/api/names.ts'
import { parseYaml } from '../../src/runtime/yaml.ts'
import { createAuthority, issueServing } from '../../tools/control-plane/certificates.ts'
import { eventually } from './eventually.ts'

/** A listening proxy. `await using` closes it at the end of the block. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string
  /** The authority of its certificate. */
  readonly caPem: string
  /** All requests, in order. */
  readonly requests: readonly SeenRequest[]
  /** Adds a rule for requests to come. Of several that match, the one added first acts. */
  on(match: Match, act: Act): Rule
  /** Stalls responses under way, such as watches: open, but no byte passes any more. */
  freeze(match: Match): void
  /** Breaks the connections of responses under way. */
  cut(match: Match): void
  /** Writes a kubeconfig beside the given one: the same credentials, by way of the proxy. */
  kubeconfig(of: string): Promise<string>
}

/** Clients close idle connections long before, so none is closed under a call. */
const IDLE_MS = 120_000

/** Starts a proxy, on a free port of this machine, to a server and the authority of its file. */
export async function startProxy(upstream: {
  readonly url: string
  readonly caFile: string
}): Promise<FaultProxy> {
  const ca = await readFile(upstream.caFile, 'utf8')
  const authority = createAuthority('fault-proxy')
  const { certificatePem: cert, keyPem: key } = issueServing(authority, ['127.0.0.1'])
  const requests: SeenRequest[] = []
  const open = new Set<Exchange>()
  const rules = new Set<ActiveRule>()

  const server = createServer({ cert, key, keepAliveTimeout: IDLE_MS }, (incoming, outgoing) => {
    const serve = async (): Promise<void> => {
      const exchange = await receive(incoming, outgoing)
      requests.push(exchange.seen)
      open.add(exchange)
      outgoing.once('close', () => open.delete(exchange))
      const rule = [...rules].find(({ match }) => match(exchange.seen))
      await carryOut(exchange, { url: upstream.url, ca }, rule)
    }
    // The client sees an unreachable server and an aborted response in the same way.
    serve().catch(() => outgoing.destroy())
  })
  const url = await listening(server)

  return {
    url,
    caPem: authority.certificatePem,
    requests,
    on(match, act) {
      const rule = createRule(match, act, () => rules.delete(rule))
      rules.add(rule)
      return rule
    },
    freeze(match) {
      for (const exchange of open) if (match(exchange.seen)) exchange.frozen = true
    },
    cut(match) {
      for (const { seen, outgoing } of open) if (match(seen)) outgoing.destroy()
    },
    kubeconfig: (of) => redirected(of, url, authority.certificatePem),
    async [Symbol.asyncDispose]() {
      for (const rule of rules) rule.remove()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: object }[]
  readonly users: readonly { readonly user: Readonly<Record<string, unknown>> }[]
}

/**
 * Writes a kubeconfig beside the given one: the same credentials, for another server. It has the port in its name, so
 * that two can stand before one server.
 */
export async function redirected(of: string, url: string, caPem: string): Promise<string> {
  const config = parseYaml(await readFile(of, 'utf8')) as Kubeconfig
  if (config.users.some(({ user }) => !('token' in user || 'tokenFile' in user))) {
    throw new Error(`${of}: a client certificate can't pass a proxy, use a ServiceAccount's token`)
  }
  const cluster = {
    server: url,
    'certificate-authority-data': Buffer.from(caPem).toString('base64'),
  }
  const clusters = config.clusters.map(({ name }) => ({ name, cluster }))
  const path = `${of}.by-${new URL(url).port}`
  await writeFile(path, JSON.stringify({ ...config, clusters }), { mode: 0o600 })
  return path
}

/** One request and its answer, between a client and the API server. */
export interface Exchange {
  readonly seen: SeenRequest & { status: number | null }
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Once true, no byte of the response passes any more, nor does its end. */
  frozen: boolean
}

/** The API server, and the authority that it is known by. */
export interface UpstreamServer {
  readonly url: string
  readonly ca: string
}

/** Reads the whole request. */
export async function receive(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<Exchange> {
  const { method = '', url = '' } = incoming
  const { pathname: path, searchParams: query } = new URL(url, 'https://proxy')
  const body = await text(incoming)
  const seen = { method, path, query, body, status: null }
  return { seen, incoming, outgoing, frozen: false }
}

/** Applies the rule to a request; without one passes it on. */
export async function carryOut(
  exchange: Exchange,
  server: UpstreamServer,
  rule: ActiveRule | undefined,
): Promise<void> {
  if (rule === undefined) return passOn(exchange, server)
  const { seen, outgoing } = exchange
  const { act } = rule
  rule.hits.push(seen)
  if (act.kind === 'swallow') {
    const answer = await forward(exchange, server)
    await text(answer)
    seen.status = answer.statusCode ?? null
  }
  if (act.kind === 'answer') seen.status = act.status
  rule.arrived(seen)
  switch (act.kind) {
    case 'answer':
      outgoing.writeHead(act.status, { 'content-type': 'application/json', ...act.headers })
      outgoing.end(JSON.stringify(act.body))
      return
    case 'delay':
      await delay(act.ms)
      return passOn(exchange, server)
    case 'hold':
      if (await rule.released) return passOn(exchange, server)
      outgoing.destroy()
      return
    case 'swallow':
      await rule.released
      outgoing.destroy()
      return
    case 'destroy':
      outgoing.destroy()
  }
}

/** Forwards the request unchanged; its own connection isolates it from faults of others. */
function forward(
  { seen, incoming }: Exchange,
  { url, ca }: UpstreamServer,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = { method: seen.method, headers: endToEnd(incoming.headers), ca, agent: false }
  sendRequest(`${url}${incoming.url}`, options)
    .once('response', resolve)
    .once('error', reject)
    .end(seen.body)
  return promise
}

/** Forwards the request and streams the answer back, unless it is frozen meanwhile. */
async function passOn(exchange: Exchange, server: UpstreamServer): Promise<void> {
  const { seen, outgoing } = exchange
  const answer = await forward(exchange, server)
  outgoing.once('close', () => answer.destroy())
  const unlessFrozen = (act: () => void): void => {
    if (!exchange.frozen) act()
  }
  unlessFrozen(() => {
    seen.status = answer.statusCode ?? 502
    outgoing.writeHead(seen.status, endToEnd(answer.headers)).flushHeaders()
  })
  answer.on('data', (chunk: Buffer) => unlessFrozen(() => outgoing.write(chunk)))
  answer.once('end', () => unlessFrozen(() => outgoing.end()))
  answer.once('error', () => unlessFrozen(() => outgoing.destroy()))
}

/** Headers without hop-by-hop ones; Node writes its own. */
function endToEnd<T extends object>(headers: T): Omit<T, 'host' | 'connection'> {
  const oneHop = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !oneHop.has(name))) as T
}

/** A request received by the proxy. */
export interface SeenRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** As text; empty for a read. */
  readonly body: string
  /** The status code of the API server, or of a rule in its place; null before the response. */
  readonly status: number | null
}

/** Chooses requests. */
export type Match = (request: SeenRequest) => boolean

/** The fault of a request that a rule matches. */
export type Act =
  /** The proxy answers in the API server's place, which never gets the request. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      /** Sent as JSON. */
      readonly body?: unknown
    }
  /** The connection breaks; the API server never gets the request. */
  | { readonly kind: 'destroy' }
  /** Forwarded that much later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Held back until the rule is released. */
  | { readonly kind: 'hold' }
  /** The API server handles the request, its response is held back; when released, the connection breaks. */
  | { readonly kind: 'swallow' }

/** A rule that is in force until it is released or removed. */
export interface Rule {
  /** The matched requests so far. */
  readonly hits: readonly SeenRequest[]
  /** The first matched request, once it is held or acted on: for `swallow`, after the commit. */
  reached(bound: { readonly withinMs: number }): Promise<SeenRequest>
  /** Ends the rule and forwards held requests, also of a disconnected client, like a late packet. */
  release(): void
  /** Ends the rule and drops held requests: their connections break, nothing is forwarded. */
  remove(): void
}

/** The proxy's side of a rule. */
export interface ActiveRule extends Rule {
  readonly match: Match
  readonly act: Act
  readonly hits: SeenRequest[]
  /** Called when the rule holds a request or acts on it. */
  arrived(request: SeenRequest): void
  /** True once the rule is released, false once it is removed. */
  readonly released: Promise<boolean>
}

/** A rule; `end` takes it out of force. */
export function createRule(match: Match, act: Act, end: () => void): ActiveRule {
  const { promise: released, resolve } = Promise.withResolvers<boolean>()
  const arrivals: SeenRequest[] = []
  const endWith = (isReleased: boolean) => () => {
    end()
    resolve(isReleased)
  }
  return {
    match,
    act,
    hits: [],
    released,
    arrived: (request) => void arrivals.push(request),
    reached: (bound) =>
      eventually(`a request comes to where it meets '${act.kind}'`, () => arrivals[0], bound),
    release: endWith(true),
    remove: endWith(false),
  }
}

/** Requests that may change something. A client that asks what it may do changes nothing, as in the audit log of tests. */
export const isWrite: Match = ({ method, path }) =>
  method !== 'GET' && method !== 'HEAD' && !path.endsWith(`/${SELF_SUBJECT_ACCESS_REVIEWS.plural}`)

/** The first `n` requests that match. */
export function first(n: number, match: Match): Match {
  let left = n
  return (request) => left > 0 && match(request) && left-- > 0
}

/** The nth request that matches, counted from 1, and no other. */
export function nth(n: number, match: Match): Match {
  let count = 0
  return (request) => match(request) && ++count === n
}

/** A refusal like that of the API server, with these seconds as Retry-After. */
export function refusal(
  status: 409 | 429 | 500 | 503,
  retryAfterSeconds?: number,
): Extract<Act, { kind: 'answer' }> {
  const reason = {
    409: 'Conflict',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  }
  return {
    kind: 'answer',
    status,
    ...(retryAfterSeconds === undefined
      ? {}
      : { headers: { 'retry-after': String(retryAfterSeconds) } }),
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: reason[status],
      message: `${reason[status]}, by a test`,
      code: status,
    },
  }
}
