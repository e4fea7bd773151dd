// The headers of a forwarded request (contract 13.1).
import type { UpstreamHeaders } from '../../kube/proxy/types.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { ERRORS } from '../errors.ts'
import { traceContext } from './trace-context.ts'

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
  return namesOf(rawHeaders).some(impersonates)
    ? refuse(ERRORS.impersonationHeader)
    : ambiguityRefusal(rawHeaders)
}

/** The refusal of a request for headers that two servers could read differently; null = none. */
export function ambiguityRefusal(rawHeaders: readonly string[]): BufferedAnswer | null {
  const names = namesOf(rawHeaders)
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

function namesOf(rawHeaders: readonly string[]): readonly string[] {
  const names: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) names.push((rawHeaders[at] ?? '').toLowerCase())
  return names
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

/** The names of the headers that concern the client's connection alone, as it says, in lower case. */
const hopByHopIn = ({ connection }: HttpRequest['headers']): readonly string[] =>
  connection === undefined
    ? []
    : connection
        .toLowerCase()
        .split(',')
        .map((name) => name.trim())

/** The Content-Type that is forwarded: the scope decides by what the API server gets. undefined = none. */
export const forwardedContentType = (headers: HttpRequest['headers']): string | undefined =>
  hopByHopIn(headers).includes('content-type') ? undefined : headers['content-type']

/** The headers to forward, with the client's address and the request ID, but without impersonation. */
export function upstreamHeaders(
  call: Pick<HttpRequest, 'id' | 'headers' | 'remoteAddress'>,
): UpstreamHeaders {
  const hopByHop = hopByHopIn(call.headers)
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
