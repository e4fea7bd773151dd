// Updates and patches of our kinds (contract 12.1, 12.3, 12.5). The caller's own objects: a dry run, validation of
// its answer, then the write, on condition that the object has not changed since. Other objects: as the caller.
import { ACCESS_KEYS, CONFIGS, GATEWAY_FIELD_MANAGER } from '../../api/names.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { sleep } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { secretsIn } from '../../domain/redaction/fields.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { type WriteDeps, createObject } from './create.ts'
import { NO_DIGEST, bringsDigest, updateEscalation } from './escalation.ts'
import { bodyRefusal, sizeRefusal } from './object-size.ts'
import { DIGEST_CHANGED, isWithoutRight } from './other-keys.ts'
import {
  APPLY,
  type Body,
  type Change,
  bodyOf,
  isOfAnother,
  nothingChanged,
  secretsInChange,
  sentPatch,
  sentPut,
  versionIn,
} from './patch.ts'
import { type SelfServiceRequest, isOwnable, reauthenticated } from './request.ts'
import { type UpstreamReply, answerOf } from './response.ts'
import { type UpstreamRequest, sendAndRead } from './upstream-client.ts'
import { validate } from './validation.ts'
import {
  alreadyExists,
  isOpen,
  isOwn,
  isOwnUser,
  isVisible,
  notFound,
  shownTo,
} from './visibility.ts'
import { DRY_RUN, type FieldRefusal, entriesOf, refusal, writeParameters } from './write-options.ts'

/** Attempts to change an object. A client that named a version gets one only, and the conflict as its answer. */
const MOST_ATTEMPTS = 8
/** The pause before the second attempt, in milliseconds; each further pause is longer by as much. */
const PAUSE_MS = 10

/** Answers a PUT or a patch. */
export async function update(request: SelfServiceRequest, deps: WriteDeps): Promise<Answer> {
  const read = request.info.verb === 'update' ? sentPut : sentPatch
  const sent = await read(request)
  return sent.ok ? changeWithRetry(await reauthenticated(request), deps, sent.value) : sent.answer
}

async function changeWithRetry(
  request: SelfServiceRequest,
  deps: WriteDeps,
  change: Change,
): Promise<Answer> {
  const namesVersion = versionIn(change) !== ''
  for (let attempt = 1; ; attempt += 1) {
    const current = await sendAndRead(request, currentObject(request))
    const answer = await changeOnce(request, deps, change, current)
    const mayBeRace = attempt < MOST_ATTEMPTS && !namesVersion && RACE_CODES.has(answer.status)
    if (!mayBeRace) return answer
    const isUnclaimed = change.by === 'apply' && mayBeUnclaimed(current.json, deps.clock.nowMs())
    if (!isUnclaimed && !(await hasChanged(request, current))) return answer
    await sleep(deps.clock, attempt * PAUSE_MS, request.signal)
  }
}

/** The status codes of a lost race: a conflict, or a JSON patch whose test of the version failed. */
const RACE_CODES: ReadonlySet<number> = new Set([409, 422])

const currentObject = ({ info: { resource, name } }: SelfServiceRequest): UpstreamRequest => ({
  as: 'gateway',
  method: 'GET',
  resource,
  name,
  query: [],
})

/** The time in milliseconds within which the gateway claims its fields of an object that an apply created. */
const CLAIMED_WITHIN_MS = 3000

/**
 * Whether the gateway may still be about to claim its fields of an object. Until then they belong to the field
 * manager that applied the object, and its next apply, which does not name them, would remove them.
 */
function mayBeUnclaimed(object: JsonMap, nowMs: number): boolean {
  const createdMs = parseTimestamp(nestedString(object, ['metadata', 'creationTimestamp'])) ?? 0
  const isClaimed = entriesOf(object, [GATEWAY_FIELD_MANAGER]).length > 0
  return !isClaimed && nowMs - createdMs < CLAIMED_WITHIN_MS
}

/** Whether the version of the object has changed since the attempt read it. */
async function hasChanged(request: SelfServiceRequest, before: UpstreamReply): Promise<boolean> {
  const now = await sendAndRead(request, currentObject(request))
  const [versionBefore, versionNow] = [before, now].map(({ json }) =>
    nestedString(json, ['metadata', 'resourceVersion']),
  )
  return versionBefore !== versionNow
}

/** One attempt to change an object that was just read. */
interface Attempt {
  readonly request: SelfServiceRequest
  readonly change: Change
  readonly before: JsonMap
  readonly isMine: boolean
  /** Redacts an answer: the secrets of the object and of the change are removed. */
  readonly answered: (reply: UpstreamReply) => Answer
}

/** One attempt, in the order of an API server: visibility, preconditions, body, escalation, write. */
async function changeOnce(
  request: SelfServiceRequest,
  deps: WriteDeps,
  change: Change,
  current: UpstreamReply,
): Promise<Answer> {
  const { info } = request
  // Only an apply creates what does not exist.
  const mayCreate = change.by === 'apply' && !info.isStatus
  if (current.status === 404)
    return mayCreate
      ? createObject(request, deps, change.sent, { method: 'PATCH', type: APPLY, name: info.name })
      : notFound(info)
  if (current.status !== 200)
    return answerOf(request, current, { shows: shownTo(request), secrets: [] })
  if (!(await mayKnow(request, current.json)))
    return mayCreate ? alreadyExists(info) : notFound(info)

  const attempt = attemptOf(request, change, current.json)
  const unmetPrecondition = preconditionRefusal(attempt)
  if (unmetPrecondition !== null) return unmetPrecondition
  const body = bodyOf(info.resource, change, attempt.before)
  if (!body.ok) return refusedBody(attempt, body.answer)
  const escalation = info.isStatus ? null : escalationOf(attempt)
  if (escalation !== null) return refusal(escalation)
  return attempt.isMine && !bringsDigest(info.resource, change, attempt.before)
    ? storeAsGateway(attempt, deps, body.value)
    : storeAsCaller(attempt, body.value)
}

