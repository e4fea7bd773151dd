// Content negotiation, and answers in the negotiated form. From the API server, the gateway always reads whole objects
// in JSON (contract 9.4, 12.4).
import type { OutgoingHttpHeaders } from 'node:http'
import type { Resource } from '../../api/names.ts'
import {
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap } from '../../domain/json/json.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import type { Answer } from '../../serving/http/answer.ts'
import { type VisibleSecrets, redactedAnswer } from '../../domain/redaction/redact.ts'

/** The shape of each object in an answer: whole, as a row of a Table, or its metadata alone. */
type Shape =
  | { readonly as: 'object' }
  | { readonly as: 'Table' | 'PartialObjectMetadata'; readonly version: 'v1' | 'v1beta1' }

/** The negotiated form of an answer. */
export interface Form {
  readonly encoding: 'json' | 'yaml'
  readonly shape: Shape
}

/** The content of an answer: one object, a list, or watch events. */
export type AnswerContent = 'one' | 'list' | 'watch'

const ENCODINGS: ReadonlyMap<string, Form['encoding']> = new Map([
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
])

const WHOLE_OBJECT: Form = { encoding: 'json', shape: { as: 'object' } }

/** The preferred form of an Accept header that our kinds have; null = none. They have no protobuf or CBOR. */
export function formOf(accept: string | undefined, content: AnswerContent): Form | null {
  if (accept === undefined || accept.trim() === '') return WHOLE_OBJECT
  const mediaRanges = accept.split(',').map(mediaRangeOf)
  const ordered = mediaRanges
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
  for (const mediaRange of ordered) {
    const form = formIn(mediaRange, content)
    if (form !== null) return form
  }
  return null
}

interface MediaRange {
  readonly type: string
  readonly weight: number
  readonly parameters: ReadonlyMap<string, string>
}

function mediaRangeOf(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim())
  const parameters = new Map(
    rest.map((part) => {
      const [name = '', value = ''] = part.split('=')
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')]
    }),
  )
  return { type: type.toLowerCase(), weight: Number(parameters.get('q') ?? 1), parameters }
}

function formIn({ type, parameters }: MediaRange, content: AnswerContent): Form | null {
  const encoding = ENCODINGS.get(type)
  const shape = shapeIn(parameters, content)
  // A YAML stream could not separate the events of a watch.
  const isFramed = content !== 'watch' || encoding === 'json'
  return encoding !== undefined && shape !== null && isFramed ? { encoding, shape } : null
}

function shapeIn(parameters: MediaRange['parameters'], content: AnswerContent): Shape | null {
  const as = parameters.get('as')
  if (as === undefined) return { as: 'object' }
  const version = parameters.get('v')
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1'))
    return null
  if (as === 'Table') return { as, version }
  const metadata = content === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'
  return as === metadata ? { as: 'PartialObjectMetadata', version } : null
}

/** The Accept header for the API server. Only the API server makes Tables; it is asked for rows with whole objects. */
export const acceptOf = ({ shape }: Form): string =>
  shape.as === 'Table'
    ? `application/json;as=Table;v=${shape.version};g=meta.k8s.io`
    : 'application/json'

/** The part of each object that a Table's row holds. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** Reads the parameter includeObject; null for an unknown value. Absent or empty = the API server's default. */
export function includeObjectOf(value: string | null): IncludeObject | null {
  if (value === null || value === '') return 'Metadata'
  return value === 'None' || value === 'Metadata' || value === 'Object' ? value : null
}

/** Turns an answer with whole objects into the negotiated shape. A Status stays as it is. */
export function shaped(answer: JsonMap, shape: Shape, include: IncludeObject): JsonMap {
  if (shape.as === 'object' || nestedString(answer, ['kind']) === 'Status') return answer
  if (shape.as === 'Table')
    return setNestedField(answer, ['rows'], rowsOf(answer, shape.version, include))
  const apiVersion = `meta.k8s.io/${shape.version}`
  const items = nestedField(answer, ['items'])
  if (!isList(items)) return metadataOf(answer, shape.version)
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion,
    metadata: nestedMap(answer, ['metadata']),
    items: items.filter(isMap).map((item) => metadataOf(item, shape.version)),
  }
}

const metadataOf = (object: JsonMap, version: string): JsonMap => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: nestedMap(object, ['metadata']),
})

function rowsOf(table: JsonMap, version: string, include: IncludeObject): readonly Json[] {
  const rows = nestedField(table, ['rows'])
  return (isList(rows) ? rows : []).filter(isMap).map((row) => {
    const object = nestedMap(row, ['object'])
    if (include === 'Object') return row
    return setNestedField(row, ['object'], include === 'None' ? null : metadataOf(object, version))
  })
}

/** Encodes the answer; returns its content type and bytes. */
function encode(
  answer: JsonMap,
  encoding: Form['encoding'],
): { readonly type: string; readonly body: Buffer } {
  return encoding === 'yaml'
    ? { type: 'application/yaml', body: Buffer.from(formatYaml(answer)) }
    : { type: 'application/json', body: Buffer.from(`${JSON.stringify(answer)}\n`) }
}

/** Headers that describe the bytes of the upstream answer: the gateway writes other bytes. */
const BODY_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'etag',
  'last-modified',
  'location',
]

/** The headers of an answer that the gateway encodes in this content type. */
export const headersOf = (upstream: OutgoingHttpHeaders, type: string): Answer['headers'] => ({
  'cache-control': 'no-store',
  ...Object.fromEntries(Object.entries(upstream).filter(([name]) => !BODY_HEADERS.includes(name))),
  'content-type': type,
})

/** An answer of the API server, read to its end. */
export interface UpstreamReply {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly json: JsonMap
}

/** The hidden fields that an answer shows, and the texts that it must not hold. */
export interface Disclosure {
  readonly shows: VisibleSecrets
  /** Texts that the answer must not hold, besides the secrets of the objects in it. */
  readonly secrets: readonly string[]
}

/** The kind of the objects in an answer, and the form that the client negotiated. */
interface Negotiated {
  readonly info: { readonly resource: Resource }
  readonly form: Form
  readonly include: IncludeObject
}

/** The answer for the client, redacted for every caller and in every form (contract 12.4). */
export function answerOf(
  { info, form, include }: Negotiated,
  { status, headers, json }: UpstreamReply,
  { shows, secrets }: Disclosure,
): Answer {
  const clean = redactedAnswer(info.resource, json, shows, secrets)
  const { type, body } = encode(shaped(clean, form.shape, include), form.encoding)
  return { status, headers: headersOf(headers, type), body }
}
