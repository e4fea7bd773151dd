// JSON whose largest parts are cut out before the rest is parsed: parsing megabytes of small values holds the event loop for
// half a second, and cutting takes some milliseconds (contract 23.1).
import { type JsonMap, isMap, parseJson } from '../json/json.ts'
import { type RawSpan, elementSpans, memberSpans } from './raw-json.ts'

/** An object without some of its members. */
interface CutObject {
  /** The object with 0 in place of what is cut out. */
  readonly rest: JsonMap
  /** The JSON of what is cut out, by name; it may be no valid JSON. Of members with one name the last counts. */
  readonly parts: ReadonlyMap<string, string>
}

/**
 * Cuts members out of an object, and parses the rest.
 *
 * @param mostRest the most characters of the rest
 * @returns null when the text is no object, or the rest is longer or is no valid JSON
 */
export function cutMembers(
  json: string,
  names: ReadonlySet<string>,
  mostRest: number,
): CutObject | null {
  const rest = new Rest(json)
  const parts = new Map<string, string>()
  for (const span of memberSpans(json)) {
    if (names.has(span.name)) parts.set(span.name, rest.cutOut(span))
    if (rest.lengthUpTo(span.to) > mostRest) return null
  }
  if (rest.lengthUpTo(json.length) > mostRest) return null
  const value = parseJson(rest.text())
  return isMap(value) ? { rest: value, parts } : null
}

/**
 * Cuts the elements out of a list, one by one.
 *
 * @returns at its end, whether the text between the elements is that of a list; an element may be no valid JSON
 */
export function* cutElements(json: string): Generator<string, boolean> {
  const rest = new Rest(json)
  for (const span of elementSpans(json)) yield rest.cutOut(span)
  return Array.isArray(parseJson(rest.text()))
}

/** A text with 0 in place of what is cut out. */
class Rest {
  readonly #json: string
  #text = ''
  #end = 0

  constructor(json: string) {
    this.#json = json
  }

  /** @returns what is cut out */
  cutOut({ from, to }: RawSpan): string {
    this.#text += `${this.#json.slice(this.#end, from)}0`
    this.#end = to
    return this.#json.slice(from, to)
  }

  lengthUpTo(at: number): number {
    return this.#text.length + at - this.#end
  }

  text(): string {
    return this.#text + this.#json.slice(this.#end)
  }
}
