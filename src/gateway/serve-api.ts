// A request of an authenticated caller to an API: read from its bytes, decided, recorded, answered.
import type { Caller } from '../authn/caller.ts'
import type { ScopeContext } from '../domain/scope/authorize.ts'
import type { TargetKind } from '../domain/scope/request-info.ts'
import type { Log } from '../runtime/log.ts'
import { type Answer, failure } from '../serving/http/answer.ts'
import type { HttpRequest } from '../serving/http/server.ts'
import { logWrite } from './access-log.ts'
import type { ActivityRecorder } from './activity/recorder.ts'
import type { CallerAnswer, ServeApi } from './handler.ts'
import { isLongRunning } from './proxy/forward.ts'
import { type ParsedRequest, parseRequest } from './request/parse.ts'
import { mayCreate, authorizeRequest } from './stages/authorization.ts'
import type { MaxInFlight } from './stages/max-in-flight.ts'
import {
  asReadable,
  isSelfAccessReview,
  narrowedReview,
} from './stages/self-subject-access-review.ts'
import type { InFlightRequests } from './streams/in-flight.ts'
import { type HeldLease, type RequestLease, leaseRequest } from './streams/request-lease.ts'
import { terminable } from './streams/terminate.ts'

/** Answers an admitted request; `how` ends what is under way for it. */
export type AnswerRequest<How> = (
  request: ParsedRequest,
  call: HttpRequest,
  caller: Caller,
  how: How,
) => Promise<Answer>

/** The stages of a request, and what they decide by. */
export interface ServeApiOptions {
  /** null until settings in force are known: nothing is decided before. */
  readonly surroundings: () => ScopeContext | null
  readonly limits: MaxInFlight
  readonly activity: ActivityRecorder
  readonly streams: InFlightRequests
  /** Whether a request is about our own kinds. */
  readonly isOwnKind: (request: ParsedRequest) => boolean
  readonly ownKinds: AnswerRequest<RequestLease>
  readonly forward: AnswerRequest<AbortSignal>
  readonly denied: (target: TargetKind) => void
  readonly log: Log
}

const UNKNOWN_SETTINGS = failure(
  'ServiceUnavailable',
  'the settings in force are not known here yet, try again',
  { 'retry-after': '1' },
)

const NOT_RECORDED = failure(
  'ServiceUnavailable',
  'the use of the access key can not be recorded now, and without that it would end: try again',
  { 'retry-after': '1' },
)

/** Answers by these stages, in their order: the first refusal is the answer. */
export function createServeApi(options: ServeApiOptions): ServeApi {
  return async (call, caller, { target, rest }, asks) => {
    const reading = parseRequest(call.method, target, rest)
    if (reading.ok) asks(reading.request.attributes)
    return reading.ok
      ? outcomeOf(options, reading.request, call, caller)
      : refused(failure(reading.code === 405 ? 'MethodNotAllowed' : 'BadRequest', reading.because))
  }
}

/** A refused request is no use of its key (contract 14.1). */
const refused = (answer: Answer): CallerAnswer => ({ answer, use: 'unused' })

async function outcomeOf(
  options: ServeApiOptions,
  request: ParsedRequest,
  call: HttpRequest,
  caller: Caller,
): Promise<CallerAnswer> {
  const surroundings = options.surroundings()
  if (surroundings === null) return refused(UNKNOWN_SETTINGS)
  const creates = mayCreate(request, call.headers['content-type'])
  const refusal = authorizeRequest(caller, request.attributes, creates, surroundings)
  if (refusal !== null) {
    options.denied(request.attributes.target.kind)
    return refused(refusal)
  }
  const isLong = isLongRunning(request.attributes)
  const admission = options.limits.admit(caller.key.uid, isLong ? 'stream' : 'request')
  if (!admission.ok) return refused(admission.answer)
  const held = leaseRequest(options.streams, { call, caller, isLong })
  const done = (): void => {
    held.close()
    admission.release()
  }
  try {
    const { answer, isOver } = await held.outcome(
      decided(options, request, { call, caller, held }, surroundings),
    )
    if (options.isOwnKind(request)) logWrite(options.log, request, caller, answer)
    const isWatch = request.attributes.verb === 'watch'
    const flowed = (): void => options.activity.flowed(caller)
    const { flows } = held
    const isUse = answer !== NOT_RECORDED
    return {
      answer: terminable(answer, { flows, isWatch, isLong, flowed, done }),
      use: isOver ? 'ended' : isUse ? 'used' : 'unused',
    }
  } catch (error) {
    done()
    throw error
  }
}

/** A request with its caller, and the key that may end meanwhile. */
interface Asking {
  readonly call: HttpRequest
  readonly caller: Caller
  readonly held: HeldLease
}

/** A request that scope and limits admit: recorded as a use of the key, then answered. */
async function decided(
  options: ServeApiOptions,
  request: ParsedRequest,
  { call, caller, held }: Asking,
  surroundings: ScopeContext,
): Promise<Answer> {
  if ((await options.activity.started(caller)) === 'unavailable') return NOT_RECORDED
  if (options.isOwnKind(request)) return options.ownKinds(request, call, caller, held)
  if (caller.scope === null || !isSelfAccessReview(request.attributes))
    return options.forward(request, call, caller, held.signal)
  const answer = await options.forward(request, asReadable(call), caller, held.signal)
  return narrowedReview(answer, caller, request.attributes.target, surroundings)
}
