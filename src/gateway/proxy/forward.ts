// Forwards a request to the API server as its caller; both bodies are streamed.
import type { OutgoingHttpHeaders } from 'node:http'
import { SCOPE_EXTRA } from '../../api/names.ts'
import { AUTHENTICATED_GROUP, type Caller, type UserInfo, extrasOf } from '../../authn/caller.ts'
import { type RequestInfo, isResourceRequest } from '../../domain/scope/request-info.ts'
import { isSessionSubresource } from '../../domain/scope/sensitive.ts'
import { isSendableScope } from '../../domain/token/verified-token.ts'
import {
  ArrivedBody,
  type Impersonation,
  type Upstream,
  type UpstreamHeaders,
  UpstreamUnavailable,
} from '../../kube/proxy/types.ts'
import { type Answer, type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'
import type { ParsedRequest } from '../request/parse.ts'

/** The identity that a request to the API server runs as; there is no default. */
export type RunsAs = { readonly caller: Caller } | 'gateway'

/** What is forwarded of a request, besides what is parsed. */
export type ForwardedCall = Pick<HttpRequest, 'id' | 'headers' | 'body' | 'remoteAddress'>

/** The answer when the API server has not processed the request, as it can't be reached. */
export const UNAVAILABLE = refuse(ERRORS.apiServerUnreachable)

/** The answer when the API server refuses the account of this process. */
export const ACCOUNT_REFUSED = refuse(ERRORS.accountRefused)

/** The answer when a write may have been carried out. Without Retry-After: clients would send it again (contract 13.1). */
export const UNANSWERED = refuse(ERRORS.unanswered)

/**
 * The answer to a request that got none.
 *
 * @param changes whether the request changes anything, once it is carried out
 */
export function unavailable({ outcome }: UpstreamUnavailable, changes: boolean): BufferedAnswer {
  if (outcome === 'unanswered' && changes) return UNANSWERED
  return outcome === 'accountRefused' ? ACCOUNT_REFUSED : UNAVAILABLE
}

/** Whether a request by this method may change something. */
export const mayChange = ({ method }: Pick<HttpRequest, 'method'>): boolean =>
  method !== 'GET' && method !== 'HEAD'

/**
 * Forwards the request. Returns the API server's answer while its body streams, or `unavailable` if there is none.
 *
 * @param signal aborts the request and its answer
 */
export async function forward(
  upstream: Pick<Upstream, 'send'>,
  request: ParsedRequest,
  call: ForwardedCall,
  as: RunsAs,
  signal: AbortSignal,
): Promise<Answer> {
  if (signal.aborted) return UNAVAILABLE
  try {
    const { status, headers, body } = await upstream.send({
      method: request.method,
      path: pathAndQuery(request),
      headers: headersFor(request, call),
      impersonation:
        as === 'gateway' ? null : impersonationOf(as.caller.identity, extrasOf(as.caller)),
      body: hasBody(call) ? call.body : null,
      isLongRunning: isLongRunning(request.attributes),
      isProxied: isProxied(request.attributes),
      signal,
    })
    const passed = { ...clientHeaders(headers), ...framingOf(headers) }
    // Bytes are sent in one piece with their head. Without any, the length in the head may be another one, as for HEAD.
    if (!(body instanceof ArrivedBody) || body.bytes.length === 0)
      return { status, headers: passed, body }
    body.destroy()
    return { status, headers: passed, body: body.bytes }
  } catch (error) {
    if (error instanceof UpstreamUnavailable) return unavailable(error, mayChange(request))
    throw error
  }
}

/** What is sent upstream of the request-target. */
export const pathAndQuery = ({ path, search }: Pick<ParsedRequest, 'path' | 'search'>): string =>
  search === '' ? path : `${path}?${search}`

/** The headers to forward. A watch is not compressed: when the gateway cuts it, it adds a last line (contract 13.4). */
function headersFor({ attributes }: ParsedRequest, call: ForwardedCall): UpstreamHeaders {
  const headers = upstreamHeaders(call)
  if (attributes.verb !== 'watch') return headers
  const { 'accept-encoding': _, ...plain } = headers
  return plain
}

/** Whether the API server sets no time limit for the request. */
export const isLongRunning = (request: RequestInfo): boolean =>
  request.verb === 'watch' ||
  (isResourceRequest(request) &&
    (request.subresource === 'log' || isSessionSubresource(request.subresource)))

/** Whether a backend behind the API server answers. */
export const isProxied = (request: RequestInfo): boolean =>
  isResourceRequest(request) && request.subresource === 'proxy'

/** Whether the request has a body: without a length and without chunks it has none. */
export function hasBody({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const isFramed = headers['transfer-encoding'] !== undefined
  return isFramed || Number(headers['content-length'] ?? 0) > 0
}

// The impersonation headers of a forwarded request (contract 10.5).

/** The header of an extra. Its name is percent-encoded: the name of a header can't have a slash. */
const extraHeader = (name: string): string =>
  `impersonate-extra-${encodeURIComponent(name).toLowerCase()}`

/** One printable word. With a blank user, the request would run as the gateway itself. */
const VISIBLE_ASCII = /^[!-~]+$/
const RESERVED_NAME = /^system:/i

/**
 * The headers that make a request run as the identity, with at least one extra: if the user header gets lost on the way,
 * the API server answers 400 to the extra alone.
 *
 * @throws Error for a name or an extra that can't be sent, or that is reserved for the API server (`system:`): the
 * authenticator refuses such credentials before
 */
export function impersonationOf(
  { user, groups }: UserInfo,
  extras: Readonly<Record<string, string>>,
): Impersonation {
  const identityNames = [user, ...groups.filter((group) => group !== AUTHENTICATED_GROUP)]
  for (const name of identityNames) {
    if (!VISIBLE_ASCII.test(name))
      throw new Error('a name in the identity of a caller can not be sent')
    if (RESERVED_NAME.test(name))
      throw new Error('a name in the identity of a caller begins with system:')
  }
  const headers: Record<string, string | readonly string[]> & { 'impersonate-user': string } = {
    'impersonate-user': user,
    'impersonate-group': groups,
  }
  for (const name of Object.keys(extras)) {
    const value = extras[name] ?? ''
    const isVisible = VISIBLE_ASCII.test(value)
    if (!(name === SCOPE_EXTRA ? isSendableScope(value) : isVisible))
      throw new Error('an extra of a caller can not be sent')
    // Node sends each character of a header as one byte, and the API server reads UTF-8.
    headers[extraHeader(name)] = isVisible ? value : Buffer.from(value, 'utf8').toString('latin1')
  }
  return headers
}

// The headers of a forwarded request (contract 13.1).

/**
 * The headers that are forwarded, besides the trace context. All others are dropped: credentials, cookies, headers that
 * name another user, address or path (`X-Remote-*`, `X-Forwarded-*`, `X-Original-URL`, `X-HTTP-Method-Override`), those
 * of the client's own connection, and the framing of its body.
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

/** Headers that must not be repeated: the gateway and the API server could read different values. */
const NEVER_REPEATED = ['authorization', 'content-type', 'content-length', 'host', 'origin']

/** The refusal of a request for its headers; null = none. */
export function headersRefusal(rawHeaders: readonly string[]): BufferedAnswer | null {
  const names: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) names.push((rawHeaders[at] ?? '').toLowerCase())
  if (names.some(impersonates)) return refuse(ERRORS.impersonationHeader)
  const repeated = NEVER_REPEATED.find((name) => names.indexOf(name) !== names.lastIndexOf(name))
  if (repeated !== undefined) return refuse(ERRORS.headerRepeated, { header: repeated })
  if (!names.includes('transfer-encoding')) return null
  const transferEncodings = rawHeaders.filter(
    (_, at) => at % 2 === 1 && names[(at - 1) / 2] === 'transfer-encoding',
  )
  return transferEncodings.every(isChunked) && transferEncodings.length <= 1
    ? null
    : refuse(ERRORS.transferEncoding)
}

/**
 * Node's parser refuses any other framing, but only at the body, when the request is already forwarded. Around a value are
 * spaces and tabs alone: `trim` would remove U+00A0 as well.
 */
const isChunked = (value: string): boolean => /^[ \t]*chunked[ \t]*$/i.test(value)

/** Whether a header impersonates, in any spelling that a server or proxy behind the gateway might accept. */
const impersonates = (name: string): boolean =>
  (name.includes('%') ? percentDecoded(name) : name).includes('impersonate')

const percentDecoded = (name: string): string =>
  name
    .replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase()

/** The headers to forward, with the client's address and the request ID, but without impersonation. */
export function upstreamHeaders(
  call: Pick<HttpRequest, 'id' | 'headers' | 'remoteAddress'>,
): UpstreamHeaders {
  const { connection } = call.headers
  const hopByHop =
    connection === undefined
      ? []
      : connection
          .toLowerCase()
          .split(',')
          .map((name) => name.trim())
  const endToEnd = (name: string) => (hopByHop.includes(name) ? undefined : call.headers[name])
  const headers: Record<string, string | readonly string[]> = {}
  for (const name of PASSED_UPSTREAM) {
    const value = endToEnd(name)
    if (value !== undefined) headers[name] = value
  }
  Object.assign(headers, traceContext(endToEnd('traceparent'), endToEnd('tracestate')))
  if (call.remoteAddress !== '') headers['x-forwarded-for'] = call.remoteAddress
  // The API server uses `audit-id` as the ID of its audit event.
  headers['audit-id'] = call.id
  return headers
}

// The headers of the API server's answer for the client (contract 13.1).

/**
 * The headers that pass to the client. Never `www-authenticate`, cookies and connection headers, which are between the
 * API server and the gateway. Content-Length passes only with an unchanged body.
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

/** The length of a body that is passed on unchanged; empty = it has none. */
export const framingOf = ({ 'content-length': length }: UpstreamHeaders): OutgoingHttpHeaders =>
  typeof length === 'string' ? { 'content-length': length } : {}

/** The headers that pass to the client; repeated ones stay repeated. */
export const clientHeaders = (headers: UpstreamHeaders): OutgoingHttpHeaders =>
  pickedHeaders(headers, PASSED_TO_CLIENT)

/** The headers of these names; repeated ones stay repeated. */
export function pickedHeaders(
  headers: UpstreamHeaders,
  names: readonly string[],
): OutgoingHttpHeaders {
  const picked: OutgoingHttpHeaders = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) picked[name] = typeof value === 'string' ? value : [...value]
  }
  return picked
}

