// An event that an agent sent, rebuilt for the log of the gateway (contract 23.2): what 21.3 does not name is left out, and
// what 21.4 hides is hidden again, whatever the agent did.
import { ACCESS_KEY_EXTRA, TOKEN_ID_EXTRA } from '../../../api/names.ts'
import { fieldsOf, isAbsent, isMap, type JsonMap, stringOf, stringsOf } from '../../json/json.ts'
import { formatMicroTime, parseTimestamp } from '../../time.ts'
import { hiddenKindOf } from '../bodies/hidden-kinds.ts'
import { recordedStatus } from '../bodies/status.ts'
import { cutMembers } from '../cut-json.ts'
import { API_VERSION } from '../event-list.ts'
import type { AuditEvent, EventObject, EventUser, ResponseStatus } from '../event.ts'
import { mayNameProxy, recordedUserAgent } from '../client-texts.ts'
import { hideCredentials, hideCredentialsInUri } from '../../redaction/credentials.ts'
import { AUDIT_STAGES, type AuditLevel, type AuditedRequest } from '../policy.ts'
import { agentAnnotations } from './agent-annotations.ts'
import { EVENT_LEVELS, eventFault } from './event-faults.ts'

/** Where an event came from, and when. */
export interface AgentSource {
  /** The cluster of the path that it was sent to. */
  readonly cluster: string
  /** In epoch milliseconds. */
  readonly arrivedMs: number
}

/** A body as the agent sent it. */
export interface SentBody {
  /** It may be no valid JSON. */
  readonly json: string
  /** The code of the answer whose body it is; null = it is the body of the request. */
  readonly code: number | null
}

/** An event without its bodies, which are recorded besides; null = it has none, or its level asks for none. */
export interface AgentEvent {
  readonly event: AuditEvent
  /** When the stage was reached, in epoch milliseconds. */
  readonly stageTimeMs: number
  /** The request as bodies are hidden by. */
  readonly request: AuditedRequest
  readonly requestBody: SentBody | null
  readonly responseBody: SentBody | null
}

/** The event, or its fault as a clause that quotes nothing of it. */
type ReadAgentEvent = AgentEvent | { readonly fault: string }

/** The most characters of an event besides its bodies: more than all that a head of 16 KiB can make of it. */
const LONGEST_EVENT = 128 * 1024

/** How far the clock of an agent may be ahead: an event of the far future would stay in the data store for ever. */
const MOST_AHEAD_MS = 24 * 60 * 60 * 1000

const BODIES: ReadonlySet<string> = new Set(['requestObject', 'responseObject'])

/** Reads an event of an agent. @param json an element of its list, which may be no valid JSON */
export function agentEventOf(json: string, { cluster, arrivedMs }: AgentSource): ReadAgentEvent {
  const cut = cutMembers(json, BODIES, LONGEST_EVENT)
  if (cut === null)
    return {
      fault: `it is not a JSON object of at most ${LONGEST_EVENT} characters besides bodies`,
    }
  const { rest, parts } = cut
  const fault = eventFault(rest, arrivedMs + MOST_AHEAD_MS)
  if (fault !== null) return { fault }
  const annotations = agentAnnotations(rest['annotations'], cluster)
  const level = EVENT_LEVELS.find((one) => one === rest['level']) ?? 'Metadata'
  const request = requestOf(rest)
  const isRefusal = annotations['platform.sh/decision'] === 'deny'
  const responseStatus = statusOf(rest, { level, request, isRefusal })
  return {
    event: {
      ...factsOf(rest),
      level,
      ...(responseStatus === null ? {} : { responseStatus }),
      annotations,
    },
    stageTimeMs: parseTimestamp(rest['stageTimestamp']) ?? arrivedMs,
    request,
    requestBody: level === 'Metadata' ? null : bodyOf(parts.get('requestObject'), null),
    responseBody:
      level === 'RequestResponse'
        ? bodyOf(parts.get('responseObject'), responseStatus?.code ?? 0)
        : null,
  }
}

const bodyOf = (json: string | undefined, code: number | null): SentBody | null =>
  json === undefined || json === 'null' ? null : { json, code }

/** The parts of an event that are taken over one by one. */
type Facts = Omit<AuditEvent, 'level' | 'responseStatus' | 'annotations'>

