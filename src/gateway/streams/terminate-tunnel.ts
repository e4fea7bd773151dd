// Cuts a tunnel when the key or the target of its request ends (contract 13.4): a WebSocket gets a close frame with the
// reason, SPDY has none.
import { type Readable, Transform, type TransformCallback, type Writable } from 'node:stream'
import type { UpgradeProtocol } from '../../kube/proxy/types.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { InFlightEntry } from './in-flight.ts'
import { FrameCounter, closeFrame } from './websocket-frames.ts'

/** Without the end of a frame in this time, the tunnel is cut within one; milliseconds. */
const BOUNDARY_WITHIN_MS = 200

/** How long a client may take to read the close frame; milliseconds. */
const LAST_FRAME_WITHIN_MS = 500

/** The parts of a request that its tunnel uses; see TerminableOptions. */
interface TunnelOptions {
  readonly upgrade: UpgradeProtocol | null
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
  { upgrade, flows, flowed, done, textOf }: TunnelOptions,
): Answer {
  const toClient = new TunnelStream(upgrade === 'websocket', flowed)
  const toUpstream = new TunnelStream(false, flowed)
  const end = (): void => {
    source.destroy()
    sink.destroy()
    toUpstream.destroy()
    toClient.destroy()
  }
  source.pipe(toClient)
  toUpstream.pipe(sink)
  for (const stream of [source, sink]) stream.once('error', end)
  // A cut tunnel is left to its last frame.
  let isCut = false
  source.once('close', () => source.readableEnded || isCut || end())
  toUpstream.once('close', () => toUpstream.writableFinished || isCut || end())
  toClient.once('close', () => {
    end()
    done()
  })
  flows('upgrade', (reason) => {
    isCut = true
    toUpstream.destroy()
    toClient.cut(closeFrame(textOf(reason)), () => {
      source.destroy()
      setTimeout(end, LAST_FRAME_WITHIN_MS).unref()
    })
  })
  return { ...answer, body: toClient, tunnel: toUpstream }
}

/** One direction of a tunnel; of a WebSocket it knows where frames end. */
class TunnelStream extends Transform {
  readonly #frames: FrameCounter | null
  readonly #flowed: () => void
  #lastFrame: { readonly frame: Buffer; readonly done: () => void } | null = null
  #isCut = false

  constructor(isWebSocket: boolean, flowed: () => void) {
    super()
    this.#frames = isWebSocket ? new FrameCounter() : null
    this.#flowed = flowed
  }

  /** Ends the stream with the frame after the frame that is under way; at once without frames. Calls `done` then. */
  cut(frame: Buffer, done: () => void): void {
    if (this.#isCut || this.#lastFrame !== null) return
    if (this.#frames === null) this.#finish(null, done)
    else if (this.#frames.isAtBoundary) this.#finish(frame, done)
    else {
      this.#lastFrame = { frame, done }
      setTimeout(() => this.#finish(null, done), BOUNDARY_WITHIN_MS).unref()
    }
  }

  override _transform(piece: Buffer, _: BufferEncoding, next: TransformCallback): void {
    if (this.#isCut) {
      next()
      return
    }
    this.#flowed()
    const last = this.#lastFrame
    if (this.#frames === null) {
      next(null, piece)
      return
    }
    if (last === null) {
      this.#pushFrames(piece, this.#frames)
      next()
      return
    }
    const length = this.#frames.readToBoundary(piece)
    this.push(piece.subarray(0, length))
    if (this.#frames.isAtBoundary) this.#finish(last.frame, last.done)
    next()
  }

  /**
   * Each frame apart, so that it gets a TLS record of its own: clients that look at their socket, as Python's, do not see
   * a second one in the record that they have read.
   */
  #pushFrames(piece: Buffer, frames: FrameCounter): void {
    for (let at = 0; at < piece.length; ) {
      const length = frames.readToBoundary(piece.subarray(at))
      this.push(piece.subarray(at, at + length))
      at += length
    }
  }

  #finish(frame: Buffer | null, done: () => void): void {
    if (this.#isCut || this.destroyed) return
    this.#isCut = true
    if (frame === null) this.destroy()
    else {
      this.push(frame)
      this.push(null)
    }
    done()
  }
}
