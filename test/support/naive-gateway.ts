// A gateway as one writes it in an afternoon. It is wrong on purpose: every attack of the tests works on it,
// so that each of them is known to be one.
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { serverPair } from './server-pair.ts'

/** What it decided on, by the path and the method as they came. */
export interface NaiveDecision {
  readonly verb: string
  readonly namespace: string
  readonly resource: string
}

/** A naive gateway that listens. `await using` closes it where the block ends. */
export interface NaiveGateway extends AsyncDisposable {
  readonly port: number
  readonly caPem: string
  /** What it decided on for the request with this User-Agent. */
  decided(userAgent: string): NaiveDecision | undefined
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Starts one that holds a token of the API server at `upstream`, and knows whose key is whose. */
export async function startNaiveGateway(options: {
  readonly upstream: { readonly url: string; readonly ca: string; readonly token: string }
  readonly users: ReadonlyMap<string, string>
}): Promise<NaiveGateway> {
  const { upstream, users } = options
  const { certificatePem: cert, keyPem: key, caPem } = serverPair('localhost')
  const decisions = new Map<string, NaiveDecision>()
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    const { method = '', url = '', headers, rawHeaders } = incoming
    const target = url.replace('/kubernetes/management', '')
    const { watch } = Object.fromEntries(new URLSearchParams(target.split('?')[1]))
    const [, , , , namespace = '', resource = '', name] = (target.split('?')[0] ?? '').split('/')
    const read = name ? 'get' : watch === 'true' ? 'watch' : 'list'
    decisions.set(headers['user-agent'] ?? '', { verb: VERBS[method] ?? read, namespace, resource })
    const user = users.get((headers.authorization ?? '').replace('Bearer ', '')) ?? ''
    const isKey = (at: number): boolean =>
      rawHeaders[at - (at % 2)]?.toLowerCase() === 'authorization'
    const copied = rawHeaders.filter((_, at) => !isKey(at))
    const ours = ['Authorization', `Bearer ${upstream.token}`, 'Impersonate-User', user]
    const to = { method, headers: [...copied, ...ours], ca: upstream.ca, agent: false as const }
    const onward = request(new URL(target, upstream.url), to)
    onward.once('error', () => outgoing.destroy())
    onward.once('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
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
