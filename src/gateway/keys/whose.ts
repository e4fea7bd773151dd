// Which objects of a collection a request is about (contract 12.1, 12.3).
import { ACCESS_KEYS, TOKENS } from '../../api/names.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { textAt } from '../../domain/json/nested-fields.ts'
import type { Query } from '../request/query.ts'
import { type Exchange, parameter, pick } from './exchange.ts'
import type { Whose } from './filtering.ts'
import { isHidden } from './kinds.ts'
import { isOwn, isVisible } from './standing.ts'

/** Teams and subjects have no keys of their own. */
export const hasOwn = ({ asked, standing }: Pick<Exchange, 'asked' | 'standing'>): boolean =>
  asked.resource === TOKENS || (asked.resource === ACCESS_KEYS && standing.user !== null)

/** Whether an object belongs to what a request is about. */
export const isListed =
  ({ asked, standing, find }: Exchange, whose: Whose) =>
  (object: JsonMap): boolean =>
    !isHidden(asked.resource, textAt(object, ['metadata', 'name'])) &&
    isVisible(asked, object, standing, find) &&
    (whose === 'all' || isOwn(asked, object, standing, find))

const SELECTS = ['labelSelector', 'fieldSelector', 'timeoutSeconds']

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
