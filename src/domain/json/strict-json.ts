// Limits on JSON texts of clients, checked before the parser.
/** Our objects have a few levels; a patch or a claim may have more. */
const MAX_DEPTH = 64

/** Names, values and punctuation: the largest spec that the schema allows has nearly 90,000. */
const MAX_TOKENS = 100_000

/** Names in one object: a change of one field copies the whole object. */
const MAX_NAMES = 1000

/** Splits any text in one pass: a string without its closing quote extends to the end. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/gs
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const INTEGER = /^-?\d+$/

/**
 * Why a JSON text is refused, whether it is valid JSON or not: a duplicate name in an object, of which parsers keep
 * different ones; a number or a string that changes when it is parsed; or a size that no object of ours needs (threats
 * E8). null = it is accepted.
 *
 * Call it before the parser: JSON.parse blocks the event loop for a second on some texts.
 */
export function strictJsonError(text: string): string | null {
  /** The names of each open object; null for a list. */
  const open: (Set<string> | null)[] = []
  let last = ''
  let count = 0
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : null)
    else if (token === '}' || token === ']') open.pop()
    else {
      const fault =
        token === ':' ? nameFault(last, open.at(-1)) : (numberFault(token) ?? halfFault(token))
      if (fault !== null) return fault
    }
    count += 1
    if (count > MAX_TOKENS) return `it has more than ${MAX_TOKENS} names, values and signs`
    if (open.length > MAX_DEPTH) return `it has more than ${MAX_DEPTH} levels`
    last = token
  }
  return null
}

/** A number must survive parsing and writing: a large integer loses digits, and an infinite one becomes null. */
function numberFault(token: string): string | null {
  if (!NUMBER.test(token)) return null
  const value = Number(token)
  const isKept = INTEGER.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value)
  return isKept ? null : `number ${token.slice(0, 32)} is too large`
}

/** A lone surrogate: the API server reads it as U+FFFD. */
function halfFault(token: string): string | null {
  if (!HALF.test(token)) return null
  const isWhole = textIn(token)?.isWellFormed() ?? true
  return isWhole ? null : 'a text has half of a surrogate pair'
}

const HALF = /\\u[dD][89a-fA-F]/

function nameFault(token: string, names: Set<string> | null | undefined): string | null {
  const name = textIn(token)
  if (!names || name === null) return null
  if (names.has(name)) return 'a name stands twice in an object'
  names.add(name)
  return names.size > MAX_NAMES ? `an object in it has more than ${MAX_NAMES} names` : null
}

/** The value of a string token, without escapes; null = it is no string. */
function textIn(token: string): string | null {
  if (!token.startsWith('"')) return null
  if (!token.includes('\\')) return token.slice(1, -1)
  try {
    return String(JSON.parse(token))
  } catch {
    return null
  }
}
