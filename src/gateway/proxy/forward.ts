// A request that the gateway passes on: as the caller, streaming both ways.
import type { Caller, UserInfo } from '../../authn/caller.ts'
import { AUTHENTICATED_GROUP } from '../../authn/user-info.ts'
import { type RequestInfo, isResourceRequest } from '../../domain/scope/request-info.ts'
import {
  type Impersonation,
  type Upstream,
  type UpstreamHeaders,
  UpstreamUnavailable,
} from '../../kube/proxy/types.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { ERRORS } from '../errors.ts'
import type { ParsedRequest } from '../request/parse.ts'
import { clientHeaders, upstreamHeaders } from './headers.ts'

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
const VISIBLE = /^[!-~]+$/
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
  if (![...given, keyName].every((name) => VISIBLE.test(name)))
    throw new Error('a name in the identity of an access key can not be sent')
  if (given.some((name) => RESERVED.test(name)))
    throw new Error('a name in the identity of an access key begins with system:')
  return { 'impersonate-user': user, 'impersonate-group': groups, [ACCESS_KEY_EXTRA]: keyName }
}
