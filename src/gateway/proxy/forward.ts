// A request that the gateway passes on: as the caller, streaming both ways.
import type { OutgoingHttpHeaders } from 'node:http'
import { AUTHENTICATED_GROUP, type Caller, type UserInfo } from '../../authn/caller.ts'
import { type RequestInfo, isResourceRequest } from '../../domain/scope/request-info.ts'
import {
  type Impersonation,
  type Upstream,
  type UpstreamHeaders,
  UpstreamUnavailable,
} from '../../kube/proxy/types.ts'
import { type Answer, type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'
import type { ParsedRequest } from '../request/parse.ts'

/** The identity that a request runs as; there is no default. */
export type RunsAs = { readonly caller: Caller } | 'gateway'

/** The answer when the API server gives none. */
export const UNAVAILABLE = refuse(ERRORS.apiServerUnreachable)

/**
 * The API server's answer to the request, its body still streaming; a 503 where there is none.
 *
 * @param signal ends the exchange, whatever is under way
 */
export async function forward(
  upstream: Upstream,
  request: ParsedRequest,
  call: HttpRequest,
  as: RunsAs,
  signal: AbortSignal,
): Promise<Answer> {
  if (signal.aborted) return UNAVAILABLE
  try {
    const { status, headers, body } = await upstream.send({
      method: request.method,
      path: request.search === '' ? request.path : `${request.path}?${request.search}`,
      headers: headersFor(request, call),
      impersonation:
        as === 'gateway' ? null : impersonationOf(as.caller.identity, as.caller.key.name),
      body: hasBody(call) ? call.body : null,
      isLongRunning: isLongRunning(request.attributes),
      isProxied: isProxied(request.attributes),
      signal,
    })
    const { 'content-length': length } = headers
    const framing = typeof length === 'string' ? { 'content-length': length } : {}
    return { status, headers: { ...clientHeaders(headers), ...framing }, body }
  } catch (error) {
    if (error instanceof UpstreamUnavailable) return UNAVAILABLE
    throw error
  }
}

/** A watch comes as it is: where it is cut, a last line of ours follows (contract 13.4). */
function headersFor({ attributes }: ParsedRequest, call: HttpRequest): UpstreamHeaders {
  const { 'accept-encoding': encodings, ...headers } = upstreamHeaders(call)
  if (encodings === undefined || attributes.verb === 'watch') return headers
  return { ...headers, 'accept-encoding': encodings }
}

const LONG_RUNNING: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** Whether the API server itself sets no bound to how long it may take. */
export const isLongRunning = (request: RequestInfo): boolean =>
  request.verb === 'watch' || (isResourceRequest(request) && LONG_RUNNING.has(request.subresource))

const isProxied = (request: RequestInfo): boolean =>
  isResourceRequest(request) && request.subresource === 'proxy'

/** Whether a body comes with a request: one without a length and without chunks has none. */
export function hasBody({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const isFramed = headers['transfer-encoding'] !== undefined
  return isFramed || Number(headers['content-length'] ?? 0) > 0
}

// As whom the API server takes a request that is forwarded (contract 10.5).

/** Key `platform.sh/access-key`: a slash can't stand in the name of a header. */
const ACCESS_KEY_EXTRA = 'impersonate-extra-platform.sh%2faccess-key'

/** One printable word. A blank user would make the request run as the gateway itself. */
const VISIBLE_ASCII = /^[!-~]+$/
const RESERVED = /^system:/i

/**
 * The headers that make a request run as the identity, with the name of the key as an extra: should the
 * user get lost on the way, the extra alone makes the API server answer 400.
 *
 * @throws Error when a name can't be sent as it is, or is one of the API server's own: a key with such
 * an identity is refused long before
 */
export function impersonationOf({ user, groups }: UserInfo, keyName: string): Impersonation {
  const given = [user, ...groups.filter((group) => group !== AUTHENTICATED_GROUP)]
  if (![...given, keyName].every((name) => VISIBLE_ASCII.test(name)))
    throw new Error('a name in the identity of an access key can not be sent')
  if (given.some((name) => RESERVED.test(name)))
    throw new Error('a name in the identity of an access key begins with system:')
  return { 'impersonate-user': user, 'impersonate-group': groups, [ACCESS_KEY_EXTRA]: keyName }
}

// Headers of a request on their way to the API server (contract 13.1).

/**
 * The headers that pass, beside the trace. All others stay here: credentials, cookies, headers that name
 * another user, address or path (`X-Remote-*`, `X-Forwarded-*`, `X-Original-URL`,
 * `X-HTTP-Method-Override`), those of the client's own connection, and the framing of its body.
 */
const PASSED_UPSTREAM = [
  // The form of the answer: tables, protobuf, gzip, partial metadata.
  'accept',
  'accept-encoding',
  'content-type',
  // Clients revalidate discovery and OpenAPI with these.
  'if-match',
  'if-none-match',
  'if-modified-since',
  // The client and its command, for the audit log and the warnings of the API server.
  'user-agent',
  'kubectl-command',
  'kubectl-session',
  // WebSocket watches of browsers, and the API server's own rules on other origins.
  'origin',
] as const

/** Repeated, the gateway and the API server could read different values. */
const ONCE = ['authorization', 'content-type', 'content-length', 'host', 'origin']

/** The refusal of a request for its headers; null = they may pass. */
export function headersRefusal(rawHeaders: readonly string[]): WholeAnswer | null {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
  if (names.some(impersonates)) return refuse(ERRORS.impersonationHeader)
  const repeated = ONCE.find((name) => names.filter((one) => one === name).length > 1)
  if (repeated !== undefined) return refuse(ERRORS.headerRepeated, { header: repeated })
  const framings = rawHeaders.filter((_, at) => names[(at - 1) / 2] === 'transfer-encoding')
  return framings.every(isChunked) && framings.length <= 1 ? null : refuse(ERRORS.transferEncoding)
}

/** Node's parser refuses any other framing only at the body: the request is upstream by then. */
const isChunked = (value: string): boolean => value.trim().toLowerCase() === 'chunked'

/** In any spelling that a server or a proxy behind us might read as one. */
const impersonates = (name: string): boolean =>
  name
    .replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase()
    .includes('impersonate')

/** The headers to send on, with the client's address and the request ID, without those that name the caller. */
export function upstreamHeaders(call: HttpRequest): UpstreamHeaders {
  const nominated = new Set(
    (call.headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
  const sent = (name: string) => (nominated.has(name) ? undefined : call.headers[name])
  const passed = PASSED_UPSTREAM.flatMap((name) => {
    const value = sent(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const trace = traceContext(sent('traceparent'), sent('tracestate'))
  const from = call.remoteAddress === '' ? {} : { 'x-forwarded-for': call.remoteAddress }
  // The API server takes it for the ID of its audit event.
  return { ...Object.fromEntries(passed), ...trace, ...from, 'audit-id': call.id }
}

// Headers of an answer of the API server on their way to the client (contract 13.1).

/**
 * What passes. Never `www-authenticate` and cookies, which are between the API server and the gateway,
 * nor what belongs to their connection. Content-Length passes only where the body passes unchanged.
 */
const PASSED_TO_CLIENT = [
  'content-type',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'date',
  'etag',
  'expires',
  'last-modified',
  'vary',
  'location',
  'retry-after',
  'allow',
  'warning',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
] as const

/** The headers that pass; repeated ones stay so. */
export function clientHeaders(headers: UpstreamHeaders): OutgoingHttpHeaders {
  const passed = PASSED_TO_CLIENT.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]]]
  })
  return Object.fromEntries(passed) as OutgoingHttpHeaders
}

// The trace that a request belongs to, as W3C Trace Context has it. It passes to the API server (contract 13.1)
// and is neither changed nor logged; the gateway records no spans of its own.

/** Version, trace, parent span and flags: of a later version, too, no more than these four. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The standard asks a proxy to pass this many characters and members on, and allows it to drop more. */
const LONGEST_STATE = 512
const MOST_MEMBERS = 32

const MEMBER = /^[a-z0-9][-a-z0-9_*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

const TRACE_STATE = /^[\t -~]*$/

/** Values as Node has them: a header that is repeated is one, joined by commas; undefined = none. */
type Value = string | readonly string[] | undefined

/**
 * The headers to send on. A `traceparent` that is malformed or repeated is dropped, and `tracestate` with
 * it; a `tracestate` that is malformed or too long is dropped alone. Neither refuses a request.
 */
function traceContext(parent: Value, state: Value): UpstreamHeaders {
  if (typeof parent !== 'string' || !TRACE_PARENT.test(parent)) return {}
  return { traceparent: parent, ...(isState(state) ? { tracestate: state } : {}) }
}

function isState(state: Value): state is string {
  if (typeof state !== 'string' || state.length > LONGEST_STATE || !TRACE_STATE.test(state))
    return false
  const members = state.split(',').flatMap((member) => member.trim() || [])
  return members.length > 0 && members.length <= MOST_MEMBERS && members.every(isMember)
}

const isMember = (member: string): boolean => MEMBER.test(member)
