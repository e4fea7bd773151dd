// Reads of keys, tokens and Configs (contract 9.3, 12.1, 12.3).
import { ACCESS_KEYS, CONFIGS, TOKENS } from '../../api/group.ts'
import type { JsonMap } from '../../domain/config/json.ts'
import type { Answer } from '../http/answer.ts'
import { failure, type WholeAnswer } from '../http/answer.ts'
import type { Query } from '../request/query.ts'
import type { RunsAs } from '../targets/forward.ts'
import { textAt } from './at.ts'
import {
  answerOf,
  ask,
  type Exchange,
  parameter,
  pick,
  type Question,
  type Reply,
} from './exchange.ts'
import { notFound } from './foreign.ts'
import { admitted, isFiltered, type Whose } from './filtering.ts'
import { TOKEN, secretsIn } from './hidden.ts'
import { isHidden } from './kinds.ts'
import { joined, keeping, objectIn } from './objects.ts'
import type { Shows } from './redact.ts'
import { isOwn, isVisible, mayReadToken } from './standing.ts'

/** What a caller is shown of the hidden fields: the tokens that are his. */
export const showsTo =
  ({ asked, standing, find }: Exchange): Shows =>
  (object) =>
    asked.resource === TOKENS && mayReadToken(object, standing, find) ? [TOKEN] : []

/** The answer to a read of one object. */
export async function get(exchange: Exchange): Promise<Answer> {
  const { asked, standing, find, caller } = exchange
  const reply = await ask(exchange, one(exchange, 'gateway'))
  const shows = showsTo(exchange)
  const object = objectIn(reply.json)
  const secrets = secretsIn(asked.resource, object)
  if (reply.status === 404) return notFound(exchange)
  if (reply.status !== 200) return answerOf(exchange, reply, { shows, secrets })
  if (!isVisible(asked, object, standing, find)) return notFound(exchange)
  if (asked.resource === CONFIGS || isOwn(asked, object, standing, find))
    return answerOf(exchange, reply, { shows, secrets })
  const theirs = await ask(exchange, one(exchange, { caller }))
  if (REFUSED_OR_GONE.has(theirs.status)) return notFound(exchange)
  // What was seen a moment ago may be another object by now.
  if (theirs.status === 200 && !isVisible(asked, objectIn(theirs.json), standing, find))
    return notFound(exchange)
  return answerOf(exchange, theirs, { shows, secrets })
}

/** It is a matter of nobody's but those to whom RBAC opens it (contract 12.1). */
const REFUSED_OR_GONE: ReadonlySet<number> = new Set([403, 404])

/** A get of status tells the whole object, but may be granted to a caller where a get is not. */
function one({ asked, form }: Exchange, as: RunsAs): Question {
  const { resource, name, isStatus } = asked
  const subresource = isStatus && as !== 'gateway' ? ({ subresource: 'status' } as const) : {}
  return { as, method: 'GET', resource, name, ...subresource, query: [], form }
}

/** So few that nobody waits for the event loop while a page is read, some milliseconds each. */
const PAGE = '100'
const SELECTS = ['labelSelector', 'fieldSelector', 'timeoutSeconds']
const VERSIONS = ['resourceVersion', 'resourceVersionMatch']
const PAGES = ['limit', 'continue']

/** The answer to a list: what RBAC lets the caller see; where it refuses, his own (contract 12.1). */
export async function list(exchange: Exchange): Promise<Answer> {
  const { asked, query } = exchange
  const shown = { shows: showsTo(exchange), secrets: [] }
  if (asked.resource === CONFIGS) {
    const settings = allOf(exchange, 'gateway', pick(query, [...SELECTS, ...VERSIONS, ...PAGES]))
    return answerOf(exchange, await ask(exchange, settings), shown)
  }
  const all = await listed(exchange, 'all')
  const reply = all.status === 403 && hasOwn(exchange) ? await listed(exchange, 'own') : all
  return answerOf(exchange, reply, shown)
}

/** Teams and subjects have no keys of their own. */
export const hasOwn = ({ asked, standing }: Exchange): boolean =>
  asked.resource === TOKENS || (asked.resource === ACCESS_KEYS && standing.user !== null)

/** Whether an object belongs to what a request is about. */
export const isListed =
  ({ asked, standing, find }: Exchange, whose: Whose) =>
  (object: JsonMap): boolean =>
    !isHidden(asked.resource, textAt(object, ['metadata', 'name'])) &&
    isVisible(asked, object, standing, find) &&
    (whose === 'all' || isOwn(asked, object, standing, find))

/**
 * The objects that a request is about. Where they are picked out here, that is done page by page, and
 * the client gets all of them at once: a token to continue with would name the last object of a page,
 * which may be anybody's.
 */
export async function listed(exchange: Exchange, whose: Whose): Promise<Reply> {
  const { query } = exchange
  const isKept = isListed(exchange, whose)
  const as = whose === 'own' ? 'gateway' : { caller: exchange.caller }
  const selected = selecting(exchange, whose)
  if (!isFiltered(exchange, whose)) {
    const asked = [...selected, ...pick(query, [...VERSIONS, ...PAGES])]
    const reply = await ask(exchange, allOf(exchange, as, asked))
    return reply.status === 200 ? { ...reply, json: keeping(reply.json, isKept) } : reply
  }
  if (parameter(query, 'continue') !== '') return EXPIRED
  const admission = admitted(exchange, whose, 'filteredList')
  if (!admission.ok) return replyOf(admission.answer)
  return pages(exchange, as, selected, isKept).finally(admission.release)
}

async function pages(
  exchange: Exchange,
  as: RunsAs,
  selected: Query,
  isKept: (object: JsonMap) => boolean,
): Promise<Reply> {
  const kept: JsonMap[] = []
  let versions = pick(exchange.query, VERSIONS)
  let next = ''
  for (;;) {
    const page = [['limit', PAGE] as const, ...(next === '' ? [] : [['continue', next] as const])]
    const reply = await ask(exchange, allOf(exchange, as, [...selected, ...versions, ...page]))
    if (reply.status !== 200) return reply
    kept.push(keeping(reply.json, isKept))
    next = textAt(reply.json, ['metadata', 'continue'])
    // Which version a page is of, its token says.
    versions = []
    const [first, ...others] = kept
    if (next === '' && first) return { ...reply, json: joined(first, others) }
  }
}

/** Clients then list anew from the beginning. */
const EXPIRED: Reply = replyOf(
  failure('Expired', 'this list comes as a whole: list again without the parameter continue'),
)

/** What the gateway says itself, as if the API server had. */
export function replyOf({ status, headers, body }: WholeAnswer): Reply {
  return { status, headers, json: JSON.parse(body.toString()) as JsonMap }
}

/** What selects the objects: the client's selectors, and, of own keys, a selector on their user. */
export function selecting({ asked, query, standing }: Exchange, whose: Whose): Query {
  const chosen = pick(query, SELECTS)
  if (whose === 'all' || asked.resource !== ACCESS_KEYS || standing.user === null) return chosen
  const mine = `spec.user=${standing.user.replace(/[\\,=]/g, '\\$&')}`
  const theirs = parameter(chosen, 'fieldSelector')
  return [
    ...chosen.filter(([name]) => name !== 'fieldSelector'),
    ['fieldSelector', theirs === '' ? mine : `${mine},${theirs}`],
  ]
}

const allOf = ({ asked, form }: Exchange, as: RunsAs, query: Query): Question => ({
  as,
  method: 'GET',
  resource: asked.resource,
  query,
  form,
})
