// Watches of objects of management.platform.sh: events are filtered and redacted like the objects of a list (contract 12.1,
// 12.3, 12.4).
import { Readable, finished } from 'node:stream'
import { CONFIGS } from '../../api/names.ts'
import {
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isMap } from '../../domain/json/json.ts'
import type { UpstreamAnswer } from '../../kube/proxy/types.ts'
import type { Answer, BufferedAnswer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { clientHeaders } from '../proxy/response-headers.ts'
import { objectIn, objectsIn, redactedAnswer } from '../../domain/redaction/redact.ts'
import { type Query, parameter, pick } from '../request/path-and-query.ts'
import { pagesOf } from './list-pages.ts'
import type { SelfServiceRequest } from './request.ts'
import { type UpstreamReply, answerOf, headersOf, shaped } from './response.ts'
import { sendRequest, readReply, replyOf } from './upstream-client.ts'
import {
  type Selection,
  admitted,
  hasOwn,
  isFiltered,
  isSelected,
  selectorsFor,
  shownTo,
} from './visibility.ts'
import { eventsThrough } from './watch-events.ts'

const WATCH_PARAMETERS = [
  'resourceVersion',
  'resourceVersionMatch',
  'allowWatchBookmarks',
  'sendInitialEvents',
]

/** Answers a watch. Its events end when the API server ends them. */
export async function watch(request: SelfServiceRequest): Promise<Answer> {
  const isConfig = request.info.resource === CONFIGS
  const all = await openWatch(request, 'all', isConfig ? 'gateway' : { caller: request.caller })
  if (!all.ok) return refusalAnswer(request, replyOf(all.answer))
  if (all.answer.status !== 403 || !hasOwn(request)) return watchAnswer(request, 'all', all.answer)
  all.answer.body.destroy()
  const own = await openWatch(request, 'own', 'gateway')
  return own.ok
    ? watchAnswer(request, 'own', own.answer)
    : refusalAnswer(request, replyOf(own.answer))
}

type OpenedWatch =
  | { readonly ok: true; readonly answer: UpstreamAnswer }
  | { readonly ok: false; readonly answer: BufferedAnswer }

/** Opens a watch at the API server. If the gateway filters it, it counts against the limits until its stream ends. */
async function openWatch(
  request: SelfServiceRequest,
  selection: Selection,
  as: RunsAs,
): Promise<OpenedWatch> {
  const admission = admitted(request, selection, 'filteredWatch')
  if (!admission.ok) return admission
  const { info, form } = request
  const query = watchQuery(request, selection)
  try {
    const answer = await sendRequest(request, {
      as,
      method: 'GET',
      resource: info.resource,
      query,
      form,
      isWatch: true,
    })
    finished(answer.body, admission.release)
    return { ok: true, answer }
  } catch (error) {
    admission.release()
    throw error
  }
}

const refusalAnswer = (request: SelfServiceRequest, refusal: UpstreamReply): Answer =>
  answerOf(request, refusal, { shows: shownTo(request), secrets: [] })

/** The client's answer to a watch that the API server answered. */
async function watchAnswer(
  request: SelfServiceRequest,
  selection: Selection,
  answer: UpstreamAnswer,
): Promise<Answer> {
  const known = await uidsAtStart(request, selection, answer).catch((error: unknown) => {
    answer.body.destroy()
    throw error
  })
  if (known.refusal !== null) {
    answer.body.destroy()
    return refusalAnswer(request, known.refusal)
  }
  // The lists that `uidsAtStart` has read are not in memory any more.
  request.reservation.exactly(0)
  const toLine = eventWriter(request, selection, known.uids)
  const lines = eventsThrough(request, answer.body, toLine, (error) => void events.destroy(error))
  const events: Readable = Readable.from(lines, { objectMode: false })
  // Without events, the generator does not run and can't end the upstream watch.
  events.once('close', () => answer.body.destroy())
  const headers = headersOf(clientHeaders(answer.headers), 'application/json')
  return { status: 200, headers, body: events }
}

const watchQuery = (request: SelfServiceRequest, selection: Selection): Query => [
  ['watch', 'true'],
  ...selectorsFor(request, selection),
  ...pick(request.query, WATCH_PARAMETERS),
]

/**
 * The uids in the list from which the client continues a filtered watch: when one of these objects is not visible any
 * more, the client gets a DELETED event. null = the gateway does not filter. Or the refusal of the watch.
 */
async function uidsAtStart(
  request: SelfServiceRequest,
  selection: Selection,
  answer: UpstreamAnswer,
): Promise<{ readonly refusal: UpstreamReply | null; readonly uids: Set<string> | null }> {
  if (answer.status !== 200)
    return { refusal: await readReply(answer, request.reservation.atLeast), uids: null }
  if (!isFiltered(request, selection)) return { refusal: null, uids: null }
  const version = parameter(request.query, 'resourceVersion')
  const sendsInitialEvents = parameter(request.query, 'sendInitialEvents') === 'true'
  if (sendsInitialEvents || version === '' || version === '0')
    return { refusal: null, uids: new Set() }
  const exactVersion: Query = [
    ['resourceVersion', version],
    ['resourceVersionMatch', 'Exact'],
  ]
  const selectors = pick(request.query, ['labelSelector', 'fieldSelector'])
  const uids = new Set<string>()
  for await (const { reply } of pagesOf(
    { ...request, query: [...selectors, ...exactVersion] },
    selection,
  )) {
    if (reply.status !== 200) return { refusal: reply, uids: null }
    for (const object of objectsIn(reply.json)) uids.add(uidOf(object))
  }
  return { refusal: null, uids }
}

const uidOf = (object: JsonMap): string => nestedString(object, ['metadata', 'uid'])

/**
 * Creates the function that turns an upstream event into the client's line; null = the client gets none. `known` is
 * null if every object of an event is visible.
 */
function eventWriter(
  request: SelfServiceRequest,
  selection: Selection,
  known: Set<string> | null,
): (line: JsonMap) => Buffer | null {
  const { info, form, include } = request
  const isInSelection = isSelected(request, selection)
  const shown = shownTo(request)
  let columns: JsonMap | null = null
  let isFirst = true
  return (line) => {
    if (!isMap(line['object'])) return null
    columns ??= setNestedField(
      {},
      ['columnDefinitions'],
      nestedField(line['object'], ['columnDefinitions']),
    )
    const event = clientEvent(line, isInSelection, known)
    if (event === null) return null
    const clean = redactedAnswer(info.resource, event.object, shown, [])
    const object = shaped(clean, form.shape, include)
    // A Table has its columns in the first event only, which the filter may have dropped.
    const whole =
      isFirst && nestedString(object, ['kind']) === 'Table' ? { ...object, ...columns } : object
    isFirst = false
    return Buffer.from(`${JSON.stringify({ type: event.type, object: whole })}\n`)
  }
}

const OBJECT_EVENTS: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED'])

/** The client's event for an upstream one; null = none. */
function clientEvent(
  line: JsonMap,
  isInSelection: (object: JsonMap) => boolean,
  known: Set<string> | null,
): { readonly type: string; readonly object: JsonMap } | null {
  const type = nestedString(line, ['type'])
  const sent = nestedMap(line, ['object'])
  if (type === 'ERROR' || type === 'BOOKMARK') return { type, object: sent }
  if (!OBJECT_EVENTS.has(type)) return null
  const object = objectIn(sent)
  const isVisible = isInSelection(object)
  if (known === null) return isVisible ? { type, object: sent } : null
  const clientType = clientEventType(known, type as ObjectEventType, uidOf(object), isVisible)
  if (clientType === null) return null
  const isLeaving = clientType === 'DELETED' && !isVisible
  return { type: clientType, object: isLeaving ? withoutContent(sent) : sent }
}

// Watches of a client that may see a part of the objects.

/** The types of events that are about an object. */
type ObjectEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/**
 * The type of an event for a client that sees a part of the objects: ADDED if the object becomes visible, DELETED if it
 * is not visible any more; null = no event. `known` has the uids that the client has seen, and is updated.
 */
export function clientEventType(
  known: Set<string>,
  type: ObjectEventType,
  uid: string,
  isVisible: boolean,
): ObjectEventType | null {
  const wasKnown = known.has(uid)
  if (type === 'DELETED' || !isVisible) return known.delete(uid) ? 'DELETED' : null
  known.add(uid)
  return wasKnown ? 'MODIFIED' : 'ADDED'
}

/** The object of a DELETED event that is not visible any more: only metadata that the client has seen before. */
export function withoutContent(sent: JsonMap): JsonMap {
  const rows = nestedField(sent, ['rows'])
  if (nestedString(sent, ['kind']) !== 'Table' || !Array.isArray(rows)) return metadataOnly(sent)
  return setNestedField(sent, ['rows'], rows.map(rowWithoutContent))
}

function rowWithoutContent(row: Json): Json {
  const cells = nestedField(row, ['cells'])
  const object = nestedField(row, ['object']) as JsonMap
  const [name = '', ...others] = Array.isArray(cells) ? (cells as readonly Json[]) : []
  return { cells: [name, ...others.map(() => null)], object: metadataOnly(object) }
}

function metadataOnly(object: JsonMap): JsonMap {
  const names = ['name', 'uid', 'resourceVersion', 'creationTimestamp']
  const metadata = names.reduce<JsonMap>(
    (kept, name) => setNestedField(kept, [name], nestedField(object, ['metadata', name])),
    {},
  )
  const { kind = '', apiVersion = '' } = object
  return { kind, apiVersion, metadata, spec: {} }
}
