// Reads of keys, tokens and Configs (contract 9.3, 12.1, 12.3).
import { Readable } from 'node:stream'
import { CONFIGS, TOKENS } from '../../api/names.ts'
import { nestedMap } from '../../domain/json/field-path.ts'
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { RunsAs } from '../proxy/forward.ts'
import { TOKEN, secretsIn } from '../redaction/fields.ts'
import { entriesOf, objectIn, placeOf } from '../redaction/objects.ts'
import { type VisibleSecrets, redactedAnswer } from '../redaction/redact.ts'
import { type Page, pagesOf } from './list-pages.ts'
import {
  type SelfServiceRequest,
  type Shown,
  type UpstreamQuery,
  answerOf,
  ask,
  headersOf,
} from './request.ts'
import { type Form, shaped } from './response.ts'
import { hasOwn, isOwn, isVisible, mayReadToken, notFound } from './visibility.ts'

/** What a caller is shown of the hidden fields: the tokens that are his. */
export const showsTo =
  ({ asked, standing, find }: SelfServiceRequest): VisibleSecrets =>
  (object) =>
    asked.resource === TOKENS && mayReadToken(object, standing, find) ? [TOKEN] : []

/** The answer to a read of one object. */
export async function get(exchange: SelfServiceRequest): Promise<Answer> {
  const { asked, standing, find, caller } = exchange
  const reply = await ask(exchange, one(exchange, 'gateway'))
  const shows = showsTo(exchange)
  const object = objectIn(reply.json)
  const secrets = secretsIn(asked.resource, object)
  if (reply.status === 404) return notFound(exchange)
  if (reply.status !== 200) return answerOf(exchange, reply, { shows, secrets })
  if (!isVisible(asked, object, standing, find)) return notFound(exchange)
  if (asked.resource === CONFIGS || isOwn(asked, object, standing, find))
    return answerOf(exchange, reply, { shows, secrets })
  const theirs = await ask(exchange, one(exchange, { caller }))
  if (REFUSED_OR_GONE.has(theirs.status)) return notFound(exchange)
  // What was seen a moment ago may be another object by now.
  if (theirs.status === 200 && !isVisible(asked, objectIn(theirs.json), standing, find))
    return notFound(exchange)
  return answerOf(exchange, theirs, { shows, secrets })
}

/** It is a matter of nobody's but those to whom RBAC opens it (contract 12.1). */
const REFUSED_OR_GONE: ReadonlySet<number> = new Set([403, 404])

/** A get of status tells the whole object, but may be granted to a caller where a get is not. */
function one({ asked, form }: SelfServiceRequest, as: RunsAs): UpstreamQuery {
  const { resource, name, isStatus } = asked
  const subresource = isStatus && as !== 'gateway' ? ({ subresource: 'status' } as const) : {}
  return { as, method: 'GET', resource, name, ...subresource, query: [], form }
}

/** The answer to a list: what RBAC lets the caller see; where it refuses, his own (contract 12.1). */
export async function list(exchange: SelfServiceRequest): Promise<Answer> {
  const all = await begun(pagesOf(exchange, 'all'))
  const isRefused = all.first.reply.status === 403 && hasOwn(exchange)
  const told = isRefused ? await begun(pagesOf(exchange, 'own')) : all
  return listAnswer(exchange, told, { shows: showsTo(exchange), secrets: [] })
}

// A list for a client, page by page: the next is read when the client has taken the one before (contract
// 12.2, 13.3). What of a list comes last stands last, with the token that its client may go on with.

/** A list that has begun. */
export interface Begun {
  readonly first: Page
  readonly others: AsyncIterator<Page, void>
}

/** Reads the first page of a list, or the refusal of it. @throws as `pagesOf` does */
export async function begun(pages: AsyncIterator<Page, void>): Promise<Begun> {
  const { value } = await pages.next()
  if (!value) throw new Error('a list has at least one page')
  return { first: value, others: pages }
}

/**
 * The answer to a list: one of a single page as a whole.
 *
 * @throws NoRoom when there is none for the pages that follow
 */
export function listAnswer(
  exchange: SelfServiceRequest,
  { first, others }: Begun,
  shown: Shown,
): Answer {
  const { held, form } = exchange
  if (first.isLast) return answerOf(exchange, first.reply, shown)
  held.atLeast(held.pageBytes)
  const body = Readable.from(told(exchange, { first, others }, shown), { objectMode: false })
  const headers = headersOf(first.reply, TYPES[form.encoding])
  return { status: first.reply.status, headers, body }
}

const TYPES: Readonly<Record<Form['encoding'], string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
}

/** So much is handed on at a time, that no more of a page than this is beyond what is counted. */
const PIECE = 65_536

async function* told(
  exchange: SelfServiceRequest,
  { first, others }: Begun,
  shown: Shown,
): AsyncGenerator<Buffer, void> {
  const { asked, form, include, held } = exchange
  const writer = WRITERS[form.encoding]()
  let isFirst = true
  for (
    let page = first as Page | undefined;
    page;
    page = (await others.next()).value ?? undefined
  ) {
    // Half a list must not look like a whole one.
    if (page.reply.status !== first.reply.status) throw new Error('a list broke off')
    const clean = redactedAnswer(asked.resource, page.reply.json, shown.shows, shown.secrets)
    const part = shaped(clean, form.shape, include)
    const text = [
      isFirst ? writer.head(part) : '',
      writer.entries(entriesOf(part)),
      page.isLast ? writer.end(nestedMap(part, ['metadata'])) : '',
    ].join('')
    isFirst = false
    const bytes = Buffer.from(text)
    held.exactly(Math.max(bytes.length, held.pageBytes))
    for (let from = 0; from < bytes.length; from += PIECE) yield bytes.subarray(from, from + PIECE)
  }
}

/** Writes a list part by part. */
interface Writer {
  /** All that stands before the entries. */
  readonly head: (list: JsonMap) => string
  readonly entries: (entries: readonly Json[]) => string
  readonly end: (metadata: JsonMap) => string
}

/** What of a list is neither its entries nor its metadata. */
function restOf(list: JsonMap): JsonMap {
  const { metadata: _, [placeOf(list)]: __, ...rest } = list
  return rest
}

function jsonWriter(): Writer {
  let between = ''
  return {
    head: (list) => `${JSON.stringify(restOf(list)).slice(0, -1)},"${placeOf(list)}":[`,
    entries: (entries) => {
      const texts = entries.map((entry) => JSON.stringify(entry))
      const text = texts.length === 0 ? '' : `${between}${texts.join(',')}`
      if (texts.length > 0) between = ','
      return text
    },
    end: (metadata) => `],"metadata":${JSON.stringify(metadata)}}\n`,
  }
}

function yamlWriter(): Writer {
  /** What stands before the first entry; empty behind it. */
  let before = ''
  return {
    head: (list) => {
      before = placeOf(list)
      return formatYaml(restOf(list))
    },
    entries: (entries) => {
      if (entries.length === 0) return ''
      const text = `${before === '' ? '' : `${before}:\n`}${formatYaml(entries)}`
      before = ''
      return text
    },
    end: (metadata) => `${before === '' ? '' : `${before}: []\n`}${formatYaml({ metadata })}`,
  }
}

const WRITERS: Readonly<Record<Form['encoding'], () => Writer>> = {
  json: jsonWriter,
  yaml: yamlWriter,
}
