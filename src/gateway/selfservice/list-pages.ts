// Lists of our kinds, read page by page: one page is in memory, however many and large the objects are
// (contract 12.2, 13.3).
import { CONFIGS } from '../../api/names.ts'
import { nestedString, setNestedField } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { createSemaphore } from '../../runtime/concurrency/limited-concurrency.ts'
import { refuse } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { entriesOf, joined, keeping } from '../redaction/redact.ts'
import { type Query, parameter, pick } from '../request/path-and-query.ts'
import { MAX_IN_TOTAL, MAX_PER_KEY } from '../stages/max-in-flight.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import type { SelfServiceRequest } from './request.ts'
import type { UpstreamReply } from './response.ts'
import { type UpstreamQuery, open, readReply, replyOf } from './upstream-client.ts'
import { type Selection, admitted, isFiltered, isSelected, selectorsFor } from './visibility.ts'

/** A part of a list, or the refusal of all of it. */
export interface ReplyPage {
  /** Has only the objects that the request is about. */
  readonly reply: UpstreamReply
  /** The length of the API server's answer. */
  readonly bytes: number
  readonly isLast: boolean
}

/** Objects in a page: to read as many takes the event loop some milliseconds. */
const MOST_OBJECTS = 100

/** Filtered lists share it page by page: a client that reads slowly holds no permit. */
const filteredListSemaphore = createSemaphore(MAX_IN_TOTAL.filteredList, MAX_PER_KEY.filteredList)

/**
 * The objects that a request is about, page by page. A filtered list has all of them: its token to continue
 * would name the last object read, which may be another user's.
 *
 * @param beside bytes of former pages that are still in memory
 * @throws NoRoom, and as `ask` does
 */
export async function* pagesOf(
  request: SelfServiceRequest,
  selection: Selection,
  beside: () => number = () => 0,
): AsyncGenerator<ReplyPage, void> {
  const isFilteredHere = isFiltered(request, selection)
  if (isFilteredHere && parameter(request.query, 'continue') !== '') {
    yield { reply: EXPIRED, bytes: 0, isLast: true }
    return
  }
  const admission = admitted(request, selection, 'filteredList')
  if (!admission.ok) {
    yield { reply: replyOf(admission.answer), bytes: 0, isLast: true }
    return
  }
  const reading = new Reading(request, selection, isFilteredHere)
  try {
    for (let page = null as ReplyPage | null; page?.isLast !== true; ) {
      page = await reading.next(beside())
      admission.release()
      yield page
    }
  } finally {
    admission.release()
  }
}

/** Clients then list again from the beginning. */
const EXPIRED: UpstreamReply = replyOf(refuse(SELF_SERVICE_ERRORS.listHasNoPages))

const VERSIONS = ['resourceVersion', 'resourceVersionMatch']

/** No page of a filtered list has a token to continue, or how many objects of all users are left. */
const withoutNext = (json: JsonMap): JsonMap =>
  ['continue', 'remainingItemCount'].reduce(
    (whole, name) => setNestedField(whole, ['metadata', name], undefined),
    json,
  )

/** A page is too long: the next try asks for fewer objects. */
class TooLong extends Error {}

/** How far a list has been read. */
class Reading {
  readonly #request: SelfServiceRequest
  readonly #isFilteredHere: boolean
  readonly #as: RunsAs
  readonly #selected: Query
  readonly #isKept: (object: JsonMap) => boolean
  /** Objects in a page. */
  #most = MOST_OBJECTS
  /** Objects that the client still wants. */
  #left: number
  #versions: Query
  #next: string
  #isFirst = true

  constructor(request: SelfServiceRequest, selection: Selection, isFilteredHere: boolean) {
    const { info, query, caller } = request
    const limit = Number(parameter(query, 'limit'))
    this.#request = request
    this.#isFilteredHere = isFilteredHere
    this.#as = selection === 'own' || info.resource === CONFIGS ? 'gateway' : { caller }
    this.#selected = selectorsFor(request, selection)
    this.#isKept = isSelected(request, selection)
    this.#left = isFilteredHere || !(limit > 0) ? Number.POSITIVE_INFINITY : limit
    this.#versions = versionsIn(query)
    this.#next = isFilteredHere ? '' : parameter(query, 'continue')
  }

  async next(beside: number): Promise<ReplyPage> {
    for (;;) {
      const read = (): Promise<ReplyPage> => this.#read(beside)
      try {
        return await (this.#isFilteredHere
          ? filteredListSemaphore(this.#request.caller.key.uid, read)
          : read())
      } catch (error) {
        if (!(error instanceof TooLong)) throw error
        this.#most = Math.ceil(this.#most / 4)
      }
    }
  }

  async #read(beside: number): Promise<ReplyPage> {
    const { reservation } = this.#request
    const limit = Math.min(this.#most, this.#left)
    // An answer that has begun keeps its room to the end.
    const least = this.#isFirst ? 0 : reservation.pageBytes
    let bytes = 0
    const reply = await readReply(await open(this.#request, this.#question(limit)), (came) => {
      bytes = came
      if (came > reservation.pageBytes && limit > 1) throw new TooLong()
      reservation.exactly(Math.max(beside + came, least))
    })
    if (reply.status !== 200) return { reply, bytes, isLast: true }
    this.#isFirst = false
    this.#versions = []
    this.#next = nestedString(reply.json, ['metadata', 'continue'])
    this.#left -= entriesOf(reply.json).length
    // Small objects allow longer pages again.
    if (bytes * 4 < reservation.pageBytes) this.#most = Math.min(this.#most * 2, MOST_OBJECTS)
    const isLast = this.#next === '' || this.#left <= 0
    const kept = keeping(reply.json, this.#isKept)
    const json = this.#isFilteredHere ? withoutNext(kept) : kept
    return { reply: { ...reply, json }, bytes, isLast }
  }

  #question(limit: number): UpstreamQuery {
    const { info, form } = this.#request
    const page = [
      ['limit', String(limit)] as const,
      ...(this.#next === '' ? [] : [['continue', this.#next] as const]),
    ]
    const query = [...this.#selected, ...this.#versions, ...page]
    return { as: this.#as, method: 'GET', resource: info.resource, query, form }
  }
}

/**
 * The version of a list. For any version (0) the API server ignores the limit, so the list asks for the
 * latest, which comes in pages.
 */
function versionsIn(query: Query): Query {
  const isAny =
    parameter(query, 'resourceVersion') === '0' &&
    ['', 'NotOlderThan'].includes(parameter(query, 'resourceVersionMatch'))
  return isAny ? [] : pick(query, VERSIONS)
}

/** All objects that a request is about, in one reply. @throws as `pagesOf` does */
export async function listed(
  request: SelfServiceRequest,
  selection: Selection,
): Promise<UpstreamReply> {
  const kept: JsonMap[] = []
  let bytes = 0
  for await (const page of pagesOf(request, selection, () => bytes)) {
    if (page.reply.status !== 200) return page.reply
    bytes += page.bytes
    kept.push(page.reply.json)
    const [first, ...others] = kept
    if (page.isLast && first) return { ...page.reply, json: joined(first, others) }
  }
  throw new Error('a list has a last page')
}
