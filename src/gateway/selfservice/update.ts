// Changing objects of our kinds (contract 12.1, 12.3, 12.5). One's own: tried first, judged as it would be
// stored, then stored, provided that nothing has changed since; anything else as the caller.
import { ACCESS_KEYS, CONFIGS } from '../../api/names.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { sleep } from '../../runtime/clock.ts'
import { type Answer, failure } from '../../serving/http/answer.ts'
import { secretsIn } from '../redaction/fields.ts'
import { makeOne } from './create.ts'
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
import { showsTo } from './read.ts'
import {
  type SelfServiceRequest,
  type UpstreamQuery,
  type UpstreamReply,
  answerOf,
  asOfNow,
  ask,
} from './request.ts'
import { type Fault, validate } from './validation.ts'
import { isOpen, isOwn, isVisible, notFound, taken } from './visibility.ts'
import {
  DRY_RUN,
  GATEWAY_MANAGER,
  type WriteDeps,
  entriesOf,
  refusal,
  writing,
} from './write-options.ts'

/** How often a write is tried that only lost a race which its client knows nothing of. */
const TRIES = 8
/** Before the second try, and longer before each that follows. */
const PAUSE_MS = 10

/** The answer to a PUT or a patch. */
export async function update(exchange: SelfServiceRequest, deps: WriteDeps): Promise<Answer> {
  const read = exchange.asked.verb === 'update' ? sentPut : sentPatch
  const sent = await read(exchange)
  return sent.ok ? changed(await asOfNow(exchange), deps, sent.value) : sent.answer
}

async function changed(
  exchange: SelfServiceRequest,
  deps: WriteDeps,
  sent: Change,
): Promise<Answer> {
  const isOfVersion = versionIn(sent) !== ''
  for (let tries = 1; ; tries += 1) {
    const current = await ask(exchange, theObject(exchange))
    const answer = await changedOnce(exchange, deps, sent, current)
    const mayBeRace = tries < TRIES && !isOfVersion && RACES.has(answer.status)
    if (!mayBeRace) return answer
    const isBeingMade = sent.by === 'apply' && mayBeUnclaimed(current.json, deps.clock.nowMs())
    if (!isBeingMade && !(await hasMoved(exchange, current))) return answer
    await sleep(deps.clock, tries * PAUSE_MS, exchange.signal)
  }
}

/** A conflict, and a JSON patch whose test of the version failed. */
const RACES: ReadonlySet<number> = new Set([409, 422])

const theObject = ({ asked: { resource, name } }: SelfServiceRequest): UpstreamQuery => ({
  as: 'gateway',
  method: 'GET',
  resource,
  name,
  query: [],
})

/** What another apply made is claimed for the gateway within this time of it, in milliseconds. */
const CLAIMED_WITHIN_MS = 3000

/**
 * Whether an object may be on its way to be claimed: till then what the gateway added is its applier's alone,
 * and would go with an apply of his that does not name it.
 */
function mayBeUnclaimed(object: JsonMap, nowMs: number): boolean {
  const createdMs = parseTimestamp(nestedString(object, ['metadata', 'creationTimestamp'])) ?? 0
  const isClaimed = entriesOf(object, [GATEWAY_MANAGER]).length > 0
  return !isClaimed && nowMs - createdMs < CLAIMED_WITHIN_MS
}

/** Whether it was another object that the change failed on. */
async function hasMoved(exchange: SelfServiceRequest, before: UpstreamReply): Promise<boolean> {
  const now = await ask(exchange, theObject(exchange))
  const [was, is] = [before, now].map(({ json }) =>
    nestedString(json, ['metadata', 'resourceVersion']),
  )
  return was !== is
}

