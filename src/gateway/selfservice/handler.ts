// Self-service for objects of management.platform.sh in the management cluster (contract 9.3, 12): users manage their own
// objects without rights on these kinds. All other requests go to the API server as the caller, and RBAC decides there.
import { ACCESS_KEY_CLAIMS, CONFIGS } from '../../api/names.ts'
import type { KeyCaller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type RequestInfo, isOwnGroup, isResourceRequest } from '../../domain/scope/request-info.ts'
import { type Upstream, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { asAbortSignal } from '../../runtime/concurrency/end-signal.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { UNANSWERED, unavailable } from '../proxy/forward.ts'
import type { OwnRights } from '../proxy/self-subject-access-review.ts'
import type { ParsedRequest } from '../request/parse.ts'
import { parameter } from '../request/path-and-query.ts'
import type { MaxInFlight } from '../streams/max-in-flight.ts'
import type { RequestLease } from '../streams/request-lease.ts'
import { create, type WriteDeps } from './create.ts'
import { deleteCollection, deleteOne } from './delete.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { ownRightsOf } from './own-rights.ts'
import { get, list } from './read.ts'
import {
  callerAccessOf,
  isRead,
  type SelfServiceInfo,
  type SelfServiceRequest,
  selfServiceInfoOf,
  type Verb,
} from './request.ts'
import { type AnswerContent, formOf, includeObjectOf } from './response.ts'
import { BufferFull, type BufferReservation, type ResponseBuffer } from './response-buffer.ts'
import { update } from './update.ts'
import { isHidden, notFound } from './visibility.ts'
import { watch } from './watch.ts'
import { managerRefusal } from './write-options.ts'
import { WriteTracker } from './write-tracker.ts'

/**
 * Whether a request is about objects of our group in the management cluster that are served here (contract 12). Claims have
 * nothing to hide and nobody owns one, so they are requested as any other namespaced resource.
 */
export const isOwnKind = ({ attributes }: Pick<ParsedRequest, 'attributes'>): boolean =>
  attributes.target.kind === 'Management' && isOwnGroup(attributes) && !isOfClaims(attributes)

const isOfClaims = (attributes: RequestInfo): boolean =>
  isResourceRequest(attributes) && attributes.resource === ACCESS_KEY_CLAIMS.plural

/** The dependencies of self-service. */
interface SelfServiceOptions extends WriteDeps {
  readonly upstream: Pick<Upstream, 'send'>
  readonly limits: MaxInFlight
  readonly buffer: ResponseBuffer
  /** Finds a key by name in the informer's store. */
  readonly keyNamed: (name: string) => AccessKey | undefined
  /** Whether Configs are read only here (disableConfigEndpoint). */
  readonly isConfigClosed: () => boolean
}

/** Answers requests to our kinds that the caller's scope grants. */
export interface SelfService {
  readonly answer: (
    request: ParsedRequest,
    call: HttpRequest,
    caller: KeyCaller,
    lease: RequestLease,
  ) => Promise<Answer>
  /** The rights that self-service gives the caller, for self reviews in the management cluster. */
  readonly rights: (call: HttpRequest, caller: KeyCaller, lease: RequestLease) => OwnRights
}

/** The answer where the API server or the memory limits fail self-service. @throws every other error again */
export function answerToFailure(error: unknown): Answer {
  if (error instanceof UpstreamUnavailable) return unavailable(error, false)
  if (error instanceof BufferFull) return error.answer
  throw error
}

const isKnownFailure = (error: unknown): boolean =>
  error instanceof UpstreamUnavailable || error instanceof BufferFull

const RESOURCE_NOT_FOUND = refuse(SELF_SERVICE_ERRORS.resourceNotFound)

/** Creates the handler of requests to our kinds. */
export function createSelfService(options: SelfServiceOptions): SelfService {
  return {
    answer: async (parsed, call, caller, lease) => {
      const info = selfServiceInfoOf(parsed)
      if (info === null) return RESOURCE_NOT_FOUND
      if (isHidden(info.resource, info.name)) return notFound(info)
      const refused = writeRefusal(info, parsed, options)
      if (refused !== null) return refused
      const form = formOf(call.headers.accept, contentOf(info.verb))
      if (form === null) return NOT_ACCEPTABLE
      const include = includeObjectOf(parameter(parsed.query, 'includeObject'))
      if (include === null) return INVALID_INCLUDE_OBJECT
      const { limits, clock, keyNamed: findKey } = options
      const upstream = new WriteTracker(options.upstream)
      const request: SelfServiceRequest = {
        info,
        query: parsed.query,
        call,
        caller,
        access: callerAccessOf(caller),
        findKey,
        form,
        include,
        upstream,
        limits,
        reservation: reservationFor(options.buffer, call, caller),
        clock,
        signal: asAbortSignal(lease.signal),
        still: lease.still,
        maySend: lease.maySend,
      }
      try {
        return await dispatch(request, options)
      } catch (error) {
        // A read that fails after the write must not let the client repeat the write.
        if (upstream.mayHaveWritten && isKnownFailure(error)) return UNANSWERED
        return answerToFailure(error)
      }
    },
    rights: (call, caller, lease) =>
      ownRightsOf({
        access: callerAccessOf(caller),
        findKey: options.keyNamed,
        upstream: options.upstream,
        call,
        caller,
        signal: asAbortSignal(lease.signal),
        maySend: lease.maySend,
        reservation: reservationFor(options.buffer, call, caller),
      }),
  }
}

/** Reserves memory for the answer, until the call has ended. */
function reservationFor(
  buffer: ResponseBuffer,
  { ended }: HttpRequest,
  { identity }: KeyCaller,
): BufferReservation {
  const reservation = buffer.holding(identity.user)
  if (ended.aborted) reservation.release()
  else ended.addEventListener('abort', reservation.release, { once: true })
  return reservation
}

const NOT_ACCEPTABLE = refuse(SELF_SERVICE_ERRORS.notAcceptable)

const INVALID_INCLUDE_OBJECT = refuse(SELF_SERVICE_ERRORS.includeObject)

const contentOf = (verb: Verb): AnswerContent =>
  verb === 'watch' ? 'watch' : verb === 'list' || verb === 'deletecollection' ? 'list' : 'one'

const CONFIG_CLOSED = refuse(SELF_SERVICE_ERRORS.configsReadOnly)

/** The refusal of a write that does not depend on its body; null = none, or a read. */
function writeRefusal(
  { resource, verb }: SelfServiceInfo,
  { query }: ParsedRequest,
  options: SelfServiceOptions,
): Answer | null {
  if (isRead(verb)) return null
  if (resource === CONFIGS && options.isConfigClosed()) return CONFIG_CLOSED
  return managerRefusal(query)
}

function dispatch(request: SelfServiceRequest, deps: WriteDeps): Promise<Answer> {
  switch (request.info.verb) {
    case 'get':
      return get(request)
    case 'list':
      return list(request)
    case 'watch':
      return watch(request)
    case 'create':
      return create(request, deps)
    case 'update':
    case 'patch':
      return update(request, deps)
    case 'delete':
      return deleteOne(request)
    case 'deletecollection':
      return deleteCollection(request)
    default:
      return request.info.verb satisfies never
  }
}
