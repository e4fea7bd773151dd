// A gateway before an API server that answers upgrades as a test says, and the bytes of clients.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { RequestObserver } from '../../../src/gateway/request-observer.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import { createTargetRegistry } from '../../../src/gateway/targets/resolver.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { eventuallyPasses as passesWithin } from '../../support/eventually.ts'
import { startServerAndUpstream } from '../kube/proxy/upstream-server.ts'
import { CALLER, NO_TARGETS, managementOf, serverHandlerFor } from './handler-builder.ts'
import { served } from './listening-server.ts'

/** Within ten seconds. */
export const eventuallyPasses = (what: string, act: () => Promise<void>): Promise<void> =>
  passesWithin(what, act, { withinMs: 10_000 })

/** The path of an exec. */
export const EXEC = '/kubernetes/management/api/v1/namespaces/a/pods/b/exec?command=sh'
/** The headers of its upgrade to WebSocket, as kubectl sends them. */
export const WEBSOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
]
/** The same for SPDY. */
export const SPDY = [
  'Connection: Upgrade',
  'Upgrade: SPDY/3.1',
  'X-Stream-Protocol-Version: v4.channel.k8s.io',
  'X-Stream-Protocol-Version: v3.channel.k8s.io',
]

/** The head of a request. */
export const head = (method: string, path: string, headers: readonly string[]): string =>
  `${[`${method} ${path} HTTP/1.1`, 'Host: h', ...headers].join('\r\n')}\r\n\r\n`

/** Answers an upgrade. */
type ActUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** Accepts the upgrade and sends back what comes. */
export const echoing =
  (more = ''): ActUpgrade =>
  (request, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n${more}\r\n`,
    )
    socket.on('data', (piece: Buffer) => void socket.write(piece))
    socket.on('end', () => socket.end())
  }

/** A gateway before an API server that answers upgrades so. */
export async function upgrading(
  act: ActUpgrade,
  respond = 'nothing is upgraded here',
  observers: readonly RequestObserver[] = [],
) {
  const { upstream, server } = await startServerAndUpstream('https', (_, outgoing) =>
    outgoing.writeHead(403, { 'content-type': 'text/plain' }).end(respond),
  )
  const upgraded: IncomingMessage[] = []
  server.server.on('upgrade', (request: IncomingMessage, socket: Duplex, first: Buffer) => {
    upgraded.push(request)
    socket.on('error', () => undefined)
    act(request, socket, first)
  })
  let ended = false
  const open: string[] = []
  const cuts: string[] = []
  const connection = { upstream }
  const inFlight = new InFlightRequests({
    clock: systemClock(),
    reauthenticate: (known) =>
      ended ? { ok: false, because: 'revoked' } : { ok: true, caller: known },
    observer: {
      opened: (kind) => void open.push(kind),
      closed: () => void open.pop(),
      cut: (reason) => void cuts.push(reason),
    },
  })
  const targets = createTargetRegistry(managementOf(upstream), {
    ...NO_TARGETS,
    find: () => ({ kind: 'usable', connection, namespace: null }),
  })
  const handle = serverHandlerFor(CALLER, upstream.send, { inFlight, targets, observers })
  const { connect, say, port } = await served(handle)
  return {
    port,
    connect,
    say,
    upgraded,
    open,
    cuts,
    sockets: server.sockets,
    end: () => {
      ended = true
      inFlight.look(null)
    },
    endTarget: () => inFlight.endConnection(connection),
  }
}

/** Reads until the text has come. */
export async function readUntil(socket: TLSSocket, text: string): Promise<string> {
  let got = ''
  for await (const [piece] of on(socket)) {
    got += piece.toString('latin1')
    if (got.includes(text)) return got
  }
  throw new Error(`the connection ended after ${got}`)
}

async function* on(socket: TLSSocket): AsyncGenerator<readonly [Buffer]> {
  while (!socket.destroyed) yield (await once(socket, 'data')) as [Buffer]
}
