// A proxy between a client and an API server that loses, delays and invents answers on demand. It
// ends TLS with an authority of its own, so credentials must be tokens: they pass as they are.
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { parseYaml } from '../../src/runtime/yaml.ts'
import { createAuthority, issueServing } from '../../tools/control-plane/certificates.ts'
import type { Act, Match, Rule, SeenRequest } from './proxy-rules.ts'

/** A proxy that listens. `await using` closes it where the block ends. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string
  /** Everything that was asked, in order. */
  readonly requests: readonly SeenRequest[]
  /** Adds a rule for requests to come. Of several that match, the one added first acts. */
  on(match: Match, act: Act): Rule
  /** Makes answers under way, watches above all, fall silent: open, but no byte passes any more. */
  freeze(match: Match): void
  /** Breaks the connections of answers under way. */
  cut(match: Match): void
  /** Writes a kubeconfig beside the given one: the same credentials, by way of the proxy. */
  kubeconfig(of: string): Promise<string>
  close(): Promise<void>
}

/** Where the proxy forwards to, and the file with the authority that it knows it by. */
export interface Upstream {
  readonly url: string
  readonly caFile: string
}

/** A request on its way, with both its ends. */
interface Exchange {
  readonly seen: SeenRequest & { status: number | null }
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  frozen: boolean
}

interface ActiveRule extends Rule {
  readonly match: Match
  readonly act: Act
  readonly hits: SeenRequest[]
  arrived(seen: SeenRequest): void
  /** True once released, false once removed. */
  readonly ended: Promise<boolean>
}

/** Longer than clients keep an idle connection: none is closed under a call. */
const IDLE_MS = 120_000

/** Starts a proxy on a free port of this machine. */
export async function startProxy({ url, caFile }: Upstream): Promise<FaultProxy> {
  const ca = await readFile(caFile, 'utf8')
  const authority = await createAuthority('fault-proxy')
  const { certificatePem: cert, keyPem: key } = await issueServing(authority, ['127.0.0.1'])
  const requests: SeenRequest[] = []
  const open = new Set<Exchange>()
  let rules: readonly ActiveRule[] = []

  const server = createServer({ cert, key, keepAliveTimeout: IDLE_MS }, (incoming, outgoing) => {
    void (async () => {
      const exchange = await receive(incoming, outgoing)
      requests.push(exchange.seen)
      open.add(exchange)
      outgoing.once('close', () => open.delete(exchange))
      await act(exchange, rules.find(({ match }) => match(exchange.seen)))
    })().catch(() => outgoing.destroy())
  })

  const act = async (exchange: Exchange, rule: ActiveRule | undefined): Promise<void> => {
    const { seen, outgoing } = exchange
    rule?.hits.push(seen)
    switch (rule?.act.kind) {
      case 'answer': {
        seen.status = rule.act.status
        rule.arrived(seen)
        const headers = { 'content-type': 'application/json', ...rule.act.headers }
        outgoing.writeHead(rule.act.status, headers).end(JSON.stringify(rule.act.body))
        return
      }
      case 'destroy':
        rule.arrived(seen)
        outgoing.destroy()
        return
      case 'delay':
        rule.arrived(seen)
        await delay(rule.act.ms)
        return passOn(exchange)
      case 'hold':
        rule.arrived(seen)
        if (await rule.ended) await passOn(exchange)
        else outgoing.destroy()
        return
      case 'swallow': {
        const answer = await forward(exchange)
        await text(answer)
        seen.status = answer.statusCode ?? null
        rule.arrived(seen)
        await rule.ended
        outgoing.destroy()
        return
      }
      case undefined:
        return passOn(exchange)
    }
  }

  const forward = ({ seen, incoming }: Exchange): Promise<IncomingMessage> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = incoming.headers
    request(`${url}${incoming.url}`, { method: seen.method, headers, ca, agent: false })
      .once('response', resolve)
      .once('error', reject)
      .end(seen.body)
    return promise
  }

  const passOn = async (exchange: Exchange): Promise<void> => {
    const { seen, outgoing } = exchange
    const answer = await forward(exchange)
    outgoing.once('close', () => answer.destroy())
    if (exchange.frozen) return
    const { connection: _, 'transfer-encoding': __, ...headers } = answer.headers
    seen.status = answer.statusCode ?? null
    outgoing.writeHead(answer.statusCode ?? 502, headers).flushHeaders()
    const unlessFrozen = (what: () => void) => () => {
      if (!exchange.frozen) what()
    }
    answer.on('data', (chunk: Buffer) => unlessFrozen(() => outgoing.write(chunk))())
    answer.once('end', unlessFrozen(() => outgoing.end()))
    answer.once('error', unlessFrozen(() => outgoing.destroy()))
  }

  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const own = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async (): Promise<void> => {
    for (const rule of rules) rule.remove()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  return {
    url: own,
    requests,
    on(match, how) {
      const rule = createRule(match, how, () => {
        rules = rules.filter((other) => other !== rule)
      })
      rules = [...rules, rule]
      return rule
    },
    freeze(match) {
      for (const exchange of open) if (match(exchange.seen)) exchange.frozen = true
    },
    cut(match) {
      for (const { seen, outgoing } of open) if (match(seen)) outgoing.destroy()
    },
    kubeconfig: (of) => writeKubeconfig(of, own, authority.certificatePem),
    close,
    [Symbol.asyncDispose]: close,
  }
}
