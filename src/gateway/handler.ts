// Runs the stages of each request in their order: the first stage that answers ends the run. Requests, upgrades and
// CONNECT pass the same stages. Metrics, the access log, the expiry headers and the request lease wrap the run. The
// gateway and the direct endpoint have a list of stages each.
import type { Caller } from '../authn/caller.ts'
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
  known,
  newContext,
} from './request-context.ts'
import { type AuthenticationDeps, authentication } from './stages/authentication.ts'
import { type AuthorizationDeps, authorization } from './stages/authorization.ts'
import type { ExpiryHeaders } from './stages/expiry-headers.ts'
import { type MaxInFlightDeps, maxInFlight } from './stages/max-in-flight.ts'
import { type PublicRouteDeps, publicRoute, version } from './stages/public-routes.ts'
import {
  type RouteDeps,
  headerRefusal,
  requestInfo,
  requestInfoRefusal,
} from './stages/request-info.ts'
import { proxy } from './stages/proxy.ts'
import { type SelfServiceDeps, managementReview, selfService } from './stages/self-service.ts'
import { type ActivityDeps, activity } from './stages/activity.ts'
import { type TargetDeps, targetResolution } from './stages/target.ts'
import { upgradePath, upgradeProtocol } from './stages/upgrade.ts'
import { type WebhookRouteDeps, webhookRoute } from './stages/webhook.ts'
import { isOwnKind } from './selfservice/handler.ts'
import { credentialRefusals } from './streams/credential-refusals.ts'
import type { ForwardBuffer } from './streams/forward-buffer.ts'
import { terminable } from './streams/terminate.ts'

/** Called for every answer, for metrics. `seconds` is the time from the request to the head of its answer. */
type AnsweredObserver = (
  target: AnsweredTarget,
  verb: string,
  code: number,
  seconds: number,
) => void

/** The dependencies of the stages that the gateway and the direct endpoint share, and the observers. */
interface HandlerOptions
  extends RouteDeps,
    PublicRouteDeps,
    AuthenticationDeps,
    AuthorizationDeps,
    TargetDeps,
    MaxInFlightDeps {
  /** What tunnels hold for their clients (contract 13.3). */
  readonly forwardBuffer: ForwardBuffer
  /** Called for each chunk of a long answer (contract 14.1). */
  readonly flowed: (caller: Caller) => void
  /** Adds the headers that say when the credential ends (contract 13.5). */
  readonly expiryHeaders: ExpiryHeaders
  readonly answered: AnsweredObserver
  readonly clock: Clock
  readonly log: Log
}

/** The dependencies of the gateway's stages. */
export type GatewayHandlerOptions = HandlerOptions & ActivityDeps & SelfServiceDeps

/**
 * The stages of the gateway, in the order of a kube-apiserver's filters. Only public pages are answered before
 * `authentication`: a caller without a credential does not learn what the gateway serves (contract 9.1).
 */
export const GATEWAY_STAGES: readonly Stage<GatewayHandlerOptions>[] = [
  requestInfo,
  publicRoute,
  authentication,
  upgradeProtocol,
  headerRefusal,
  version,
  requestInfoRefusal,
  upgradePath,
  authorization,
  targetResolution,
  maxInFlight,
  activity,
  selfService,
  managementReview,
  proxy,
]

/** The dependencies of the direct endpoint's stages. */
export type DirectHandlerOptions = HandlerOptions & WebhookRouteDeps

/**
 * The stages of the direct endpoint (contract 9.2): those of the gateway, without what only access keys have. The
 * webhook has callers and credentials of its own.
 */
export const DIRECT_STAGES: readonly Stage<DirectHandlerOptions>[] = [
  requestInfo,
  publicRoute,
  webhookRoute,
  authentication,
  upgradeProtocol,
  headerRefusal,
  version,
  requestInfoRefusal,
  upgradePath,
  authorization,
  targetResolution,
  maxInFlight,
  proxy,
]

const INTERNAL_ERROR = refuse(ERRORS.internal)

