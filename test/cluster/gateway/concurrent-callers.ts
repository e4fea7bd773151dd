// Many keys at once over few connections, each with a number that is in all that it may see and in nothing that
// another may (threats A12): whatever is told to a wrong one shows it.
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'undici'
import { formatTimestamp } from '../../../src/domain/time.ts'
import type { Random } from '../../support/random.ts'
import { type KeyClient, createdMs } from '../keys/key-client.ts'

/** Where each member has one object of its name. */
export const CROWD_NAMESPACE = 'crowd'
const OBJECTS = `/api/v1/namespaces/${CROWD_NAMESPACE}/configmaps`
const NAMED = /of-\d{4}/g

/** One of many, whose user, key and object have its name. */
export interface CrowdMember {
  readonly name: string
  readonly token: string
  /** When its key ends, as the gateway says: at another time for each. */
  readonly expires: string
}

/** Something that members ask for. */
export interface CrowdRequest {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: (own: string, other: string) => string
  readonly body?: (own: string) => string
  /** The code of its answer. */
  readonly code: number
  /** Names are to be found in a whole answer. */
  readonly of: 'own' | 'other'
  /** An answer that has no end. */
  readonly isWatch?: true
}

const selected = (own: string): string => `${OBJECTS}?fieldSelector=metadata.name%3D${own}`

/** What is asked. */
export const CROWD_REQUESTS: readonly CrowdRequest[] = [
  { name: 'its object', method: 'GET', path: (own) => `${OBJECTS}/${own}`, code: 200, of: 'own' },
  { name: 'its objects', method: 'GET', path: selected, code: 200, of: 'own' },
  {
    name: "another's object",
    method: 'GET',
    path: (_, other) => `${OBJECTS}/${other}`,
    code: 403,
    of: 'other',
  },
  {
    name: 'its object, in a request with a body that is one',
    method: 'GET',
    path: (own) => `${OBJECTS}/${own}`,
    body: () => `GET ${OBJECTS} HTTP/1.1\r\nHost: api\r\n\r\n`,
    code: 200,
    of: 'own',
  },
  {
    name: 'who it is',
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
    name: 'to change its object',
    method: 'PATCH',
    path: (own) => `${OBJECTS}/${own}`,
    body: (own) => JSON.stringify({ data: { touched: `${own} ${Math.random()}` } }),
    code: 200,
    of: 'own',
  },
  {
    name: 'to watch its object',
    method: 'GET',
    path: (own) => `${selected(own)}&watch=true`,
    code: 200,
    of: 'own',
    isWatch: true,
  },
]

const READS = CROWD_REQUESTS.filter(
  ({ method, body, isWatch }) => method === 'GET' && !body && !isWatch,
)

/** Where a client goes away: `null` = it waits for the end. */
const ABORTS = [
  'sending',
  'waiting',
  'head',
  'part',
  ...Array.from({ length: 12 }, () => null),
] as const
/** `pipe`: whoever goes away takes those along who asked on the same connection behind it. */
type AbortsAt = (typeof ABORTS)[number] | 'pipe'

/** What a member asked, and what it was told before it went away, if it did. */
export interface CrowdExchange {
  readonly member: CrowdMember
  readonly other: CrowdMember
  readonly question: CrowdRequest
  readonly abortsAt: AbortsAt
  /** 0 = there was no answer. */
  readonly code: number
  readonly body: string
  /** When the key of who is meant ends; empty in an answer that does not say. */
  readonly expires: string
  readonly isWhole: boolean
}

/** Makes the members: keys by an administrator, each narrowed to the object of its name. */
export async function crowdMembersOf(
  keys: KeyClient,
  count: number,
): Promise<readonly CrowdMember[]> {
  const numbers = Array.from({ length: count }, (_, at) => at).values()
  const members: CrowdMember[] = []
  const make = async (): Promise<void> => {
    for (const at of numbers) {
      const name = `of-${String(at).padStart(4, '0')}`
      const resources = [{ resources: ['configmaps'], resourceNames: [name] }]
      const verbs = ['get', 'list', 'watch', 'patch']
      const scope = { rules: [{ verbs, resources, namespaces: [CROWD_NAMESPACE] }] }
      const token = `${name}-${crypto.randomUUID()}`
      const ttl = 86_400 + 60 * at
      const key = await keys.create({ user: name, key: token, ttl, scope }, { name })
      members.push({ name, token, expires: formatTimestamp(createdMs(key) + ttl * 1000) })
    }
  }
  await Promise.all(Array.from({ length: 20 }, make))
  return members
}

/** A gateway for the crowd. */
export interface Gate {
  /** With the path below which the API is. */
  readonly url: string
  readonly ca: string
}

const AT_A_TIME = { each: 160, pipes: 8, inPipe: 5 }

