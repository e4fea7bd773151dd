// What a policy says of a collection that it keeps may quote any object in it (contract 12.4).
import { textAt } from '../../domain/json/nested-fields.ts'
import { UpstreamUnavailable } from '../../kube/proxy/upstream.ts'
import type { Query } from '../request/query.ts'
import { type Exchange, type Reply, ask, pick } from './exchange.ts'
import { isGranted } from './foreign.ts'
import { secretsIn } from './hidden.ts'
import { objectsIn } from './objects.ts'
import { scrubbed } from './redact.ts'

const PAGE: Query = [['limit', '100']]

/**
 * A refused deletion of a collection, without the secrets of the objects that the client selected. They are
 * read page by page where RBAC lets the caller delete them: else nobody has looked at any.
 *
 * @throws UpstreamUnavailable when they can't be read: what is not known to be clean is not shown
 */
export async function withoutQuotes(exchange: Exchange, refused: Reply): Promise<Reply> {
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
    const token = textAt(page.json, ['metadata', 'continue'])
    next = token === '' ? [] : [['continue', token]]
  } while (next.length > 0)
  return { ...refused, json }
}
