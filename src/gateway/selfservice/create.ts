// Making keys and tokens (contract 12.2, 12.3): tried first, judged as it would be stored, then stored in
// one write. Configs are made as the caller.
import { API_VERSION, CONFIGS, HEARTBEAT_KEY, TOKENS } from '../../api/names.ts'
import type { KeyRef } from '../../domain/credential-object.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { KEY, TOKEN, secretsIn } from '../redaction/fields.ts'
import { objectIn } from '../redaction/objects.ts'
import type { Query } from '../request/query.ts'
import { awaitToken } from './await-token.ts'
import { sentObject } from './decode.ts'
import { type DefaultedObject, defaulted, finished, isForSelf } from './defaulting.ts'
import { creationEscalation } from './escalation.ts'
import { bodyRefusal, counted, sizeRefusal } from './quota.ts'
import { showsTo } from './read.ts'
import {
  type SelfServiceRequest,
  type UpstreamQuery,
  type UpstreamReply,
  answerOf,
  asOfNow,
  ask,
  isHidden,
} from './request.ts'
import { type Fault, validate } from './validation.ts'
import {
  DRY_RUN,
  GATEWAY_MANAGER,
  type WriteDeps,
  isDryRun,
  refusal,
  writing,
} from './write-options.ts'

/** How an object is made: by a POST, or by an apply that finds none. */
export interface Way {
  readonly method: 'POST' | 'PATCH'
  readonly type: string
  /** Empty for a POST. */
  readonly name: string
}

const POSTED: Way = { method: 'POST', type: 'application/json', name: '' }

/** The answer to a POST. */
export async function create(exchange: SelfServiceRequest, deps: WriteDeps): Promise<Answer> {
  const sent = await sentObject(exchange, false)
  return sent.ok ? makeOne(await asOfNow(exchange), deps, sent.value, POSTED) : sent.answer
}

/** The answer to an object that is sent to be made; one's own are counted. */
export async function makeOne(
  exchange: SelfServiceRequest,
  deps: WriteDeps,
  sent: JsonMap,
  way: Way,
): Promise<Answer> {
  const { asked, standing } = exchange
  if (asked.resource === CONFIGS || !isForSelf(asked.resource, sent, standing))
    return making(exchange, deps, sent, way, () => undefined)
  return counted(exchange, deps.counts, (stored) => making(exchange, deps, sent, way, stored))
}

/** The same. @param isStored told of one's own that was stored */
async function making(
  exchange: SelfServiceRequest,
  deps: WriteDeps,
  sent: JsonMap,
  way: Way,
  isStored: (made: KeyRef) => void,
): Promise<Answer> {
  const { asked, standing, caller } = exchange
  const { resource } = asked
  const shown = { shows: showsTo(exchange), secrets: secretsIn(resource, sent) }
  if (resource === CONFIGS) {
    await asOfNow(exchange)
    const reply = await ask(exchange, storing(exchange, { caller }, way, sent, []))
    return answerOf(exchange, reply, shown)
  }
  if (isHidden(resource, nestedString(sent, ['metadata', 'name']))) return refusal(NOT_YOUR_NAME)
  const isSelf = isForSelf(resource, sent, standing)
  const first = defaulted(resource, sent, standing, deps.newKey)
  const escalation = creationEscalation(resource, first.object, isSelf, standing)
  if (escalation !== null) return refusal(escalation)
  if (!isSelf && standing.scope !== null) return refusal(OUTGROWS)
  const long = isSelf ? bodyRefusal(exchange.call, sent, null) : null
  if (long !== null) return long
  const as: RunsAs = isSelf ? 'gateway' : { caller }
  const tried = await ask(exchange, storing(exchange, as, way, first.object, DRY_RUN))
  if (tried.status !== 201) return answerOf(exchange, tried, shown)
  const large = isSelf ? sizeRefusal(null, tried.json) : null
  if (large !== null) return large
  const now = await asOfNow(exchange)
  const last = finished(resource, first, tried.json, now.standing)
  const fault = isSelf
    ? faultOf(now, deps, tried.json, last)
    : creationEscalation(resource, tried.json, isSelf, now.standing)
  if (fault !== null) return refusal(fault)
  const stored = await ask(exchange, storing(exchange, as, way, last.object, []))
  if (stored.status !== 201 || isDryRun(exchange.query)) return answerOf(exchange, stored, shown)
  isStored(refOf(stored))
  const kept = await claimed(exchange, stored, last.added)
  if (resource === TOKENS) return answerWithToken(exchange, deps.clock, kept)
  return answerOf(exchange, kept, { ...shown, shows: () => [KEY] })
}

