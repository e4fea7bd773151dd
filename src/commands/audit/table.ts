// Audit events as a table for people. Text of clients is escaped: it can't act on the terminal or look like other cells.
import { type EventFields, annotationOf, eventFieldsOf } from '../../domain/audit/event-fields.ts'
import { fieldsOf, parseJson, stringOf } from '../../domain/json/json.ts'
import { formatSecond } from '../../domain/time.ts'
import { cellText } from '../shared/terminal-text.ts'

/** An event, with the parts of it that no filter asks for. */
interface TableEvent extends EventFields {
  readonly requestURI: string
  readonly annotation: (name: string) => string
}

interface Column {
  readonly title: string
  /** Empty = nothing to show. */
  readonly cellOf: (event: TableEvent) => string
}

// biome-ignore format: a table
const COLUMNS: readonly Column[] = [
  { title: 'TIME',      cellOf: ({ stageTimeMs }) => formatSecond(stageTimeMs) },
  { title: 'USER',      cellOf: ({ user }) => user },
  { title: 'KEY',       cellOf: ({ keyName, keyId }) => keyName ?? keyId ?? '' },
  { title: 'VERB',      cellOf: ({ verb }) => verb },
  { title: 'WHAT',      cellOf: whatOf },
  { title: 'NAMESPACE', cellOf: ({ namespace }) => namespace ?? '' },
  { title: 'TARGET',    cellOf: targetOf },
  { title: 'STAGE',     cellOf: ({ stage }) => stage },
  { title: 'CODE',      cellOf: ({ code }) => (code === null ? '' : String(code)) },
  { title: 'DECISION',  cellOf: decisionOf },
]

/** Resource and name, such as `deployments.apps/web` or `pods/web/log`; the path of another request. */
function whatOf({ resource, group, name, requestURI }: TableEvent): string {
  if (resource === null) return requestURI.split('?', 1)[0] ?? ''
  const [plural = '', subresource] = resource.split('/', 2)
  const qualified = group === null || group === '' ? plural : `${plural}.${group}`
  return [qualified, name, subresource].filter(Boolean).join('/')
}

function targetOf({ target, cluster, project, annotation }: TableEvent): string {
  const inProject = annotation('virtual-cluster') || annotation('space')
  return [target, cluster, project, inProject].filter(Boolean).join('/')
}

/** Whether the gateway refused, and why. */
function decisionOf({ annotation }: TableEvent): string {
  const decision = annotation('decision')
  const reason = annotation('reason')
  return decision !== '' && reason !== '' ? `${decision}: ${reason}` : decision
}

/** The table, and how many of the events are none. @param events each the JSON of an event */
export function eventTable(events: readonly string[]): {
  readonly text: string
  readonly unread: number
} {
  const rows = events.flatMap((event) => {
    const row = tableEventOf(parseJson(event))
    return row === null ? [] : [COLUMNS.map(({ cellOf }) => cellText(cellOf(row)))]
  })
  const lines = [COLUMNS.map(({ title }) => title), ...rows]
  const widths = COLUMNS.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at] ?? ''))))
  const text = lines.map((line) => `${lineText(line, widths)}\n`).join('')
  return { text, unread: events.length - rows.length }
}

function tableEventOf(event: unknown): TableEvent | null {
  const fields = eventFieldsOf(event)
  if (fields === null) return null
  return {
    ...fields,
    requestURI: stringOf(fieldsOf(event)['requestURI']) ?? '',
    annotation: (name) => annotationOf(event, name) ?? '',
  }
}

const lineText = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - widthOf(cell)))
    .join('  ')
    .trimEnd()

const widthOf = (text: string): number => Array.from(text).length
