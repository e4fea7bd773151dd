// Answers questions to the audit log from the data store (contract 22.4).
import { finished, Readable } from 'node:stream'
import type { DataStore } from '../../audit/store/data-store.ts'
import type { EventsPage } from '../../audit/store/query-events.ts'
import { StoreError } from '../../audit/store/store-error.ts'
import { encodeContinue } from '../../domain/audit/continue-token.ts'
import { eventListOf } from '../../domain/audit/event-list.ts'
import { type AuditQuery, parseAuditQuery } from '../../domain/audit/query.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { AUDIT_ERRORS } from './errors.ts'

/** The data store of a gateway. */
export interface QueriedStore extends Pick<DataStore, 'queryEvents'> {
  /** The replica whose events alone are in it; empty = it has those of all replicas. */
  readonly replica: string
}

/** Dependencies of EventQueries. */
interface EventQueriesOptions {
  /** The data store in use; null = there is none. */
  readonly store: () => QueriedStore | null
  readonly clock: Clock
}

/** Questions under way at a time. Each holds its place until its answer is delivered, so that pages never pile up. */
const MOST_AT_ONCE = 4

const NO_DATA_STORE = refuse(AUDIT_ERRORS.noDataStore)
const TOO_MANY = refuse(AUDIT_ERRORS.tooManyQueries, { limit: MOST_AT_ONCE })
const TOO_LONG = refuse(AUDIT_ERRORS.queryTooLong)
const UNAVAILABLE = refuse(AUDIT_ERRORS.dataStoreUnavailable)

/** Answers questions of callers who may ask. */
export class EventQueries {
  readonly #options: EventQueriesOptions
  #underWay = 0

  constructor(options: EventQueriesOptions) {
    this.#options = options
  }

  /** @param parameters of the URL, decoded */
  async answer(parameters: readonly (readonly [name: string, text: string])[]): Promise<Answer> {
    const parsed = parseAuditQuery(parameters, this.#options.clock.nowMs())
    if (parsed.kind === 'malformed')
      return refuse(AUDIT_ERRORS.queryMalformed, { fault: parsed.fault })
    const store = this.#options.store()
    if (store === null) return NO_DATA_STORE
    const { after } = parsed.query
    if (after !== null && after.store !== store.replica)
      return refuse(AUDIT_ERRORS.queryOfOtherReplica, { replica: store.replica || 'any' })
    if (this.#underWay >= MOST_AT_ONCE) return TOO_MANY
    this.#underWay += 1
    const answer = await answerOf(store, parsed.query)
    if (Buffer.isBuffer(answer.body)) this.#underWay -= 1
    else finished(answer.body, () => (this.#underWay -= 1))
    return answer
  }
}

async function answerOf(store: QueriedStore, query: AuditQuery): Promise<Answer> {
  try {
    const page = await store.queryEvents(query)
    return {
      status: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        ...(store.replica === '' ? {} : { warning: warningOf(store.replica) }),
      },
      body: Readable.from([Buffer.from(listOf(page, query, store))], { objectMode: false }),
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return error.failure === 'timeout' ? TOO_LONG : UNAVAILABLE
  }
}

function listOf(
  { events, next }: EventsPage,
  { filters, interval }: AuditQuery,
  { replica }: QueriedStore,
): string {
  const position = next && { ...next, store: replica }
  return eventListOf(events, position && encodeContinue({ filters, interval, position }))
}

const warningOf = (replica: string): string =>
  `299 - "these are the events of gateway ${replica} alone: each replica has a data store of its own"`
