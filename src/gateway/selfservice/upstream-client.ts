// Self-service's requests to the API server, as the gateway or as the caller. Answers hold whole objects in JSON.
import { finished } from 'node:stream'
import type { Resource } from '../../api/names.ts'
import { bodyText } from '../../domain/json/body-text.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, parseJsonMap } from '../../domain/json/json.ts'
import { pathOf } from '../../kube/client/client.ts'
import { type UpstreamAnswer, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { createTurnQueue } from '../../runtime/concurrency/event-loop.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import type { BufferedAnswer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { impersonationOfCaller } from '../proxy/impersonation.ts'
import { upstreamHeaders } from '../proxy/request-headers.ts'
import { clientHeaders } from '../proxy/response-headers.ts'
import { formatQuery, type Query } from '../request/path-and-query.ts'
import type { SelfServiceRequest } from './request.ts'
import { acceptOf, type Form, type UpstreamReply } from './response.ts'

/** The parts of a request that its requests to the API server use. */
export type UpstreamClient = Pick<
  SelfServiceRequest,
  'upstream' | 'call' | 'caller' | 'signal' | 'maySend' | 'reservation'
>

/** The parts that requests use which store nothing, and whose answers the caller reads. */
export type UpstreamSender = Omit<UpstreamClient, 'maySend' | 'reservation'>

/** A request to the API server. */
export interface UpstreamRequest {
  readonly as: RunsAs
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly resource: Resource
  /** Absent or empty: the whole collection. */
  readonly name?: string
  readonly subresource?: 'status'
  readonly query: Query
  /** Absent: whole objects in JSON. */
  readonly form?: Form
  readonly body?: { readonly type: string; readonly json: Json }
  readonly isWatch?: boolean
}

/**
 * Limits on concurrent requests as the gateway, in all and for one caller; others wait. To the API server the gateway is
 * one user: its fairness can't tell callers apart. Watches, the heartbeat and the authenticator's reads of keys are not
 * counted.
 */
export const SELF_SERVICE = { inAll: 64, ofOne: 16 } as const

const selfServiceSemaphore = createSemaphore(SELF_SERVICE.inAll, SELF_SERVICE.ofOne)

/**
 * Sends a request, and resolves with the head of the answer.
 *
 * @param maySend as in UpstreamCall
 * @throws UpstreamUnavailable as Upstream does
 */
export async function sendRequest(
  client: UpstreamSender,
  query: UpstreamRequest,
  maySend?: () => boolean,
): Promise<UpstreamAnswer> {
  if (query.as !== 'gateway' || query.isWatch === true) return send(client, query, maySend)
  const head = Promise.withResolvers<UpstreamAnswer>()
  void selfServiceSemaphore(client.caller.identity.user, async () => {
    const sending = send(client, query, maySend)
    head.resolve(sending)
    const answer = await sending.catch(() => null)
    // The permit is kept until the whole answer has arrived.
    if (answer) await new Promise<void>((over) => finished(answer.body, () => over()))
  })
  return head.promise
}

async function send(
  { upstream, call, signal }: UpstreamSender,
  sent: UpstreamRequest,
  maySend: (() => boolean) | undefined,
): Promise<UpstreamAnswer> {
  if (signal.aborted) throw new UpstreamUnavailable('unprocessed', 'the request was ended before')
  const { as, method, resource, name, subresource, body, form = WHOLE } = sent
  const isTable = form.shape.as === 'Table'
  const query = isTable ? [...sent.query, ['includeObject', 'Object'] as const] : sent.query
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
    impersonation: as === 'gateway' ? null : impersonationOfCaller(as.caller),
    body: body ? Buffer.from(bodyText(body.json, body.type)) : null,
    isLongRunning: sent.isWatch === true,
    signal,
    maySend,
  })
}

const WHOLE: Form = { encoding: 'json', shape: { as: 'object' } }

/**
 * Sends a request and reads its answer. Once a write is stored, its answer is read even beyond the memory limits.
 *
 * @throws UpstreamUnavailable, Error for an answer that is not JSON, and BufferFull for one beyond the memory limits
 */
export async function sendAndRead(
  client: UpstreamClient,
  query: UpstreamRequest,
): Promise<UpstreamReply> {
  const { maySend, reservation } = client
  const isStored = query.method !== 'GET' && !query.query.some(([name]) => name === 'dryRun')
  const answer = await sendRequest(client, query, isStored ? maySend : undefined)
  return readReply(answer, isStored ? reservation.anyway : reservation.atLeast)
}

/** Objects in a page: more would block the event loop for long. */
const PAGE_LIMIT = '100'

/** The pages of a list, read as the gateway. A page that is not a 200 is the last one. @throws UpstreamUnavailable, BufferFull */
export async function* upstreamPages(
  client: UpstreamClient,
  resource: Resource,
  selectors: Query,
): AsyncGenerator<UpstreamReply, void> {
  let next: Query = []
  do {
    const query = [...selectors, ['limit', PAGE_LIMIT] as const, ...next]
    const page = await sendAndRead(client, { as: 'gateway', method: 'GET', resource, query })
    yield page
    const token = page.status === 200 ? nestedString(page.json, ['metadata', 'continue']) : ''
    next = token === '' ? [] : [['continue', token]]
  } while (next.length > 0)
}

/** Answers with more characters are parsed one per turn of the event loop: many at once would block it. */
const LARGE = 16_384
const turn = createTurnQueue(1)

/**
 * Reads an answer to its end.
 *
 * @param reserve called with the bytes so far; an error from it ends the reading
 * @throws UpstreamUnavailable when the answer breaks off, and Error for one that is not JSON
 */
export async function readReply(
  { status, headers, body }: UpstreamAnswer,
  reserve: (bytes: number) => void,
): Promise<UpstreamReply> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of piecesOf(body)) {
    bytes += piece.length
    reserve(bytes)
    pieces.push(piece)
  }
  const text = Buffer.concat(pieces, bytes).toString()
  if (text.length > LARGE) await turn()
  const json = parseJsonMap(text)
  if (json) return { status, headers: clientHeaders(headers), json }
  if (status < 400) throw new Error("the API server's answer is not JSON")
  return { status, headers: clientHeaders(headers), json: plainFailure(status) }
}

async function* piecesOf(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } catch (cause) {
    throw new UpstreamUnavailable('unanswered', 'the answer broke off', { cause })
  }
}

/** Turns an answer of the gateway into a reply, as if it came from the API server. */
export function replyOf({ status, headers, body }: BufferedAnswer): UpstreamReply {
  return { status, headers, json: JSON.parse(body.toString()) as JsonMap }
}

/** The Status for a failure that the API server answered in plain text. */
const plainFailure = (code: number): JsonMap => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `the API server answered ${code}`,
  code,
})
