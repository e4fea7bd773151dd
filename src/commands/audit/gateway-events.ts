// The events of the gateway's data store, page by page (contract 22.4).
import { type AuditFilter } from '../../domain/audit/filters.ts'
import { eventPageOf } from '../../domain/audit/event-list.ts'
import { AUDIT_EVENTS_PATH } from '../../domain/audit/query.ts'
import { NoResponseError, StatusError } from '../../kube/client/api-error.ts'
import { type ClientDeps, openStream } from '../../kube/client/request.ts'
import { sleep, withTimeout } from '../../runtime/clock.ts'
import type { AuditSettings } from './flags.ts'

/** What the gateway answered. */
interface EventsOfGateway {
  /** Each the JSON of an event, the newest stage time first. */
  readonly events: readonly string[]
  /** The token of the next page; null = there is none. */
  readonly continue: string | null
  /** Such as whose events these are, where each replica has its own. */
  readonly warnings: ReadonlySet<string>
  /** Why there may be more events than these; null = the gateway answered to the end. */
  readonly fault: string | null
}

/** Room for the texts of events, in characters. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** Retention may delete all events of a page before they are read; an answer of such pages alone has no end. */
const MOST_EMPTY_PAGES = 10

/** Asks for pages until there are as many events as the question allows. */
export async function askGateway(
  deps: ClientDeps,
  { parameters, query, output }: Pick<AuditSettings, 'parameters' | 'query' | 'output'>,
): Promise<EventsOfGateway> {
  const filters = new Map<AuditFilter, string>(parameters)
  if (output === 'table') filters.set('body', 'false')
  const events: string[] = []
  const warnings = new Set<string>()
  let characters = 0
  let emptyPages = 0
  do {
    filters.set('limit', String(query.limit - events.length))
    try {
      const page = await pageOf(deps, filters, warnings)
      events.push(...page.events)
      characters += page.events.reduce((sum, { length }) => sum + length, 0)
      if (page.continue === null) return { events, continue: null, warnings, fault: null }
      emptyPages += page.events.length === 0 ? 1 : 0
      if (emptyPages > MOST_EMPTY_PAGES) throw new Error('the gateway answers empty pages')
      filters.set('continue', page.continue)
    } catch (error) {
      const token = events.length === 0 ? null : (filters.get('continue') ?? null)
      return { events, continue: token, warnings, fault: faultOf(error) }
    }
  } while (events.length < query.limit && characters < MOST_CHARACTERS)
  return { events, continue: filters.get('continue') ?? null, warnings, fault: null }
}

const ATTEMPTS_WHEN_BUSY = 4
const LONGEST_BUSY_WAIT_MS = 10_000

/** One page; the gateway answers few questions at a time, so a 429 is waited for. */
async function pageOf(
  deps: ClientDeps,
  filters: ReadonlyMap<AuditFilter, string>,
  warnings: Set<string>,
) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const text = await withTimeout(deps.clock, WITHIN_MS, (signal) =>
        get(deps, filters, warnings, signal),
      )
      const page = eventPageOf(text)
      if (page === null) throw new Error(`the answer has no EventList: ${HINT}`)
      return page
    } catch (error) {
      const waitMs = error instanceof StatusError && error.code === 429 ? error.retryAfterMs : null
      if (attempt === ATTEMPTS_WHEN_BUSY || waitMs === null || waitMs > LONGEST_BUSY_WAIT_MS)
        throw error
      await sleep(deps.clock, waitMs, new AbortController().signal)
    }
  }
}

/** A query has 10 seconds at the gateway. */
const WITHIN_MS = 30_000

/** A page ends at 8 MiB, or holds one event. */
const LONGEST_PAGE = 32 * 1024 * 1024

async function get(
  deps: ClientDeps,
  filters: ReadonlyMap<AuditFilter, string>,
  warnings: Set<string>,
  signal: AbortSignal,
): Promise<string> {
  const query = Object.fromEntries(filters)
  const onWarning = (text: string): void => void warnings.add(text)
  const answer = await openStream(deps, {
    method: 'GET',
    path: AUDIT_EVENTS_PATH,
    query,
    signal,
    onWarning,
  })
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length
      // Leaving the loop ends the connection.
      if (size > LONGEST_PAGE) break
      chunks.push(chunk)
    }
  } catch (error) {
    throw new NoResponseError(`GET ${AUDIT_EVENTS_PATH}`, error)
  }
  if (size > LONGEST_PAGE) throw new Error('the answer has more than 32 MiB')
  return Buffer.concat(chunks).toString('utf8')
}

const UNREACHABLE = 'Unable to connect to the server'

const HINT =
  'is the server of the kubeconfig the management API of the gateway, as in https://platform.example.com/kubernetes/management?'

/** The failure in the words of kubectl. */
function faultOf(error: unknown): string {
  if (error instanceof StatusError) {
    const reason = error.reason === '' ? '' : ` (${error.reason})`
    const hint = error.code === 404 && error.words === '' ? `: ${HINT}` : ''
    return `Error from server${reason}: ${error.words || `it answered ${error.code}`}${hint}`
  }
  if (!(error instanceof Error)) return 'error: it failed'
  if (!(error instanceof NoResponseError)) return `error: ${error.message}`
  const { message, code } = error.cause as { readonly message?: string; readonly code?: string }
  return `${UNREACHABLE}: ${message || code || 'no answer'}`
}
