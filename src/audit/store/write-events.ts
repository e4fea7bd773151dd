// Lines of the log on their way into the data store, a batch in a transaction with the position behind it (contract 22.3).
import type { Transaction } from 'kysely'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { Databases } from './databases.ts'
import { type EventRow, eventRowOf, rowWithoutBodies } from './event-row.ts'
import type { StoreKind, StoreTables } from './schema.ts'
import { storeErrorOf } from './store-error.ts'

/** The most lines of a batch, and bytes of their text. */
export const MOST_LINES = 1000
export const MOST_BYTES = 4 * 1024 * 1024

/** Lines of a replica, and where its follower goes on once they are stored. */
export interface LineBatch {
  /** The replica. */
  readonly source: string
  /** null = a line that is too long to be one. */
  readonly lines: readonly (string | null)[]
  readonly position: string
}

/** What became of the lines of a batch. */
export interface StoredEvents {
  readonly stored: number
  /** Lines that were there already. */
  readonly double: number
  /** Lines without an event, and events that the store refuses even without bodies. */
  readonly refused: number
}

/**
 * Stores a batch. Lines that the store refuses are passed over, each alone.
 *
 * @throws an error of the driver when the store can't be used: then nothing of the batch is stored, or all of it
 */
export async function writeEvents(
  databases: Databases,
  batch: LineBatch,
  eventLoop: EventLoopShare,
): Promise<StoredEvents> {
  const rows = await rowsOf(batch, eventLoop)
  const noEvents = batch.lines.length - rows.length
  try {
    const stored = await storeAll(databases, rows, batch)
    return { stored, double: rows.length - stored, refused: noEvents }
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  const single = await storeOneByOne(databases, rows)
  await storeAll(databases, [], batch)
  return { ...single, refused: single.refused + noEvents }
}

/** The rows of those lines that are events. */
async function rowsOf(
  { lines, source }: LineBatch,
  eventLoop: EventLoopShare,
): Promise<readonly EventRow[]> {
  const rows: EventRow[] = []
  for (const line of lines) {
    await eventLoop.waitForTurn()
    const row = line === null ? null : eventRowOf(line, source)
    if (row !== null) rows.push(row)
  }
  return rows
}

const isRefusal = (error: unknown): boolean => storeErrorOf(error).failure === 'refused'

/** Stores rows and position in one transaction. @returns how many rows were not there yet */
const storeAll = (
  { kind, writer }: Databases,
  rows: readonly EventRow[],
  { source, position }: LineBatch,
): Promise<number> =>
  writer.transaction().execute(async (transaction) => {
    let stored = 0
    for (const part of inParts(rows)) stored += await insert(transaction, kind, part)
    await savePosition(transaction, kind, { source, position })
    return stored
  })

/** Each row alone, then without its bodies; one that is refused so, too, is passed over. */
async function storeOneByOne(
  { kind, writer }: Databases,
  rows: readonly EventRow[],
): Promise<StoredEvents> {
  let [stored, refused] = [0, 0]
  const attempt = async (row: EventRow): Promise<boolean> => {
    try {
      stored += await writer
        .transaction()
        .execute((transaction) => insert(transaction, kind, [row]))
      return true
    } catch (error) {
      if (!isRefusal(error)) throw error
      return false
    }
  }
  for (const row of rows) {
    if (!(await attempt(row)) && !(await attempt(rowWithoutBodies(row)))) refused += 1
  }
  return { stored, double: rows.length - stored - refused, refused }
}

/** The most rows of a statement, and characters of their events: packets are bounded, and so are parameters. */
const MOST_ROWS_A_STATEMENT = 100
const MOST_CHARACTERS_A_STATEMENT = 512 * 1024

function* inParts(rows: readonly EventRow[]): Iterable<readonly EventRow[]> {
  let part: EventRow[] = []
  let characters = 0
  for (const row of rows) {
    const isFull = part.length === MOST_ROWS_A_STATEMENT
    if (
      isFull ||
      (part.length > 0 && characters + row.event.length > MOST_CHARACTERS_A_STATEMENT)
    ) {
      yield part
      part = []
      characters = 0
    }
    part.push(row)
    characters += row.event.length
  }
  if (part.length > 0) yield part
}

async function insert(
  transaction: Transaction<StoreTables>,
  kind: StoreKind,
  rows: readonly EventRow[],
): Promise<number> {
  const values = transaction.insertInto('audit_events').values(rows)
  // `insert ignore` of MySQL would also pass over what it refuses.
  const statement =
    kind === 'mysql'
      ? values.onDuplicateKeyUpdate((events) => ({ stage: events.ref('audit_events.stage') }))
      : values.onConflict((conflict) =>
          conflict.columns(['source', 'audit_id', 'stage']).doNothing(),
        )
  const { numInsertedOrUpdatedRows } = await statement.executeTakeFirstOrThrow()
  return Number(numInsertedOrUpdatedRows ?? 0)
}

/** The position of the follower of a replica. */
type Position = Pick<LineBatch, 'source' | 'position'>

async function savePosition(
  transaction: Transaction<StoreTables>,
  kind: StoreKind,
  values: Position,
): Promise<void> {
  const { position } = values
  const insertion = transaction.insertInto('audit_positions').values(values)
  const statement =
    kind === 'mysql'
      ? insertion.onDuplicateKeyUpdate({ position })
      : insertion.onConflict((conflict) => conflict.column('source').doUpdateSet({ position }))
  await statement.execute()
}

/** The position of the follower of a replica; null = it has none yet. */
export async function readPosition({ writer }: Databases, source: string): Promise<string | null> {
  const row = await writer
    .selectFrom('audit_positions')
    .select('position')
    .where('source', '=', source)
    .executeTakeFirst()
  return row?.position ?? null
}
