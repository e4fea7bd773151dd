// An answer that streams, bound to the key that it was opened with.
import { type Readable, Transform, type TransformCallback, pipeline } from 'node:stream'
import { type Answer, type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import type { TerminationReason, EndReason, Opened, StreamKind } from './in-flight.ts'

/** How the streams of one request are bound. */
interface TerminableOptions {
  readonly flows: Opened['flows']
  /** Whether the request watches: an ERROR event then says why it ends. */
  readonly isWatch: boolean
  /** Whether the answer has no time limit, as logs with follow have none. */
  readonly isLong: boolean
  /** Called for each chunk of a long answer (contract 14.1). */
  readonly flowed: () => void
  /** Called when nothing more of the answer is wanted, and when it is complete. */
  readonly done: () => void
}

/** How long a client may take to read the last event; milliseconds. */
const LAST_EVENT_WITHIN_MS = 500

/** The answer, ended when its key ends (contract 13.4). One that is whole passes as it is. */
export function terminable(answer: Answer, options: TerminableOptions): Answer {
  if (Buffer.isBuffer(answer.body)) {
    options.done()
    return answer
  }
  const kind: StreamKind = options.isWatch && answer.status === 200 ? 'watch' : 'body'
  const body =
    kind === 'watch' && isLines(answer)
      ? guardedWatch(answer.body, options)
      : guardedBody(answer.body, kind, options)
  return { ...answer, body }
}

const isLines = ({ headers }: Answer): boolean =>
  headers['content-type']?.startsWith('application/json') ?? false

/** The watch with an ERROR event at its end, as the API server ends one that is out of date. */
function guardedWatch(source: Readable, { flows, flowed, done }: TerminableOptions): Readable {
  const lines = new WatchStream(flowed)
  flows('watch', (reason) => {
    source.unpipe(lines)
    lines.cut(lastEvent(reason))
    lines.end()
    source.destroy()
    setTimeout(() => lines.destroy(), LAST_EVENT_WITHIN_MS).unref()
  })
  // Not by `pipeline`: that would drop the last event together with the source.
  source.pipe(lines)
  source.once('error', (error) => lines.destroy(error))
  source.once('close', () => {
    if (!source.readableEnded && !lines.writableEnded && !lines.isCut) lines.destroy()
  })
  lines.once('close', () => {
    source.destroy()
    done()
  })
  return lines
}

function guardedBody(
  answered: Readable,
  kind: StreamKind,
  { flows, isLong, flowed, done }: TerminableOptions,
): Readable {
  const source = isLong ? observed(answered, flowed) : answered
  flows(kind, (reason) => source.destroy(new Error(`the stream was cut: ${reason}`)))
  source.once('close', done)
  return source
}

/** The same body; calls `flowed` for each chunk. */
function observed(source: Readable, flowed: () => void): Readable {
  const through = new Transform({
    transform: (piece: Buffer, _, pass) => {
      flowed()
      pass(null, piece)
    },
  })
  // Errors of the source reach the reader as those of `through`.
  pipeline(source, through, () => undefined)
  return through
}

const LAST_STATUS: Readonly<Record<EndReason, WholeAnswer>> = {
  expired: refuse(ERRORS.keyExpired),
  revoked: refuse(ERRORS.keyNotFound),
  changed: refuse(ERRORS.keyChangedInWatch),
  stale: refuse(ERRORS.keyUncheckedInWatch),
}

/** The watch event that says why; at a shutdown none, as clients then come again by themselves. */
const lastEvent = (reason: TerminationReason): Buffer =>
  reason === 'shutdown'
    ? Buffer.alloc(0)
    : Buffer.from(`{"type":"ERROR","object":${LAST_STATUS[reason].body.toString()}}\n`)

const NEWLINE = 0x0a

/**
 * Passes the lines of a watch on, whole ones only: where it is cut, what follows is a line of ours and
 * not the rest of one of theirs (contract 13.4).
 */
export class WatchStream extends Transform {
  readonly #flowed: () => void
  #rest: Buffer[] = []
  #isCut = false

  /** @param flowed called for each chunk that passes */
  constructor(flowed: () => void) {
    super()
    this.#flowed = flowed
  }

  /** Whether it was cut. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Ends with this line, which may be empty; nothing of the source passes any more. */
  cut(line: Buffer): void {
    if (this.#isCut || this.writableFinished || this.destroyed) return
    this.#isCut = true
    this.#rest = []
    if (line.length > 0) this.push(line)
    this.push(null)
  }

  override _transform(piece: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#isCut) {
      done()
      return
    }
    this.#flowed()
    const end = piece.lastIndexOf(NEWLINE) + 1
    const whole = end === 0 ? [] : [...this.#rest, piece.subarray(0, end)]
    if (end > 0) this.#rest = []
    if (end < piece.length) this.#rest.push(piece.subarray(end))
    if (whole.length > 0) this.push(whole.length === 1 ? whole[0] : Buffer.concat(whole))
    done()
  }

  override _flush(done: TransformCallback): void {
    // What the API server broke off in a line is passed as it is.
    if (!this.#isCut) for (const piece of this.#rest) this.push(piece)
    done()
  }
}
