// Forwards an upgrade as its caller (contract 13.2). The headers that open it are made here: the connections on both
// sides, and the credential in a WebSocket subprotocol, are none of the upstream's business.
import type { Caller } from '../../authn/caller.ts'
import {
  type UpgradeProtocol,
  type Upstream,
  type UpstreamHeaders,
  UpstreamUnavailable,
} from '../../kube/proxy/types.ts'
import type { EndSignal } from '../../runtime/concurrency/end-signal.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { ERRORS } from '../errors.ts'
import { isCredential } from '../request/credential.ts'
import type { ParsedRequest } from '../request/parse.ts'
import { isProxied, pathAndQuery, UNAVAILABLE, unavailable } from './forward.ts'
import { impersonationOfCaller } from './impersonation.ts'
import { upstreamHeaders } from './request-headers.ts'
import { bodyLengthHeaders, clientHeaders, pickedHeaders } from './response-headers.ts'

/** An upgrade to forward. `signal` ends it before its 101. */
interface UpgradeCall {
  readonly request: ParsedRequest
  readonly call: HttpRequest
  readonly protocol: UpgradeProtocol
  readonly caller: Caller
  readonly signal: EndSignal
}

/**
 * Forwards the upgrade. Returns the upstream's 101 with the tunnel, its other answer, or `unavailable` if there is
 * none.
 */
export async function forwardUpgrade(
  upstream: Pick<Upstream, 'upgrade'>,
  { request, call, protocol, caller, signal }: UpgradeCall,
): Promise<Answer> {
  if (signal.aborted) return UNAVAILABLE
  try {
    const answer = await upstream.upgrade({
      method: request.method,
      path: pathAndQuery(request),
      headers: { ...upstreamHeaders(call), ...openingHeaders(call.rawHeaders) },
      impersonation: impersonationOfCaller(caller),
      body: null,
      isLongRunning: true,
      isProxied: isProxied(request.attributes),
      protocol,
      signal,
    })
    const headers = {
      ...clientHeaders(answer.headers),
      ...pickedHeaders(answer.headers, (name) => OPENED.has(name)),
    }
    if ('body' in answer && answer.status === 101) {
      answer.body.destroy()
      return NOT_UPGRADED
    }
    if ('body' in answer) {
      const { status, body } = answer
      return { status, headers: { ...headers, ...bodyLengthHeaders(answer.headers) }, body }
    }
    const { socket } = answer
    const opened = { ...headers, connection: 'Upgrade', upgrade: protocol }
    return { status: 101, headers: opened, body: socket, tunnel: socket }
  } catch (error) {
    // A session may have run, whatever its method.
    if (error instanceof UpstreamUnavailable) return unavailable(error, true)
    throw error
  }
}

const NOT_UPGRADED = refuse(ERRORS.notUpgraded)

/** The headers that open a WebSocket, or a session over SPDY. */
const OPENING: ReadonlySet<string> = new Set([
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'x-stream-protocol-version',
])

/** The headers of the answer to them. */
const OPENED: ReadonlySet<string> = new Set([
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'x-accepted-stream-protocol-versions',
  'x-stream-protocol-version',
])

/** The opening headers as they were sent, each value apart, without a credential among the subprotocols. */
function openingHeaders(rawHeaders: readonly string[]): UpstreamHeaders {
  const headers = new Map<string, readonly string[]>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [sent = '', value = ''] = rawHeaders.slice(at, at + 2)
    const name = sent.toLowerCase()
    if (!OPENING.has(name)) continue
    const passed = name === 'sec-websocket-protocol' ? withoutCredential(value) : value
    if (passed !== '') headers.set(name, [...(headers.get(name) ?? []), passed])
  }
  return Object.fromEntries(headers)
}

const withoutCredential = (protocols: string): string =>
  protocols
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '' && !isCredential(protocol))
    .join(', ')
