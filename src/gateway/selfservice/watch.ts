// Watches of keys, tokens and Configs: event by event, as lists are (contract 12.1, 12.3, 12.4).
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
import type { Answer, WholeAnswer } from '../../serving/http/answer.ts'
import { type RunsAs, clientHeaders } from '../proxy/forward.ts'
import { objectIn, objectsIn, redactedAnswer } from '../redaction/redact.ts'
import { type Query, parameter, pick } from '../request/path-and-query.ts'
import { pagesOf } from './list-pages.ts'
import type { SelfServiceRequest } from './request.ts'
import { type UpstreamReply, answerOf, headersOf, shaped } from './response.ts'
import { open, readReply, replyOf } from './upstream-client.ts'
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

const WATCHES = [
  'resourceVersion',
  'resourceVersionMatch',
  'allowWatchBookmarks',
  'sendInitialEvents',
]

/** The answer to a watch. Its events end when the API server ends them. */
export async function watch(request: SelfServiceRequest): Promise<Answer> {
  const isSettings = request.info.resource === CONFIGS
  const all = await opened(request, 'all', isSettings ? 'gateway' : { caller: request.caller })
  if (!all.ok) return refusedAs(request, replyOf(all.answer))
  if (all.answer.status !== 403 || !hasOwn(request)) return answered(request, 'all', all.answer)
  all.answer.body.destroy()
  const own = await opened(request, 'own', 'gateway')
  return own.ok ? answered(request, 'own', own.answer) : refusedAs(request, replyOf(own.answer))
}

type OpenedWatch =
  | { readonly ok: true; readonly answer: UpstreamAnswer }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** A watch that the gateway filters is admitted until its stream ends. */
async function opened(
  request: SelfServiceRequest,
  selection: Selection,
  as: RunsAs,
): Promise<OpenedWatch> {
  const admission = admitted(request, selection, 'filteredWatch')
  if (!admission.ok) return admission
  const { info, form } = request
  const query = watching(request, selection)
  try {
    const answer = await open(request, {
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

const refusedAs = (request: SelfServiceRequest, refusal: UpstreamReply): Answer =>
  answerOf(request, refusal, { shows: shownTo(request), secrets: [] })

/** The client's answer to a watch that the API server answered. */
async function answered(
  request: SelfServiceRequest,
  selection: Selection,
  answer: UpstreamAnswer,
): Promise<Answer> {
  const known = await knownBefore(request, selection, answer).catch((error: unknown) => {
    answer.body.destroy()
    throw error
  })
  if (known.refusal !== null) {
    answer.body.destroy()
    return refusedAs(request, known.refusal)
  }
  // The lists that `knownBefore` read are garbage by now.
  request.reservation.exactly(0)
  const toLine = eventWriter(request, selection, known.uids)
  const events = Readable.from(eventsThrough(request, answer.body, toLine), { objectMode: false })
  // A silent watch gives the generator no occasion to end it.
  events.once('close', () => answer.body.destroy())
  const headers = headersOf(clientHeaders(answer.headers), 'application/json')
  return { status: 200, headers, body: events }
}

const watching = (request: SelfServiceRequest, selection: Selection): Query => [
  ['watch', 'true'],
  ...selectorsFor(request, selection),
  ...pick(request.query, WATCHES),
]

/**
 * The uids in the list from which a client continues, where the gateway filters: when one of them is visible no
 * longer, the client gets a DELETED event. Or the refusal of the watch.
 */
async function knownBefore(
  request: SelfServiceRequest,
  selection: Selection,
  answer: UpstreamAnswer,
): Promise<{ readonly refusal: UpstreamReply | null; readonly uids: Set<string> | null }> {
  if (answer.status !== 200)
    return { refusal: await readReply(answer, request.reservation.atLeast), uids: null }
  if (!isFiltered(request, selection)) return { refusal: null, uids: null }
  const version = parameter(request.query, 'resourceVersion')
  const tellsAll = parameter(request.query, 'sendInitialEvents') === 'true'
  if (tellsAll || version === '' || version === '0') return { refusal: null, uids: new Set() }
  const then: Query = [
    ['resourceVersion', version],
    ['resourceVersionMatch', 'Exact'],
  ]
  const selectors = pick(request.query, ['labelSelector', 'fieldSelector'])
  const uids = new Set<string>()
  for await (const { reply } of pagesOf(
    { ...request, query: [...selectors, ...then] },
    selection,
  )) {
    if (reply.status !== 200) return { refusal: reply, uids: null }
    for (const object of objectsIn(reply.json)) uids.add(uidOf(object))
  }
  return { refusal: null, uids }
}

const uidOf = (object: JsonMap): string => nestedString(object, ['metadata', 'uid'])

/**
 * Writes an upstream event as the client's line; null = the client gets none. `known` is null where every object
 * of an event is visible.
 */
function eventWriter(
  request: SelfServiceRequest,
  selection: Selection,
  known: Set<string> | null,
): (line: JsonMap) => Buffer | null {
  const { info, form, include } = request
  const isInView = isSelected(request, selection)
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
    const event = clientEvent(line, isInView, known)
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
  isInView: (object: JsonMap) => boolean,
  known: Set<string> | null,
): { readonly type: string; readonly object: JsonMap } | null {
  const type = nestedString(line, ['type'])
  const sent = nestedMap(line, ['object'])
  if (type === 'ERROR' || type === 'BOOKMARK') return { type, object: sent }
  if (!OBJECT_EVENTS.has(type)) return null
  const object = objectIn(sent)
  const isVisible = isInView(object)
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
 * The type of an event for a client that sees a part of the objects: an object that becomes visible is ADDED, one
 * that is visible no longer is DELETED. null = no event. `known` holds the uids that the client has seen; updated here.
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

/** The object of such a DELETED event: its name and uid only, which the client has seen before. */
export function withoutContent(sent: JsonMap): JsonMap {
  const rows = nestedField(sent, ['rows'])
  if (nestedString(sent, ['kind']) !== 'Table' || !Array.isArray(rows)) return bare(sent)
  return setNestedField(sent, ['rows'], rows.map(bareRow))
}

function bareRow(row: Json): Json {
  const cells = nestedField(row, ['cells'])
  const object = nestedField(row, ['object']) as JsonMap
  const [name = '', ...others] = Array.isArray(cells) ? (cells as readonly Json[]) : []
  return { cells: [name, ...others.map(() => null)], object: bare(object) }
}

function bare(object: JsonMap): JsonMap {
  const names = ['name', 'uid', 'resourceVersion', 'creationTimestamp']
  const metadata = names.reduce<JsonMap>(
    (kept, name) => setNestedField(kept, [name], nestedField(object, ['metadata', name])),
    {},
  )
  const { kind = '', apiVersion = '' } = object
  return { kind, apiVersion, metadata, spec: {} }
}
