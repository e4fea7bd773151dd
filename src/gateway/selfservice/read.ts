// Reads of objects of management.platform.sh (contract 9.3, 12.1, 12.3).
import { Readable } from 'node:stream'
import { CONFIGS } from '../../api/names.ts'
import { nestedMap } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { secretsIn } from '../../domain/redaction/fields.ts'
import { entriesOf, objectIn, placeOf, redactedAnswer } from '../../domain/redaction/redact.ts'
import { type ReplyPage, pagesOf } from './list-pages.ts'
import type { SelfServiceRequest } from './request.ts'
import { type Disclosure, type Form, answerOf, headersOf, shaped } from './response.ts'
import { type UpstreamRequest, sendAndRead } from './upstream-client.ts'
import { hasOwn, isOwn, isOwnUser, isVisible, notFound, shownTo } from './visibility.ts'

/** Answers a get of one object. */
export async function get(request: SelfServiceRequest): Promise<Answer> {
  const { info, caller } = request
  const reply = await sendAndRead(request, getRequest(request, 'gateway'))
  const shows = shownTo(request)
  const object = objectIn(reply.json)
  const secrets = secretsIn(info.resource, object)
  if (reply.status === 404) return notFound(request.info)
  if (reply.status !== 200) return answerOf(request, reply, { shows, secrets })
  if (!isVisible(request, object)) return notFound(request.info)
  if (info.resource === CONFIGS || isOwn(request, object) || isOwnUser(request, object))
    return answerOf(request, reply, { shows, secrets })
  const asCaller = await sendAndRead(request, getRequest(request, { caller }))
  if (REFUSED_OR_GONE.has(asCaller.status)) return notFound(request.info)
  // The name may belong to another object by now.
  if (asCaller.status === 200 && !isVisible(request, objectIn(asCaller.json)))
    return notFound(request.info)
  return answerOf(request, asCaller, { shows, secrets })
}

/** Without RBAC's grant, the answer is the same as for an object that does not exist (contract 12.1). */
const REFUSED_OR_GONE: ReadonlySet<number> = new Set([403, 404])

/** The request for one object. A get of status returns the whole object too, but RBAC may grant it without get. */
function getRequest({ info, form }: SelfServiceRequest, as: RunsAs): UpstreamRequest {
  const { resource, name, isStatus } = info
  const subresource = isStatus && as !== 'gateway' ? ({ subresource: 'status' } as const) : {}
  return { as, method: 'GET', resource, name, ...subresource, query: [], form }
}

/** Lists the objects that RBAC shows the caller; if RBAC refuses the list, the caller's own (contract 12.1). */
export async function list(request: SelfServiceRequest): Promise<Answer> {
  const all = await startedList(pagesOf(request, 'all'))
  const isRefused = all.first.reply.status === 403 && hasOwn(request)
  const pages = isRefused ? await startedList(pagesOf(request, 'own')) : all
  return listAnswer(request, pages, { shows: shownTo(request), secrets: [] })
}

// A list is streamed page by page: the next page is read when the client has taken the one before (contract 12.2, 13.3).
// The metadata of the list comes last, because the last page has the continue token.

/** A list with its first page. */
interface StartedList {
  readonly first: ReplyPage
  readonly others: AsyncIterator<ReplyPage, void>
}

/** Reads the first page of a list. @throws as `pagesOf` does */
async function startedList(pages: AsyncIterator<ReplyPage, void>): Promise<StartedList> {
  const { value } = await pages.next()
  if (!value) throw new Error('a list has at least one page')
  return { first: value, others: pages }
}

/**
 * Answers a list of one page as a whole, and streams any other.
 *
 * @throws BufferFull when the memory limits have no room for the other pages
 */
function listAnswer(
  request: SelfServiceRequest,
  { first, others }: StartedList,
  shown: Disclosure,
): Answer {
  const { reservation, form } = request
  if (first.isLast) return answerOf(request, first.reply, shown)
  reservation.atLeast(reservation.pageBytes)
  const body = Readable.from(listBody(request, { first, others }, shown), { objectMode: false })
  const headers = headersOf(first.reply.headers, TYPES[form.encoding])
  return { status: first.reply.status, headers, body }
}

const TYPES: Readonly<Record<Form['encoding'], string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
}

/** Bytes that are yielded at a time: at most so many of a page are in memory without being counted. */
const PIECE_BYTES = 65_536

async function* listBody(
  request: SelfServiceRequest,
  { first, others }: StartedList,
  shown: Disclosure,
): AsyncGenerator<Buffer, void> {
  const { info, form, include, reservation } = request
  const writer = WRITERS[form.encoding]()
  let isFirst = true
  for (
    let page = first as ReplyPage | undefined;
    page;
    page = (await others.next()).value ?? undefined
  ) {
    // Half a list must not look like a whole one.
    if (page.reply.status !== first.reply.status) throw new Error('a list broke off')
    const clean = redactedAnswer(info.resource, page.reply.json, shown.shows, shown.secrets)
    const part = shaped(clean, form.shape, include)
    const text = [
      isFirst ? writer.head(part) : '',
      writer.entries(entriesOf(part)),
      page.isLast ? writer.end(nestedMap(part, ['metadata'])) : '',
    ].join('')
    isFirst = false
    const bytes = Buffer.from(text)
    reservation.exactly(Math.max(bytes.length, reservation.pageBytes))
    for (let from = 0; from < bytes.length; from += PIECE_BYTES)
      yield bytes.subarray(from, from + PIECE_BYTES)
  }
}

/** Writes a list part by part. */
interface Writer {
  /** The text before the entries. */
  readonly head: (first: JsonMap) => string
  readonly entries: (entries: readonly Json[]) => string
  readonly end: (metadata: JsonMap) => string
}

/** The members of a list without its entries and metadata. */
function envelopeOf(page: JsonMap): JsonMap {
  const { metadata: _, [placeOf(page)]: __, ...rest } = page
  return rest
}

function jsonWriter(): Writer {
  let separator = ''
  return {
    head: (first) => `${JSON.stringify(envelopeOf(first)).slice(0, -1)},"${placeOf(first)}":[`,
    entries: (entries) => {
      const texts = entries.map((entry) => JSON.stringify(entry))
      const text = texts.length === 0 ? '' : `${separator}${texts.join(',')}`
      if (texts.length > 0) separator = ','
      return text
    },
    end: (metadata) => `],"metadata":${JSON.stringify(metadata)}}\n`,
  }
}

function yamlWriter(): Writer {
  /** The name of the entries, before the first entry; empty after it. */
  let pendingName = ''
  return {
    head: (first) => {
      pendingName = placeOf(first)
      return formatYaml(envelopeOf(first))
    },
    entries: (entries) => {
      if (entries.length === 0) return ''
      const text = `${pendingName === '' ? '' : `${pendingName}:\n`}${formatYaml(entries)}`
      pendingName = ''
      return text
    },
    end: (metadata) =>
      `${pendingName === '' ? '' : `${pendingName}: []\n`}${formatYaml({ metadata })}`,
  }
}

const WRITERS: Readonly<Record<Form['encoding'], () => Writer>> = {
  json: jsonWriter,
  yaml: yamlWriter,
}
