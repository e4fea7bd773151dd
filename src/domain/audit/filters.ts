// The filters of a question to the audit log: what each accepts, and what it means (contract 22.4).
import { TARGET_KINDS } from '../scope/request-info.ts'
import { parseDuration, parseTimestamp } from '../time.ts'
import { decodeContinue } from './continue-token.ts'
import { hideCredentials } from '../redaction/credentials.ts'
import { AUDIT_STAGES } from './policy.ts'

/** A filter: the texts that it accepts. */
interface Filter {
  /** In words; ends the sentence about a fault. */
  readonly accepts: string
  /** Whether it accepts a text that isn't empty, isn't too long and has no control characters. */
  readonly isAccepted: (text: string) => boolean
  /** What an empty text means; absent = it is a fault. */
  readonly whenEmpty?: string
}

/** The most events of a page, where the question says nothing, and the most that it may ask for. */
export const DEFAULT_LIMIT = 100
export const MOST_EVENTS = 1000

const isAnything = (): boolean => true

const TIME: Filter = {
  accepts: 'an RFC 3339 time, or a duration ago such as 15m or 168h',
  isAccepted: (text) => timeOf(text, 0) !== null,
}

const wordOf = (words: readonly string[]): Filter => ({
  accepts: `one of ${words.join(', ')}`,
  isAccepted: (text) => words.includes(text),
})

/** All filters by name, in the order in which messages list them. */
const AUDIT_FILTERS = {
  since: TIME,
  until: TIME,
  user: { accepts: 'a user name', isAccepted: isAnything },
  key: {
    accepts: 'the name or the keyID of an access key, never the key itself',
    isAccepted: (text) => hideCredentials(text) === text,
  },
  verb: { accepts: 'a verb such as delete', isAccepted: isAnything },
  target: wordOf(TARGET_KINDS),
  cluster: { accepts: 'the name of a connected cluster', isAccepted: isAnything },
  project: { accepts: 'the name of a project', isAccepted: isAnything },
  namespace: {
    accepts: 'a namespace',
    isAccepted: isAnything,
    whenEmpty: 'objects outside of namespaces',
  },
  group: {
    accepts: 'an API group such as apps',
    isAccepted: isAnything,
    whenEmpty: 'the core group',
  },
  resource: {
    accepts: 'a resource in the plural, with its subresource where there is one, such as pods/log',
    isAccepted: isAnything,
  },
  name: { accepts: 'the name of an object', isAccepted: isAnything },
  code: {
    accepts: 'a status code such as 403, or a class of them such as 4xx',
    isAccepted: (text) => codeRangeOf(text) !== null,
  },
  stage: wordOf(AUDIT_STAGES),
  auditID: { accepts: 'the Audit-ID of an answer', isAccepted: isAnything },
  source: { accepts: 'the name of a replica, or agent:<cluster>', isAccepted: isAnything },
  body: wordOf(['true', 'false']),
  limit: {
    accepts: `a whole number from 1 to ${MOST_EVENTS}`,
    isAccepted: (text) => /^[1-9]\d{0,3}$/.test(text) && Number(text) <= MOST_EVENTS,
  },
  continue: {
    accepts: 'metadata.continue of an answer to the same filters',
    isAccepted: (text) => decodeContinue(text) !== null,
  },
} satisfies Readonly<Record<string, Filter>>

/** The name of a filter. */
export type AuditFilter = keyof typeof AUDIT_FILTERS

/** All names, in the order of AUDIT_FILTERS. */
export const FILTER_NAMES = Object.keys(AUDIT_FILTERS) as readonly AuditFilter[]

/** Longer than anything that the filters compare. */
const LONGEST_TEXT = 1024

/** Control characters, which no name has and databases refuse. */
const CONTROL = /\p{Cc}/u

/** Whether the filter accepts the text. */
export function isAccepted(name: AuditFilter, text: string): boolean {
  const filter: Filter = AUDIT_FILTERS[name]
  if (text === '') return filter.whenEmpty !== undefined
  return text.length <= LONGEST_TEXT && !CONTROL.test(text) && filter.isAccepted(text)
}

/** What the filter accepts, in words. */
export function acceptedWords(name: AuditFilter): string {
  const { accepts, whenEmpty }: Filter = AUDIT_FILTERS[name]
  return whenEmpty === undefined ? accepts : `${accepts}, or an empty text for ${whenEmpty}`
}

/** The time of `since` or `until`, in whole epoch milliseconds; null = malformed. */
export function timeOf(text: string, nowMs: number): number | null {
  const agoMs = parseDuration(text)
  if (agoMs === null) return parseTimestamp(text)
  return agoMs < 0 ? null : Math.floor(nowMs - agoMs)
}

/** Codes of answers, both ends included. */
export interface CodeRange {
  readonly least: number
  readonly most: number
}

/** The codes of `code`; null = malformed. */
export function codeRangeOf(text: string): CodeRange | null {
  if (/^[1-5]\d\d$/.test(text)) return { least: Number(text), most: Number(text) }
  if (!/^[1-5]xx$/.test(text)) return null
  const least = Number(text[0]) * 100
  return { least, most: least + 99 }
}
