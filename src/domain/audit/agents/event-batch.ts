// The EventList that an agent sends, cut into its events (contract 23.1).
import { isAbsent } from '../../json/json.ts'
import { cutMembers } from '../cut-json.ts'
import { API_VERSION, LIST_KIND } from '../event-list.ts'

/** The most events of a batch. */
export const MOST_BATCH_EVENTS = 1000

/** The list of events as JSON, or what is wrong with the text, as a clause that quotes nothing of it. */
type EventBatch =
  | { readonly kind: 'list'; readonly items: string }
  | { readonly kind: 'malformed'; readonly fault: string }

/** The most characters of an EventList besides its events. */
const LONGEST_REST = 64 * 1024

const ITEMS: ReadonlySet<string> = new Set(['items'])

/** The list of events in an EventList. */
export function eventBatchOf(text: string): EventBatch {
  const list = cutMembers(text, ITEMS, LONGEST_REST)
  if (list === null) return { kind: 'malformed', fault: 'the body is not a JSON object' }
  const { rest, parts } = list
  if (rest['kind'] !== LIST_KIND || rest['apiVersion'] !== API_VERSION)
    return { kind: 'malformed', fault: `the body is not an ${LIST_KIND} of ${API_VERSION}` }
  const items = parts.get('items') ?? '[]'
  if (isAbsent(rest['items']) || items === 'null') return { kind: 'list', items: '[]' }
  return items.startsWith('[')
    ? { kind: 'list', items }
    : { kind: 'malformed', fault: 'items is not a list' }
}
