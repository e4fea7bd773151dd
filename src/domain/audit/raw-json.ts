// Parts of a JSON text as they stand in it: numbers keep their digits, and a body of a megabyte is not parsed to be left out.
// The text must be valid JSON; of another text the parts are some parts of it.
import { parseJson, stringOf } from '../json/json.ts'

/** A member of an object. */
interface RawMember {
  readonly name: string
  /** Name and value. */
  readonly text: string
  readonly value: string
}

/** The members of an object; none where the text is another value. */
export function rawMembers(json: string): readonly RawMember[] {
  const members: RawMember[] = []
  for (let at = firstEntry(json, '{'); json[at] === '"'; ) {
    const nameEnd = stringEnd(json, at)
    const from = pastSpace(json, pastSpace(json, nameEnd) + 1)
    const to = valueEnd(json, from)
    const name = stringOf(parseJson(json.slice(at, nameEnd))) ?? ''
    members.push({ name, text: json.slice(at, to), value: json.slice(from, to) })
    at = nextEntry(json, to)
  }
  return members
}

/** The elements of a list; none where the text is another value. */
export function rawElements(json: string): readonly string[] {
  const elements: string[] = []
  for (let at = firstEntry(json, '['); at < json.length && json[at] !== ']'; ) {
    const to = valueEnd(json, at)
    elements.push(json.slice(at, to))
    at = nextEntry(json, to)
  }
  return elements
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

function pastSpace(json: string, from: number): number {
  let at = from
  while (at < json.length && ' \n\r\t'.includes(json.charAt(at))) at += 1
  return at
}

/** Behind the string that begins here. */
function stringEnd(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let first = at
    while (json[first - 1] === '\\') first -= 1
    // An even number of backslashes escapes themselves.
    if ((at - first) % 2 === 0) return at + 1
  }
  return json.length
}

/** Behind the value that begins here: always further on. */
function valueEnd(json: string, start: number): number {
  const marks = /["{}[\],]/g
  marks.lastIndex = start
  let depth = 0
  for (let mark = marks.exec(json); mark !== null; mark = marks.exec(json)) {
    const [character] = mark
    if (character === '"') marks.lastIndex = stringEnd(json, mark.index)
    else if (character === '{' || character === '[') depth += 1
    else if (character !== ',') depth -= 1
    if (depth < 0 || (depth === 0 && character === ',')) return endOfWord(json, mark.index, start)
    if (depth === 0) return marks.lastIndex
  }
  return json.length
}

/** The end of a number or a word before this mark. */
const endOfWord = (json: string, mark: number, start: number): number =>
  start + Math.max(1, json.slice(start, mark).trimEnd().length)
