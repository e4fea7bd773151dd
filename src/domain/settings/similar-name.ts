/**
 * Whether a name differs from a known one only by the case of letters and by one letter: one more, one less, another
 * one, or two neighbours in the other order.
 */
export function isSimilarName(known: string, name: string): boolean {
  const [a, b] = [known.toLowerCase(), name.toLowerCase()]
  if (a === b) return true
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a]
  if (longer.length - shorter.length > 1) return false
  const from = commonPrefixLength(longer, shorter)
  if (longer.length > shorter.length) return longer.slice(from + 1) === shorter.slice(from)
  const isReplaced = longer.slice(from + 1) === shorter.slice(from + 1)
  const isSwapped =
    longer[from] === shorter[from + 1] &&
    longer[from + 1] === shorter[from] &&
    longer.slice(from + 2) === shorter.slice(from + 2)
  return isReplaced || isSwapped
}

function commonPrefixLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}
