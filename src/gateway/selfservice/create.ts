// Creation of keys and tokens (contract 12.2, 12.3): defaulting, a dry run, validation of its answer, then one
// write. Configs, Users and Teams are created as the caller.
import { ACCESS_KEYS, HEARTBEAT_NAME, type Resource, TOKENS } from '../../api/names.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { KEY, secretsIn, TOKEN } from '../../domain/redaction/fields.ts'
import { objectIn } from '../../domain/redaction/redact.ts'
import type { KeyRef } from '../../domain/shared-metadata.ts'
import { type ClaimedObject, claimFields } from '../../issuance/claim.ts'
import { UpstreamUnavailable } from '../../kube/proxy/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import type { Query } from '../request/path-and-query.ts'
import { awaitToken } from './await-token.ts'
import { sentObject } from './decode.ts'
import { defaulted, finished, isForSelf } from './defaulting.ts'
import { creationEscalation } from './escalation.ts'
import { bodyRefusal, sizeRefusal } from './object-size.ts'
import { isWithoutRight, selfServiceObstacle } from './other-keys.ts'
import { createWithinQuota, type Quota } from './quota.ts'
import {
  type CallerAccess,
  afterWrite,
  isOwnable,
  reauthenticated,
  type SelfServiceRequest,
} from './request.ts'
import { answerOf, type UpstreamReply } from './response.ts'
import { sendAndRead, type UpstreamRequest } from './upstream-client.ts'
import { validate } from './validation.ts'
import { isHidden, shownTo } from './visibility.ts'
import { DRY_RUN, type FieldRefusal, isDryRun, refusal, writeParameters } from './write-options.ts'

/** The dependencies of writes. */
export interface WriteDeps {
  /** The caps in force. */
  readonly caps: () => Caps
  /** Generates a key in clear. */
  readonly newKey: () => string
  readonly clock: Clock
  readonly counts: Quota
}

/** How an object is created: by a POST, or by an apply with a name that does not exist. */
interface CreateMethod {
  readonly method: 'POST' | 'PATCH'
  readonly type: string
  /** Empty for a POST. */
  readonly name: string
}

const POST: CreateMethod = { method: 'POST', type: 'application/json', name: '' }

/** Answers a POST. */
export async function create(request: SelfServiceRequest, deps: WriteDeps): Promise<Answer> {
  const sent = await sentObject(request, false)
  return sent.ok
    ? createObject(await reauthenticated(request), deps, sent.value, POST)
    : sent.answer
}

/** Creates an object. The caller's own objects count against the quota. */
export async function createObject(
  request: SelfServiceRequest,
  deps: WriteDeps,
  sent: JsonMap,
  via: CreateMethod,
): Promise<Answer> {
  const { info, access } = request
  if (!isForSelf(info.resource, sent, access))
    return admitAndCreate(request, deps, sent, via, () => undefined)
  return createWithinQuota(request, deps.counts, (stored) =>
    admitAndCreate(request, deps, sent, via, stored),
  )
}

/** Defaulting, dry run, validation and the write of one object. @param onStored called once an own object is stored */
async function admitAndCreate(
  request: SelfServiceRequest,
  deps: WriteDeps,
  sent: JsonMap,
  via: CreateMethod,
  onStored: (made: KeyRef) => void,
): Promise<Answer> {
  const { info, access, caller } = request
  const { resource } = info
  const shown = { shows: shownTo(request), secrets: secretsIn(resource, sent) }
  if (isHidden(resource, nestedString(sent, ['metadata', 'name'])))
    return refusal(HEARTBEAT_NAME_REFUSAL)
  if (!isOwnable(resource)) {
    await reauthenticated(request)
    const reply = await sendAndRead(request, createRequest(request, { caller }, via, sent, []))
    return answerOf(request, reply, shown)
  }
  const isSelf = isForSelf(resource, sent, access)
  const draft = defaulted(resource, sent, access, deps.newKey)
  const escalation = creationEscalation(resource, draft.object, isSelf, access)
  if (escalation !== null) return refusal(escalation)
  const other = isSelf ? null : fieldOfOther(resource, sent, access)
  if (!isSelf && access.scope !== null) return refusal(scopedKeyRefusal(other))
  const bodyTooLarge = isSelf ? bodyRefusal(request.call, sent, null) : null
  if (bodyTooLarge !== null) return bodyTooLarge
  const as: RunsAs = isSelf ? 'gateway' : { caller }
  const dryRun = await sendAndRead(request, createRequest(request, as, via, draft.object, DRY_RUN))
  if (other !== null && isWithoutRight(dryRun)) return refusal(other)
  if (dryRun.status !== 201) return answerOf(request, dryRun, shown)
  const objectTooLarge = isSelf ? sizeRefusal(null, dryRun.json) : null
  if (objectTooLarge !== null) return objectTooLarge
  const current = await reauthenticated(request)
  const final = finished(resource, draft, dryRun.json, current.access)
  const fault = isSelf
    ? faultOf(current, deps, dryRun.json, final)
    : creationEscalation(resource, dryRun.json, isSelf, current.access)
  if (fault !== null) return refusal(fault)
  const stored = await sendAndRead(request, createRequest(request, as, via, final.object, []))
  if (stored.status !== 201 || isDryRun(request.query)) return answerOf(request, stored, shown)
  onStored(refOf(stored))
  const claimed = await withClaimedFields(request, stored, final.claimed)
  if (resource === TOKENS) return answerWithToken(request, deps.clock, claimed)
  return answerOf(request, claimed, { ...shown, shows: () => [KEY] })
}

