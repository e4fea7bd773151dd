// Lists of audit events as JSON, joined from the lines of the log and split again, without parsing a number
// (contract 21.4, 22.4).
import { fieldsOf, parseJson, stringOf } from '../json/json.ts'
import { rawElements, rawMembers } from './raw-json.ts'

/** The kind of a list of events. */
export const LIST_KIND = 'EventList'

/** The API version of events and their lists. */
export const API_VERSION = 'audit.k8s.io/v1'

/** A page of events. */
interface EventPage {
  /** Each the JSON of an event. */
  readonly events: readonly string[]
  /** The token of the next page; null = this is the last one. */
  readonly continue: string | null
}

/**
 * An `audit.k8s.io/v1` EventList, an event a line.
 *
 * @param events each the JSON of an event, as it stands in the log
 * @param token of the next page; null = this is the last one
 */
export function eventListOf(events: readonly string[], token: string | null): string {
  const metadata = JSON.stringify(token === null ? {} : { continue: token })
  const items = events.length === 0 ? '[]' : `[\n${events.join(',\n')}\n]`
  return `{"kind":"${LIST_KIND}","apiVersion":"${API_VERSION}","metadata":${metadata},"items":${items}}\n`
}

/** The page in an EventList; null = the text is none. */
export function eventPageOf(text: string): EventPage | null {
  // The parts below are slices of the text, which must be JSON as a whole.
  if (parseJson(text) === undefined) return null
  const members = new Map(rawMembers(text).map(({ name, value }) => [name, value]))
  const isList =
    parseJson(members.get('kind')) === LIST_KIND &&
    parseJson(members.get('apiVersion')) === API_VERSION
  if (!isList) return null
  const { continue: token } = fieldsOf(parseJson(members.get('metadata')))
  return {
    events: rawElements(members.get('items') ?? '[]'),
    continue: stringOf(token) || null,
  }
}

const BODIES: ReadonlySet<string> = new Set(['requestObject', 'responseObject'])

/** The event without requestObject and responseObject. @param event its JSON */
export function withoutBodies(event: string): string {
  const kept = rawMembers(event).filter(({ name }) => !BODIES.has(name))
  return `{${kept.map(({ text }) => text).join(',')}}`
}
