// Headers of a request on their way to the API server (contract 13.1).
import type { UpstreamHeaders } from '../../kube/proxy/upstream.ts'
import type { Call } from '../../serving/http/server.ts'
import { traceContext } from './trace-context.ts'

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

/** Why the headers refuse a request; null = they do not. */
export function refusedHeader(rawHeaders: readonly string[]): string | null {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
  if (names.some(impersonates)) return 'headers that impersonate are not accepted here'
  const repeated = ONCE.find((name) => names.filter((one) => one === name).length > 1)
  if (repeated !== undefined) return `header ${repeated} may be given once`
  const framings = rawHeaders.filter((_, at) => names[(at - 1) / 2] === 'transfer-encoding')
  return framings.every(isChunked) && framings.length <= 1
    ? null
    : 'header transfer-encoding may be chunked, once'
}

/** Node's parser refuses any other framing only at the body: the request is upstream by then. */
const isChunked = (value: string): boolean => value.trim().toLowerCase() === 'chunked'

/** In any spelling that a server or a proxy behind us might read as one. */
const impersonates = (name: string): boolean =>
  name
    .replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase()
    .includes('impersonate')

/** The headers to send on, with the client's address, without those that name the caller. */
export function upstreamHeaders(call: Call): UpstreamHeaders {
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
  return { ...Object.fromEntries(passed), ...trace, ...from }
}
