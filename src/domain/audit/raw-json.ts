// Parts of a JSON text as they stand in it: numbers keep their digits, and a body of a megabyte is not parsed to be left out.
// The text must be valid JSON; of another text the parts are some parts of it.
import { isSpace } from '../json/bounds.ts'
import { parseJson, stringOf } from '../json/json.ts'

/** A member of an object. */
interface RawMember {
  readonly name: string
  /** Name and value. */
  readonly text: string
  readonly value: string
}

/** Where a value begins, and where it ends. */
export interface RawSpan {
  readonly from: number
  readonly to: number
}

/** The members of an object; none where the text is another value. */
export const rawMembers = (json: string): readonly RawMember[] =>
  [...memberSpans(json)].map(({ name, at, from, to }) => ({
    name,
    text: json.slice(at, to),
    value: json.slice(from, to),
  }))

/** The elements of a list; none where the text is another value. */
export const rawElements = (json: string): readonly string[] =>
  [...elementSpans(json)].map(({ from, to }) => json.slice(from, to))

/** Where the members of an object are, found one by one; `at` is where the name begins. */
export function* memberSpans(
  json: string,
): Generator<RawSpan & { readonly name: string; readonly at: number }> {
  for (let at = firstEntry(json, '{'); json[at] === '"'; ) {
    const nameEnd = stringEnd(json, at)
    const from = pastSpace(json, pastSpace(json, nameEnd) + 1)
    const to = valueEnd(json, from)
    yield { name: stringOf(parseJson(json.slice(at, nameEnd))) ?? '', at, from, to }
    at = nextEntry(json, to)
  }
}

/** Where the elements of a list are, found one by one. */
export function* elementSpans(json: string): Generator<RawSpan> {
  for (let from = firstEntry(json, '['); from < json.length && json[from] !== ']'; ) {
    const to = valueEnd(json, from)
    yield { from, to }
    from = nextEntry(json, to)
  }
}

/** Where the first entry begins; the end of the text where it doesn't open so. */
function firstEntry(json: string, opening: '{' | '['): number {
  const at = pastSpace(json, 0)
  return json[at] === opening ? pastSpace(json, at + 1) : json.length
}

/** Where the entry behind this end begins, or the bracket that closes. */
function nextEntry(json: string, end: number): number {
  const at = pastSpace(json, end)
  return json[at] === ',' ? pastSpace(json, at + 1) : at
}

const NO_SPACE = /[^ \t\n\r]/g

/** By a native search, which takes 4 ms for 3 MB of spaces; by codes it is 16, or 46 where other code has shaped the loop. */
function pastSpace(json: string, from: number): number {
  if (!isSpace(json.charCodeAt(from))) return from
  NO_SPACE.lastIndex = from
  return NO_SPACE.test(json) ? NO_SPACE.lastIndex - 1 : json.length
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

/** Behind the string that begins here. By codes, as below: searches and patterns take up to ten times as long. */
function stringEnd(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at += 1
  }
  return json.length
}

/** Behind the value that begins here: always further on. */
function valueEnd(json: string, start: number): number {
  let depth = 0
  for (let at = start; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(json, at) - 1
    else if (code === 0x5b || code === 0x7b) depth += 1
    else if (code === 0x5d || code === 0x7d) depth -= 1
    else if (code !== COMMA) continue
    if (depth < 0 || (depth === 0 && code === COMMA)) return endOfWord(json, at, start)
    if (depth === 0) return at + 1
  }
  return json.length
}

/** The end of a number or a word before this mark. */
const endOfWord = (json: string, mark: number, start: number): number =>
  start + Math.max(1, json.slice(start, mark).trimEnd().length)

/** What some readers take for the end of a line, and JSON does not escape. */
const LINE_ENDS = /[\x85\u2028\u2029]/g

/** JSON text in which these are escaped: an event is one line for every reader (contract 21.3). */
export const withoutLineEnds = (json: string): string => json.replace(LINE_ENDS, escaped)

const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
