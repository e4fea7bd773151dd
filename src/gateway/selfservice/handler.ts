// Keys, tokens and Configs in the management cluster (contract 9.3, 12): people look after their own without
// rights on these kinds; everything else goes to the API server as the caller, and RBAC decides there.
import { CONFIGS, GROUP } from '../../api/names.ts'
import type { Caller } from '../../authn/caller.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import { type Upstream, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { type Answer, failure } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/server.ts'
import { UNAVAILABLE } from '../proxy/forward.ts'
import type { ParsedRequest } from '../request/parse.ts'
import type { MaxInFlight } from '../stages/max-in-flight.ts'
import type { RequestLease } from '../streams/request-lease.ts'
import { create } from './create.ts'
import { deleteCollection, deleteOne } from './delete.ts'
import { get, list } from './read.ts'
import {
  type Asked,
  type SelfServiceRequest,
  type Verb,
  askedOf,
  isHidden,
  parameter,
} from './request.ts'
import { NoRoom, type ResponseBuffer } from './response-buffer.ts'
import { formOf, includeObjectOf } from './response.ts'
import { update } from './update.ts'
import { callerAccessOf, notFound } from './visibility.ts'
import { watch } from './watch.ts'
import { type WriteDeps, managerRefusal } from './write-options.ts'

/** Whether a request is about objects of our group in the management cluster (contract 12). */
export const isOwnKind = ({ attributes }: Pick<ParsedRequest, 'attributes'>): boolean =>
  isResourceRequest(attributes) &&
  attributes.target.kind === 'Management' &&
  attributes.group === GROUP

/** What self-service stands on. */
export interface SelfServiceOptions extends WriteDeps {
  readonly upstream: Upstream
  readonly limits: MaxInFlight
  readonly buffer: ResponseBuffer
  /** A key by name, among those that are known now. */
  readonly keyNamed: (name: string) => AccessKey | undefined
  /** Whether Configs are read only here (disableConfigEndpoint). */
  readonly isConfigClosed: () => boolean
}

/** Answers requests to our kinds that the caller's scope grants. */
export interface SelfService {
  readonly answer: (
    request: ParsedRequest,
    call: HttpRequest,
    caller: Caller,
    underWay: RequestLease,
  ) => Promise<Answer>
}

const UNKNOWN = failure('NotFound', 'the server could not find the requested resource')

/** The answers to requests to our kinds. */
export function createSelfService(options: SelfServiceOptions): SelfService {
  return {
    answer: async (request, call, caller, { signal, still }) => {
      const asked = askedOf(request)
      if (asked === null) return UNKNOWN
      if (isHidden(asked.resource, asked.name)) return notFound({ asked })
      const closed = writeRefusal(asked, request, options)
      if (closed !== null) return closed
      const form = formOf(call.headers.accept, toldBy(asked.verb))
      if (form === null) return NOT_ACCEPTABLE
      const include = includeObjectOf(parameter(request.query, 'includeObject'))
      if (include === null) return BAD_INCLUDE
      const { upstream, limits, clock, keyNamed: find } = options
      const standing = callerAccessOf(caller)
      const held = options.buffer.holding(caller.identity.user)
      if (call.ended.aborted) held.release()
      else call.ended.addEventListener('abort', held.release, { once: true })
      const exchange = {
        asked,
        query: request.query,
        call,
        caller,
        standing,
        find,
        form,
        include,
        upstream,
        limits,
        held,
        clock,
        signal,
        still,
      }
      try {
        return await answerTo(exchange, options)
      } catch (error) {
        if (error instanceof UpstreamUnavailable) return UNAVAILABLE
        if (error instanceof NoRoom) return error.answer
        throw error
      }
    },
  }
}

const NOT_ACCEPTABLE = failure(
  'NotAcceptable',
  'accept application/json, or application/yaml where nothing is watched, as objects, Table or PartialObjectMetadata',
)

const BAD_INCLUDE = failure('BadRequest', 'includeObject must be None, Metadata or Object')

const toldBy = (verb: Verb) =>
  verb === 'watch' ? 'watch' : verb === 'list' || verb === 'deletecollection' ? 'list' : 'one'

const CONFIG_CLOSED = failure(
  'Forbidden',
  'Configs are read only here: disableConfigEndpoint is true in the settings in force',
)

/** Why a write is refused whatever it says; null where it is not, and for reads. */
function writeRefusal(
  asked: Asked,
  { query }: ParsedRequest,
  options: SelfServiceOptions,
): Answer | null {
  if (READS.has(asked.verb)) return null
  if (asked.resource === CONFIGS && options.isConfigClosed()) return CONFIG_CLOSED
  return managerRefusal(query)
}

const READS: ReadonlySet<Verb> = new Set(['get', 'list', 'watch'])

function answerTo(exchange: SelfServiceRequest, deps: WriteDeps): Promise<Answer> {
  switch (exchange.asked.verb) {
    case 'get':
      return get(exchange)
    case 'list':
      return list(exchange)
    case 'watch':
      return watch(exchange)
    case 'create':
      return create(exchange, deps)
    case 'update':
    case 'patch':
      return update(exchange, deps)
    case 'delete':
      return deleteOne(exchange)
    case 'deletecollection':
      return deleteCollection(exchange)
    default:
      return exchange.asked.verb satisfies never
  }
}
