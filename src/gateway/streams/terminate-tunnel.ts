// Cuts a tunnel when the key or the target of its request ends (contract 13.4): a WebSocket gets a close frame with the
// reason, SPDY has none.
import { type Readable, Writable } from 'node:stream'
import type { UpgradeProtocol } from '../../kube/proxy/types.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { ForwardBuffer } from './forward-buffer.ts'
import type { InFlightEntry } from './in-flight.ts'
import { LookAheadStream } from './look-ahead.ts'
import { closeFrame } from './websocket-frames.ts'

/** How long a client may take to read the close frame; milliseconds. */
const LAST_FRAME_WITHIN_MS = 500

/** The parts of a request that its tunnel uses; see TerminableOptions. */
interface TunnelOptions {
  readonly upgrade: UpgradeProtocol | null
  readonly buffer: ForwardBuffer
  readonly flows: InFlightEntry['flows']
  readonly flowed: () => void
  readonly done: () => void
  /** The text of a reason. */
  readonly textOf: (reason: Parameters<Parameters<InFlightEntry['flows']>[1]>[0]) => string
}

/** The tunnel, cut when its request must end. */
export function terminableTunnel(
  answer: Answer,
  { body: source, tunnel: sink }: { readonly body: Readable; readonly tunnel: Writable },
  { upgrade, buffer, flows, flowed, done, textOf }: TunnelOptions,
): Answer {
  const isWebSocket = upgrade === 'websocket'
  const toClient = new LookAheadStream(source, { isWebSocket, share: buffer.share(), flowed })
  const toUpstream = new UpstreamWriter(sink, flowed)
  const end = (): void => {
    source.destroy()
    sink.destroy()
    toUpstream.destroy()
    toClient.destroy()
  }
  // Not `end`: the client gets first what the API server has sent.
  for (const stream of [source, sink]) stream.on('error', () => toUpstream.destroy())
  sink.once('close', () => toUpstream.destroy())
  toClient.once('close', () => {
    end()
    done()
  })
  flows('upgrade', (reason) => {
    toUpstream.destroy()
    toClient.cut(closeFrame(textOf(reason)), () => {
      source.destroy()
      setTimeout(end, LAST_FRAME_WITHIN_MS).unref()
    })
  })
  return { ...answer, body: toClient, tunnel: toUpstream }
}

/**
 * Writes what the client has sent, after all that has arrived from the API server in this turn of the event loop: a
 * write to a connection that its other side has closed fails, and what was not read by then is lost.
 */
class UpstreamWriter extends Writable {
  readonly #sink: Writable
  readonly #flowed: () => void

  constructor(sink: Writable, flowed: () => void) {
    super()
    this.#sink = sink
    this.#flowed = flowed
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.#send(bytes, done)
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _final(done: () => void): void {
    this.#sink.end()
    done()
  }
  #send(bytes: Buffer, done: () => void): void {
    this.#flowed()
    setImmediate(() => {
      if (this.#sink.writable) this.#sink.write(bytes, () => done())
      else done()
    })
  }
}
