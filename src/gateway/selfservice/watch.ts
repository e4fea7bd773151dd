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
import type { RunsAs } from '../proxy/forward.ts'
import { clientHeaders } from '../proxy/headers.ts'
import { objectIn, objectsIn } from '../redaction/objects.ts'
import { redactedAnswer } from '../redaction/redact.ts'
import type { Query } from '../request/query.ts'
import { pagesOf } from './list-pages.ts'
import { showsTo } from './read.ts'
import {
  type SelfServiceRequest,
  type UpstreamReply,
  answerOf,
  headersOf,
  open,
  parameter,
  pick,
  readReply,
  replyOf,
} from './request.ts'
import { shaped } from './response.ts'
import { type Whose, admitted, hasOwn, isFiltered, isListed, selecting } from './visibility.ts'
import { eventsThrough } from './watch-events.ts'

const WATCHES = [
  'resourceVersion',
  'resourceVersionMatch',
  'allowWatchBookmarks',
  'sendInitialEvents',
]

/** The answer to a watch. Its events end when the API server ends them. */
export async function watch(exchange: SelfServiceRequest): Promise<Answer> {
  const isSettings = exchange.asked.resource === CONFIGS
  const all = await opened(exchange, 'all', isSettings ? 'gateway' : { caller: exchange.caller })
  if (!all.ok) return refusedAs(exchange, replyOf(all.answer))
  if (all.answer.status !== 403 || !hasOwn(exchange)) return answered(exchange, 'all', all.answer)
  all.answer.body.destroy()
  const own = await opened(exchange, 'own', 'gateway')
  return own.ok ? answered(exchange, 'own', own.answer) : refusedAs(exchange, replyOf(own.answer))
}

type Opened =
  | { readonly ok: true; readonly answer: UpstreamAnswer }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Where it is filtered here, it has its place until nothing more comes of it. */
