// Deleting objects of our kinds (contract 12.1, 12.3): one's own needs no right, anything else is done as
// the caller.
import { ACCESS_KEYS, CONFIGS, HEARTBEAT_KEY } from '../../api/names.ts'
import { ownerChainOf } from '../../domain/accesskey/owner-chain.ts'
import { nestedField, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { UpstreamUnavailable } from '../../kube/proxy/types.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { secretsIn } from '../redaction/fields.ts'
import { keeping, objectsIn } from '../redaction/objects.ts'
import { scrubbed } from '../redaction/redact.ts'
import type { Query } from '../request/query.ts'
import { type Sent, sentObject } from './decode.ts'
import { listed } from './list-pages.ts'
import { showsTo } from './read.ts'
import {
  type SelfServiceRequest,
  type UpstreamQuery,
  type UpstreamReply,
  answerOf,
  asOfNow,
  ask,
  parameter,
  pick,
} from './request.ts'
import { hasOwn, isGranted, isOpen, isOwn, isVisible, notFound } from './visibility.ts'
import { refusal } from './write-options.ts'

/** The answer to the deletion of one object. */
export async function deleteOne(exchange: SelfServiceRequest): Promise<Answer> {
  const { asked, standing, find, caller, form } = exchange
  const { resource, name } = asked
  const options = await optionsOf(exchange)
  if (!options.ok) return options.answer
  const current = await ask(exchange, { as: 'gateway', method: 'GET', resource, name, query: [] })
  const shown = { shows: showsTo(exchange), secrets: secretsIn(resource, current.json) }
  if (current.status === 404) return notFound(exchange)
  if (current.status !== 200) return answerOf(exchange, current, shown)
  if (!isVisible(asked, current.json, standing, find)) return notFound(exchange)
  const isMine = isOwn(asked, current.json, standing, find)
  const isForeign = !isMine && resource !== CONFIGS
  if (isForeign && !(await isOpen(exchange))) return notFound(exchange)
  if (isForeign && standing.scope !== null) return refusal(NOT_YOURS)
  if (isMine && leavesChildren(options.value)) return refusal(NO_ORPHANS)
  const as: RunsAs = isMine ? 'gateway' : { caller }
  await asOfNow(exchange)
  const question = removal(exchange, as, name, ofThis(options.value, current.json))
  return answerOf(exchange, await ask(exchange, { ...question, form }), shown)
}

const NOT_YOURS = {
  field: 'spec.user',
  because: "an access key that has a scope deletes its own user's keys and tokens only",
}

/** What was made with a key is revoked with it: left behind, it would live on (contract 12.3). */
const leavesChildren = (options: JsonMap): boolean =>
  nestedString(options, ['propagationPolicy']) === 'Orphan' ||
  nestedField(options, ['orphanDependents']) === true

const NO_ORPHANS = {
  field: 'propagationPolicy',
  because: 'what was made with an access key goes with it: use Background or Foreground',
}

const removal = (
  { asked: { resource } }: SelfServiceRequest,
  as: RunsAs,
  name: string,
  json: JsonMap,
): UpstreamQuery => ({
  as,
  method: 'DELETE',
  resource,
  name,
  query: [],
  body: { type: 'application/json', json },
})

/** Of this object and no other that may come to have its name; what the client demands stands. */
function ofThis(options: JsonMap, object: JsonMap): JsonMap {
  const path = ['preconditions', 'uid']
  if (nestedString(options, path) !== '') return options
  return setNestedField(options, path, nestedString(object, ['metadata', 'uid']))
}

/** The options in the body; without one those in the query, as the API server reads them. */
async function optionsOf(exchange: SelfServiceRequest): Promise<Sent<JsonMap>> {
  const sent = await sentObject(exchange, true)
  if (!sent.ok) return sent
  const isEmpty = Object.keys(sent.value).length === 0
  const given = isEmpty ? optionsIn(exchange.query) : sent.value
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

/** What is none is left to the API server to refuse. */
const numberIn = (text: string): Json | undefined =>
  text === '' ? undefined : /^-?\d{1,9}$/.test(text) ? Number(text) : text

const flagIn = (text: string): Json | undefined =>
  text === '' ? undefined : text !== '0' && text.toLowerCase() !== 'false'

/** The answer to the deletion of a collection: of what RBAC lets the caller delete, else of his own. */
export async function deleteCollection(exchange: SelfServiceRequest): Promise<Answer> {
  const options = await optionsOf(exchange)
  if (!options.ok) return options.answer
  const { asked, standing } = exchange
  const shown = { shows: showsTo(exchange), secrets: [] }
  // A scope that is narrower than the rights of its user: he deletes what he sees with it.
  const asCaller = standing.scope === null || asked.resource === CONFIGS
  const all = asCaller ? await removedAsCaller(exchange, options.value) : null
  if (all !== null && !(all.status === 403 && hasOwn(exchange))) {
    const told = all.status < 400 ? all : await withoutQuotes(exchange, all)
    return answerOf(exchange, told, shown)
  }
  if (leavesChildren(options.value)) return refusal(NO_ORPHANS)
  return answerOf(exchange, await removedOwn(exchange, options.value), shown)
}

async function removedAsCaller(
  exchange: SelfServiceRequest,
  options: JsonMap,
): Promise<UpstreamReply> {
  const { asked, query, caller, form } = exchange
  const selected = asked.resource === ACCESS_KEYS ? withoutHeartbeat(query) : query
  await asOfNow(exchange)
  const question = removal(exchange, { caller }, '', options)
  return ask(exchange, { ...question, query: pick(selected, SELECTS), form })
}

const SELECTS = [
  'labelSelector',
  'fieldSelector',
  'resourceVersion',
  'resourceVersionMatch',
  'limit',
]

function withoutHeartbeat(query: Query): Query {
  const theirs = parameter(query, 'fieldSelector')
  const selector = `metadata.name!=${HEARTBEAT_KEY}${theirs === '' ? '' : `,${theirs}`}`
  return [...query.filter(([name]) => name !== 'fieldSelector'), ['fieldSelector', selector]]
}

/**
 * One by one, while it is still the caller who asks; what somebody else has deleted meanwhile is not among
 * the deleted. The calling key and those that own it go last: with them the caller goes.
 */
async function removedOwn(exchange: SelfServiceRequest, options: JsonMap): Promise<UpstreamReply> {
  const query = pick(exchange.query, ['labelSelector', 'fieldSelector'])
  const own = await listed({ ...exchange, query }, 'own')
  if (own.status !== 200) return own
  const { others, line } = byLine(exchange, objectsIn(own.json))
  const removed = new Set<string>()
  for (const [place, object] of [...others, ...line].entries()) {
    if (place <= others.length) await asOfNow(exchange)
    const name = nestedString(object, ['metadata', 'name'])
    const reply = await ask(exchange, removal(exchange, 'gateway', name, ofThis(options, object)))
    if (reply.status === 200) removed.add(uidOf(object))
    else if (reply.status !== 404 && reply.status !== 409)
      return { ...reply, json: scrubbed(reply.json, secretsIn(exchange.asked.resource, object)) }
  }
  return { ...own, json: keeping(own.json, (object) => removed.has(uidOf(object))) }
}

const uidOf = (object: JsonMap): string => nestedString(object, ['metadata', 'uid'])

/** The calling key with those that own it, and all others. */
function byLine({ caller, find }: SelfServiceRequest, objects: readonly JsonMap[]) {
  const { keys } = ownerChainOf(caller.key, { named: find })
  const isOfLine = (object: JsonMap): boolean => keys.some(({ uid }) => uid === uidOf(object))
  return {
    others: objects.filter((object) => !isOfLine(object)),
    line: objects.filter(isOfLine),
  }
}

// What a policy says of a collection that it keeps may quote any object in it (contract 12.4).

const PAGE: Query = [['limit', '100']]

/**
 * A refused deletion of a collection, without the secrets of the objects that the client selected. They are
 * read page by page where RBAC lets the caller delete them: else nobody has looked at any.
 *
 * @throws UpstreamUnavailable when they can't be read: what is not known to be clean is not shown
 */
export async function withoutQuotes(
  exchange: SelfServiceRequest,
  refused: UpstreamReply,
): Promise<UpstreamReply> {
  const { resource } = exchange.asked
  if (!(await isGranted(exchange, 'deletecollection'))) return refused
  const selected = pick(exchange.query, ['labelSelector', 'fieldSelector'])
  let { json } = refused
  let next: Query = []
  do {
    const query = [...selected, ...PAGE, ...next]
    const page = await ask(exchange, { as: 'gateway', method: 'GET', resource, query })
    if (page.status !== 200) throw new UpstreamUnavailable('what a refusal may quote is not known')
    const secrets = objectsIn(page.json).flatMap((object) => secretsIn(resource, object))
    json = scrubbed(json, secrets)
    const token = nestedString(page.json, ['metadata', 'continue'])
    next = token === '' ? [] : [['continue', token]]
  } while (next.length > 0)
  return { ...refused, json }
}
