// Reads lists of our kinds page by page: only one page is in memory, however many and large the objects are (contract
// 12.2, 13.3).
import { CONFIGS } from '../../api/names.ts'
import { nestedString, setNestedField } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { entriesOf, filterObjects, joined } from '../../domain/redaction/redact.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import { refuse } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { parameter, pick, type Query } from '../request/path-and-query.ts'
import { inFlightOwnerOf, MAX_IN_TOTAL, MAX_PER_KEY } from '../streams/max-in-flight.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import type { SelfServiceRequest } from './request.ts'
import type { UpstreamReply } from './response.ts'
import { readReply, replyOf, sendRequest, type UpstreamRequest } from './upstream-client.ts'
import { admitted, isFiltered, isSelected, type Selection, selectorsFor } from './visibility.ts'

/** One page of a list, or the refusal of the list. */
export interface ReplyPage {
  /** Holds only the selected objects. */
  readonly reply: UpstreamReply
  /** The length of the API server's answer, in bytes. */
  readonly bytes: number
  readonly isLast: boolean
}

/** Objects in a page: reading so many blocks the event loop for some milliseconds. */
const MOST_OBJECTS = 100

/**
 * Limits concurrent filtered lists, in all and per user, team or subject, whose keys read one after the other. A permit is
 * held for one page only: a client that reads slowly holds none.
 */
const filteredListSemaphore = createSemaphore(MAX_IN_TOTAL.filteredList, MAX_PER_KEY.filteredList)

/**
 * The selected objects, page by page. A filtered list is always read to its end: its continue token would name the last
 * object that was read, which may be another user's.
 *
 * @param heldBytes returns the bytes of former pages that are still in memory
 * @throws BufferFull, UpstreamUnavailable
 */
export async function* pagesOf(
  request: SelfServiceRequest,
  selection: Selection,
  heldBytes: () => number = () => 0,
): AsyncGenerator<ReplyPage, void> {
  const isFilteredHere = isFiltered(request, selection)
  if (isFilteredHere && parameter(request.query, 'continue') !== '') {
    yield { reply: CONTINUE_REFUSAL, bytes: 0, isLast: true }
    return
  }
  const admission = admitted(request, selection, 'filteredList')
  if (!admission.ok) {
    yield { reply: replyOf(admission.answer), bytes: 0, isLast: true }
    return
  }
  const reader = new ListReader(request, selection, isFilteredHere)
  try {
    for (let page = null as ReplyPage | null; page?.isLast !== true; ) {
      page = await reader.next(heldBytes())
      admission.release()
      yield page
    }
  } finally {
    admission.release()
  }
}

/** The refusal of a continue token: clients then list again from the beginning. */
const CONTINUE_REFUSAL: UpstreamReply = replyOf(refuse(SELF_SERVICE_ERRORS.listHasNoPages))

const VERSION_PARAMETERS = ['resourceVersion', 'resourceVersionMatch']

/** Removes the continue token and the number of remaining objects, which counts the objects of all users. */
const withoutContinue = (json: JsonMap): JsonMap =>
  ['continue', 'remainingItemCount'].reduce(
    (whole, name) => setNestedField(whole, ['metadata', name], undefined),
    json,
  )

/** Thrown for a page that is too long: the next attempt asks for fewer objects. */
class PageTooLong extends Error {}

/** Reads a list page by page. */
class ListReader {
  readonly #request: SelfServiceRequest
  readonly #isFilteredHere: boolean
  readonly #as: RunsAs
  readonly #selectors: Query
  readonly #isSelected: (object: JsonMap) => boolean
  /** Objects to ask for in the next page. */
  #pageLimit = MOST_OBJECTS
  /** Objects that the client still wants, by its `limit`. */
  #remaining: number
  #versions: Query
  #continueToken: string
  #isFirst = true