/** So many questions, 200 at a time, over connections that members share; some in pipelines. */
export async function callConcurrently(
  gate: Gate,
  members: readonly CrowdMember[],
  count: number,
  { pick, between }: Random,
): Promise<readonly CrowdExchange[]> {
  const exchanges: CrowdExchange[] = []
  const turns = Array.from({ length: count }).values()
  const drawn = (questions: readonly CrowdRequest[]): Drawn => {
    const member = pick(members)
    return {
      member,
      other: pick(members.filter((one) => one !== member)),
      question: pick(questions),
      abortsAt: pick(ABORTS),
      waitMs: between(0, 30),
    }
  }
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME.each, ca: gate.ca })
  const alone = async (): Promise<void> => {
    for (const _ of turns) exchanges.push(await asked(gate, agent, drawn(CROWD_REQUESTS)))
  }
  const { origin, pathname } = new URL(gate.url)
  const pipes = Array.from(
    { length: AT_A_TIME.pipes },
    () => new Client(origin, { pipelining: AT_A_TIME.inPipe, connect: { ca: gate.ca } }),
  )
  const inLine = async (pipe: Client): Promise<void> => {
    for (const _ of turns) exchanges.push(await askedInLine(pipe, pathname, drawn(READS)))
  }
  await Promise.all([
    ...Array.from({ length: AT_A_TIME.each }, alone),
    ...pipes.flatMap((pipe) => Array.from({ length: AT_A_TIME.inPipe }, () => inLine(pipe))),
  ])
  agent.destroy()
  await Promise.all(pipes.map((pipe) => pipe.destroy()))
  return exchanges
}

type Drawn = Pick<CrowdExchange, 'member' | 'other' | 'question' | 'abortsAt'> & {
  readonly waitMs: number
}

const NO_ANSWER = { code: 0, body: '', expires: '', isWhole: false }
const expiresIn = (headers: IncomingHttpHeaders): string =>
  [headers['x-platform-key-expires'] ?? ''].flat().join()

function asked(gate: Gate, agent: Agent, drawn: Drawn): Promise<CrowdExchange> {
  const { member, other, question, waitMs } = drawn
  const { method, path } = question
  const abortsAt = question.isWatch ? 'part' : drawn.abortsAt
  const sent = question.body?.(member.name) ?? ''
  return new Promise((resolve) => {
    let answer = NO_ANSWER
    const headers = {
      authorization: `Bearer ${member.token}`,
      'content-length': Buffer.byteLength(sent),
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }
    const url = `${gate.url}${path(member.name, other.name)}`
    const outgoing = request(url, { method, agent, headers }, (incoming) => {
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
    outgoing.once('close', () => resolve({ member, other, question, abortsAt, ...answer }))
    if (abortsAt === 'sending' && sent !== '')
      outgoing.write(sent.slice(0, sent.length / 2), () => outgoing.destroy())
    else outgoing.end(sent)
    if (abortsAt === 'waiting') setTimeout(() => outgoing.destroy(), waitMs)
  })
}

/** Behind questions of others that are not answered yet, on one connection. */
async function askedInLine(pipe: Client, prefix: string, drawn: Drawn): Promise<CrowdExchange> {
  const { member, other, question, waitMs } = drawn
  const abort = new AbortController()
  if (drawn.abortsAt === 'waiting') void wait(waitMs).then(() => abort.abort())
  const exchange = { member, other, question, abortsAt: 'pipe' } as const
  try {
    const { statusCode, headers, body } = await pipe.request({
      method: 'GET',
      path: `${prefix}${question.path(member.name, other.name)}`,
      headers: { authorization: `Bearer ${member.token}` },
      signal: abort.signal,
    })
    const answer = { code: statusCode, expires: expiresIn(headers) }
    return { ...exchange, ...answer, body: await body.text(), isWhole: true }
  } catch {
    return { ...exchange, ...NO_ANSWER }
  }
}

/** What is wrong with an exchange: nothing of anybody else may be in it, and nothing may be missing. */
export function leaksIn(exchange: CrowdExchange): readonly string[] {
  const { member, other, question, code, body, expires, isWhole, abortsAt } = exchange
  if (code === 0) return abortsAt === null ? ['no answer'] : []
  // Who goes away at the head may see the end of what it did not read.
  const isAwaited = abortsAt === null || abortsAt === 'pipe'
  const known = question.of === 'own' ? member.name : other.name
  const foreign = (body.match(NAMED) ?? []).filter((name) => name !== known)
  return [
    ...(foreign.length > 0 ? [`it has ${foreign[0]} of somebody else`] : []),
    ...(code === question.code ? [] : [`it is a ${code}`]),
    ...(['', member.expires].includes(expires) ? [] : ["it has the end of somebody else's key"]),
    ...(isWhole && isAwaited && !body.includes(known) ? ['nothing of its own is in it'] : []),
    ...(isWhole || abortsAt !== null ? [] : ['it breaks off']),
  ]
}
