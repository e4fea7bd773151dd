/** Objects of ours have a few levels; a patch or a claim may have some more. */
const DEEPEST = 64

/** Names, values and signs: the largest spec that the schema takes has nearly 90,000. */
const MOST_TOKENS = 100_000

/** In one object, which is copied whole where one field of it is changed: annotations may be some. */
const MOST_NAMES = 1000

/** Of any text in one pass: a string that does not end is one to the end. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\]:,]|[^\s{}[\]:,"]+/gs
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const INTEGER = /^-?\d+$/

/**
 * Why a JSON text is not taken, whether it is valid or not: a name twice in one object, of which readers
 * keep different ones, a number or a text that is another when it is read, or more of anything than an object of
 * ours needs (threats E8). null = nothing.
 *
 * It comes before the parser: what that needs for some texts is a second, and nobody else is answered
 * meanwhile.
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
    if (count > MOST_TOKENS) return `it has more than ${MOST_TOKENS} names, values and signs`
    if (open.length > DEEPEST) return `it has more than ${DEEPEST} levels`
    last = token
  }
  return null
}

/** A number is to be the same when it is written again; one beyond all would become null. */
function numberFault(token: string): string | null {
  if (!NUMBER.test(token)) return null
  const value = Number(token)
  const isKept = INTEGER.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value)
  return isKept ? null : `number ${token.slice(0, 32)} is too large`
}

/** Half of a character, which the API server reads as another: U+FFFD. */
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
  return names.size > MOST_NAMES ? `an object in it has more than ${MOST_NAMES} names` : null
}

/** What a string says: escapes spell the same in many ways. null = it is none. */
function textIn(token: string): string | null {
  if (!token.startsWith('"')) return null
  if (!token.includes('\\')) return token.slice(1, -1)
  try {
    return String(JSON.parse(token))
  } catch {
    return null
  }
}
