// Many callers that share few connections to a gateway. Each has a numbered name that is in all that it may read and in
// nothing that others may, so that an answer to the wrong caller is recognized (threats A12).
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'undici'
import { formatTimestamp } from '../../../src/domain/time.ts'
import type { Random } from '../../support/random.ts'
import { type KeyClient, createdMs } from '../keys/key-client.ts'

/** Each caller has one ConfigMap of its name here. */
export const CALLERS_NAMESPACE = 'callers'
const OBJECTS = `/api/v1/namespaces/${CALLERS_NAMESPACE}/configmaps`
const NAMED = /of-\d{4}/g

/** A caller; its user, key and object have its name. */
export interface ConcurrentCaller {
  readonly name: string
  readonly token: string
  /** The expiry header of its key, different for each caller. */
  readonly expires: string
}

/** A kind of request, with what its answer must have. */
export interface RequestKind {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: (own: string, other: string) => string
  readonly body?: (own: string) => string
  /** The code of the answer. */
  readonly code: number
  /** Whose name a complete answer contains. */
  readonly of: 'own' | 'other'
  /** The answer is endless. */
  readonly isWatch?: true
}

const selected = (own: string): string => `${OBJECTS}?fieldSelector=metadata.name%3D${own}`

/** All kinds of requests. */
export const REQUEST_KINDS: readonly RequestKind[] = [
  {
    name: 'get its object',
    method: 'GET',
    path: (own) => `${OBJECTS}/${own}`,
    code: 200,
    of: 'own',
  },
  { name: 'list its object', method: 'GET', path: selected, code: 200, of: 'own' },
  {
    name: "get another caller's object",
    method: 'GET',
    path: (_, other) => `${OBJECTS}/${other}`,
    code: 403,
    of: 'other',
  },
  {
    name: 'get its object with a body that is a request',
    method: 'GET',
    path: (own) => `${OBJECTS}/${own}`,
    body: () => `GET ${OBJECTS} HTTP/1.1\r\nHost: api\r\n\r\n`,
    code: 200,
    of: 'own',
  },
  {
    name: 'create a SelfSubjectReview',
    method: 'POST',
    path: () => '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: (own) =>
      JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
        metadata: { annotations: { padding: own.repeat(500) } },
      }),
    code: 201,
    of: 'own',
  },
  {
    name: 'patch its object',
    method: 'PATCH',
    path: (own) => `${OBJECTS}/${own}`,
    body: (own) => JSON.stringify({ data: { touched: `${own} ${Math.random()}` } }),
    code: 200,
    of: 'own',
  },
  {
    name: 'watch its object',
    method: 'GET',
    path: (own) => `${selected(own)}&watch=true`,
    code: 200,
    of: 'own',
    isWatch: true,
  },
]

const READS = REQUEST_KINDS.filter(
  ({ method, body, isWatch }) => method === 'GET' && !body && !isWatch,
)

/** When a client disconnects: `null` = after the end of the answer. */
const ABORTS = [
  'sending',
  'waiting',
  'head',
  'part',
  ...Array.from({ length: 12 }, () => null),
] as const
/** `pipe`: pipelined, where one disconnect ends the requests behind it as well. */
type AbortsAt = (typeof ABORTS)[number] | 'pipe'

/** A request, and what its caller received before it disconnected, if it did. */
export interface Exchange {
  readonly caller: ConcurrentCaller
  readonly other: ConcurrentCaller
  readonly request: RequestKind
  readonly abortsAt: AbortsAt
  /** 0 = no answer. */
  readonly code: number
  readonly body: string
  /** The expiry header; empty in an answer without one. */
  readonly expires: string
  readonly isWhole: boolean
}

/** Creates the callers' keys, each with a scope of the object of its name. */
export async function createCallers(
  keys: KeyClient,
  count: number,
): Promise<readonly ConcurrentCaller[]> {
  const numbers = Array.from({ length: count }, (_, at) => at).values()
  const callers: ConcurrentCaller[] = []
  const create = async (): Promise<void> => {
    for (const at of numbers) {
      const name = `of-${String(at).padStart(4, '0')}`
      const resources = [{ resources: ['configmaps'], resourceNames: [name] }]
      const verbs = ['get', 'list', 'watch', 'patch']
      const scope = { rules: [{ verbs, resources, namespaces: [CALLERS_NAMESPACE] }] }
      const token = `${name}-${crypto.randomUUID()}`
      const ttl = 86_400 + 60 * at
      const key = await keys.create({ user: name, key: token, ttl, scope }, { name })
      callers.push({ name, token, expires: formatTimestamp(createdMs(key) + ttl * 1000) })
    }
  }
  await Promise.all(Array.from({ length: 20 }, create))
  return callers
}

/** Where a gateway serves, and its CA. */
export interface GatewayAddress {
  /** With the path of the API as prefix. */
  readonly url: string
  readonly ca: string
}

const AT_A_TIME = { each: 160, pipes: 8, inPipe: 5 }

