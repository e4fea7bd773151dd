// A question to the audit log, read from the query of a URL or from flags (contract 22.4).
import { quoteForMessage } from '../json/json.ts'
import { isSimilarName } from '../settings/similar-name.ts'
import {
  type ContinueToken,
  type EventPosition,
  type TimeInterval,
  decodeContinue,
  filtersDigest,
} from './continue-token.ts'
import type { EventFields } from './event-fields.ts'
import {
  type AuditFilter,
  type CodeRange,
  DEFAULT_LIMIT,
  FILTER_NAMES,
  acceptedWords,
  codeRangeOf,
  isAccepted,
  timeOf,
} from './filters.ts'
import { hideCredentials } from '../redaction/credentials.ts'

/** The path of questions, behind that of the management cluster. */
export const AUDIT_EVENTS_PATH = '/audit/events'

/** The filters whose text must equal the field of the event that has their name. */
const EXACT_FILTERS = [
  'user',
  'verb',
  'target',
  'cluster',
  'project',
  'namespace',
  'group',
  'resource',
  'name',
  'stage',
  'auditID',
  'source',
] as const satisfies readonly (AuditFilter & keyof EventFields)[]

/** One of EXACT_FILTERS. */
type ExactFilter = (typeof EXACT_FILTERS)[number]

/** A question; an event must meet all of it. */
export interface AuditQuery {
  /** Of stage times. */
  readonly interval: TimeInterval
  /** The texts that fields must equal; an event without the field is not meant. */
  readonly exact: ReadonlyMap<ExactFilter, string>
  /** The name or the keyID of the access key; null = any, or none. */
  readonly key: string | null
  /** null = any, or none. */
  readonly code: CodeRange | null
  /** Whether events come with requestObject and responseObject. */
  readonly hasBodies: boolean
  /** The most events of a page. */
  readonly limit: number
  /** Where the page begins; null = the first page. */
  readonly after: EventPosition | null
  /** The digest of the filters, for the token of the next page. */
  readonly filters: string
}

/** A question, or in one sentence all that is wrong with its filters. */
type ParsedAuditQuery =
  | { readonly kind: 'query'; readonly query: AuditQuery }
  | { readonly kind: 'malformed'; readonly fault: string }

/** Filters that change what a page holds, but not which events are meant: they may differ from page to page. */
const OF_ONE_PAGE: ReadonlySet<AuditFilter> = new Set(['body', 'limit', 'continue'])

/** Filters by name, each known, given once, and accepted. */
type GivenFilters = ReadonlyMap<AuditFilter, string>

/**
 * Parses the parameters of a question. Nothing is passed over: it would make the answer wider than the question.
 *
 * @param parameters decoded, in the order in which they were given
 */
export function parseAuditQuery(
  parameters: readonly (readonly [name: string, text: string])[],
  nowMs: number,
): ParsedAuditQuery {
  const given = new Map<AuditFilter, string>()
  const faults: string[] = []
  for (const [name, text] of parameters.slice(0, MOST_EXAMINED)) {
    const filter = FILTER_NAMES.find((known) => known === name)
    if (filter === undefined) faults.push(unknownFilter(name))
    else if (given.has(filter)) faults.push(`${filter} is given twice`)
    else given.set(filter, text)
    if (filter !== undefined && !isAccepted(filter, text)) faults.push(malformed(filter, text))
  }
  if (faults.length > 0) return { kind: 'malformed', fault: faultText(faults) }
  const between = faultsBetween(given, nowMs)
  return between.length === 0
    ? { kind: 'query', query: queryOf(given, nowMs) }
    : { kind: 'malformed', fault: between.join('; ') }
}

/** How many faults a message names. */
const MOST_FAULTS = 20

/** A query may have thousands of parameters: among so many there is a fault already. */
const MOST_EXAMINED = FILTER_NAMES.length + MOST_FAULTS + 1

function faultText(faults: readonly string[]): string {
  const named = [...new Set(faults)]
  const others = named.length > MOST_FAULTS ? ['and more'] : []
  return [...named.slice(0, MOST_FAULTS), ...others, THERE_ARE].join('; ')
}

const THERE_ARE = `the filters are ${FILTER_NAMES.join(', ')}, each at most once`

function unknownFilter(name: string): string {
  const similar = FILTER_NAMES.find((known) => isSimilarName(known, name))
  const hint = similar === undefined ? '' : `, did you mean ${similar}?`
  return `${quoteForMessage(hideCredentials(name))} is not a filter${hint}`
}

const malformed = (name: AuditFilter, text: string): string =>
  `${name} is ${quoteForMessage(hideCredentials(text))}, accepted is ${acceptedWords(name)}`

/** Faults of filters that don't fit together. */
function faultsBetween(given: GivenFilters, nowMs: number): readonly string[] {
  const token = tokenOf(given)
  const { sinceMs, untilMs } = token?.interval ?? intervalOf(given, nowMs)
  const isEmpty = sinceMs !== null && untilMs !== null && sinceMs >= untilMs
  const isOther = token !== null && token.filters !== digestOf(given)
  return [
    ...(isEmpty ? ['since is not before until'] : []),
    ...(isOther ? ['continue is of other filters: ask for each page with the same'] : []),
  ]
}

const intervalOf = (given: GivenFilters, nowMs: number): TimeInterval => ({
  sinceMs: timeOf(given.get('since') ?? '', nowMs),
  untilMs: timeOf(given.get('until') ?? '', nowMs),
})

const tokenOf = (given: GivenFilters): ContinueToken | null =>
  decodeContinue(given.get('continue') ?? '')

const digestOf = (given: GivenFilters): string =>
  filtersDigest([...given].filter(([name]) => !OF_ONE_PAGE.has(name)))

function queryOf(given: GivenFilters, nowMs: number): AuditQuery {
  const token = tokenOf(given)
  const exact = EXACT_FILTERS.flatMap((name) => {
    const text = given.get(name)
    return text === undefined ? [] : [[name, text] as const]
  })
  return {
    interval: token?.interval ?? intervalOf(given, nowMs),
    exact: new Map(exact),
    key: given.get('key') ?? null,
    code: codeRangeOf(given.get('code') ?? ''),
    hasBodies: given.get('body') !== 'false',
    limit: Number(given.get('limit') ?? DEFAULT_LIMIT),
    after: token?.position ?? null,
    filters: digestOf(given),
  }
}

/** Whether the question means an event of these fields, on whatever page. */
export function matchesQuery(fields: EventFields, query: AuditQuery): boolean {
  const { interval, exact, key, code } = query
  const { sinceMs, untilMs } = interval
  if (sinceMs !== null && fields.stageTimeMs < sinceMs) return false
  if (untilMs !== null && fields.stageTimeMs >= untilMs) return false
  if (key !== null && key !== fields.keyName && key !== fields.keyId) return false
  if (code !== null && !isInRange(fields.code, code)) return false
  return [...exact].every(([name, text]) => fields[name] === text)
}

const isInRange = (code: number | null, { least, most }: CodeRange): boolean =>
  code !== null && code >= least && code <= most
