// Deletes objects of our kinds (contract 12.1, 12.3): the caller's own as the gateway, all others as the caller.
import { CONFIGS, HEARTBEAT_NAME } from '../../api/names.ts'
import { ownerChainOf } from '../../domain/accesskey/owner-chain.ts'
import { nestedField, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { UpstreamUnavailable } from '../../kube/proxy/types.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { secretsIn } from '../../domain/redaction/fields.ts'
import { filterObjects, objectsIn, redactSecrets } from '../../domain/redaction/redact.ts'
import { type Query, parameter, pick } from '../request/path-and-query.ts'
import { type Sent, sentObject } from './decode.ts'
import { listAll } from './list-pages.ts'
import { type SelfServiceRequest, afterWrite, isOwnable, reauthenticated } from './request.ts'
import { type UpstreamReply, answerOf } from './response.ts'
import { type UpstreamRequest, sendAndRead, upstreamPages } from './upstream-client.ts'
import {
  hasOwn,
  isGranted,
  isHidden,
  isOpen,
  isOwn,
  isOwnUser,
  isVisible,
  notFound,
  shownTo,
} from './visibility.ts'
import { refusal } from './write-options.ts'

/** Answers the deletion of one object. */
export async function deleteOne(request: SelfServiceRequest): Promise<Answer> {
  const { info, access, caller, form } = request
  const { resource, name } = info
  const options = await optionsOf(request)
  if (!options.ok) return options.answer
  const current = await sendAndRead(request, {
    as: 'gateway',
    method: 'GET',
    resource,
    name,
    query: [],
  })
  const shown = { shows: shownTo(request), secrets: secretsIn(resource, current.json) }
  if (current.status === 404) return notFound(request.info)
  if (current.status !== 200) return answerOf(request, current, shown)
  if (!isVisible(request, current.json)) return notFound(request.info)
  const isMine = isOwn(request, current.json)
  const isAnothers = !isMine && resource !== CONFIGS
  const mayKnow = !isAnothers || isOwnUser(request, current.json) || (await isOpen(request))
  if (!mayKnow) return notFound(request.info)
  if (isAnothers && isOwnable(resource) && access.scope !== null) return refusal(OTHER_USERS_OBJECT)
  if (isMine && wouldOrphan(options.value)) return refusal(ORPHANS_REFUSAL)
  const as: RunsAs = isMine ? 'gateway' : { caller }
  await reauthenticated(request)
  const deletion = deleteRequest(
    request,
    as,
    name,
    withUidPrecondition(options.value, current.json),
  )
  return answerOf(request, await sendAndRead(request, { ...deletion, form }), shown)
}

const OTHER_USERS_OBJECT = {
  field: 'spec.user',
  because: "an access key that has a scope deletes its own user's keys and tokens only",
}

/** Whether the options would orphan keys and tokens: they would outlive the key that created them (contract 12.3). */
const wouldOrphan = (options: JsonMap): boolean =>
  nestedString(options, ['propagationPolicy']) === 'Orphan' ||
  nestedField(options, ['orphanDependents']) === true

const ORPHANS_REFUSAL = {
  field: 'propagationPolicy',
  because:
    'keys and tokens created with an access key are deleted with it: use Background or Foreground',
}

const deleteRequest = (
  { info: { resource } }: SelfServiceRequest,
  as: RunsAs,
  name: string,
  json: JsonMap,
): UpstreamRequest => ({
  as,
  method: 'DELETE',
  resource,
  name,
  query: [],
  body: { type: 'application/json', json },
})

/** Adds the object's uid as a precondition, unless the client set one: the name may be used by a new object. */
function withUidPrecondition(options: JsonMap, object: JsonMap): JsonMap {
  const path = ['preconditions', 'uid']
  if (nestedString(options, path) !== '') return options
  return setNestedField(options, path, nestedString(object, ['metadata', 'uid']))
}

/** The delete options from the body; without a body, those in the query, as the API server reads them. */
async function optionsOf(request: SelfServiceRequest): Promise<Sent<JsonMap>> {
  const sent = await sentObject(request, true)
  if (!sent.ok) return sent
  const isEmpty = Object.keys(sent.value).length === 0
  const given = isEmpty ? optionsIn(request.query) : sent.value
  return { ok: true, value: { apiVersion: 'v1', kind: 'DeleteOptions', ...given } }
}

function optionsIn(query: Query): JsonMap {
  const options: readonly (readonly [name: string, value: Json | undefined])[] = [
    ['dryRun', query.filter(([name]) => name === 'dryRun').map(([, value]) => value)],
    ['gracePeriodSeconds', numberIn(parameter(query, 'gracePeriodSeconds'))],
    ['orphanDependents', flagIn(parameter(query, 'orphanDependents'))],
    ['propagationPolicy', parameter(query, 'propagationPolicy') || undefined],
  ]
  return options.reduce<JsonMap>((map, [name, value]) => setNestedField(map, [name], value), {})
}

/** The number in a text. Any other text is passed on for the API server to refuse; undefined = empty. */
const numberIn = (text: string): Json | undefined =>
  text === '' ? undefined : /^-?\d{1,9}$/.test(text) ? Number(text) : text

const flagIn = (text: string): Json | undefined =>
  text === '' ? undefined : text !== '0' && text.toLowerCase() !== 'false'

/** Answers a deletecollection: as the caller where RBAC grants it, otherwise for the caller's own objects only. */
export async function deleteCollection(request: SelfServiceRequest): Promise<Answer> {
  const options = await optionsOf(request)
  if (!options.ok) return options.answer
  const { info, access } = request
  const shown = { shows: shownTo(request), secrets: [] }
  // RBAC does not know the scope: a scoped key deletes only its user's own objects, and only those that the scope shows.
  const asCaller = access.scope === null || !isOwnable(info.resource)
  const all = asCaller ? await deleteAsCaller(request, options.value) : null
  if (all !== null && !(all.status === 403 && hasOwn(request))) {
    const reply = all.status < 400 ? all : await withoutQuotes(request, all)
    return answerOf(request, reply, shown)
  }
  if (wouldOrphan(options.value)) return refusal(ORPHANS_REFUSAL)
  return answerOf(request, await deleteOwn(request, options.value), shown)
}

async function deleteAsCaller(
  request: SelfServiceRequest,
  options: JsonMap,
): Promise<UpstreamReply> {
  const { info, query, caller, form } = request
  const selected = isHidden(info.resource, HEARTBEAT_NAME) ? withoutHeartbeat(query) : query
  await reauthenticated(request)
  const deletion = deleteRequest(request, { caller }, '', options)
  return sendAndRead(request, { ...deletion, query: pick(selected, SELECTION_PARAMETERS), form })
}

const SELECTION_PARAMETERS = [
  'labelSelector',
  'fieldSelector',
  'resourceVersion',
  'resourceVersionMatch',
  'limit',
]

function withoutHeartbeat(query: Query): Query {
  const clientSelector = parameter(query, 'fieldSelector')
  const selector = `metadata.name!=${HEARTBEAT_NAME}${clientSelector === '' ? '' : `,${clientSelector}`}`
  return [...query.filter(([name]) => name !== 'fieldSelector'), ['fieldSelector', selector]]
}

/**
 * Deletes the caller's own objects one by one, and authenticates the caller again before each. Objects that are gone by
 * then are not in the answer. The calling key and its owners are last: their deletion ends the caller.
 */
async function deleteOwn(request: SelfServiceRequest, options: JsonMap): Promise<UpstreamReply> {
  const query = pick(request.query, ['labelSelector', 'fieldSelector'])
  const own = await listAll({ ...request, query }, 'own')
  if (own.status !== 200) return own
  const { others, lineage } = splitByLineage(request, objectsIn(own.json))
  const deletedUids = new Set<string>()
  let isCallerGone = false
  for (const [place, object] of [...others, ...lineage].entries()) {
    if (!isCallerGone) await reauthenticated(request)
    const name = nestedString(object, ['metadata', 'name'])
    const reply = await sendAndRead(
      isCallerGone ? afterWrite(request) : request,
      deleteRequest(request, 'gateway', name, withUidPrecondition(options, object)),
    )
    if (reply.status === 200) {
      deletedUids.add(uidOf(object))
      isCallerGone ||= place >= others.length
    } else if (reply.status !== 404 && reply.status !== 409)
      return { ...reply, json: redactSecrets(reply.json, secretsIn(request.info.resource, object)) }
  }
  return { ...own, json: filterObjects(own.json, (object) => deletedUids.has(uidOf(object))) }
}

const uidOf = (object: JsonMap): string => nestedString(object, ['metadata', 'uid'])

/** Splits off the calling key and its owners. */
function splitByLineage({ caller, findKey }: SelfServiceRequest, objects: readonly JsonMap[]) {
  const { keys } = ownerChainOf(caller.key, { named: findKey })
  const isInLineage = (object: JsonMap): boolean => keys.some(({ uid }) => uid === uidOf(object))
  return {
    others: objects.filter((object) => !isInLineage(object)),
    lineage: objects.filter(isInLineage),
  }
}

/**
 * The refusal of a deletecollection, without the secrets of the selected objects: the message of an admission policy
 * may quote any of them (contract 12.4). If RBAC does not grant the deletion, no policy has seen the objects.
 *
 * @throws UpstreamUnavailable when the objects can't be read: an unchecked message is not shown
 */
async function withoutQuotes(
  request: SelfServiceRequest,
  refused: UpstreamReply,
): Promise<UpstreamReply> {
  const { resource } = request.info
  if (!(await isGranted(request, 'deletecollection'))) return refused
  const selected = pick(request.query, ['labelSelector', 'fieldSelector'])
  let { json } = refused
  for await (const page of upstreamPages(request, resource, selected)) {
    if (page.status !== 200)
      throw new UpstreamUnavailable(
        'unprocessed',
        'the objects that a refusal may quote cannot be read',
      )
    const secrets = objectsIn(page.json).flatMap((object) => secretsIn(resource, object))
    json = redactSecrets(json, secrets)
  }
  return { ...refused, json }
}
