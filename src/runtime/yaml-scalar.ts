// The value of a plain YAML scalar (one without quotes) in Kubernetes, whose parser follows YAML 1.1 in part.

/** Words with a value, such as the booleans `y`, `No` and `OFF`. */
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ...inAllCases(['y', 'yes', 'true', 'on'], true),
  ...inAllCases(['n', 'no', 'false', 'off'], false),
  ...inAllCases(['null'], null),
  ['', null],
  ['~', null],
])

/** Each word in lower case, with a capital, and in upper case. */
function inAllCases<Value>(words: readonly string[], value: Value): [string, Value][] {
  return words
    .flatMap((word) => [word, word.slice(0, 1).toUpperCase() + word.slice(1), word.toUpperCase()])
    .map((word) => [word, value])
}

const ENDLESS = /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/
/** Four digits and a dash begin a date, never a number. Dates stay texts. */
const DATED = /^\d{4}-/
const INTEGER =
  /^([-+]?)(?:0[bB]([01]+)|0[oO]?([0-7]+)|0[xX]([0-9a-fA-F]+)|(0|[1-9][0-9]*))$|^0b([-+])([01]+)$/
const DECIMAL = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/

/**
 * The value of a plain scalar; undefined where JSON has none for it, or where parsers disagree: infinity,
 * minus zero as a fraction, a whole number beyond 2^53.
 */
export function plainValueOf(text: string): string | number | boolean | null | undefined {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  if (ENDLESS.test(text)) return undefined
  if (/^\.[0-9].*_/.test(text)) return undefined
  if (text.startsWith('.')) return DECIMAL.test(text) ? soundNumber(Number(text)) : text
  if (!/^[-+0-9]/.test(text) || DATED.test(text)) return text
  const digits = text.replaceAll('_', '')
  const integer = INTEGER.exec(digits)
  if (integer) return integerOf(integer)
  return DECIMAL.test(digits) ? soundNumber(Number(digits)) : text
}

function integerOf([, sign, binary, octal, hex, decimal, inner, rest]: RegExpExecArray) {
  const [base, digits] = BASES.flatMap((one, at) => {
    const found = [binary ?? rest, octal, hex, decimal][at]
    return found === undefined ? [] : [[one, found] as const]
  })[0] ?? [10, '']
  const value = Number.parseInt(digits, base)
  if (!Number.isSafeInteger(value)) return undefined
  return (sign ?? inner) === '-' && value !== 0 ? -value : value
}

const BASES = [2, 8, 16, 10] as const

const soundNumber = (value: number): number | undefined =>
  Number.isFinite(value) && !Object.is(value, -0) ? value : undefined
