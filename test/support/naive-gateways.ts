// Gateways with the usual mistakes: every attack of the tests works on one of them, so each is known to be an attack.
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { connect } from 'node:tls'
import type { Scope } from '../../src/api/scope.gen.ts'
import { createAuthority, issueServing } from '../../tools/control-plane/certificates.ts'
import { serverPair } from './certificate-builder.ts'

/** The attributes it authorized, parsed from raw path and method. */
export interface NaiveDecision {
  readonly verb: string
  readonly namespace: string
  readonly resource: string
  readonly name: string
}

/** The owner of a key. */
export interface NaiveCaller {
  readonly user: string
  readonly groups?: readonly string[]
  readonly scope?: Scope
}

/** A listening naive gateway. `await using` closes it at the end of the block. */
export interface NaiveGateway extends AsyncDisposable {
  readonly port: number
  readonly caPem: string
  /** The attributes it authorized for the request with this User-Agent. */
  decided(userAgent: string): NaiveDecision | undefined
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Starts one with a token of the API server at `upstream` and the owners of keys. */
export async function startNaiveGateway(options: {
  readonly upstream: { readonly url: string; readonly ca: string; readonly token: string }
  /** By key. */
  readonly callers: ReadonlyMap<string, NaiveCaller>
}): Promise<NaiveGateway> {
  const { upstream, callers } = options
  const { certificatePem: cert, keyPem: key, caPem } = serverPair('localhost')
  const decisions = new Map<string, NaiveDecision>()

  /** The forwarded request: target, user and headers. */
  const onwardOf = ({ url = '', headers, rawHeaders }: IncomingMessage) => {
    const bearer = (headers.authorization ?? '').replace('Bearer ', '')
    const caller = callers.get(bearer) ?? { user: '' }
    const isKey = (at: number): boolean =>
      rawHeaders[at - (at % 2)]?.toLowerCase() === 'authorization'
    const ours = ['Authorization', `Bearer ${upstream.token}`, 'Impersonate-User', caller.user]
    const groups = (caller.groups ?? []).flatMap((group) => ['Impersonate-Group', group])
    const all = [...rawHeaders.filter((_, at) => !isKey(at)), ...ours, ...groups]
    return { caller, target: url.replace('/kubernetes/management', ''), headers: all }
  }

  const server = createServer({ cert, key, insecureHTTPParser: true }, (incoming, outgoing) => {
    const { method = '' } = incoming
    const { caller, target, headers } = onwardOf(incoming)
    const decision = read(method, target)
    decisions.set(incoming.headers['user-agent'] ?? '', decision)
    if (!grants(caller.scope, decision)) {
      outgoing.writeHead(403).end()
      return
    }
    const ask = (url: URL): void => {
      const onward = request(url, { method, headers, ca: upstream.ca, agent: false })
      onward.once('error', () => outgoing.destroy())
      onward.once('response', (answer) => {
        if (answer.headers.location) {
          ask(new URL(answer.headers.location))
          return
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      incoming.pipe(onward)
    }
    ask(new URL(target, upstream.url))
  })
  server.on('upgrade', (incoming, socket, head) =>
    tunnel(incoming, { socket, head }, { ...upstream, ...onwardOf(incoming) }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    caPem,
    decided: (userAgent) => decisions.get(userAgent),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function read(method: string, target: string): NaiveDecision {
  const [path = '', query] = target.split('?')
  const { watch, fieldSelector = '' } = Object.fromEntries(new URLSearchParams(query))
  const [, namespace = '', rest = ''] =
    /\/namespaces\/([^/]*)\/(.*)/.exec(path) ??
    /^\/api(?:s\/[^/]*)?\/[^/]*()\/(.*)/.exec(path) ??
    []
  const [resource = '', name] = rest.split('/')
  const reading = name ? 'get' : watch === 'true' ? 'watch' : 'list'
  const selected = /metadata\.name\W*(\w+)/.exec(fieldSelector)?.[1] ?? ''
  return { verb: VERBS[method] ?? reading, namespace, resource, name: name ?? selected }
}

/** Whether there is no rule, or one with the verb and the resource. */
function grants(scope: Scope | undefined, decision: NaiveDecision): boolean {
  const { verb, resource, name } = decision
  const rules = scope?.rules ?? []
  const isNamed = (names: readonly string[] | undefined, one: string): boolean =>
    !names?.length || names.includes('*') || names.includes(one)
  return (
    rules.length === 0 ||
    rules.some(
      ({ verbs, resources }) =>
        isNamed(verbs, verb) &&
        resources?.some(
          (kinds) => isNamed(kinds.resources, resource) && isNamed(kinds.resourceNames, name),
        ),
    )
  )
}

// A gateway that keeps the credential of a request where the next one finds it, too (threats A12).

/** A listening gateway. `await using` closes it at the end of the block. */
export interface ForgetfulGateway extends AsyncDisposable {
  readonly url: string
  readonly ca: string
}

/** Starts one that passes everything on to a server, with the credential of the latest request. */
export async function startForgetfulGateway(upstream: {
  readonly url: string
  readonly ca: string
}): Promise<ForgetfulGateway> {
  const authority = createAuthority('forgetful')
  const { certificatePem: cert, keyPem: key } = issueServing(authority, ['127.0.0.1'])
  const agent = new Agent({ keepAlive: true, ca: upstream.ca })
  let authorization = ''
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    authorization = incoming.headers.authorization ?? ''
    setImmediate(() => {
      const { method = '', url } = incoming
      const headers = { ...incoming.headers, authorization }
      const sent = request(`${upstream.url}${url}`, { method, agent, headers })
      sent.once('error', () => outgoing.destroy())
      sent.once('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.once('error', () => outgoing.destroy())
        answer.pipe(outgoing)
      })
      outgoing.once('close', () => sent.destroy())
      incoming.once('error', () => sent.destroy())
      incoming.pipe(sent)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.certificatePem,
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

// A proxy between a gateway and the API server that follows the HTTP standards: headers named in Connection
// are dropped. It records the headers that it forwards, and accepts malformed requests.

/** A listening proxy. `await using` closes it at the end of the block. */
export interface StrictProxy extends AsyncDisposable {
  readonly url: string
  readonly caPem: string
  /** Names of the headers of a request, in lower case, by its User-Agent. */
  headersOf(userAgent: string): readonly string[]
}

const OF_ONE_CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]

/** The end of a path that gets a redirect. */
const ELSEWHERE = '/elsewhere'

/** Starts a proxy to a server, on a free port of this machine; `elsewhere` is where its redirects lead. */
export async function startStrictProxy(upstream: {
  readonly url: string
  readonly ca: string
  readonly elsewhere: string
}): Promise<StrictProxy> {
  const { certificatePem: cert, keyPem: key, caPem } = serverPair('localhost')
  const seen = new Map<string, readonly string[]>()
  const { hostname, port } = new URL(upstream.url)
  const note = ({ headers, rawHeaders }: IncomingMessage): readonly string[] => {
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
    seen.set(headers['user-agent'] ?? '', names)
    return names
  }
  const server = createServer({ cert, key, insecureHTTPParser: true }, (incoming, outgoing) => {
    const passOn = async (): Promise<void> => {
      const { method, url: path, headers, rawHeaders } = incoming
      const names = note(incoming)
      if (path?.endsWith(ELSEWHERE)) {
        outgoing.writeHead(302, { location: upstream.elsewhere }).end()
        return
      }
      const nominated = (headers.connection ?? '')
        .toLowerCase()
        .split(',')
        .map((name) => name.trim())
      const stays = new Set([...OF_ONE_CONNECTION, 'content-length', ...nominated])
      const passed = rawHeaders.filter((_, at) => !stays.has(names[at >> 1] ?? ''))
      const body = await buffer(incoming)
      const options = { hostname, port, ca: upstream.ca, method, path, agent: false as const }
      const onward = request({
        ...options,
        headers: [...passed, 'Content-Length', String(body.length)],
      })
      onward.once('error', () => outgoing.destroy())
      outgoing.once('close', () => onward.destroy())
      onward.once('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      onward.end(body)
    }
    passOn().catch(() => outgoing.destroy())
  })
  server.on('upgrade', (incoming, socket, head) => {
    note(incoming)
    const { url: target = '', rawHeaders: passed } = incoming
    tunnel(incoming, { socket, head }, { ...upstream, target, headers: passed })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem,
    headersOf: (userAgent) => seen.get(userAgent) ?? [],
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

// An upgrade as a gateway that does not check it forwards it: bytes both ways, until either end closes.

/** Forwards the request with these headers, names and values in turn, and then bytes both ways. */
export function tunnel(
  incoming: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  onward: {
    readonly url: string
    readonly ca: string
    readonly target: string
    readonly headers: readonly string[]
  },
): void {
  const { hostname: host, port } = new URL(onward.url)
  const { target, headers, ca } = onward
  const other = connect({ host, port: Number(port), ca })
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : [],
  )
  other.write([`${incoming.method} ${target} HTTP/1.1`, ...fields, '', ''].join('\r\n'), 'latin1')
  other.write(head)
  pipeline(socket, other, () => undefined)
  pipeline(other, socket, () => undefined)
}
