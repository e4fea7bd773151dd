// Joins the connection of a client with a tunnel to the upstream, after an answer 101 (contract 13.2, 13.3).
import { type ServerResponse, STATUS_CODES, validateHeaderValue } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { type Answer, completeHeaders } from './answer.ts'
import { type ClosedBy, Delivery, type DeliveryEnd } from './delivery.ts'
import { TunnelWriter } from './tunnel-writer.ts'

/** Sessions are silent for hours: the network on the way drops connections that it believes to be dead. */
const KEEP_ALIVE_MS = 30_000

/** How long the API server may still send after its client has ended: what is under way arrives. */
const HALF_CLOSED_MS = 5000

/** The connection of a client after its request for an upgrade. */
interface UpgradedConnection {
  /** ID of the request. */
  readonly id: string
  readonly socket: TLSSocket
  /** The bytes that the client has sent after the head of its request. */
  readonly head: Buffer
  /** Leaves the socket. */
  readonly response: ServerResponse
  /** A client that reads nothing for so long, while something waits for it, is cut; milliseconds. */
  readonly stalledMs: number
  readonly closedBy: ClosedBy
}

/** An answer 101 with its tunnel. */
export type TunnelAnswer = Answer & { readonly body: Readable; readonly tunnel: Writable }

/**
 * Sends the head of the answer, and then the bytes of both sides to each other, with back-pressure.
 *
 * @throws Error for an invalid header; body and tunnel are destroyed then
 */
export function openTunnel(
  { id, socket, head, response, stalledMs, closedBy }: UpgradedConnection,
  { headers, body, tunnel, ended }: TunnelAnswer,
): void {
  const delivery = new Delivery(ended, closedBy)
  const close = (end: DeliveryEnd): void => {
    delivery.end(end)
    body.destroy()
    tunnel.destroy()
    socket.destroy()
  }
  // The answer may have waited, as for its record: what closed meanwhile emits nothing any more.
  if (socket.destroyed) return close(closedBy())
  if (body.destroyed) return close('bodyFailed')
  socket.on('error', () => close('clientGone'))
  for (const stream of [body, tunnel]) stream.on('error', () => close('bodyFailed'))
  const stalled = (): void => close('clientStalled')
  const writer = new TunnelWriter(socket, { stalledMs, stalled })
  try {
    const text = headOf(completeHeaders(headers, id))
    response.detachSocket(socket)
    // The client may end its side and still receive.
    socket.allowHalfOpen = true
    socket.setTimeout(0)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    writer.write(Buffer.from(text, 'latin1'))
  } catch (error) {
    close('unsendable')
    throw error
  }
  if (head.length > 0) socket.unshift(head)
  writer.passFrom(body)
  // Closed by the client, once it has read everything: a connection that is closed here loses what is still under way when
  // its client sends one more ping.
  socket.once('finish', () => {
    if (socket.readableEnded) close('complete')
    else setTimeout(close, stalledMs, 'complete').unref()
  })
  passUpstream(socket, tunnel, () => {
    if (socket.writableFinished) close('complete')
    else setTimeout(close, HALF_CLOSED_MS, 'clientGone').unref()
  })
  socket.once('close', () => close(socket.writableFinished ? 'complete' : closedBy()))
  // A body that was cut ends its connection; one that is complete is still being written.
  body.once('close', () => body.readableEnded || close('bodyFailed'))
}

/** Passes on what the client sends, and its end. */
function passUpstream(from: Readable, to: Writable, ended: () => void): void {
  from.on('data', (piece: Buffer) => {
    if (to.writable && !to.write(piece)) from.pause()
  })
  to.on('drain', () => from.resume())
  // Later bytes of the client are dropped, and its end is still seen.
  to.once('close', () => from.resume())
  from.once('end', () => {
    to.end()
    ended()
  })
}

function headOf(headers: Answer['headers']): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => {
      validateHeaderValue(name, String(one))
      return `${name}: ${one}\r\n`
    }),
  )
  return `HTTP/1.1 101 ${STATUS_CODES[101]}\r\n${lines.join('')}\r\n`
}
