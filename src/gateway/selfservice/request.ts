// One request to our kinds on its way: what is asked, by whom, and the API server to ask (contract 12.1).
import type { OutgoingHttpHeaders } from 'node:http'
import { finished } from 'node:stream'
import { ACCESS_KEYS, CONFIGS, HEARTBEAT_KEY, type Resource, TOKENS } from '../../api/names.ts'
import type { Caller } from '../../authn/caller.ts'
import { type Json, type JsonMap, parseJsonMap } from '../../domain/json/json.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import { pathOf } from '../../kube/client/client.ts'
import { type Upstream, type UpstreamAnswer, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createTurnQueue } from '../../runtime/concurrency/event-loop.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import type { Answer, WholeAnswer } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { type RunsAs, impersonationOf } from '../proxy/forward.ts'
import { clientHeaders, upstreamHeaders } from '../proxy/headers.ts'
import { type VisibleSecrets, redactedAnswer } from '../redaction/redact.ts'
import type { ParsedRequest } from '../request/parse.ts'
import { type Query, formatQuery, valueOf } from '../request/query.ts'
import type { MaxInFlight } from '../stages/max-in-flight.ts'
import type { RequestLease } from '../streams/request-lease.ts'
import type { BufferReservation } from './response-buffer.ts'
import { type Form, type IncludeObject, acceptOf, shaped, written } from './response.ts'
import { type CallerAccess, type FindKey, callerAccessOf } from './visibility.ts'

/** A request to our kinds, with everything that decides about it. */
export interface SelfServiceRequest {
  readonly asked: Asked
  /** As the client sent it. */
  readonly query: Query
  readonly call: HttpRequest
  readonly caller: Caller
  readonly standing: CallerAccess
  readonly find: FindKey
  readonly form: Form
  readonly include: IncludeObject
  readonly upstream: Upstream
  /** Of the process: what is filtered here takes its event loop, and there is one. */
  readonly limits: MaxInFlight
  /** What the request has in memory until its client has taken it. */
  readonly held: BufferReservation
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly still: RequestLease['still']
}

/**
 * The exchange with its caller as he stands now: to be asked for right before anything is stored, as a body
 * or a try may have taken long.
 *
 * @throws Error when he is none any more
 */
export async function asOfNow(exchange: SelfServiceRequest): Promise<SelfServiceRequest> {
  const caller = await exchange.still()
  return { ...exchange, caller, standing: callerAccessOf(caller) }
}

/** A question to the API server. Absent parts are those of the exchange: its object, and whole JSON. */
export interface UpstreamQuery {
  readonly as: RunsAs
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly resource: Resource
  /** Absent: the whole collection. */
  readonly name?: string
  readonly subresource?: 'status'
  readonly query: Query
  readonly form?: Form
  readonly body?: { readonly type: string; readonly json: Json }
  readonly isWatch?: boolean
}

/** What the API server said, read whole. */
export interface UpstreamReply {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly json: JsonMap
}

/**
 * Requests of the gateway itself that are under way for its callers; others wait. As it is one account for all,
 * the API server can't tell whose they are. What it asks for itself, the heartbeat and the reads of keys, is not
 * among them, nor is a watch.
 */
export const SELF_SERVICE = { inAll: 64, ofOne: 16 } as const

const amongSelfService = createSemaphore(SELF_SERVICE.inAll, SELF_SERVICE.ofOne)

/** Sends a question; resolves with the head of the answer. @throws UpstreamUnavailable as Upstream does */
export async function open(
  exchange: SelfServiceRequest,
  question: UpstreamQuery,
): Promise<UpstreamAnswer> {
  if (question.as !== 'gateway' || question.isWatch === true) return sent(exchange, question)
  const head = Promise.withResolvers<UpstreamAnswer>()
  void amongSelfService(exchange.caller.identity.user, async () => {
    const answering = sent(exchange, question)
    head.resolve(answering)
    const answer = await answering.catch(() => null)
    // It has its place until the answer is here.
    if (answer) await new Promise<void>((over) => finished(answer.body, () => over()))
  })
  return head.promise
}

async function sent(
  { upstream, call, signal }: SelfServiceRequest,
  question: UpstreamQuery,
): Promise<UpstreamAnswer> {
  if (signal.aborted) throw new UpstreamUnavailable('the request was ended before')
  const { as, method, resource, name, subresource, body, form = WHOLE } = question
  const isTable = form.shape.as === 'Table'
  const query = isTable ? [...question.query, ['includeObject', 'Object'] as const] : question.query
  const path = pathOf(resource, { name: name === '' ? undefined : name }, subresource)
  const { 'content-type': _, 'accept-encoding': __, ...headers } = upstreamHeaders(call)
  return upstream.send({
    method,
    path: query.length === 0 ? path : `${path}?${formatQuery(query)}`,
    headers: {
      ...headers,
      accept: acceptOf(form),
      'accept-encoding': 'identity',
      ...(body ? { 'content-type': body.type } : {}),
    },
    impersonation:
      as === 'gateway' ? null : impersonationOf(as.caller.identity, as.caller.key.name),
    body: body ? Buffer.from(JSON.stringify(body.json)) : null,
    isLongRunning: question.isWatch === true,
    signal,
  })
}

const WHOLE: Form = { encoding: 'json', shape: { as: 'object' } }