function refOf({ json }: UpstreamReply): KeyRef {
  const { metadata } = objectIn(json)
  return { name: nestedString(metadata, ['name']), uid: nestedString(metadata, ['uid']) }
}

/** Judged as it was tried, with what was added since. */
function faultOf(
  { asked: { resource }, standing }: SelfServiceRequest,
  { caps, clock }: WriteDeps,
  tried: JsonMap,
  { object }: DefaultedObject,
): Fault | null {
  const ttl: NamePath = ['spec', 'ttl']
  const after = setNestedField(tried, ttl, nestedField(object, ttl))
  return validate({ resource, standing, before: null, after, caps: caps(), nowMs: clock.nowMs() })
}

const NOT_YOUR_NAME: Fault = {
  field: 'metadata.name',
  because: `${HEARTBEAT_KEY} is the platform's: choose another name`,
}

const OUTGROWS: Fault = {
  field: 'spec',
  because: 'with an access key that has a scope, keys are made for its own user only, of type User',
}

/** A write that fails rather than change an object that is there. */
function storing(
  { asked, query, form }: SelfServiceRequest,
  as: RunsAs,
  { method, type, name }: Way,
  object: JsonMap,
  tried: Query,
): UpstreamQuery {
  const named = setNestedField(
    setNestedField(object, ['metadata', 'resourceVersion'], NEVER),
    ['metadata', 'name'],
    name,
  )
  return {
    as,
    method,
    resource: asked.resource,
    name,
    query: writing(query, tried),
    body: { type, json: method === 'PATCH' ? named : object },
    ...(tried.length === 0 ? { form } : {}),
  }
}

/** No object has it, so an apply with it conflicts with any, and makes one where there is none. */
const NEVER = '1'

/**
 * The object, with the fields that the gateway added owned by a manager of its own: else the next apply
 * of the client, which does not name them, would take them away. Not done, they are as if the client
 * had sent them.
 */
async function claimed(
  exchange: SelfServiceRequest,
  stored: UpstreamReply,
  added: JsonMap,
): Promise<UpstreamReply> {
  const { asked, form } = exchange
  const { metadata } = objectIn(stored.json)
  const [name, uid] = ['name', 'uid'].map((field) => nestedString(metadata, [field]))
  const named = setNestedField(
    setNestedField(added, ['metadata', 'name'], name),
    ['metadata', 'uid'],
    uid,
  )
  const reply = await ask(exchange, {
    as: 'gateway',
    method: 'PATCH',
    resource: asked.resource,
    name: name ?? '',
    // Not by force: what somebody has changed meanwhile is his.
    query: [['fieldManager', GATEWAY_MANAGER]],
    form,
    body: {
      type: 'application/apply-patch+yaml',
      json: { apiVersion: API_VERSION, kind: asked.resource.kind, ...named },
    },
  })
  return reply.status === 200 ? { ...stored, json: reply.json } : stored
}

/** The token that the operator issued, or why there is none: nothing is left behind then. */
async function answerWithToken(
  exchange: SelfServiceRequest,
  clock: Clock,
  stored: UpstreamReply,
): Promise<Answer> {
  const object = objectIn(stored.json)
  const issued = await awaitToken(exchange, object, clock)
  if (!issued.ok) return issued.answer
  const reply = { ...issued.reply, status: stored.status, headers: stored.headers }
  return answerOf(exchange, reply, { shows: () => [TOKEN], secrets: [] })
}
