/** Objects of ours have a few levels; a patch or a claim may have some more. */
const DEEPEST = 64

/** Names, values and signs: twice what the largest scope has. */
const MOST_TOKENS = 200_000

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs
const NUMBER = /^-?\d/
const INTEGER = /^-?\d+$/

/**
 * Why a valid JSON text is not taken: a name twice in one object, of which readers keep
 * different ones, a number that is another when it is read, or more of anything than an object
 * of ours needs (threats E8). null = nothing.
 */
export function jsonFault(text: string): string | null {
  /** The names of each open object; null for a list. */
  const open: (Set<string> | null)[] = []
  let last = ''
  let count = 0
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : null)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':' && isRepeated(last, open.at(-1)))
      return 'a name stands twice in an object'
    else if (NUMBER.test(token) && !isKept(token))
      return `number ${token.slice(0, 32)} is too large`
    count += 1
    if (count > MOST_TOKENS) return `it has more than ${MOST_TOKENS} names, values and signs`
    if (open.length > DEEPEST) return `it has more than ${DEEPEST} levels`
    last = token
  }
  return null
}

/** Whether it is the same number when it is written again; one beyond all would become null. */
const isKept = (token: string): boolean =>
  INTEGER.test(token) ? Number.isSafeInteger(Number(token)) : Number.isFinite(Number(token))

function isRepeated(token: string, names: Set<string> | null | undefined): boolean {
  const name = nameIn(token)
  if (!names || name === null) return false
  if (names.has(name)) return true
  names.add(name)
  return false
}

/** Escapes spell the same name in many ways. */
function nameIn(token: string): string | null {
  try {
    const name: unknown = JSON.parse(token)
    return typeof name === 'string' ? name : null
  } catch {
    return null
  }
}