/** Whether the caller may know that the object exists. */
async function mayKnow(request: SelfServiceRequest, object: JsonMap): Promise<boolean> {
  if (request.info.resource === CONFIGS) return true
  if (!isVisible(request, object)) return false
  return isOwn(request, object) || isOwnUser(request, object) || isOpen(request)
}

function attemptOf(request: SelfServiceRequest, change: Change, before: JsonMap): Attempt {
  const { resource, isStatus } = request.info
  const secrets = [...secretsIn(resource, before), ...secretsInChange(resource, change)]
  return {
    request,
    change,
    before,
    isMine: !isStatus && isOwn(request, before),
    answered: (reply) => answerOf(request, reply, { shows: shownTo(request), secrets }),
  }
}

/** The refusal of a change outside of the scope, for another version, or with a too large body; null = none. */
function preconditionRefusal({ request, change, before, isMine }: Attempt): Answer | null {
  const { info, access, call } = request
  if (!isMine && access.scope !== null && isOwnable(info.resource))
    return refusal(OTHER_USERS_OBJECT)
  const isCheckedHere =
    isMine || (info.resource === ACCESS_KEYS && !info.isStatus && !access.isPerson)
  if (isCheckedHere && isOfAnother(change, before)) return OBJECT_CHANGED
  return isMine ? bodyRefusal(call, change.sent, before) : null
}

const OTHER_USERS_OBJECT: FieldRefusal = {
  field: 'spec.user',
  because: "an access key that has a scope changes its own user's keys and tokens only",
}

/**
 * The gateway checks a change against the object that it read. With a later version, the change would be stored over
 * fields that no check has seen, for example after the calling key was disabled.
 */
const OBJECT_CHANGED = refuse(SELF_SERVICE_ERRORS.objectChanged)

/**
 * The refusal of a change that can't be encoded. Its reason describes the object: for another user's object, the caller
 * gets it only with the right to change that object.
 */
async function refusedBody(attempt: Attempt, because: Answer): Promise<Answer> {
  if (attempt.isMine) return because
  const { change, before, answered } = attempt
  const request = await reauthenticated(attempt.request)
  const asCaller: RunsAs = { caller: attempt.request.caller }
  const dryRun = await sendAndRead(request, {
    ...writeRequest(attempt, nothingChanged(change, before), asCaller),
    query: writeParameters(request.query, DRY_RUN),
  })
  return REFUSED_OR_GONE.has(dryRun.status) ? answered(dryRun) : because
}

/** The API server's answers to a caller without rights on the object. */
const REFUSED_OR_GONE: ReadonlySet<number> = new Set([403, 404])

/** The refusal of a change that only a person may make, by self-service or by RBAC; null = none. */
function escalationOf({ request, change, before, isMine }: Attempt): FieldRefusal | null {
  const { info, access } = request
  if (!isMine) return updateEscalation(info.resource, change, before, access)
  return !access.isPerson && bringsDigest(info.resource, change, before)
    ? { field: 'spec.key', because: NO_DIGEST }
    : null
}

/** Stores a change of the caller's own object, if admission allows the object that a dry run returns. */
async function storeAsGateway(attempt: Attempt, deps: WriteDeps, body: Body): Promise<Answer> {
  const { request, answered } = attempt
  const write = writeRequest(attempt, body, 'gateway')
  const dryRun = await sendAndRead(request, {
    ...write,
    query: writeParameters(request.query, DRY_RUN),
  })
  if (dryRun.status !== 200) return answered(dryRun)
  const refusedByAdmission = admissionRefusal(
    attempt,
    await reauthenticated(request),
    deps,
    dryRun.json,
  )
  return (
    refusedByAdmission ?? answered(await sendAndRead(request, { ...write, form: request.form }))
  )
}

/** @param current the request with its caller authenticated again after the dry run */
function admissionRefusal(
  { request, before }: Attempt,
  current: SelfServiceRequest,
  { caps, clock, counts }: WriteDeps,
  after: JsonMap,
): Answer | null {
  const { resource } = request.info
  const invalid = validate({
    resource,
    access: current.access,
    before,
    after,
    caps: caps(),
    nowMs: clock.nowMs(),
  })
  if (invalid !== null) return refusal(invalid)
  const tooLarge = sizeRefusal(before, after)
  if (tooLarge !== null || resource !== ACCESS_KEYS) return tooLarge
  return counts.revivalRefusal(request.caller.key.identity ?? '', before, after)
}

/** Stores a change of another's object, or one that brings a digest into an own key, as the caller. */
async function storeAsCaller(attempt: Attempt, body: Body): Promise<Answer> {
  const { request, answered } = attempt
  await reauthenticated(request)
  const write = writeRequest(attempt, body, { caller: request.caller })
  const reply = await sendAndRead(request, { ...write, form: request.form })
  return attempt.isMine && isWithoutRight(reply) ? refusal(DIGEST_CHANGED) : answered(reply)
}

function writeRequest({ request, change }: Attempt, body: Body, as: RunsAs): UpstreamRequest {
  const { resource, name, isStatus } = request.info
  return {
    as,
    method: change.by === 'put' ? 'PUT' : 'PATCH',
    resource,
    name,
    ...(isStatus ? { subresource: 'status' as const } : {}),
    query: writeParameters(request.query, []),
    body,
  }
}