// W3C Trace Context: the gateway forwards it to the API server (contract 13.1), does not change or log it, and records
// no spans of its own.

/** Version, trace, parent span and flags. A later version must have only these four, too. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The standard asks a proxy to forward this many characters and members, and allows it to drop more. */
const LONGEST_STATE = 512
const MOST_MEMBERS = 32

const MEMBER = /^[a-z0-9][-a-z0-9_*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

const TRACE_STATE = /^[\t -~]*$/

/** A header value from Node, which joins repeated headers by commas; undefined = none. */
type HeaderValue = string | readonly string[] | undefined

/**
 * The trace headers to forward. A `traceparent` that is malformed or repeated is dropped, and `tracestate` with it; a
 * `tracestate` that is malformed or too long is dropped alone. Neither makes the gateway refuse the request.
 */
function traceContext(parent: HeaderValue, state: HeaderValue): UpstreamHeaders {
  if (typeof parent !== 'string' || !TRACE_PARENT.test(parent)) return {}
  return { traceparent: parent, ...(isState(state) ? { tracestate: state } : {}) }
}

function isState(state: HeaderValue): state is string {
  if (typeof state !== 'string' || state.length > LONGEST_STATE || !TRACE_STATE.test(state))
    return false
  const members = state.split(',').flatMap((member) => member.trim() || [])
  return members.length > 0 && members.length <= MOST_MEMBERS && members.every(isMember)
}

const isMember = (member: string): boolean => MEMBER.test(member)
