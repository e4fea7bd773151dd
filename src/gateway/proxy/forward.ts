// Forwards a request to the API server as its caller. Both bodies are streamed, but for small ones.
import type { Caller } from '../../authn/caller.ts'
import { isResourceRequest, type RequestInfo } from '../../domain/scope/request-info.ts'
import { isSessionSubresource } from '../../domain/scope/sensitive.ts'
import {
  ArrivedAnswer,
  type Upstream,
  type UpstreamCall,
  type UpstreamHeaders,
  UpstreamUnavailable,
} from '../../kube/proxy/types.ts'
import { type Answer, type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { ERRORS } from '../errors.ts'
import type { ParsedRequest } from '../request/parse.ts'
import { impersonationOfCaller } from './impersonation.ts'
import { upstreamHeaders } from './request-headers.ts'
import { isSmallBody, smallBody } from './small-body.ts'
import { unchangedHeaders } from './response-headers.ts'

/** The identity that a request to the API server runs as; there is no default. */
export type RunsAs = { readonly caller: Caller } | 'gateway'

/** The forwarded parts of a request, besides the parsed ones. */
export type ForwardedCall = Pick<HttpRequest, 'id' | 'headers' | 'body' | 'remoteAddress'>

/** The call with other headers in place of its own. */
export const withHeaders = (
  { id, headers, body, remoteAddress }: ForwardedCall,
  changed: ForwardedCall['headers'],
): ForwardedCall => ({ id, headers: { ...headers, ...changed }, body, remoteAddress })

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
 * @param until as in UpstreamCall; the signal ends the answer, too
 */
export async function forward(
  upstream: Pick<Upstream, 'send'>,
  request: ParsedRequest,
  call: ForwardedCall,
  as: RunsAs,
  until: Pick<UpstreamCall, 'signal' | 'maySend'>,
): Promise<Answer> {
  const streamed = hasBody(call) ? call.body : null
  const body = isSmallBody(call) ? await smallBody(call) : streamed
  // A small body that broke off is not sent, nor is a request that ended while its body was read.
  if (body === 'brokenOff' || until.signal.aborted) return UNAVAILABLE
  try {
    const answer = await upstream.send({
      method: request.method,
      path: pathAndQuery(request),
      headers: headersFor(request, call),
      impersonation: as === 'gateway' ? null : impersonationOfCaller(as.caller),
      body,
      isLongRunning: isLongRunning(request.attributes),
      isProxied: isProxied(request.attributes),
      ...until,
    })
    const { status } = answer
    const headers = unchangedHeaders(answer.headers)
    // Bytes are sent in one piece with their head. Without any, the length in the head may be another one, as for HEAD.
    const isArrived = answer instanceof ArrivedAnswer && answer.bytes.length > 0
    return { status, headers, body: isArrived ? answer.bytes : answer.body }
  } catch (error) {
    if (error instanceof UpstreamUnavailable) return unavailable(error, mayChange(request))
    throw error
  }
}

/** The request-target that is sent upstream. */
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
