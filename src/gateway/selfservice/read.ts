// Reads of keys, tokens and Configs (contract 9.3, 12.1, 12.3).
import { CONFIGS, TOKENS } from '../../api/names.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { TOKEN, secretsIn } from '../redaction/fields.ts'
import { objectIn } from '../redaction/objects.ts'
import type { VisibleSecrets } from '../redaction/redact.ts'
import { notFound } from './foreign.ts'
import { begun, listAnswer } from './list-stream.ts'
import { pagesOf } from './list.ts'
import { type SelfServiceRequest, type UpstreamQuery, answerOf, ask } from './request.ts'
import { hasOwn } from './selection.ts'
import { isOwn, isVisible, mayReadToken } from './visibility.ts'

/** What a caller is shown of the hidden fields: the tokens that are his. */
export const showsTo =
  ({ asked, standing, find }: SelfServiceRequest): VisibleSecrets =>
  (object) =>
    asked.resource === TOKENS && mayReadToken(object, standing, find) ? [TOKEN] : []

/** The answer to a read of one object. */
export async function get(exchange: SelfServiceRequest): Promise<Answer> {
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
function one({ asked, form }: SelfServiceRequest, as: RunsAs): UpstreamQuery {
  const { resource, name, isStatus } = asked
  const subresource = isStatus && as !== 'gateway' ? ({ subresource: 'status' } as const) : {}
  return { as, method: 'GET', resource, name, ...subresource, query: [], form }
}

/** The answer to a list: what RBAC lets the caller see; where it refuses, his own (contract 12.1). */
export async function list(exchange: SelfServiceRequest): Promise<Answer> {
  const all = await begun(pagesOf(exchange, 'all'))
  const isRefused = all.first.reply.status === 403 && hasOwn(exchange)
  const told = isRefused ? await begun(pagesOf(exchange, 'own')) : all
  return listAnswer(exchange, told, { shows: showsTo(exchange), secrets: [] })
}
