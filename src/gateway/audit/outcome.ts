// The outcome of a request, as its events have it (contract 21.3, 21.5, 22.2).
import { responseStatusOf } from '../../domain/audit/bodies/status.ts'
import type { RequestEnd, ResponseStatus } from '../../domain/audit/event.ts'
import type { AuditLevel, AuditStage } from '../../domain/audit/policy.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RequestContext } from '../request-context.ts'
import type { AnswerEnd, Decision } from '../request-observer.ts'
import { auditedRequest } from './event-facts.ts'

/** Annotations of an event. */
export type Annotations = Readonly<Record<string, string>>

/** The outcome of a request when its answer is decided. */
export interface RequestOutcome {
  /** The last stage. */
  readonly stage: AuditStage
  readonly status: ResponseStatus
  readonly annotations: Annotations
}

/** As nginx has it: the client has disconnected before the head of an answer. */
const ABANDONED: ResponseStatus = { metadata: {}, code: 499 }

/** The outcome of a decided request. */
export function outcomeOf(
  { context, answer, failure }: Decision,
  level: AuditLevel,
): RequestOutcome {
  const stage = failure === null ? 'ResponseComplete' : 'Panic'
  return isAbandoned(context, answer)
    ? { stage, status: ABANDONED, annotations: endAnnotation('clientGone') }
    : {
        stage,
        status: statusOf(context, answer, level),
        annotations: decisionAnnotations(context, answer),
      }
}

/** Whether the client has left before anything was known to answer it with. */
const isAbandoned = ({ http }: RequestContext, { refusal }: Answer): boolean =>
  http.gone.aborted && refusal !== undefined

function statusOf(context: RequestContext, answer: Answer, level: AuditLevel): ResponseStatus {
  const { status: code, headers, body, refusal } = answer
  // What the sign-in process says to a person is not read, whatever form it has.
  const isOfSignIn = context.target === 'SignIn' && refusal === undefined
  const isReadable =
    Buffer.isBuffer(body) && headers['content-encoding'] === undefined && !isOfSignIn
  return responseStatusOf({
    code,
    body: isReadable ? { bytes: body } : { omitted: 'unread' },
    isOurs: refusal !== undefined,
    level,
    request: auditedRequest(context),
  })
}

/** Why this process refused a request. For a credential, the answer to the caller says less. */
function decisionAnnotations(
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

const ENDS: Readonly<Record<AnswerEnd, RequestEnd>> = {
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
