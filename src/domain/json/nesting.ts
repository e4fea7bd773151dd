// How deep JSON is nested, before it is parsed: parsing millions of lists blocks the event loop, and what walks them by
// recursion, JSON.stringify included, fails.

const QUOTE = 0x22
const BACKSLASH = 0x5c

const isOpening = (byte: number | undefined): boolean => byte === 0x5b || byte === 0x7b
const isClosing = (byte: number | undefined): boolean => byte === 0x5d || byte === 0x7d

/** Whether a text, valid JSON or not, has more than `most` lists and objects within each other. Takes linear time. */
export function isDeeperThan(text: Buffer, most: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at]
    if (byte === QUOTE) at = stringEnd(text, at)
    else if (isOpening(byte)) depth += 1
    else if (isClosing(byte)) depth -= 1
    if (depth > most) return true
  }
  return false
}

/** The place of the quote that ends the string; the end of the text where there is none. */
function stringEnd(text: Buffer, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
  return at
}
