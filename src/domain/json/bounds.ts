// The size of JSON before it is parsed: parsing millions of lists blocks the event loop for seconds, and what walks nested
// ones by recursion, JSON.stringify included, fails.

/** Bounds of a text. */
export interface JsonBounds {
  /** Maximum depth of lists and objects within each other. */
  readonly levels: number
  /** Maximum number of lists, objects and their entries. */
  readonly values: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

const COMMA = 0x2c

const isOpening = (byte: number | undefined): boolean => byte === 0x5b || byte === 0x7b
const isClosing = (byte: number | undefined): boolean => byte === 0x5d || byte === 0x7d

/** Whether a text, valid JSON or not, exceeds the bounds. Takes linear time. */
export function exceedsBounds(text: Buffer, { levels, values }: JsonBounds): boolean {
  let depth = 0
  let count = 0
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]
    if (byte === QUOTE) at = stringEnd(text, at)
    else if (isClosing(byte)) depth -= 1
    else if (isOpening(byte) || byte === COMMA) {
      count += 1
      if (byte !== COMMA) depth += 1
      if (depth > levels || count > values) return true
    }
  }
  return false
}

const COLON = 0x3a

/** Whether the objects of a text have more than so many different names. Takes linear time. */
export function exceedsNames(text: Buffer, most: number): boolean {
  const names = new Set<string>()
  for (let at = text.indexOf(QUOTE); at !== -1; ) {
    const end = stringEnd(text, at)
    let next = end + 1
    while (isSpace(text[next] ?? 0)) next += 1
    if (text[next] === COLON && names.add(text.toString('latin1', at + 1, end)).size > most)
      return true
    at = text.indexOf(QUOTE, next)
  }
  return false
}

/** Whether a code is white space in JSON. NaN, which stands behind the end of a text, is none. */
export const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The place of the quote that ends the string which begins at `start`; the end of the text where there is none. */
export function stringEnd(text: Buffer, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
  return at
}