function factsOf(event: JsonMap): Facts {
  const objectRef = objectOf(event['objectRef'])
  const userAgent = stringOf(event['userAgent'])
  const [address] = stringsOf(event['sourceIPs']) ?? []
  return {
    kind: 'Event',
    apiVersion: API_VERSION,
    auditID: textIn(event, 'auditID'),
    stage: AUDIT_STAGES.find((one) => one === event['stage']) ?? 'ResponseComplete',
    requestURI: uriOf(event, objectRef),
    verb: hideCredentials(textIn(event, 'verb')),
    user: userOf(event['user']),
    ...(address === undefined ? {} : { sourceIPs: [hideCredentials(address)] }),
    ...(userAgent === undefined ? {} : { userAgent: recordedUserAgent(userAgent) }),
    ...(objectRef === null ? {} : { objectRef }),
    requestReceivedTimestamp: microTime(textIn(event, 'requestReceivedTimestamp')),
    stageTimestamp: microTime(textIn(event, 'stageTimestamp')),
  }
}

const textIn = (map: unknown, name: string): string => stringOf(fieldsOf(map)[name]) ?? ''

/** The request-target, without the query that a workload behind `proxy` gets (contract 21.4). */
function uriOf(event: JsonMap, objectRef: EventObject | null): string {
  const uri = textIn(event, 'requestURI')
  const path = uri.replace(/\?.*$/s, '')
  const isOfWorkload = objectRef === null ? mayNameProxy(path) : objectRef.subresource === 'proxy'
  return hideCredentialsInUri(isOfWorkload ? path : uri)
}

const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** UTC with six decimals. */
const microTime = (text: string): string =>
  MICRO_TIME.test(text) ? text : formatMicroTime(parseTimestamp(text) ?? 0)

/** The extras of callers, but for the scope (contract 21.3). */
const EXTRAS = [ACCESS_KEY_EXTRA, TOKEN_ID_EXTRA]

function userOf(sent: unknown): EventUser {
  const { groups, extra } = fieldsOf(sent)
  const hidden = (list: unknown): readonly string[] => (stringsOf(list) ?? []).map(hideCredentials)
  const extras = EXTRAS.filter((name) => !isAbsent(fieldsOf(extra)[name])).map(
    (name) => [name, hidden(fieldsOf(extra)[name])] as const,
  )
  return {
    username: hideCredentials(textIn(sent, 'username')),
    groups: hidden(groups),
    ...(extras.length === 0 ? {} : { extra: Object.fromEntries(extras) }),
  }
}

/** null = a request for another path than a resource. */
function objectOf(sent: unknown): EventObject | null {
  if (isAbsent(sent)) return null
  const text = (name: string): string => hideCredentials(textIn(sent, name))
  const named = (name: 'namespace' | 'name' | 'apiGroup' | 'subresource') =>
    text(name) === '' ? {} : { [name]: text(name) }
  return {
    resource: text('resource'),
    ...named('namespace'),
    ...named('name'),
    ...named('apiGroup'),
    apiVersion: text('apiVersion'),
    ...named('subresource'),
  }
}

/** The request as its agent judged it, as far as bodies are hidden by it. */
function requestOf(event: JsonMap): AuditedRequest {
  const verb = textIn(event, 'verb')
  const sent = event['objectRef']
  if (isAbsent(sent)) return { target: null, verb, path: textIn(event, 'requestURI') }
  return {
    target: null,
    verb,
    group: textIn(sent, 'apiGroup'),
    version: textIn(sent, 'apiVersion'),
    resource: textIn(sent, 'resource'),
    subresource: textIn(sent, 'subresource'),
    namespace: textIn(sent, 'namespace'),
    name: textIn(sent, 'name'),
  }
}

/** What decides how much of a failure is recorded. */
interface StatusContext {
  readonly level: AuditLevel
  readonly request: AuditedRequest
  /** Whether the agent says that it refused the request itself. */
  readonly isRefusal: boolean
}

/** null = the event has none. The agent's word about a message is not enough for kinds that hold credentials. */
function statusOf(
  event: JsonMap,
  { level, request, isRefusal }: StatusContext,
): ResponseStatus | null {
  const status = event['responseStatus']
  if (!isMap(status)) return null
  const isOurs = isRefusal && hiddenKindOf(request) === null
  return recordedStatus(status, { code: Number(status['code']), isOurs, level, request })
}
