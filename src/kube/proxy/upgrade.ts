// Sends a request for an upgrade by HTTP/1.1, on a connection of its own: HTTP/2 has no such upgrades, and a pooled
// connection would be used again after an answer without an upgrade (CVE-2018-1002105).
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import { HeadLimits } from './head-limits.ts'
import {
  ArrivedAnswer,
  type UpgradeProtocol,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamTunnel,
  headersFromRaw,
  type OpenedUpstream,
} from './types.ts'

/** Sessions are silent for hours: the network on the way drops connections that it believes to be dead. */
const KEEP_ALIVE_MS = 30_000

/** A request for an upgrade to the protocol. */
type UpgradeRequest = UpstreamCall & { readonly protocol: UpgradeProtocol }

/**
 * Sends the request, and waits for the head of the response.
 *
 * @throws UpstreamError
 */
export function upgradeOverHttp1(
  connection: Pick<OpenedUpstream, 'origin' | 'tls'>,
  call: UpgradeRequest,
  clock: Clock,
): Promise<UpstreamAnswer | UpstreamTunnel> {
  const { protocol, signal } = call
  const answer = Promise.withResolvers<UpstreamAnswer | UpstreamTunnel>()
  const request = createRequest(connection, call)
  let isConnected = false
  const fail = (failure: UpstreamFailure, cause: unknown): void => {
    answer.reject(new UpstreamError(failure, cause))
    request.destroy()
  }
  const limits = new HeadLimits(clock, { isLongRunning: false }, (because) =>
    fail(isConnected ? 'timedOut' : 'unreached', new Error(because)),
  )
  const end = (): void => fail('lost', new Error('the request was ended'))
  const settled = (): void => {
    limits.stop()
    signal.removeEventListener('abort', end)
  }
  request.once('socket', (socket) =>
    socket.once(isHttps(connection) ? 'secureConnect' : 'connect', () => {
      isConnected = true
    }),
  )
  request.once('upgrade', (response, socket: Socket, head) => {
    settled()
    if (isUpgradeTo(protocol, response)) answer.resolve(tunnelOf(response, socket, head))
    else answer.resolve(otherUpgrade(response, socket))
  })
  request.once('response', (response) => {
    limits.stop()
    response.once('close', settled)
    answer.resolve(answerOf(request, response))
  })
  // Node reports `100 Continue` by this event as well.
  request.on('information', () => limits.informational())
  request.once('error', (cause) => {
    settled()
    fail(isConnected ? 'lost' : 'unprocessed', cause)
  })
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  request.end()
  return answer.promise
}

const isHttps = ({ origin }: Pick<OpenedUpstream, 'origin'>): boolean => origin.startsWith('https:')

function createRequest(
  connection: Pick<OpenedUpstream, 'origin' | 'tls'>,
  { method, path, headers, protocol }: UpgradeRequest,
): ClientRequest {
  const send = isHttps(connection) ? requestHttps : requestHttp
  return send(`${connection.origin}${path}`, {
    ...connection.tls,
    // The path as it is: a URL would normalize it.
    path,
    method,
    headers: {
      ...(headers as Record<string, string | string[]>),
      connection: 'Upgrade',
      upgrade: protocol,
    },
    agent: false,
  })
}

const isUpgradeTo = (
  protocol: UpgradeProtocol,
  { statusCode, headers }: IncomingMessage,
): boolean => statusCode === 101 && headers.upgrade?.toLowerCase() === protocol.toLowerCase()

function tunnelOf({ rawHeaders }: IncomingMessage, socket: Socket, head: Buffer): UpstreamTunnel {
  // The caller ends both directions, each when its own side has ended.
  socket.allowHalfOpen = true
  socket.setTimeout(0)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  if (head.length > 0) socket.unshift(head)
  return { status: 101, headers: headersFromRaw(rawHeaders), socket }
}

/** An upgrade to another protocol than the requested one: an answer without a body. Its connection is closed. */
function otherUpgrade({ rawHeaders }: IncomingMessage, socket: Socket): UpstreamAnswer {
  socket.destroy()
  return new ArrivedAnswer(101, headersFromRaw(rawHeaders), Buffer.alloc(0))
}

/** An answer without an upgrade. Its connection is closed after it. */
function answerOf(request: ClientRequest, response: IncomingMessage): UpstreamAnswer {
  response.on('error', () => undefined)
  response.once('close', () => request.destroy())
  return {
    status: response.statusCode ?? 0,
    headers: headersFromRaw(response.rawHeaders),
    body: response,
  }
}
