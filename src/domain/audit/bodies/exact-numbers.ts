// Numbers digit for digit (contract 21.4). JSON.parse rounds them, and its reviver, which sees how they were written, takes
// half a second for a megabyte. So numbers that it would change are made strings before it parses, with a mark that no
// other string begins with.
import { stringEnd } from '../../json/bounds.ts'

/** Begins a string that was a number. JSON has it unescaped, and JSON.stringify leaves it so. */
const MARK = '\x7f'
const MARK_BYTE = 0x7f
const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const ZERO = 0x30
/** `\u007f`, the other way to write the mark. */
const ESCAPED_MARK = /^\\u007[fF]$/

/** Integers of up to so many digits are kept as they are by JSON.parse. */
const SAFE_DIGITS = 15

/** JSON text for JSON.parse. */
interface MarkedText {
  readonly text: string
  /** Whether `withExactNumbers` has something to do. */
  readonly hasMarks: boolean
}

/**
 * The text, valid JSON or not, with each number that JSON.parse changes as a string. Invalid UTF-8 becomes U+FFFD. An
 * invalid text stays invalid. Takes linear time.
 */
export function withMarkedNumbers(bytes: Buffer): MarkedText {
  // A number has two bytes at least, and a sign after it; three bytes are inserted.
  const copy = new EditedCopy(bytes, 2 * bytes.length + 3)
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      if (beginsWithMark(bytes, at + 1)) copy.insert(MARK_BYTE, at + 1)
      at = stringEnd(bytes, at) + 1
    } else if (byte === MINUS || isDigit(byte)) {
      const end = numberEnd(bytes, at)
      if (isChanged(bytes, at, end)) {
        copy.insert(QUOTE, at)
        copy.insert(MARK_BYTE, at)
        copy.insert(QUOTE, end)
      }
      at = end
    } else at += 1
  }
  return { text: copy.text(), hasMarks: copy.isEdited }
}

/** JSON text of JSON.stringify in which the marked strings are numbers again. Takes linear time. */
export function withExactNumbers(json: string): string {
  const bytes = Buffer.from(json)
  const copy = new EditedCopy(bytes)
  for (let at = 1; at < bytes.length; at += 1) {
    // A quote within a string has a backslash before it, one that begins a string has none.
    if (bytes[at] !== MARK_BYTE || bytes[at - 1] !== QUOTE || bytes[at - 2] === BACKSLASH) continue
    if (bytes[at + 1] === MARK_BYTE) {
      copy.leaveOut(at, at + 1)
      at += 1
    } else {
      const end = stringEnd(bytes, at)
      copy.leaveOut(at - 1, at + 1)
      copy.leaveOut(end, end + 1)
    }
  }
  return copy.text()
}

/** Whether a parsed string was a number, or stands for another one that begins with the mark. */
export const isMarked = (text: string): boolean => text.startsWith(MARK)

/** Bytes with some inserted or left out; copied only if there are such. Byte by byte: Buffer.copy costs ten times as much. */
class EditedCopy {
  readonly #bytes: Buffer
  readonly #most: number
  #copy: Buffer | null = null
  #length = 0
  #copiedTo = 0

  /** @param most bytes of the copy */
  constructor(bytes: Buffer, most = bytes.length) {
    this.#bytes = bytes
    this.#most = most
  }

  get isEdited(): boolean {
    return this.#copy !== null
  }

  insert(byte: number, at: number): void {
    this.#copyTo(at)[this.#length++] = byte
  }

  leaveOut(start: number, end: number): void {
    this.#copyTo(start)
    this.#copiedTo = end
  }

  text(): string {
    if (this.#copy === null) return this.#bytes.toString('utf8')
    return this.#copyTo(this.#bytes.length).toString('utf8', 0, this.#length)
  }

  #copyTo(end: number): Buffer {
    const bytes = this.#bytes
    const copy = (this.#copy ??= Buffer.allocUnsafe(this.#most))
    let to = this.#length
    for (let at = this.#copiedTo; at < end; at += 1) copy[to++] = bytes[at] ?? 0
    this.#length = to
    this.#copiedTo = end
    return copy
  }
}

function beginsWithMark(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]
  if (byte !== BACKSLASH) return byte === MARK_BYTE
  return ESCAPED_MARK.test(bytes.toString('latin1', at, at + 6))
}

const isDigit = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= ZERO && byte <= 0x39

/** The first place after the digits. */
function digitsEnd(bytes: Buffer, start: number): number {
  let at = start
  while (isDigit(bytes[at])) at += 1
  return at
}

/** The first place after the longest beginning that is a number of JSON, or after the byte where there is none. */
function numberEnd(bytes: Buffer, start: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start
  const whole = bytes[first] === ZERO ? first + 1 : digitsEnd(bytes, first)
  if (whole === first) return start + 1
  const point = bytes[whole] === 0x2e ? digitsEnd(bytes, whole + 1) : whole
  const fraction = point > whole + 1 ? point : whole
  // A letter E, in lower case by its bit.
  if (((bytes[fraction] ?? 0) | 0x20) !== 0x65) return fraction
  const sign = bytes[fraction + 1] === MINUS || bytes[fraction + 1] === 0x2b ? 2 : 1
  const exponent = digitsEnd(bytes, fraction + sign)
  return exponent > fraction + sign ? exponent : fraction
}

/** Whether JSON.parse and JSON.stringify may write the number in another way. */
function isChanged(bytes: Buffer, start: number, end: number): boolean {
  const digits = bytes[start] === MINUS ? start + 1 : start
  if (end - digits > SAFE_DIGITS) return true
  // Minus zero.
  if (digits > start && bytes[digits] === ZERO) return end > digits
  for (let at = digits; at < end; at += 1) if (!isDigit(bytes[at])) return true
  return false
}