/** Creates the handler of all requests. An unexpected error is logged; the 500 to the client has no details of it. */
export function createHandler<Options extends HandlerOptions>(
  stages: readonly Stage<Options>[],
  options: Options,
): RequestHandler {
  const { clock } = options
  return async (http) => {
    const startedMs = clock.monotonicMs()
    const context = newContext(http)
    const answer = await runStages(stages, context, options).catch((err: unknown) =>
      answerFailure(context, options, err),
    )
    const verb = context.request?.attributes.verb ?? http.method
    const seconds = (clock.monotonicMs() - startedMs) / 1000
    options.answered(context.target, verb, answer.status, seconds)
    return withExpiry(context, options, answer)
  }
}

/** Runs the stages until one answers. The answer is cut when the caller's key ends. */
async function runStages<Options extends HandlerOptions>(
  stages: readonly Stage<Options>[],
  context: RequestContext,
  options: Options,
): Promise<Answer> {
  for (const stage of stages) {
    const result = stage(context, options)
    // Most stages leave the answer to the next one at once: to wait for each would cost more than the stage does.
    const answer = result === null ? null : await underLease(context, result)
    if (answer === null) continue
    logAnswer(context, options, answer)
    return cutWithKey(context, options, answer)
  }
  throw new Error('no stage answers')
}

/** The answer of a stage, null = none. When the key of an admitted request ends first, the refusal for that. */
async function underLease(
  context: RequestContext,
  result: Answer | Promise<Answer | null>,
): Promise<Answer | null> {
  if (context.admitted === null) return result
  const { answer, isOver } = await context.admitted.lease.outcome(Promise.resolve(result))
  if (isOver) context.use = 'ended'
  return answer
}

/** The answer, cut when its key ends. Its end frees the request's place in max in flight (contract 13.3, 13.4). */
function cutWithKey(
  { admitted, caller, request, upgrade }: RequestContext,
  { flowed, forwardBuffer }: HandlerOptions,
  answer: Answer,
): Answer {
  if (admitted === null || caller === null || request === null) return answer
  const { lease, isLong, release } = admitted
  return terminable(answer, {
    flows: lease.flows,
    isWatch: request.attributes.verb === 'watch',
    isLong,
    upgrade,
    buffer: forwardBuffer,
    refusals: credentialRefusals(caller).inStream,
    flowed: () => flowed(caller),
    done: release,
  })
}

function logAnswer(context: RequestContext, { log }: HandlerOptions, answer: Answer): void {
  const { http, admitted, caller, request } = context
  const isAdmittedOwnKind = admitted !== null && request !== null && isOwnKind(request)
  if (!isAdmittedOwnKind && answer.refusal === undefined) return
  const requestLog = log.child({ requestId: http.id })
  const isLoggedWrite =
    isAdmittedOwnKind && logWrite(requestLog, request, known(context, 'caller'), answer)
  if (!isLoggedWrite && answer.refusal !== undefined && !http.gone.aborted)
    logRefusal(requestLog, { ...answeredFields(context), caller }, answer)
}

const answeredFields = ({ http, target, request }: RequestContext) => ({
  method: http.method,
  target,
  asked: request?.attributes ?? null,
})

/** Logs the error and answers 500. A client that has disconnected is no error: nothing is logged. */
function answerFailure(context: RequestContext, { log }: HandlerOptions, err: unknown): Answer {
  const { http, path, target, caller, admitted } = context
  admitted?.release()
  context.use = 'unused'
  const publicPath = target === 'Public' && caller === null ? { path } : {}
  const fields = requestLogFields({ ...answeredFields(context), caller })
  if (!http.gone.aborted)
    log.error({ requestId: http.id, ...fields, ...publicPath, err }, 'request failed')
  return INTERNAL_ERROR
}

/** Adds the expiry headers, unless the key has ended already (contract 10.2, 13.5). */
function withExpiry(
  { caller, use }: RequestContext,
  { expiryHeaders }: HandlerOptions,
  answer: Answer,
): Answer {
  if (caller === null || use === 'ended') return answer
  return { ...answer, headers: expiryHeaders(answer.headers, caller, use === 'used') }
}
