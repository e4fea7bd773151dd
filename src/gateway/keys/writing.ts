// What all writes of our kinds have in common.
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, failure } from '../../serving/http/answer.ts'
import type { Query } from '../request/query.ts'
import type { OwnCounts } from './counts.ts'
import { parameter, pick } from './exchange.ts'
import { RESERVED_MANAGERS } from './field-ownership.ts'
import type { Fault } from './may-store.ts'

/** What writes stand on. */
export interface WriteDeps {
  /** The caps in force. */
  readonly caps: () => Caps
  /** A new key in clear. */
  readonly newKey: () => string
  readonly clock: Clock
  readonly counts: OwnCounts
}

/** The 403 that names the field. */
export const refusal = ({ field, because }: Fault): Answer =>
  failure('Forbidden', `${field}: ${because}`)

/** The parameters of a try. */
export const DRY_RUN: Query = [['dryRun', 'All']]

/** Whether the client wants nothing stored. */
export const isDryRun = (query: Query): boolean => query.some(([name]) => name === 'dryRun')

/**
 * The parameters of a write: always validated strictly (contract 12.1). Those of a try, which is none of
 * the client's, take the place of its own.
 */
export const writing = (query: Query, tried: Query): Query => [
  ...pick(query, ['fieldManager', 'force']),
  ['fieldValidation', 'Strict'],
  ...(tried.length === 0 ? pick(query, ['dryRun']) : tried),
]

/** The refusal of a write in the name of one of the program's own managers; null where there is none. */
export function managerRefusal(query: Query): Answer | null {
  if (!RESERVED_MANAGERS.includes(parameter(query, 'fieldManager'))) return null
  const because = `${RESERVED_MANAGERS.join(' and ')} are managers of the platform: choose another name`
  return refusal({ field: 'fieldManager', because })
}
