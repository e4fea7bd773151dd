import type { IncomingMessage, ServerResponse } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { ActiveRule, SeenRequest } from './proxy-rules.ts'

/** One request and its answer, between a client and the API server. */
export interface Exchange {
  readonly seen: SeenRequest & { status: number | null }
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Once true, no byte of the answer passes any more, nor does its end. */
  frozen: boolean
}

/** The API server, and the authority that it is known by. */
export interface Server {
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

/** Does with a request what the rule says; passes it on where there is none. */
export async function carryOut(
  exchange: Exchange,
  server: Server,
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

/** Forwards the request as it is; a connection of its own keeps faults of others away from it. */
function forward({ seen, incoming }: Exchange, { url, ca }: Server): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = { method: seen.method, headers: endToEnd(incoming.headers), ca, agent: false }
  request(`${url}${incoming.url}`, options)
    .once('response', resolve)
    .once('error', reject)
    .end(seen.body)
  return promise
}

/** Forwards the request and streams the answer back, unless it is frozen meanwhile. */
async function passOn(exchange: Exchange, server: Server): Promise<void> {
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

/** Headers without those that speak of one connection; Node writes its own. */
function endToEnd<T extends object>(headers: T): Omit<T, 'host' | 'connection'> {
  const oneHop = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !oneHop.has(name))) as T
}
