// `management-operator audit`: recorded requests, from the gateway's data store or from files.
import { CONTROLLER_NAME } from '../../api/names.ts'
import { readEvents } from '../../audit/files/read-files.ts'
import { eventFieldsOf } from '../../domain/audit/event-fields.ts'
import { eventListOf } from '../../domain/audit/event-list.ts'
import { parseJson } from '../../domain/json/json.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { printText } from '../../runtime/flags.ts'
import { withToolClient } from '../shared/cluster-client.ts'
import { type AuditSettings, readAuditSettings } from './flags.ts'
import { askGateway } from './gateway-events.ts'
import { visible, visibleJson } from '../shared/terminal-text.ts'
import { eventTable } from './table.ts'

/** What was found, and what could not be read. */
interface FoundEvents {
  /** Each the JSON of an event, the newest first. */
  readonly events: readonly string[]
  /** The token of the gateway's next page; null = none. */
  readonly continue: string | null
  /** How to go on, as a flag; null = these are all. */
  readonly goOn: string | null
  /** Of the gateway. */
  readonly warnings: readonly string[]
  /** What could not be read, in sentences. */
  readonly faults: readonly string[]
}

/**
 * `management-operator audit`.
 *
 * @returns the exit code: 1 when there is no such event, 3 when something could not be read
 */
export async function run(argv: readonly string[]): Promise<number> {
  const clock = systemClock()
  const invocation = readAuditSettings(argv, clock.nowMs())
  if (invocation.kind !== 'run') return printText(invocation)
  const { settings } = invocation
  const found = await find(settings, clock)
  const faults = [...found.faults, ...(await print(found, settings))]
  for (const warning of found.warnings) complain(`Warning: ${warning}`)
  for (const fault of faults) complain(fault)
  if (found.goOn !== null) complain(`There are older events: go on with ${found.goOn}`)
  if (faults.length > 0) return 3
  if (found.events.length > 0) return 0
  complain('No event was found.')
  return 1
}

const complain = (sentence: string): void => {
  process.stderr.write(`${visible(sentence)}\n`)
}

async function find(settings: AuditSettings, clock: Clock): Promise<FoundEvents> {
  const { source } = settings
  try {
    return source.kind === 'files'
      ? await findInFiles(source.path, settings)
      : await findAtGateway(source.kubeconfig, settings, clock)
  } catch (error) {
    const faults = [`error: ${messageOf(error)}`]
    return { events: [], continue: null, goOn: null, warnings: [], faults }
  }
}

async function findInFiles(path: string, { query, output }: AuditSettings): Promise<FoundEvents> {
  const hasBodies = query.hasBodies && output === 'json'
  const { events, hasMore, faults } = await readEvents(path, { ...query, hasBodies })
  const oldest = eventFieldsOf(parseJson(events.at(-1)))
  // One millisecond more, because several events may have the same time.
  const until = oldest === null ? null : formatTimestamp(oldest.stageTimeMs + 1)
  return {
    events,
    continue: null,
    goOn:
      hasMore && until !== null ? `--until ${until}, which shows the oldest of these again` : null,
    warnings: [],
    faults,
  }
}

const FIELD_MANAGER = `${CONTROLLER_NAME}-audit`

async function findAtGateway(
  kubeconfig: string | null,
  settings: AuditSettings,
  clock: Clock,
): Promise<FoundEvents> {
  const tool = { kubeconfig, clock, name: FIELD_MANAGER }
  const answer = await withToolClient(tool, (deps) => askGateway(deps, settings))
  const { events, continue: token, warnings, fault } = answer
  const goOn = token === null ? null : `the same filters and --continue ${token}`
  const faults = fault === null ? [] : [fault]
  return { events, continue: token, goOn, warnings: [...warnings], faults }
}

/** Prints the events. @returns what could not be printed */
async function print(
  { events, continue: token }: FoundEvents,
  { output }: AuditSettings,
): Promise<readonly string[]> {
  if (output === 'json') return write(eventListOf(events.map(visibleJson), token))
  const { text, unread } = eventTable(events)
  const faults = events.length > unread ? await write(text) : []
  return unread === 0 ? faults : [...faults, `error: ${unread} of the events could not be read`]
}

/** @returns why not all of it was written; nothing when it was, or when its reader has left: the process exits then */
function write(text: string): Promise<readonly string[]> {
  const { stdout } = process
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => undefined)
  return new Promise((resolve) => {
    stdout.write(text, (error?: NodeJS.ErrnoException | null) => {
      const isWritten = !error || error.code === 'EPIPE'
      resolve(isWritten ? [] : [`error: the output could not be written: ${messageOf(error)}`])
    })
  })
}

/** The message of an error with the code of its cause, such as ENOENT, but not the cause's message: it may quote a file. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const { code } = (error.cause ?? error) as { readonly code?: unknown }
  const isCodeInMessage = typeof code !== 'string' || error.message.includes(code)
  return isCodeInMessage ? error.message : `${error.message}: ${code}`
}
