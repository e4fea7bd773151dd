// Reads a body as the API server does, as far as it can be recorded (contract 21.4).
import { type Json, isMap, ownValue } from '../../json/json.ts'
import { exceedsBounds, exceedsNames } from '../../json/bounds.ts'
import type { Omission } from '../event.ts'
import { hideCredentials } from '../../redaction/credentials.ts'
import { isMarked, withMarkedNumbers } from './exact-numbers.ts'

/** The bytes of a body, or why there is no copy of all of them. */
export type CopiedBody = { readonly bytes: Buffer } | { readonly omitted: Omission }

/** A body with the headers that say how it is to be read; undefined = the header is absent. */
export interface CopiedMessage {
  readonly body: CopiedBody
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** A patch as a document like the object; as the operations of a JSON patch; or as a record that has no values any more. */
export type PatchForm = 'document' | 'operations' | 'record'

/** The value of a body, or why it can't be recorded. */
export type ParsedBody =
  | {
      readonly value: Json
      /** The bytes of its JSON. */
      readonly length: number
      /** Whether numbers in it are strings with a mark. */
      readonly hasMarks: boolean
      /** What it is where it is a patch. */
      readonly patch: PatchForm
    }
  | { readonly omitted: Omission }

/** Parses one untrusted YAML document, without aliases. @throws Error */
type YamlParser = (text: string) => unknown

/** Maximum depth: JSON.stringify and what walks a value by recursion fail at some thousands of levels. */
const MOST_LEVELS = 1000

/** The most lists, objects and entries: parsing so many takes some 30 ms, whatever the length of the text. */
const MOST_VALUES = 200_000

/** The most different names of fields: so many take as long, as each is another shape of an object for the engine. */
const MOST_NAMES = 20_000

/** The longest YAML in bytes, as in self-service: parsing takes up to 3 ms for each KiB. JSON sent as YAML may be longer. */
const LONGEST_YAML = 16 * 1024

const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)$/
const YAML_TYPE = /^application\/(?:yaml|[\w.-]+\+yaml)$/
const JSON_PATCH = 'application/json-patch+json'

/**
 * Parses a body. One without a content type is JSON, as for the API server; any other format, and one that is compressed,
 * is `protobuf`. YAML that `parseYaml` refuses is `malformed`, and what is longer than LONGEST_YAML is `size`.
 *
 * @returns null = there is no body
 */
export function parsedBody(message: CopiedMessage, parseYaml: YamlParser): ParsedBody | null {
  const { body, contentType = '', contentEncoding = 'identity' } = message
  if ('omitted' in body) return body
  const { bytes } = body
  if (bytes.length === 0) return null
  if (contentEncoding !== 'identity') return { omitted: 'protobuf' }
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (YAML_TYPE.test(type)) return parsedYaml(bytes, parseYaml)
  if (type !== '' && !JSON_TYPE.test(type)) return { omitted: 'protobuf' }
  return parsedJson(bytes, type === JSON_PATCH ? 'operations' : 'document')
}

function parsedJson(bytes: Buffer, patch: PatchForm): ParsedBody {
  if (exceedsBounds(bytes, { levels: MOST_LEVELS, values: Infinity })) return { omitted: 'depth' }
  if (isDense(bytes)) return { omitted: 'size' }
  const { text, hasMarks } = withMarkedNumbers(bytes)
  try {
    return { value: JSON.parse(text) as Json, length: bytes.length, hasMarks, patch }
  } catch {
    return { omitted: 'malformed' }
  }
}

/** Whether parsing and recording a body takes long for its length. Each name has a value: most bodies are looked through once. */
function isDense(bytes: Buffer): boolean {
  const hasMore = (values: number): boolean => exceedsBounds(bytes, { levels: Infinity, values })
  if (bytes.length <= MOST_NAMES || !hasMore(MOST_NAMES)) return false
  return hasMore(MOST_VALUES) || exceedsNames(bytes, MOST_NAMES)
}

/** Parses the JSON of a body that was recorded elsewhere, to be recorded again (contract 23.2). */
export const parsedRecord = (json: Buffer): ParsedBody => parsedJson(json, 'record')

const OPENING = /^\s*[[{]/

function parsedYaml(bytes: Buffer, parseYaml: YamlParser): ParsedBody {
  // Most clients send JSON, which is YAML.
  if (OPENING.test(bytes.toString('latin1', 0, MOST_SPACE))) {
    const json = parsedJson(bytes, 'document')
    if (!('omitted' in json) || json.omitted !== 'malformed') return json
  }
  if (bytes.length > LONGEST_YAML) return { omitted: 'size' }
  try {
    return parsedJson(Buffer.from(JSON.stringify(parseYaml(bytes.toString('utf8')))), 'document')
  } catch (error) {
    return { omitted: error instanceof RangeError ? 'depth' : 'malformed' }
  }
}

/** How much white space may stand before JSON that is sent as YAML; bytes. */
const MOST_SPACE = 1024

/** The longest name of an object, by the API server's rules. */
const LONGEST_NAME = 253

/** The name of the object in the body of a create, for its objectRef; undefined = none can be read (contract 21.3). */
export function createdName(body: ParsedBody | null): string | undefined {
  if (body === null || 'omitted' in body || !isMap(body.value)) return undefined
  const metadata = ownValue(body.value, 'metadata')
  const name = isMap(metadata) ? ownValue(metadata, 'name') : undefined
  if (typeof name !== 'string' || name === '' || isMarked(name)) return undefined
  return name.length > LONGEST_NAME ? undefined : hideCredentials(name)
}
