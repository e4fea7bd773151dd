// Headers of a request on their way to the API server (contract 13.1).
import type { UpstreamHeaders } from '../../kube/upstream.ts'
import type { Call } from './server.ts'

/**
 * What passes. Everything else stays here: credentials, cookies, what names another user, address or
 * path (`X-Remote-*`, `X-Forwarded-*`, `X-Original-URL`, `X-HTTP-Method-Override`), what belongs to the
 * client's own connection, and what frames its body, which is framed anew.
 */
const PASSED = [
  // What the answer may look like: tables, protobuf, gzip, partial metadata.
  'accept',
  'accept-encoding',
  'content-type',
  // Discovery and OpenAPI are asked for again with what the client has.
  'if-match',
  'if-none-match',
  'if-modified-since',
  // Who asks and by which command, for the audit log and the warnings of the API server.
  'user-agent',
  'kubectl-command',
  'kubectl-session',
  // WebSocket watches of browsers, and the API server's own rules on other origins.
  'origin',
] as const

/** Said twice, they would mean one thing here and another there. */
const ONCE = ['authorization', 'content-type', 'content-length', 'host', 'origin']

/** Why a request is refused for its headers before anybody is asked; null = it is not. */
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

/** Node's parser refuses any other framing only once it comes to the body: by then the request has left. */
const isChunked = (value: string): boolean => value.trim().toLowerCase() === 'chunked'

/** In any spelling that a server or a proxy behind us might take for one. */
const impersonates = (name: string): boolean =>
  name
    .replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .toLowerCase()
    .includes('impersonate')

/** The headers to send on, ours included, those that say who asks excluded. */
export function upstreamHeaders(call: Call): UpstreamHeaders {
  const nominated = new Set(
    (call.headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
  const passed = PASSED.flatMap((name) => {
    const value = call.headers[name]
    return value === undefined || nominated.has(name) ? [] : [[name, value] as const]
  })
  const from = call.remoteAddress === '' ? {} : { 'x-forwarded-for': call.remoteAddress }
  return { ...Object.fromEntries(passed), ...from }
}
