// Updates and patches of our kinds (contract 12.1, 12.3, 12.5). The caller's own objects: a dry run, validation of
// its answer, then the write, on condition that the object has not changed since. Other objects: as the caller.
import { ACCESS_KEYS, CONFIGS } from '../../api/names.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { sleep } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { secretsIn } from '../redaction/fields.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { type WriteDeps, createObject } from './create.ts'
import { NO_DIGEST, bringsDigest, updateEscalation } from './escalation.ts'
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
import { bodyRefusal, sizeRefusal } from './quota.ts'
import { type SelfServiceRequest, reauthenticated } from './request.ts'
import { type UpstreamReply, answerOf } from './response.ts'
import { type UpstreamQuery, ask } from './upstream-client.ts'
import { validate } from './validation.ts'
import { isOpen, isOwn, isVisible, notFound, shownTo, taken } from './visibility.ts'
import {
  DRY_RUN,
  type FieldRefusal,
  GATEWAY_MANAGER,
  entriesOf,
  refusal,
  writing,
} from './write-options.ts'

/** Attempts at a write that lost a race, when the client named no version and so knows of no race. */
const MOST_ATTEMPTS = 8
/** The pause before the second attempt, in milliseconds; each further one is longer by as much. */
const PAUSE_MS = 10

/** The answer to a PUT or a patch. */
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
    const current = await ask(request, currentObject(request))
    const answer = await changeOnce(request, deps, change, current)
    const mayBeRace = attempt < MOST_ATTEMPTS && !namesVersion && RACES.has(answer.status)
    if (!mayBeRace) return answer
    const isBeingCreated = change.by === 'apply' && mayBeUnclaimed(current.json, deps.clock.nowMs())
    if (!isBeingCreated && !(await hasChanged(request, current))) return answer
    await sleep(deps.clock, attempt * PAUSE_MS, request.signal)
  }
}

/** A conflict, and a JSON patch with a failed test of the version. */
const RACES: ReadonlySet<number> = new Set([409, 422])

const currentObject = ({ info: { resource, name } }: SelfServiceRequest): UpstreamQuery => ({
  as: 'gateway',
  method: 'GET',
  resource,
  name,
  query: [],
})

/** The gateway claims its fields of an object that an apply created within this time, in milliseconds. */
const CLAIMED_WITHIN_MS = 3000

/**
 * Whether the gateway may still be about to claim its fields of an object. Until then they belong to the field
 * manager that applied the object, and its next apply, which does not name them, would remove them.
 */
function mayBeUnclaimed(object: JsonMap, nowMs: number): boolean {
  const createdMs = parseTimestamp(nestedString(object, ['metadata', 'creationTimestamp'])) ?? 0
  const isClaimed = entriesOf(object, [GATEWAY_MANAGER]).length > 0
  return !isClaimed && nowMs - createdMs < CLAIMED_WITHIN_MS
}

/** Whether the object has another version than the attempt was made on. */
async function hasChanged(request: SelfServiceRequest, before: UpstreamReply): Promise<boolean> {
  const now = await ask(request, currentObject(request))
  const [was, is] = [before, now].map(({ json }) =>
    nestedString(json, ['metadata', 'resourceVersion']),
  )
  return was !== is
}

/** A change of an object as it was just read. */
interface Attempt {
  readonly request: SelfServiceRequest
  readonly change: Change
  readonly before: JsonMap
  readonly isMine: boolean
  /** The redacted answer: without the secrets of the object and of the change. */
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
  if (!(await mayKnow(request, current.json))) return mayCreate ? taken(info) : notFound(info)

  const attempt = attemptOf(request, change, current.json)
  const unmet = preconditionRefusal(attempt)
  if (unmet !== null) return unmet
  const body = bodyOf(info.resource, change, attempt.before)
  if (!body.ok) return refusedBody(attempt, body.answer)
  const escalation = info.isStatus ? null : escalationOf(attempt)
  if (escalation !== null) return refusal(escalation)
  return attempt.isMine && !bringsDigest(info.resource, change, attempt.before)
    ? storeOwn(attempt, deps, body.value)
    : storeAsCaller(attempt, body.value)
}