/** The field that makes a key another's; null for tokens, and if the caller is a team or subject, which has no keys. */
const fieldOfOther = (
  resource: Resource,
  sent: JsonMap,
  { user }: CallerAccess,
): FieldRefusal | null =>
  resource === ACCESS_KEYS && user !== null ? selfServiceObstacle(sent, user) : null

function refOf({ json }: UpstreamReply): KeyRef {
  const { metadata } = objectIn(json)
  return { name: nestedString(metadata, ['name']), uid: nestedString(metadata, ['uid']) }
}

/** Validates the answer to the dry run, with the ttl that was added since. */
function faultOf(
  { info: { resource }, access }: SelfServiceRequest,
  { caps, clock }: WriteDeps,
  dryRun: JsonMap,
  { object }: ClaimedObject,
): FieldRefusal | null {
  const ttl: NamePath = ['spec', 'ttl']
  const after = setNestedField(dryRun, ttl, nestedField(object, ttl))
  return validate({ resource, access, before: null, after, caps: caps(), nowMs: clock.nowMs() })
}

const HEARTBEAT_NAME_REFUSAL: FieldRefusal = {
  field: 'metadata.name',
  because: `${HEARTBEAT_NAME} is the platform's: choose another name`,
}

/** @param other the field that makes the key another's; null = the caller is a team or subject, which has no keys */
const scopedKeyRefusal = (other: FieldRefusal | null): FieldRefusal => ({
  field: other?.field ?? 'spec',
  because: 'an access key that has a scope creates keys of type User for its own user only',
})

/** The request that creates the object. It fails rather than change an existing object. */
function createRequest(
  { info, query, form }: SelfServiceRequest,
  as: RunsAs,
  { method, type, name }: CreateMethod,
  object: JsonMap,
  dryRun: Query,
): UpstreamRequest {
  const named = setNestedField(
    setNestedField(object, ['metadata', 'resourceVersion'], UNUSED_VERSION),
    ['metadata', 'name'],
    name,
  )
  return {
    as,
    method,
    resource: info.resource,
    name,
    query: writeParameters(query, dryRun),
    body: { type, json: method === 'PATCH' ? named : object },
    ...(dryRun.length === 0 ? { form } : {}),
  }
}

/** No object has this version: an apply with it conflicts with an existing object, and creates one if none exists. */
const UNUSED_VERSION = '1'

/** Claims the fields that the gateway set. If this fails, the client's field manager keeps them. */
async function withClaimedFields(
  request: SelfServiceRequest,
  stored: UpstreamReply,
  claimed: JsonMap,
): Promise<UpstreamReply> {
  const { info, form } = request
  const ref = refOf(stored)
  const { fieldManager, object } = claimFields(info.resource, ref, claimed)
  const reply = await sendIfReached(afterWrite(request), {
    as: 'gateway',
    method: 'PATCH',
    resource: info.resource,
    name: ref.name,
    query: [['fieldManager', fieldManager]],
    form,
    body: { type: 'application/apply-patch+yaml', json: object },
  })
  return reply?.status === 200 ? { ...stored, json: reply.json } : stored
}

/** The reply; null = none came. */
const sendIfReached = (
  request: SelfServiceRequest,
  sent: UpstreamRequest,
): Promise<UpstreamReply | null> =>
  sendAndRead(request, sent).catch((error: unknown) => {
    if (error instanceof UpstreamUnavailable) return null
    throw error
  })

/** Answers with the issued token. If none is issued, the object is deleted again. */
async function answerWithToken(
  request: SelfServiceRequest,
  clock: Clock,
  stored: UpstreamReply,
): Promise<Answer> {
  const object = objectIn(stored.json)
  const issued = await awaitToken(request, object, clock)
  if (!issued.ok) return issued.answer
  const reply = { ...issued.reply, status: stored.status, headers: stored.headers }
  return answerOf(request, reply, { shows: () => [TOKEN], secrets: [] })
}
