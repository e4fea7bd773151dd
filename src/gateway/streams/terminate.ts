// Cuts a streamed answer when its key ends (contract 13.4).
import type { Readable } from 'node:stream'
import type { UpgradeProtocol } from '../../kube/proxy/types.ts'
import { type Answer, BodyCut, type BufferedAnswer } from '../../serving/http/answer.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import { parseJsonMap } from '../../domain/json/json.ts'
import type { EndRefusals } from './credential-refusals.ts'
import type { ForwardBuffer } from './forward-buffer.ts'
import { ObservedBody } from './passed-body.ts'
import { terminableTunnel } from './terminate-tunnel.ts'
import type { TerminationReason, InFlightEntry, StreamKind } from './in-flight.ts'
import { WatchStream } from './watch-stream.ts'

/** The parts of a request that its streamed answer uses. */
interface TerminableOptions {
  readonly flows: InFlightEntry['flows']
  /** Whether the request is a watch: its last event then is an ERROR with the reason. */
  readonly isWatch: boolean
  /** Whether the answer has no time limit, such as logs with follow. */
  readonly isLong: boolean
  /** The protocol of an upgrade; null = none. */
  readonly upgrade: UpgradeProtocol | null
  /** Limits the memory of tunnels whose clients read slowly. */
  readonly buffer: ForwardBuffer
  /** The last answer to the client, by the reason of the cut. */
  readonly refusals: EndRefusals
  /** Called for each chunk of a long answer (contract 14.1). */
  readonly flowed: () => void
  /** Called when the answer is complete or abandoned. */
  readonly done: () => void
}

/** The answer, cut when its key ends. A buffered answer passes unchanged. */
export function terminable(answer: Answer, options: TerminableOptions): Answer {
  if (Buffer.isBuffer(answer.body)) {
    options.done()
    return answer
  }
  const { body: received, tunnel } = answer
  if (tunnel !== undefined)
    return terminableTunnel(
      answer,
      { body: received, tunnel },
      { ...options, textOf: (reason) => lastText(reason, options.refusals) },
    )
  const kind: StreamKind = options.isWatch && answer.status === 200 ? 'watch' : 'body'
  const body =
    kind === 'watch' && isJsonLines(answer)
      ? guardedWatch(answer.body, options)
      : guardedBody(answer.body, kind, options)
  // It may fail while its record is written, before it is delivered: without any listener Node would end the process.
  body.on('error', () => undefined)
  return { ...answer, body }
}

const isJsonLines = ({ headers }: Answer): boolean =>
  headers['content-type']?.startsWith('application/json') ?? false

/** The watch. When it is cut, an ERROR event follows, as the API server ends a watch whose version is too old. */
function guardedWatch(
  source: Readable,
  { flows, refusals, flowed, done }: TerminableOptions,
): Readable {
  const watchStream = new WatchStream(source, flowed)
  flows('watch', (reason) => watchStream.cut(lastEvent(reason, refusals)))
  watchStream.once('close', done)
  return watchStream
}

function guardedBody(
  answered: Readable,
  kind: StreamKind,
  { flows, isLong, flowed, done }: TerminableOptions,
): Readable {
  const source = isLong ? new ObservedBody(answered, flowed) : answered
  const cut = (reason: TerminationReason): void =>
    void source.destroy(new BodyCut(`the stream was cut: ${reason}`))
  // A client of a watch or of logs can't tell whether they are complete.
  flows(kind, cut, kind === 'body' && !isLong)
  // It may have broken off before: Node emits no second event.
  if (source.closed) done()
  else source.once('close', done)
  return source
}

/** The reason as the text of a close frame. */
const lastText = (reason: TerminationReason, refusals: EndRefusals): string =>
  reason === 'shutdown' ? 'this server is shutting down' : messageOf(refusals[reason])

const messageOf = ({ body }: BufferedAnswer): string =>
  nestedString(parseJsonMap(body.toString()) ?? {}, ['message'])

/** The ERROR event with the reason; empty at a shutdown, after which clients reconnect by themselves. */
const lastEvent = (reason: TerminationReason, refusals: EndRefusals): Buffer =>
  reason === 'shutdown'
    ? Buffer.alloc(0)
    : Buffer.from(`{"type":"ERROR","object":${refusals[reason].body.toString()}}\n`)