/** Whether the caller may know that the object exists. */
async function mayKnow(request: SelfServiceRequest, object: JsonMap): Promise<boolean> {
  if (request.info.resource === CONFIGS) return true
  if (!isVisible(request, object)) return false
  return isOwn(request, object) || isOpen(request)
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

/** The refusal of a change whatever it sets: out of scope, of another version, or too large. */
function preconditionRefusal({ request, change, before, isMine }: Attempt): Answer | null {
  const { info, access, call } = request
  if (!isMine && access.scope !== null && info.resource !== CONFIGS) return refusal(NOT_YOURS)
  const isJudged = isMine || (info.resource === ACCESS_KEYS && !info.isStatus && !access.isPerson)
  if (isJudged && isOfAnother(change, before)) return NOT_THIS
  return isMine ? bodyRefusal(call, change.sent, before) : null
}

const NOT_YOURS: FieldRefusal = {
  field: 'spec.user',
  because: "an access key that has a scope changes its own user's keys and tokens only",
}

/**
 * The gateway judges a change of the object that it read. Sent for a later version, the change would be stored on
 * top of fields that no check has seen, such as a calling key that is disabled by now.
 */
const NOT_THIS = refuse(SELF_SERVICE_ERRORS.objectChanged)

/** The reason for the refusal describes the object, so another user's object needs the right to change it. */
async function refusedBody(attempt: Attempt, because: Answer): Promise<Answer> {
  if (attempt.isMine) return because
  const { change, before, answered } = attempt
  const request = await reauthenticated(attempt.request)
  const asCaller: RunsAs = { caller: attempt.request.caller }
  const tried = await ask(request, {
    ...writeOf(attempt, nothingChanged(change, before), asCaller),
    query: writing(request.query, DRY_RUN),
  })
  return REFUSED_OR_GONE.has(tried.status) ? answered(tried) : because
}

/** The API server's answers to a caller without a right to the object. */
const REFUSED_OR_GONE: ReadonlySet<number> = new Set([403, 404])

/** A change that a key which does not act as a person must not make, be it by self-service or by RBAC. */
function escalationOf({ request, change, before, isMine }: Attempt): FieldRefusal | null {
  const { info, access } = request
  if (!isMine) return updateEscalation(info.resource, change, before, access)
  return !access.isPerson && bringsDigest(info.resource, change, before)
    ? { field: 'spec.key', because: NO_DIGEST }
    : null
}

/** Self-service: the answer to a dry run is what would be stored, so admission decides on that. */
async function storeOwn(attempt: Attempt, deps: WriteDeps, body: Body): Promise<Answer> {
  const { request, answered } = attempt
  const write = writeOf(attempt, body, 'gateway')
  const tried = await ask(request, { ...write, query: writing(request.query, DRY_RUN) })
  if (tried.status !== 200) return answered(tried)
  const refused = admissionRefusal(attempt, await reauthenticated(request), deps, tried.json)
  return refused ?? answered(await ask(request, { ...write, form: request.form }))
}

/** @param now the request with its caller as of after the dry run */
function admissionRefusal(
  { request, before }: Attempt,
  now: SelfServiceRequest,
  { caps, clock, counts }: WriteDeps,
  after: JsonMap,
): Answer | null {
  const { resource } = request.info
  const invalid = validate({
    resource,
    access: now.access,
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

async function storeAsCaller(attempt: Attempt, body: Body): Promise<Answer> {
  const { request, answered } = attempt
  await reauthenticated(request)
  const write = writeOf(attempt, body, { caller: request.caller })
  return answered(await ask(request, { ...write, form: request.form }))
}

function writeOf({ request, change }: Attempt, body: Body, as: RunsAs): UpstreamQuery {
  const { resource, name, isStatus } = request.info
  return {
    as,
    method: change.by === 'put' ? 'PUT' : 'PATCH',
    resource,
    name,
    ...(isStatus ? { subresource: 'status' as const } : {}),
    query: writing(request.query, []),
    body,
  }
}
