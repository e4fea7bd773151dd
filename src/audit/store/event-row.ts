// A line of the audit log as a row of the data store (contract 22.3).
import { createHash } from 'node:crypto'
import type { Insertable } from 'kysely'
import { eventFieldsOf } from '../../domain/audit/event-fields.ts'
import { withoutBodies } from '../../domain/audit/event-list.ts'
import { fieldsOf, parseJson, stringOf } from '../../domain/json/json.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { COLUMN_CHARACTERS, type StoreTables } from './schema.ts'

/** A row of `audit_events` that is not stored yet. */
export type EventRow = Insertable<StoreTables['audit_events']>

/**
 * The row of a line; null = the line holds another value than an event.
 *
 * @param source whose line it is, where the line itself does not say so
 */
export function eventRowOf(line: string, source: string): EventRow | null {
  const event = parseJson(line)
  const fields = eventFieldsOf(event)
  if (fields === null) return null
  const { level, requestReceivedTimestamp } = fieldsOf(event)
  return {
    source: columnText(fields.source ?? source),
    audit_id: columnText(fields.auditID),
    stage: fields.stage,
    stage_time: fields.stageTimeMs,
    received_time: parseTimestamp(requestReceivedTimestamp) ?? fields.stageTimeMs,
    level: (stringOf(level) ?? '').slice(0, LONGEST_LEVEL),
    verb: columnText(fields.verb),
    username: columnText(fields.user),
    key_name: orNull(fields.keyName),
    key_id: orNull(fields.keyId),
    target: orNull(fields.target),
    cluster: orNull(fields.cluster),
    project: orNull(fields.project),
    namespace: orNull(fields.namespace),
    api_group: orNull(fields.group),
    resource: orNull(fields.resource),
    name: orNull(fields.name),
    code: codeOf(fields.code),
    event: line,
  }
}

/** The row with its event without bodies. */
export const rowWithoutBodies = (row: EventRow): EventRow => ({
  ...row,
  event: withoutBodies(row.event),
})

const LONGEST_LEVEL = 32

const orNull = (text: string | null): string | null => (text === null ? null : columnText(text))

/** Codes that are none of HTTP might not fit the column. */
const codeOf = (code: number | null): number | null =>
  code !== null && code >= 0 && code <= 999 ? code : null

/** Columns change or refuse these: NUL, lone surrogates, and trailing spaces, which MySQL ignores in comparisons. */
const UNKEPT = /\0|\p{Cs}| $/u

/**
 * A text as columns have it, the same for the same text alone: one that is too long or that a database would change gets the
 * digest of the whole at its end. The event keeps the text itself.
 */
export function columnText(text: string): string {
  if (text.length <= COLUMN_CHARACTERS && !UNKEPT.test(text)) return text
  const digest = createHash('sha256').update(JSON.stringify(text)).digest('hex')
  const end = `...sha256:${digest}`
  const begin = text.slice(0, COLUMN_CHARACTERS - end.length)
  return `${begin.toWellFormed().replaceAll('\0', '\uFFFD')}${end}`
}
