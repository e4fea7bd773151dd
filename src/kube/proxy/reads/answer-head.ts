// The head of an answer by HTTP/1.1 (RFC 9112), read strictly: what two readers could take for two things is malformed. Pure.
import { type UpstreamHeaders, headersFromRaw } from '../types.ts'

/** The value of a header, one character a byte. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** How the body of an answer ends. */
type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }

/** The head of an answer. */
export interface AnswerHead {
  readonly status: number
  /** By lower-case name; repeated ones are a list. */
  readonly headers: UpstreamHeaders
  readonly framing: Framing
  /** Whether the connection may serve another request after it. */
  readonly keepsAlive: boolean
}

/** An answer that is not HTTP/1.1 as servers of our time write it. The message quotes nothing of it. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Maximum headers of a head, and trailers: an API server has a dozen. */
const MOST_HEADERS = 1000
const LENGTH = /^\d{1,15}$/

/**
 * Reads a head.
 *
 * @param text the head without the empty line at its end, one character a byte
 * @param isHead whether it answers HEAD, which has no body
 * @throws MalformedAnswer
 */
export function readHead(text: string, isHead: boolean): AnswerHead {
  const [first = '', ...lines] = text.split('\r\n')
  const [, minor, code] = STATUS_LINE.exec(first) ?? []
  if (code === undefined) throw new MalformedAnswer('the answer has no status line')
  const status = Number(code)
  const headers = headersIn(lines)
  const isWithoutBody = isHead || status < 200 || status === 204 || status === 304
  const { 'content-length': length } = headers
  // Clients get it as it is, also where no body follows.
  if (isWithoutBody && length !== undefined) lengthOf(length)
  return {
    status,
    headers,
    framing: isWithoutBody ? { kind: 'none' } : framingOf(headers, minor === '1'),
    keepsAlive: minor === '1' && !isClosing(headers['connection']),
  }
}

/** Reads lines of headers. @throws MalformedAnswer */
export function headersIn(lines: readonly string[]): UpstreamHeaders {
  if (lines.length > MOST_HEADERS) throw new MalformedAnswer('the answer has too many headers')
  const raw: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    const value = line.slice(colon + 1)
    if (!NAME.test(name) || !HEADER_VALUE.test(value))
      throw new MalformedAnswer('a header of the answer has an invalid name or value')
    raw.push(
      name,
      name.toLowerCase() === 'content-length' ? withoutLeadingSpaces(value) : trimmed(value),
    )
  }
  return headersFromRaw(raw)
}

/** Not all readers take white space behind a length. */
const withoutLeadingSpaces = (value: string): string => value.replace(/^ +/, '')

/** Spaces alone: not all readers take a tab around a length or an encoding, and `trim` removes U+00A0 as well. */
function trimmed(value: string): string {
  let [from, to] = [0, value.length]
  while (value[from] === ' ') from += 1
  while (to > from && value[to - 1] === ' ') to -= 1
  return value.slice(from, to)
}

/** @throws MalformedAnswer for none, for two, and for one that can't be read */
function framingOf(headers: UpstreamHeaders, isHttp11: boolean): Framing {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  if (encoding !== undefined) {
    const isChunked = typeof encoding === 'string' && encoding.toLowerCase() === 'chunked'
    if (!isChunked || length !== undefined || !isHttp11)
      throw new MalformedAnswer('the answer has a body of unknown framing')
    return { kind: 'chunked' }
  }
  return { kind: 'length', bytes: lengthOf(length) }
}

/** @throws MalformedAnswer */
function lengthOf(length: UpstreamHeaders[string] | undefined): number {
  if (typeof length !== 'string' || !LENGTH.test(length))
    throw new MalformedAnswer('the answer has no length, or more than one')
  return Number(length)
}

const isClosing = (connection: UpstreamHeaders[string] | undefined): boolean =>
  [connection ?? []]
    .flat()
    .some((value) => value.split(',').some((option) => option.trim().toLowerCase() === 'close'))