async function opened(exchange: SelfServiceRequest, whose: Whose, as: RunsAs): Promise<Opened> {
  const admission = admitted(exchange, whose, 'filteredWatch')
  if (!admission.ok) return admission
  const { asked, form } = exchange
  const query = watching(exchange, whose)
  try {
    const answer = await open(exchange, {
      as,
      method: 'GET',
      resource: asked.resource,
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

const refusedAs = (exchange: SelfServiceRequest, refusal: UpstreamReply): Answer =>
  answerOf(exchange, refusal, { shows: showsTo(exchange), secrets: [] })

/** What the client is told of what the API server answered. */
async function answered(
  exchange: SelfServiceRequest,
  whose: Whose,
  answer: UpstreamAnswer,
): Promise<Answer> {
  const known = await knownBefore(exchange, whose, answer).catch((error: unknown) => {
    answer.body.destroy()
    throw error
  })
  if (known.refusal !== null) {
    answer.body.destroy()
    return refusedAs(exchange, known.refusal)
  }
  // What it knew of before was read from lists, which are here no more.
  exchange.held.exactly(0)
  const telling = tellingOf(exchange, whose, known.uids)
  const events = Readable.from(eventsThrough(exchange, answer.body, telling), { objectMode: false })
  // A silent watch gives the generator no occasion to end it.
  events.once('close', () => answer.body.destroy())
  const headers = headersOf({ headers: clientHeaders(answer.headers) }, 'application/json')
  return { status: 200, headers, body: events }
}

const watching = (exchange: SelfServiceRequest, whose: Whose): Query => [
  ['watch', 'true'],
  ...selecting(exchange, whose),
  ...pick(exchange.query, WATCHES),
]

/**
 * What a client that goes on from a list knows of, as far as it matters: where events are filtered here, an
 * object that goes out of sight is told to whom it was in sight. The refusal where there is no such watch.
 */
async function knownBefore(
  exchange: SelfServiceRequest,
  whose: Whose,
  answer: UpstreamAnswer,
): Promise<{ readonly refusal: UpstreamReply | null; readonly uids: Set<string> | null }> {
  if (answer.status !== 200)
    return { refusal: await readReply(answer, exchange.held.atLeast), uids: null }
  if (!isFiltered(exchange, whose)) return { refusal: null, uids: null }
  const version = parameter(exchange.query, 'resourceVersion')
  const tellsAll = parameter(exchange.query, 'sendInitialEvents') === 'true'
  if (tellsAll || version === '' || version === '0') return { refusal: null, uids: new Set() }
  const then: Query = [
    ['resourceVersion', version],
    ['resourceVersionMatch', 'Exact'],
  ]
  const selectors = pick(exchange.query, ['labelSelector', 'fieldSelector'])
  const uids = new Set<string>()
  for await (const { reply } of pagesOf({ ...exchange, query: [...selectors, ...then] }, whose)) {
    if (reply.status !== 200) return { refusal: reply, uids: null }
    for (const object of objectsIn(reply.json)) uids.add(uidOf(object))
  }
  return { refusal: null, uids }
}

const uidOf = (object: JsonMap): string => nestedString(object, ['metadata', 'uid'])

/**
 * What a client is told of each event, as a line; null = nothing. `known` is null where every object that is
 * told of is in sight.
 */
function tellingOf(
  exchange: SelfServiceRequest,
  whose: Whose,
  known: Set<string> | null,
): (line: JsonMap) => Buffer | null {
  const { asked, form, include } = exchange
  const isInSight = isListed(exchange, whose)
  const shown = showsTo(exchange)
  let columns: JsonMap | null = null
  let isFirst = true
  return (line) => {
    if (!isMap(line['object'])) return null
    columns ??= setNestedField(
      {},
      ['columnDefinitions'],
      nestedField(line['object'], ['columnDefinitions']),
    )
    const event = toldOf(line, isInSight, known)
    if (event === null) return null
    const clean = redactedAnswer(asked.resource, event.object, shown, [])
    const object = shaped(clean, form.shape, include)
    // A Table says its columns in the first event, which this client may not have been told of.
    const whole =
      isFirst && nestedString(object, ['kind']) === 'Table' ? { ...object, ...columns } : object
    isFirst = false
    return Buffer.from(`${JSON.stringify({ type: event.type, object: whole })}\n`)
  }
}

const HAPPENINGS: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED'])

/** What a client is told of an event; null = nothing. */
function toldOf(
  line: JsonMap,
  isInSight: (object: JsonMap) => boolean,
  known: Set<string> | null,
): { readonly type: string; readonly object: JsonMap } | null {
  const type = nestedString(line, ['type'])
  const told = nestedMap(line, ['object'])
  if (type === 'ERROR' || type === 'BOOKMARK') return { type, object: told }
  if (!HAPPENINGS.has(type)) return null
  const object = objectIn(told)
  const isVisible = isInSight(object)
  if (known === null) return isVisible ? { type, object: told } : null
  const happening = seen(known, type as Happening, uidOf(object), isVisible)
  if (happening === null) return null
  const isGoing = happening === 'DELETED' && !isVisible
  return { type: happening, object: isGoing ? outOfSight(told) : told }
}

// What of a watch reaches a client that may see a part of the objects only.

/** The types of events that are about an object. */
export type Happening = 'ADDED' | 'MODIFIED' | 'DELETED'

/**
 * What an event is to somebody who sees only what is visible: objects come into sight and go out of it.
 * null = nothing. `known` holds the uids that he knows of, and is kept up to date.
 */
export function seen(
  known: Set<string>,
  type: Happening,
  uid: string,
  isVisible: boolean,
): Happening | null {
  const wasKnown = known.has(uid)
  if (type === 'DELETED' || !isVisible) return known.delete(uid) ? 'DELETED' : null
  known.add(uid)
  return wasKnown ? 'MODIFIED' : 'ADDED'
}

/** What is left to be said of an object that goes out of sight: nothing that he could not see before. */
export function outOfSight(told: JsonMap): JsonMap {
  const rows = nestedField(told, ['rows'])
  if (nestedString(told, ['kind']) !== 'Table' || !Array.isArray(rows)) return bare(told)
  return setNestedField(told, ['rows'], rows.map(bareRow))
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