/** Sends `count` requests, 200 at a time, over connections that callers share; some pipelined. */
export async function callConcurrently(
  gateway: GatewayAddress,
  callers: readonly ConcurrentCaller[],
  count: number,
  { pick, between }: Random,
): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = []
  const turns = Array.from({ length: count }).values()
  const chosen = (kinds: readonly RequestKind[]): ChosenRequest => {
    const caller = pick(callers)
    return {
      caller,
      other: pick(callers.filter((one) => one !== caller)),
      request: pick(kinds),
      abortsAt: pick(ABORTS),
      waitMs: between(0, 30),
    }
  }
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME.each, ca: gateway.ca })
  const callOneByOne = async (): Promise<void> => {
    for (const _ of turns) exchanges.push(await send(gateway, agent, chosen(REQUEST_KINDS)))
  }
  const { origin, pathname } = new URL(gateway.url)
  const pipes = Array.from(
    { length: AT_A_TIME.pipes },
    () => new Client(origin, { pipelining: AT_A_TIME.inPipe, connect: { ca: gateway.ca } }),
  )
  const callPipelined = async (pipe: Client): Promise<void> => {
    for (const _ of turns) exchanges.push(await sendPipelined(pipe, pathname, chosen(READS)))
  }
  await Promise.all([
    ...Array.from({ length: AT_A_TIME.each }, callOneByOne),
    ...pipes.flatMap((pipe) => Array.from({ length: AT_A_TIME.inPipe }, () => callPipelined(pipe))),
  ])
  agent.destroy()
  await Promise.all(pipes.map((pipe) => pipe.destroy()))
  return exchanges
}

type ChosenRequest = Pick<Exchange, 'caller' | 'other' | 'request' | 'abortsAt'> & {
  readonly waitMs: number
}

const NO_ANSWER = { code: 0, body: '', expires: '', isWhole: false }
const expiresIn = (headers: IncomingHttpHeaders): string =>
  [headers['x-platform-key-expires'] ?? ''].flat().join()

function send(gateway: GatewayAddress, agent: Agent, chosen: ChosenRequest): Promise<Exchange> {
  const { caller, other, request, waitMs } = chosen
  const { method, path } = request
  const abortsAt = request.isWatch ? 'part' : chosen.abortsAt
  const sent = request.body?.(caller.name) ?? ''
  return new Promise((resolve) => {
    let answer = NO_ANSWER
    const headers = {
      authorization: `Bearer ${caller.token}`,
      'content-length': Buffer.byteLength(sent),
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }
    const url = `${gateway.url}${path(caller.name, other.name)}`
    const outgoing = httpsRequest(url, { method, agent, headers }, (incoming) => {
      answer = { ...answer, code: incoming.statusCode ?? 0, expires: expiresIn(incoming.headers) }
      incoming.setEncoding('utf8').on('data', (part: string) => {
        answer = { ...answer, body: answer.body + part }
        if (abortsAt === 'part') outgoing.destroy()
      })
      incoming.once('end', () => (answer = { ...answer, isWhole: true }))
      incoming.once('error', () => undefined)
      if (abortsAt === 'head') outgoing.destroy()
    })
    outgoing.once('error', () => undefined)
    outgoing.once('close', () => resolve({ caller, other, request, abortsAt, ...answer }))
    if (abortsAt === 'sending' && sent !== '')
      outgoing.write(sent.slice(0, sent.length / 2), () => outgoing.destroy())
    else outgoing.end(sent)
    if (abortsAt === 'waiting') setTimeout(() => outgoing.destroy(), waitMs)
  })
}

/** A pipelined request: behind others on one connection that are not answered yet. */
async function sendPipelined(
  pipe: Client,
  prefix: string,
  chosen: ChosenRequest,
): Promise<Exchange> {
  const { caller, other, request, waitMs } = chosen
  const abort = new AbortController()
  if (chosen.abortsAt === 'waiting') void wait(waitMs).then(() => abort.abort())
  const exchange = { caller, other, request, abortsAt: 'pipe' } as const
  try {
    const { statusCode, headers, body } = await pipe.request({
      method: 'GET',
      path: `${prefix}${request.path(caller.name, other.name)}`,
      headers: { authorization: `Bearer ${caller.token}` },
      signal: abort.signal,
    })
    const answer = { code: statusCode, expires: expiresIn(headers) }
    return { ...exchange, ...answer, body: await body.text(), isWhole: true }
  } catch {
    return { ...exchange, ...NO_ANSWER }
  }
}

/** What is wrong with an exchange: data of another caller in it, or its own missing. */
export function leaksIn(exchange: Exchange): readonly string[] {
  const { caller, other, request, code, body, expires, isWhole, abortsAt } = exchange
  if (code === 0) return abortsAt === null ? ['no answer'] : []
  // A client that disconnects at the head may still see the end of the answer.
  const isAwaited = abortsAt === null || abortsAt === 'pipe'
  const known = request.of === 'own' ? caller.name : other.name
  const foreign = (body.match(NAMED) ?? []).filter((name) => name !== known)
  return [
    ...(foreign.length > 0 ? [`it has ${foreign[0]} of another caller`] : []),
    ...(code === request.code ? [] : [`it is a ${code}`]),
    ...(['', caller.expires].includes(expires)
      ? []
      : ["it has the expiry of another caller's key"]),
    ...(isWhole && isAwaited && !body.includes(known) ? ['it lacks the own name'] : []),
    ...(isWhole || abortsAt !== null ? [] : ['it is incomplete']),
  ]
}