/**
 * Sends a question and reads the answer.
 *
 * @throws UpstreamUnavailable, Error for an answer that is no JSON, and NoRoom for one that there is no room
 * for; never for one that says what has been stored
 */
export async function ask(
  exchange: SelfServiceRequest,
  question: UpstreamQuery,
): Promise<UpstreamReply> {
  const { atLeast, anyway } = exchange.held
  const isDone = question.method !== 'GET' && !question.query.some(([name]) => name === 'dryRun')
  return readReply(await open(exchange, question), isDone ? anyway : atLeast)
}

/** Characters above which an answer waits for its turn: many that come at once would be one long stop. */
const LARGE = 16_384
const turn = createTurnQueue(1)

/** The answer, read whole. @param came told how many bytes of it are here; what it throws ends the answer */
export async function readReply(
  { status, headers, body }: UpstreamAnswer,
  came: (bytes: number) => void,
): Promise<UpstreamReply> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    came(bytes)
    pieces.push(piece)
  }
  const said = Buffer.concat(pieces, bytes).toString()
  if (said.length > LARGE) await turn()
  const json = parseJsonMap(said)
  if (json) return { status, headers: clientHeaders(headers), json }
  if (status < 400) throw new Error('the API server answered something else than JSON')
  return { status, headers: clientHeaders(headers), json: plainFailure(status) }
}

/** What the gateway says itself, as if the API server had. */
export function replyOf({ status, headers, body }: WholeAnswer): UpstreamReply {
  return { status, headers, json: JSON.parse(body.toString()) as JsonMap }
}

/** The API server says some failures in plain text. */
const plainFailure = (code: number): JsonMap => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `the API server answered ${code}`,
  code,
})

/** Those parameters of a query. */
export const pick = (query: Query, names: readonly string[]): Query =>
  query.filter(([name]) => names.includes(name))

/** The value of a parameter; empty where there is none. */
export const parameter = (query: Query, name: string): string => valueOf(query, name) ?? ''

/** Of the answer's own headers these belong to bytes that we write anew. */
const OF_BYTES = [
  'content-type',
  'content-length',
  'content-encoding',
  'etag',
  'last-modified',
  'location',
]

/** The headers that pass with a body of ours. */
const headersBeside = (headers: OutgoingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_BYTES.includes(name)))

/** The headers of an answer of this type that is written anew. */
export const headersOf = (
  { headers }: Pick<UpstreamReply, 'headers'>,
  type: string,
): Answer['headers'] => ({
  'cache-control': 'no-store',
  ...headersBeside(headers),
  'content-type': type,
})

/** What may be shown of an answer, in the form that the client asked for. */
export interface Shown {
  readonly shows: VisibleSecrets
  /** What must stand nowhere in it, besides the secrets of the objects in it. */
  readonly secrets: readonly string[]
}

/** The answer for the client: redacted, whatever it is and whoever asks (contract 12.4). */
export function answerOf(
  { asked, form, include }: SelfServiceRequest,
  reply: UpstreamReply,
  shown: Shown,
): Answer {
  const clean = redactedAnswer(asked.resource, reply.json, shown.shows, shown.secrets)
  const { type, body } = written(shaped(clean, form.shape, include), form.encoding)
  return { status: reply.status, headers: headersOf(reply, type), body }
}

// What of a request to our own kinds is understood. Everything else is refused.

/** The verbs that our kinds have. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'

/** A request to one of our kinds. */
export interface Asked {
  readonly resource: Resource
  readonly verb: Verb
  /** Empty where it names no object. */
  readonly name: string
  readonly isStatus: boolean
}

/** Which methods stand for a verb: the API server answers no others on these paths. */
const METHODS: Readonly<Record<Verb, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
}

/** What is possible on status. */
const STATUS_VERBS: ReadonlySet<Verb> = new Set(['get', 'update', 'patch'])

const RESOURCES: ReadonlyMap<string, Resource> = new Map(
  [ACCESS_KEYS, TOKENS, CONFIGS].map((resource) => [resource.plural, resource]),
)

/** The request as it is understood; null where it is none of ours, or has a shape that they do not have. */
export function askedOf({
  attributes,
  method,
}: Pick<ParsedRequest, 'attributes' | 'method'>): Asked | null {
  if (!isResourceRequest(attributes)) return null
  const { verb, namespace, version, subresource, name } = attributes
  const resource = RESOURCES.get(attributes.resource)
  if (!resource || version !== resource.version || namespace !== '') return null
  if (!isVerb(verb) || METHODS[verb] !== method) return null
  const isStatus = subresource === 'status'
  if (subresource !== '' && !(isStatus && STATUS_VERBS.has(verb))) return null
  // A list may have a name too, by its selector.
  const isNamed = NAMED.has(verb)
  if (isNamed ? name === '' : verb === 'create' && name !== '') return null
  return { resource, verb, name: isNamed ? name : '', isStatus }
}

/** On one object, by its name in the path. */
const NAMED: ReadonlySet<Verb> = new Set(['get', 'update', 'patch', 'delete'])

const isVerb = (verb: string): verb is Verb => Object.hasOwn(METHODS, verb)

/** The key by which gateways prove that they hear of changes: nobody's business (contract 10.4). */
export const isHidden = ({ plural }: Resource, name: string): boolean =>
  plural === ACCESS_KEYS.plural && name === HEARTBEAT_KEY