  constructor(request: SelfServiceRequest, selection: Selection, isFilteredHere: boolean) {
    const { info, query, caller } = request
    const limit = Number(parameter(query, 'limit'))
    this.#request = request
    this.#isFilteredHere = isFilteredHere
    this.#as = selection === 'own' || info.resource === CONFIGS ? 'gateway' : { caller }
    this.#selectors = selectorsFor(request, selection)
    this.#isSelected = isSelected(request, selection)
    this.#remaining = isFilteredHere || !(limit > 0) ? Number.POSITIVE_INFINITY : limit
    this.#versions = versionsIn(query)
    this.#continueToken = isFilteredHere ? '' : parameter(query, 'continue')
  }

  async next(heldBytes: number): Promise<ReplyPage> {
    for (;;) {
      const read = (): Promise<ReplyPage> => this.#read(heldBytes)
      try {
        return await (this.#isFilteredHere
          ? filteredListSemaphore(inFlightOwnerOf(this.#request.caller).user, read)
          : read())
      } catch (error) {
        if (!(error instanceof PageTooLong)) throw error
        this.#pageLimit = Math.ceil(this.#pageLimit / 4)
      }
    }
  }

  async #read(heldBytes: number): Promise<ReplyPage> {
    const { reservation } = this.#request
    const limit = Math.min(this.#pageLimit, this.#remaining)
    // An answer that has begun keeps its reserved memory to its end.
    const leastBytes = this.#isFirst ? 0 : reservation.pageBytes
    let bytes = 0
    const reply = await readReply(
      await sendRequest(this.#request, this.#pageRequest(limit)),
      (received) => {
        bytes = received
        if (received > reservation.pageBytes && limit > 1) throw new PageTooLong()
        reservation.exactly(Math.max(heldBytes + received, leastBytes))
      },
    )
    if (reply.status !== 200) return { reply, bytes, isLast: true }
    this.#isFirst = false
    this.#versions = []
    this.#continueToken = nestedString(reply.json, ['metadata', 'continue'])
    this.#remaining -= entriesOf(reply.json).length
    // Small objects allow longer pages again.
    if (bytes * 4 < reservation.pageBytes)
      this.#pageLimit = Math.min(this.#pageLimit * 2, MOST_OBJECTS)
    const isLast = this.#continueToken === '' || this.#remaining <= 0
    const selected = filterObjects(reply.json, this.#isSelected)
    const json = this.#isFilteredHere ? withoutContinue(selected) : selected
    return { reply: { ...reply, json }, bytes, isLast }
  }

  #pageRequest(limit: number): UpstreamRequest {
    const { info, form } = this.#request
    const page = [
      ['limit', String(limit)] as const,
      ...(this.#continueToken === '' ? [] : [['continue', this.#continueToken] as const]),
    ]
    const query = [...this.#selectors, ...this.#versions, ...page]
    return { as: this.#as, method: 'GET', resource: info.resource, query, form }
  }
}

/**
 * The parameters for the version of a list. With version 0 (any version) the API server ignores `limit`, so the list
 * asks for the latest version instead, which comes in pages.
 */
function versionsIn(query: Query): Query {
  const isAny =
    parameter(query, 'resourceVersion') === '0' &&
    ['', 'NotOlderThan'].includes(parameter(query, 'resourceVersionMatch'))
  return isAny ? [] : pick(query, VERSION_PARAMETERS)
}

/** All selected objects in one reply. @throws as `pagesOf` does */
export async function listAll(
  request: SelfServiceRequest,
  selection: Selection,
): Promise<UpstreamReply> {
  const pages: JsonMap[] = []
  let bytes = 0
  for await (const page of pagesOf(request, selection, () => bytes)) {
    if (page.reply.status !== 200) return page.reply
    bytes += page.bytes
    pages.push(page.reply.json)
    const [first, ...others] = pages
    if (page.isLast && first) return { ...page.reply, json: joined(first, others) }
  }
  throw new Error('a list has a last page')
}
