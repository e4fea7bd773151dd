// Checks JSON texts of clients before they are parsed: their size, duplicate names, and values that parsing changes.
/** Limit on nesting: our objects have a few levels, a patch or a claim may have more. */
const MAX_DEPTH = 64

/** Limit on names, values and punctuation: the largest spec that the schema allows has nearly 90,000. */
const MAX_TOKENS = 100_000

/** Limit on names in one object, because a change of one field copies the whole object. */
const MAX_NAMES = 1000

/** Splits any text into tokens in linear time: a string without a closing quote extends to the end of the text. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/gs
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const INTEGER = /^-?\d+$/

/**
 * Why a text, valid JSON or not, is refused; null = it is accepted. Refused are duplicate names in an object (parsers
 * differ in which one they keep), numbers and strings that parsing changes, and sizes that none of our objects needs.
 *
 * Call it before JSON.parse, which blocks the event loop for a second on some texts.
 */
export function strictJsonError(text: string): string | null {
  /** For each open object the names so far; null for an open list. */
  const openContainers: (Set<string> | null)[] = []
  let previousToken = ''
  let tokenCount = 0
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') openContainers.push(token === '{' ? new Set() : null)
    else if (token === '}' || token === ']') openContainers.pop()
    else {
      const fault =
        token === ':'
          ? nameFault(previousToken, openContainers.at(-1))
          : (numberFault(token) ?? surrogateFault(token))
      if (fault !== null) return fault
    }
    tokenCount += 1
    if (tokenCount > MAX_TOKENS) return `it has more than ${MAX_TOKENS} names, values and signs`
    if (openContainers.length > MAX_DEPTH) return `it has more than ${MAX_DEPTH} levels`
    previousToken = token
  }
  return null
}

/** Refuses numbers that parsing changes: a large integer loses digits, and an infinite number is written as null. */
function numberFault(token: string): string | null {
  if (!NUMBER.test(token)) return null
  const value = Number(token)
  const isLossless = INTEGER.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value)
  return isLossless ? null : `number ${token.slice(0, 32)} is too large`
}

/** Refuses a lone surrogate, because the API server reads it as U+FFFD. */
function surrogateFault(token: string): string | null {
  if (!SURROGATE_ESCAPE.test(token)) return null
  const isWellFormed = stringValueOf(token)?.isWellFormed() ?? true
  return isWellFormed ? null : 'a text has half of a surrogate pair'
}

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

function nameFault(token: string, names: Set<string> | null | undefined): string | null {
  const name = stringValueOf(token)
  if (!names || name === null) return null
  if (names.has(name)) return 'an object has a name twice'
  names.add(name)
  return names.size > MAX_NAMES ? `an object in it has more than ${MAX_NAMES} names` : null
}

/** The value of a string token, unescaped; null = the token is not a string. */
function stringValueOf(token: string): string | null {
  if (!token.startsWith('"')) return null
  if (!token.includes('\\')) return token.slice(1, -1)
  try {
    return String(JSON.parse(token))
  } catch {
    return null
  }
}
