// From a request to its answer: one ordered list of stages, entered for whatever event Node has for a request.
// The first stage that answers ends it. Metrics, the access log, the key's end and the lease wrap the run.
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Answer, refuse } from '../serving/http/answer.ts'
import type { RequestHandler } from '../serving/http/server.ts'
import { logRefusal, logWrite, requestLogFields } from './access-log.ts'
import { ERRORS } from './errors.ts'
import {
  type AnsweredTarget,
  type RequestContext,
  type Stage,
  type StageResult,
  known,
  newContext,
} from './request-context.ts'
import { type AuthenticationDeps, authentication } from './stages/authentication.ts'
import { type AuthorizationDeps, authorization } from './stages/authorization.ts'
import type { ExpiryHeaders } from './stages/expiry-headers.ts'
import { type MaxInFlightDeps, maxInFlight } from './stages/max-in-flight.ts'
import { type PublicRouteDeps, publicRoute, version } from './stages/public-routes.ts'
import {
  headerRefusal,
  requestInfo,
  requestInfoRefusal,
  upgradeRefusal,
} from './stages/request-info.ts'
import { type ServeDeps, activity, proxy, selfService } from './stages/serve.ts'
import { isOwnKind } from './selfservice/handler.ts'
import { terminable } from './streams/terminate.ts'

/** Called for every answer, for metrics; `seconds` until its head was known. */
type AnsweredObserver = (
  target: AnsweredTarget,
  verb: string,
  code: number,
  seconds: number,
) => void

/** What the stages decide by and answer from, and the observers. */
export interface HandlerOptions
  extends PublicRouteDeps,
    AuthenticationDeps,
    AuthorizationDeps,
    MaxInFlightDeps,
    ServeDeps {
  /** The headers of an answer with those that say when the key ends (contract 13.5). */
  readonly expiryHeaders: ExpiryHeaders
  readonly answered: AnsweredObserver
  readonly clock: Clock
  readonly log: Log
}

/**
 * The stages, in the order of a kube-apiserver's filters. Before `authentication` nothing but public pages is
 * answered, so that a caller without a credential learns nothing of what is served here (contract 9.1).
 */
const STAGES: readonly Stage<HandlerOptions>[] = [
  requestInfo,
  publicRoute,
  authentication,
  upgradeRefusal,
  headerRefusal,
  version,
  requestInfoRefusal,
  authorization,
  maxInFlight,
  activity,
  selfService,
  proxy,
]

const FAILED = refuse(ERRORS.internal)

/** The gateway's answer to any request. A failure is logged; its 500 says nothing about it. */
export function createHandler(options: HandlerOptions): RequestHandler {
  const { clock } = options
  return async (http) => {
    const startedMs = clock.monotonicMs()
    const context = newContext(http)
    const answer = await run(context, options).catch((err: unknown) =>
      failed(context, options, err),
    )
    const verb = context.request?.attributes.verb ?? http.method
    const seconds = (clock.monotonicMs() - startedMs) / 1000
    options.answered(context.target, verb, answer.status, seconds)
    return withKeyEnd(context, options, answer)
  }
}

/** The first answer, bound to the key that it is given to. */
async function run(context: RequestContext, options: HandlerOptions): Promise<Answer> {
  for (const stage of STAGES) {
    const answer = await underLease(context, answerOf(stage, context, options))
    if (answer === null) continue
    logAnswer(context, options, answer)
    return bound(context, options, answer)
  }
  throw new Error('no stage answers')
}

async function answerOf(
  stage: Stage<HandlerOptions>,
  context: RequestContext,
  options: HandlerOptions,
): Promise<Answer | null> {
  const result: StageResult = await stage(context, options)
  return result !== null && 'upgrade' in result ? result.answer : result
}

/** What the stage answers; once the request is admitted, the refusal as soon as its key ends. */
async function underLease(
  context: RequestContext,
  answering: Promise<Answer | null>,
): Promise<Answer | null> {
  if (context.admitted === null) return answering
  const { answer, isOver } = await context.admitted.lease.outcome(answering)
  if (isOver) context.use = 'ended'
  return answer
}

/** The answer, which ends with its key and then gives its place to another request (contract 13.3, 13.4). */
function bound(
  { admitted, caller, request }: RequestContext,
  { activity: recorder }: HandlerOptions,
  answer: Answer,
): Answer {
  if (admitted === null || caller === null || request === null) return answer
  const { lease, isLong, release } = admitted
  return terminable(answer, {
    flows: lease.flows,
    isWatch: request.attributes.verb === 'watch',
    isLong,
    flowed: () => recorder.flowed(caller),
    done: release,
  })
}

function logAnswer(context: RequestContext, { log }: HandlerOptions, answer: Answer): void {
  const { http, admitted, caller, request } = context
  const line = log.child({ requestId: http.id })
  const isOwn = admitted !== null && request !== null && isOwnKind(request)
  const isWritten = isOwn && logWrite(line, request, known(context, 'caller'), answer)
  if (!isWritten && answer.refusal !== undefined && !http.gone.aborted)
    logRefusal(line, { ...answeredFields(context), caller }, answer)
}

const answeredFields = ({ http, target, request }: RequestContext) => ({
  method: http.method,
  target,
  asked: request?.attributes ?? null,
})

/** A client that went away is no fault of ours, and gets no answer. */
function failed(context: RequestContext, { log }: HandlerOptions, err: unknown): Answer {
  const { http, path, target, caller, admitted } = context
  admitted?.release()
  context.use = 'unused'
  const page = target === 'Public' && caller === null ? { path } : {}
  const fields = requestLogFields({ ...answeredFields(context), caller })
  if (!http.gone.aborted)
    log.error({ requestId: http.id, ...fields, ...page, err }, 'request failed')
  return FAILED
}

/** The answer, saying when the key ends; of a key that has ended it says nothing (contract 10.2, 13.5). */
function withKeyEnd(
  { caller, use }: RequestContext,
  { expiryHeaders }: HandlerOptions,
  answer: Answer,
): Answer {
  if (caller === null || use === 'ended') return answer
  return { ...answer, headers: expiryHeaders(answer.headers, caller, use === 'used') }
}
