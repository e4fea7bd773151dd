// The outcome of a request, as its events have it (contract 21.3, 21.5, 22.2).
import type { ResponseStatus } from '../../domain/audit/event.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import { parseJsonMap } from '../../domain/json/json.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RequestContext } from '../request-context.ts'
import type { AnswerEnd } from '../request-observer.ts'

/** Annotations of an event. */
export type Annotations = Readonly<Record<string, string>>

/** As nginx has it: the client has disconnected before the head of an answer. */
const CLIENT_GONE = 499

/** The status of an answer of this process: its own refusal, which quotes no object. */
export function refusalStatus({ status: code, body }: Answer): ResponseStatus {
  const sent = Buffer.isBuffer(body) ? (parseJsonMap(body.toString()) ?? {}) : {}
  return {
    metadata: {},
    status: 'Failure',
    message: nestedString(sent, ['message']),
    reason: nestedString(sent, ['reason']),
    code,
  }
}

/** Whether the client has left before anything was known to answer it with. */
export const isAbandoned = ({ http }: RequestContext, { refusal }: Answer): boolean =>
  http.gone.aborted && refusal !== undefined

/** The status of a request whose client has left without an answer. */
export const ABANDONED: ResponseStatus = { metadata: {}, code: CLIENT_GONE }

/** Why this process refused a request. For a credential, the answer to the caller says less. */
export function decisionAnnotations(
  { credentialRefusal }: RequestContext,
  { refusal }: Answer,
): Annotations {
  if (refusal === undefined) return {}
  return {
    'platform.sh/decision': 'deny',
    'platform.sh/reason': credentialRefusal?.because ?? refusal,
  }
}

/** How a long answer has ended. */
export const endAnnotation = (end: AnswerEnd): Annotations => ({
  'platform.sh/end': ENDS[end],
})

const ENDS: Readonly<Record<AnswerEnd, string>> = {
  complete: 'upstream',
  refused: 'upstream',
  upstreamFailed: 'upstream',
  unsendable: 'upstream',
  clientGone: 'client',
  clientStalled: 'client',
  keyEnded: 'key',
  targetEnded: 'target',
  shutdown: 'shutdown',
}