async function changedOnce(
  exchange: SelfServiceRequest,
  deps: WriteDeps,
  sent: Change,
  current: UpstreamReply,
): Promise<Answer> {
  const { asked, standing, find } = exchange
  const { resource, name } = asked
  const before = current.json
  // Only an apply makes what is not there.
  const mayMake = sent.by === 'apply' && !asked.isStatus
  if (current.status === 404)
    return mayMake
      ? makeOne(exchange, deps, sent.sent, { method: 'PATCH', type: APPLY, name })
      : notFound(exchange)
  if (current.status !== 200)
    return answerOf(exchange, current, { shows: showsTo(exchange), secrets: [] })
  if (!(await mayKnow(exchange, before))) return mayMake ? taken(exchange) : notFound(exchange)
  const isMine = !asked.isStatus && isOwn(asked, before, standing, find)
  if (!isMine && standing.scope !== null && resource !== CONFIGS) return refusal(NOT_YOURS)
  const isJudged = isMine || (resource === ACCESS_KEYS && !asked.isStatus && !standing.isPerson)
  if (isJudged && isOfAnother(sent, before)) return NOT_THIS
  const long = isMine ? bodyRefusal(exchange.call, sent.sent, before) : null
  if (long !== null) return long
  const body = bodyOf(resource, sent, before)
  const secrets = [...secretsIn(resource, before), ...secretsInChange(resource, sent)]
  const answered = (reply: UpstreamReply): Answer =>
    answerOf(exchange, reply, { shows: showsTo(exchange), secrets })
  if (!body.ok) {
    // Why it is refused tells of the object: only who may change it is told.
    const tried = isMine
      ? null
      : await ask(await asOfNow(exchange), changingNothing(exchange, sent, before))
    return tried !== null && FOREIGN.has(tried.status) ? answered(tried) : body.answer
  }
  const bar = asked.isStatus ? null : barOf(exchange, sent, before, isMine)
  if (bar !== null) return refusal(bar)
  const isSelf = isMine && !bringsDigest(resource, sent, before)
  const question = storing(exchange, sent, body.value, isSelf)
  if (isSelf) {
    const tried = await ask(exchange, { ...question, query: writing(exchange.query, DRY_RUN) })
    if (tried.status !== 200) return answered(tried)
    const fault = faultOf(await asOfNow(exchange), deps, before, tried.json)
    if (fault !== null) return refusal(fault)
    const large = sizeRefusal(before, tried.json)
    if (large !== null) return large
    const { identity } = exchange.caller.key
    const many =
      resource === ACCESS_KEYS
        ? deps.counts.revivalRefusal(identity ?? '', before, tried.json)
        : null
    if (many !== null) return many
  } else await asOfNow(exchange)
  return answered(await ask(exchange, { ...question, form: exchange.form }))
}

/** Whether the caller may be told anything of what is there. */
async function mayKnow(exchange: SelfServiceRequest, object: JsonMap): Promise<boolean> {
  const { asked, standing, find } = exchange
  if (asked.resource === CONFIGS) return true
  if (!isVisible(asked, object, standing, find)) return false
  return isOwn(asked, object, standing, find) || isOpen(exchange)
}

/** What no key that stands for nobody in person may do, be it self-service or by RBAC. */
function barOf(
  { asked: { resource }, standing }: SelfServiceRequest,
  sent: Change,
  before: JsonMap,
  isMine: boolean,
): Fault | null {
  if (!isMine) return updateEscalation(resource, sent, before, standing)
  return !standing.isPerson && bringsDigest(resource, sent, before)
    ? { field: 'spec.key', because: NO_DIGEST }
    : null
}

/** What the API server says of objects that are no business of somebody's. */
const FOREIGN: ReadonlySet<number> = new Set([403, 404])

/** The try, as the caller, of a change in the same way that leaves the object as it is. */
const changingNothing = (
  exchange: SelfServiceRequest,
  sent: Change,
  current: JsonMap,
): UpstreamQuery => ({
  ...storing(exchange, sent, nothingChanged(sent, current), false),
  query: writing(exchange.query, DRY_RUN),
})

const faultOf = (
  { asked: { resource }, standing }: SelfServiceRequest,
  { caps, clock }: WriteDeps,
  before: JsonMap,
  after: JsonMap,
): Fault | null =>
  validate({ resource, standing, before, after, caps: caps(), nowMs: clock.nowMs() })

/**
 * What is judged is a change of the object as it was read. Said of a version that comes after it, a change
 * would be stored on top of what nobody has looked at, such as that the calling key is disabled.
 */
const NOT_THIS = failure(
  'Conflict',
  'the object is not the one with this uid and resourceVersion: apply your changes to the latest version',
)

const NOT_YOURS: Fault = {
  field: 'spec.user',
  because: "an access key that has a scope changes its own user's keys and tokens only",
}

function storing(
  { asked, caller, query }: SelfServiceRequest,
  { by }: Change,
  body: Body,
  isSelf: boolean,
): UpstreamQuery {
  const { resource, name, isStatus } = asked
  return {
    as: isSelf ? 'gateway' : { caller },
    method: by === 'put' ? 'PUT' : 'PATCH',
    resource,
    name,
    ...(isStatus ? { subresource: 'status' as const } : {}),
    query: writing(query, []),
    body,
  }
}
