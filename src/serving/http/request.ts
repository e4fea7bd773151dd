// A request as it came in on a connection, whichever event Node emitted for it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { clientAddress, plainAddress } from '../../domain/client-address.ts'
import type { Cidr } from '../../domain/ip-address.ts'
import { type EndSignal, EndSource } from '../../runtime/concurrency/end-signal.ts'
import type { ClientCertificate, SecureContext } from '../tls/client-certificates.ts'
import type { LimitedConnections } from './connection-limits.ts'
import { awaitsContinue } from './deliver.ts'

/** A request as received. */
export interface HttpRequest {
  /** A UUID made by this server, in every response as `Audit-ID` and `X-Request-Id`; never copied from the client. */
  readonly id: string
  readonly method: string
  /** The request-target as sent, not decoded or normalized. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
  /** Names and values in turn, as sent, with the headers that `headers` merges or drops. */
  readonly rawHeaders: readonly string[]
  /** The event by which Node delivered the request: after `upgrade` and `connect` Node leaves a bare socket. */
  readonly by: 'request' | 'upgrade' | 'connect'
  /** The body as a stream; empty if there is none. */
  readonly body: Readable
  /** Address of the client: the peer, or who a trusted proxy names; empty = it has disconnected already. */
  readonly remoteAddress: string
  /** The client's certificate by the authority that is trusted now; null = it has none, or the server trusts none. */
  readonly clientCertificate: ClientCertificate | null
  /** To be called when the credential is valid: the connection counts as a caller's from then on. */
  readonly authenticated: () => void
  /** Aborts when the client disconnects before the response is complete. */
  readonly gone: EndSignal
  /** Aborts when no byte of the response is buffered any more: all were sent, or the client has disconnected. */
  readonly ended: EndSignal
  /** Number of bytes of the response that are written but still buffered here. */
  readonly unsent: () => number
}

/** The connection and event by which a request came in. */
interface RequestSource extends Pick<HttpRequest, 'id' | 'by'> {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly trustedProxies: readonly Cidr[]
  readonly certificateOf: SecureContext['certificateOf']
  readonly connections: LimitedConnections
}

/**
 * A request as received. A class, because Node keeps what the getters of an object literal refer to: each such literal has
 * a hidden class of its own, which lives until the next full collection, and with it the whole request.
 */
export class ReceivedRequest implements HttpRequest {
  readonly id: string
  readonly method: string
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly by: HttpRequest['by']
  readonly body: Readable
  readonly remoteAddress: string
  readonly #socket: TLSSocket
  readonly #response: ServerResponse
  readonly #certificateOf: SecureContext['certificateOf']
  readonly #connections: LimitedConnections
  #gone: EndSignal | null = null
  #ended: EndSignal | null = null

  constructor({
    id,
    request,
    response,
    by,
    trustedProxies,
    certificateOf,
    connections,
  }: RequestSource) {
    this.id = id
    this.method = request.method ?? ''
    this.target = request.url ?? ''
    this.headers = request.headers
    this.rawHeaders = request.rawHeaders
    this.by = by
    this.body = bodyOf(request, response, by)
    const peer = request.socket.remoteAddress ?? ''
    this.remoteAddress =
      trustedProxies.length === 0
        ? plainAddress(peer)
        : clientAddress(peer, request.headersDistinct['x-forwarded-for'] ?? [], trustedProxies)
    this.#socket = request.socket as TLSSocket
    this.#response = response
    this.#certificateOf = certificateOf
    this.#connections = connections
  }

  get clientCertificate(): ClientCertificate | null {
    return this.#certificateOf(this.#socket)
  }

  get gone(): EndSignal {
    this.#gone ??= endedAfter(this.#response, () => !this.#response.writableFinished)
    return this.#gone
  }

  get ended(): EndSignal {
    this.#ended ??= endedAfter(this.#response, () => true)
    return this.#ended
  }

  authenticated(): void {
    this.#connections.authenticated(this.#socket)
  }

  unsent(): number {
    return this.#response.writableLength
  }
}

/** Ends once the response is closed, if the condition holds then. */
function endedAfter(response: ServerResponse, condition: () => boolean): EndSignal {
  const source = new EndSource()
  const closed = (): void => {
    if (condition()) source.end()
  }
  if (response.closed) closed()
  else response.once('close', closed)
  return source
}

function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
  by: HttpRequest['by'],
): Readable {
  // After `upgrade` and `connect` nothing is read from the socket: the bytes may be of any protocol.
  if (by !== 'request') return Readable.from([])
  return awaitsContinue(request)
    ? Readable.from(continued(request, response), { objectMode: false })
    : request
}

/** Sends `100 Continue` when the body is first read, so never for a request that is refused unread. */
async function* continued(
  request: IncomingMessage,
  response: ServerResponse,
): AsyncGenerator<Buffer> {
  response.writeContinue()
  yield* request as AsyncIterable<Buffer>
}
