// Runs the stages of each request in their order: the first stage that answers ends the run. Requests, upgrades and
// CONNECT pass the same stages. Observers, the expiry headers and the request lease wrap the run. The gateway and the
// direct endpoint have a list of stages each.
import type { Log } from '../runtime/log.ts'
import { type Answer, refuse } from '../serving/http/answer.ts'
import type { DeliveryListener } from '../serving/http/delivery.ts'
import type { RequestHandler, ServerHandler } from '../serving/http/server.ts'
import type { RequestRecord } from './audit/request-record.ts'
import { ERRORS } from './errors.ts'
import { type RequestContext, type Stage, newContext } from './request-context.ts'
import {
  type Decision,
  ObservedRequest,
  type RequestObserver,
  answerEnd,
} from './request-observer.ts'
import { type AgentEventsDeps, agentEvents } from './stages/agent-events.ts'
import { type AuditEventsDeps, auditEvents } from './stages/audit-events.ts'
import { type AuditDeps, audit } from './stages/audit.ts'
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
import { type SignInDeps, signIn } from './stages/sign-in.ts'
import { upgradePath, upgradeProtocol } from './stages/upgrade.ts'
import { type DelegatedRouteDeps, delegatedRoute } from './stages/delegated-routes.ts'
import { credentialRefusals } from './streams/credential-refusals.ts'
import type { ForwardBuffer } from './streams/forward-buffer.ts'

/** The dependencies of the stages that the gateway and the direct endpoint share, and the observers. */
interface HandlerOptions
  extends RouteDeps,
    PublicRouteDeps,
    AuthenticationDeps,
    AuthorizationDeps,
    TargetDeps,
    MaxInFlightDeps {
  /** Limits the memory of tunnels whose clients read slowly (contract 13.3). */
  readonly forwardBuffer: ForwardBuffer
  /** Adds the headers that say when the credential ends (contract 13.5). */
  readonly expiryHeaders: ExpiryHeaders
  /** Called for every request and for its end, in this order. */
  readonly observers: readonly RequestObserver[]
  readonly audit: AuditDeps
  /** For the failures of observers. */
  readonly log: Log
}

/** The dependencies of the gateway's stages. */
export type GatewayHandlerOptions = HandlerOptions &
  ActivityDeps &
  AuditEventsDeps &
  AgentEventsDeps &
  SelfServiceDeps &
  SignInDeps

/**
 * The stages of the gateway, in the order of a kube-apiserver's filters. Only public pages and signing in come before
 * `authentication`: a caller without a credential does not learn what the gateway serves (contract 9.1).
 */
export const GATEWAY_STAGES: readonly Stage<GatewayHandlerOptions>[] = [
  requestInfo,
  publicRoute,
  signIn,
  authentication,
  audit,
  upgradeProtocol,
  headerRefusal,
  version,
  requestInfoRefusal,
  upgradePath,
  authorization,
  targetResolution,
  maxInFlight,
  activity,
  auditEvents,
  agentEvents,
  selfService,
  managementReview,
  proxy,
]

/** The dependencies of the direct endpoint's stages. */
export type DirectHandlerOptions = HandlerOptions & DelegatedRouteDeps

/**
 * The stages of the direct endpoint (contract 9.2): the gateway's, without what only access keys have. The
 * webhook has callers and credentials of its own.
 */
export const DIRECT_STAGES: readonly Stage<DirectHandlerOptions>[] = [
  requestInfo,
  publicRoute,
  delegatedRoute,
  authentication,
  audit,
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

/** Creates the handler of all requests. An unexpected error is answered with a 500 without details of it. */
export function createHandler<Options extends HandlerOptions>(
  stages: readonly Stage<Options>[],
  options: Options,
): ServerHandler {
  const { observers, log } = options
  const respond: RequestHandler = async (http) => {
    const observed = new ObservedRequest(http, observers, log)
    const context = newContext(http)
    const record = options.audit.receive()
    context.record = record
    const decided = await decide(stages, context, options)
    const decision =
      record === null ? decided : { ...decided, answer: await record.finish(decided) }
    observed.decided(decision)
    const headers = withExpiry(decision, options)
    return { ...decision.answer, headers, ended: reportEnd(observed, decision, record) }
  }
  return {
    respond,
    refused: (http, answer) => {
      const observed = new ObservedRequest(http, observers, log)
      const decision = { context: newContext(http), answer, failure: null }
      observed.decided(decision)
      return { ...answer, ended: reportEnd(observed, decision, null) }
    },
  }
}

/** Reports the end of the answer. It keeps little: a watch lives for long. */
function reportEnd(
  observed: ObservedRequest,
  { answer, context }: Decision,
  record: RequestRecord | null,
): DeliveryListener {
  const isRefusal = answer.refusal !== undefined
  const { admitted } = context
  return (delivery) => {
    const end = answerEnd(delivery, isRefusal, admitted?.cutBy ?? null)
    record?.ended(end)
    observed.ended(end)
  }
}

async function decide<Options extends HandlerOptions>(
  stages: readonly Stage<Options>[],
  context: RequestContext,
  options: Options,
): Promise<Decision> {
  try {
    return { context, answer: await runStages(stages, context, options), failure: null }
  } catch (cause) {
    context.admitted?.release()
    context.use = 'unused'
    return { context, answer: INTERNAL_ERROR, failure: { cause } }
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
    if (answer !== null) return untilKeyEnds(context, options, answer)
  }
  throw new Error('no stage answers')
}

/** The answer of a stage, null = none. When the key of an admitted request ends first, the refusal for that. */
async function underLease(
  context: RequestContext,
  result: Answer | Promise<Answer | null>,
): Promise<Answer | null> {
  if (context.admitted === null) return result
  const { answer, isOver } = await context.admitted.outcome(Promise.resolve(result))
  if (isOver) context.use = 'ended'
  return answer
}

/** The answer, cut when its key ends (contract 13.4). */
function untilKeyEnds(
  { admitted, caller, request, upgrade, flowed }: RequestContext,
  { forwardBuffer }: HandlerOptions,
  answer: Answer,
): Answer {
  if (admitted === null || caller === null || request === null) return answer
  return admitted.untilEnd(answer, {
    isWatch: request.attributes.verb === 'watch',
    upgrade,
    buffer: forwardBuffer,
    refusals: credentialRefusals(caller).inStream,
    flowed: flowed ?? NOT_COUNTED,
  })
}

const NOT_COUNTED = (): void => undefined

/** The headers with the end of the key, unless it has ended already (contract 10.2, 13.5). */
function withExpiry(
  { context: { caller, use }, answer: { headers } }: Decision,
  { expiryHeaders }: HandlerOptions,
): Answer['headers'] {
  if (caller === null || use === 'ended') return headers
  return expiryHeaders(headers, caller, use === 'used')
}
