// Questions to the data store, answered in pages (contract 22.4).
import { type ExpressionBuilder, type Expression, type SqlBool, sql } from 'kysely'
import type { EventPosition } from '../../domain/audit/continue-token.ts'
import { withoutBodies } from '../../domain/audit/event-list.ts'
import type { AuditQuery } from '../../domain/audit/query.ts'
import type { Databases } from './databases.ts'
import { columnText } from './event-row.ts'
import type { StoreKind, StoreTables } from './schema.ts'
import { DEADLINE_FUNCTION } from './sqlite-protocol.ts'

/** A page of the answer. */
export interface EventsPage {
  /** The JSON of each, newest stage first. */
  readonly events: readonly string[]
  /** Where the next page begins; null = this is the last one. Its `store` is empty. */
  readonly next: EventPosition | null
}

/** Bytes at which a page ends; it has one event at least. */
export const MOST_PAGE_BYTES = 8 * 1024 * 1024

/**
 * Answers a question: events that were stored before the first page, each once, whatever is stored meanwhile.
 *
 * @throws an error of the driver, also when the answer takes too long
 */
export async function queryEvents(databases: Databases, query: AuditQuery): Promise<EventsPage> {
  const snapshotId = query.after?.snapshotId ?? (await highestId(databases))
  const found = await findEvents(databases, query, snapshotId)
  const page = await readPage(databases, query, found.slice(0, query.limit))
  const last = page.last
  const hasMore = last !== null && (page.isCut || found.length > query.limit)
  const next = hasMore
    ? { stageTimeMs: last.stageTimeMs, id: last.id, snapshotId, store: '' }
    : null
  return { events: page.events, next }
}

async function highestId({ reader }: Databases): Promise<number> {
  const { highest } = await reader
    .selectFrom('audit_events')
    .select(({ fn }) => fn.max('id').as('highest'))
    .executeTakeFirstOrThrow()
  return Number(highest ?? 0)
}

/** An event of the answer, without its text. */
interface FoundEvent {
  readonly id: number
  readonly stageTimeMs: number
  readonly bytes: number
}

/** One event more than the page has room for, where there is one. */
async function findEvents(
  { kind, reader }: Databases,
  query: AuditQuery,
  snapshotId: number,
): Promise<readonly FoundEvent[]> {
  const rows = await reader
    .selectFrom('audit_events')
    .select(['id', 'stage_time', BYTES[kind].as('bytes')])
    .where((events) => events.and(conditionsOf(events, kind, query)))
    .where('id', '<=', snapshotId)
    .orderBy('stage_time', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit + 1)
    .execute()
  return rows.map(({ id, stage_time, bytes }) => ({
    id: Number(id),
    stageTimeMs: Number(stage_time),
    bytes: Number(bytes),
  }))
}

const BYTES = {
  sqlite: sql<number | string>`length(cast(event as blob))`,
  postgres: sql<number | string>`octet_length(event)`,
  mysql: sql<number | string>`octet_length(event)`,
} as const

type ColumnFilter = AuditQuery['exact'] extends ReadonlyMap<infer Name, string> ? Name : never

const COLUMNS = {
  user: 'username',
  verb: 'verb',
  target: 'target',
  cluster: 'cluster',
  project: 'project',
  namespace: 'namespace',
  group: 'api_group',
  resource: 'resource',
  name: 'name',
  stage: 'stage',
  auditID: 'audit_id',
  source: 'source',
} as const satisfies Readonly<Record<ColumnFilter, keyof StoreTables['audit_events']>>

type EventCondition = Expression<SqlBool>

/** All of them hold for an event of the answer behind the position. */
function conditionsOf(
  events: ExpressionBuilder<StoreTables, 'audit_events'>,
  kind: StoreKind,
  { interval, exact, key, code, after }: AuditQuery,
): EventCondition[] {
  const { sinceMs, untilMs } = interval
  const conditions: EventCondition[] =
    kind === 'sqlite' ? [sql<SqlBool>`${sql.raw(DEADLINE_FUNCTION)}() = 1`] : []
  if (sinceMs !== null) conditions.push(events('stage_time', '>=', sinceMs))
  if (untilMs !== null) conditions.push(events('stage_time', '<', untilMs))
  for (const [name, text] of exact) conditions.push(events(COLUMNS[name], '=', columnText(text)))
  if (key !== null) {
    const text = columnText(key)
    conditions.push(events.or([events('key_name', '=', text), events('key_id', '=', text)]))
  }
  if (code !== null)
    conditions.push(events('code', '>=', code.least), events('code', '<=', code.most))
  if (after !== null) {
    const { stageTimeMs, id } = after
    conditions.push(
      events('stage_time', '<=', stageTimeMs),
      events.or([events('stage_time', '<', stageTimeMs), events('id', '<', id)]),
    )
  }
  return conditions
}

interface ReadPage {
  readonly events: readonly string[]
  /** The last event of the page, or the last deleted one; null = the page is empty. */
  readonly last: FoundEvent | null
  /** Whether it ends before the last event that was found. */
  readonly isCut: boolean
}

/** The texts of the events, as far as a page has room for them. */
async function readPage(
  { reader }: Databases,
  { hasBodies }: AuditQuery,
  found: readonly FoundEvent[],
): Promise<ReadPage> {
  const events: string[] = []
  let last: FoundEvent | null = null
  let bytes = 0
  for (const part of inParts(found)) {
    const rows = await reader
      .selectFrom('audit_events')
      .select(['id', 'event'])
      .where(
        'id',
        'in',
        part.map(({ id }) => id),
      )
      .execute()
    const texts = new Map(rows.map(({ id, event }) => [Number(id), event]))
    for (const one of part) {
      const text = texts.get(one.id)
      const event = text !== undefined && !hasBodies ? withoutBodies(text) : text
      const size = event === undefined ? 0 : Buffer.byteLength(event)
      if (events.length > 0 && bytes + size > MOST_PAGE_BYTES) return { events, last, isCut: true }
      last = one
      bytes += size
      // An event that retention deleted meanwhile has no text.
      if (event !== undefined) events.push(event)
    }
  }
  return { events, last, isCut: false }
}

/** The most bytes that one statement reads, and one turn of the event loop handles; a longer event comes alone. */
const MOST_PART_BYTES = 1024 * 1024

/** Parts of the events. */
function* inParts(found: readonly FoundEvent[]): Iterable<readonly FoundEvent[]> {
  let part: FoundEvent[] = []
  let bytes = 0
  for (const one of found) {
    if (part.length > 0 && bytes + one.bytes > MOST_PART_BYTES) {
      yield part
      part = []
      bytes = 0
    }
    part.push(one)
    bytes += one.bytes
  }
  if (part.length > 0) yield part
}
