// What an authenticated caller asks of an API: read from its bytes, decided, recorded, answered.
import type { Caller } from '../credentials/caller.ts'
import type { ScopeSurroundings } from '../domain/scope/decide.ts'
import { isResourceRequest } from '../domain/scope/explicit.ts'
import type { TargetKind } from '../domain/scope/request.ts'
import type { Log } from '../runtime/log.ts'
import type { Activity } from './activity/activity.ts'
import { type Answer, failure } from './http/answer.ts'
import type { Call } from './http/server.ts'
import type { ServeApi } from './pipeline.ts'
import type { ApiRequest } from './request/api-request.ts'
import { mayCreate } from './request/may-create.ts'
import { readApiRequest } from './request/read-api-request.ts'
import { scopeRefusal } from './stages/authorize.ts'
import type { Limits } from './stages/limits.ts'
import { asReadable, isSelfAccessReview, narrowedReview } from './stages/self-review.ts'
import { guarded } from './streams/guarded.ts'
import type { Streams } from './streams/registry.ts'
import { isLongRunning } from './targets/forward.ts'

/** Answers a request that was let pass; the signal ends what is under way for it. */
export type AnswerRequest = (
  request: ApiRequest,
  call: Call,
  caller: Caller,
  signal: AbortSignal,
) => Promise<Answer>

/** What requests pass on their way. */
export interface ServeApiOptions {
  /** null until settings in force are known: nothing is decided before. */
  readonly surroundings: () => ScopeSurroundings | null
  readonly limits: Limits
  readonly activity: Activity
  readonly streams: Streams
  /** Whether a request is about our own kinds. */
  readonly isOwnKind: (request: ApiRequest) => boolean
  readonly ownKinds: AnswerRequest
  readonly forward: AnswerRequest
  /** The headers of an answer with those that say when the key ends (contract 13.5). */
  readonly withExpiry: (headers: Answer['headers'], caller: Caller) => Answer['headers']
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
  return async (call, caller, { target, rest }) => {
    const reading = readApiRequest(call.method, target, rest)
    const answer = reading.ok
      ? await answerOf(options, reading.request, call, caller)
      : failure(reading.code === 405 ? 'MethodNotAllowed' : 'BadRequest', reading.because)
    const headers = options.withExpiry(answer.headers, caller)
    const verb = reading.ok ? reading.request.attributes.verb : call.method
    return { answer: { ...answer, headers }, verb }
  }
}

async function answerOf(
  options: ServeApiOptions,
  request: ApiRequest,
  call: Call,
  caller: Caller,
): Promise<Answer> {
  const surroundings = options.surroundings()
  if (surroundings === null) return UNKNOWN_SETTINGS
  const creates = mayCreate(request, call.headers['content-type'])
  const refusal = scopeRefusal(caller, request.attributes, creates, surroundings)
  if (refusal !== null) {
    options.denied(request.attributes.target.kind)
    return refusal
  }
  const isWatch = request.attributes.verb === 'watch'
  const isLong = isLongRunning(request.attributes)
  const admission = options.limits.admit(caller.key.uid, isLong ? 'stream' : 'request')
  if (!admission.ok) return admission.answer
  const done = admission.release
  try {
    const answer = await decided(options, request, call, caller, surroundings)
    const { streams, activity } = options
    const flowed = (): void => activity.flowed(caller)
    return guarded(answer, { streams, caller, isWatch, isLong, flowed, done })
  } catch (error) {
    done()
    throw error
  }
}

/** What was let pass by scope and limits: recorded as a use of the key, then answered. */
async function decided(
  options: ServeApiOptions,
  request: ApiRequest,
  call: Call,
  caller: Caller,
  surroundings: ScopeSurroundings,
): Promise<Answer> {
  if ((await options.activity.started(caller)) === 'unavailable') return NOT_RECORDED
  if (options.isOwnKind(request)) return ownKind(options, request, call, caller)
  if (caller.scope === null || !isSelfAccessReview(request.attributes))
    return options.forward(request, call, caller, call.gone)
  const answer = await options.forward(request, asReadable(call), caller, call.gone)
  return narrowedReview(answer, caller, request.attributes.target, surroundings)
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/** Who changed what of his own is told here: the API server's audit log names this program. */
async function ownKind(
  { ownKinds, log }: ServeApiOptions,
  request: ApiRequest,
  call: Call,
  caller: Caller,
): Promise<Answer> {
  const answer = await ownKinds(request, call, caller, call.gone)
  const { attributes } = request
  if (isResourceRequest(attributes) && !READS.has(attributes.verb)) {
    const { verb, resource, name } = attributes
    const { user } = caller.identity
    const by = { keyName: caller.key.name, user }
    log.info({ ...by, verb, resource, name, status: answer.status }, 'asked to write an own kind')
  }
  return answer
}
