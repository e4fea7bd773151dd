// Resources as scopes and audit rules name them: `pods`, `pods/log`, `*` (all and their
// subresources), `pods/*` (the subresources of pods, not pods) and `*/scale`.

const PATTERN = /^(\*|[^*/\s]+(\/(\*|[^*/\s]+))?|\*\/[^*/\s]+)$/

/** Whether the text has one of these forms. */
export const isResourcePattern = (text: string): boolean => PATTERN.test(text)

/**
 * Indexes of the first two entries that cover a common resource while at least one of them has a
 * wildcard; null when there are none. A name given twice is no overlap.
 */
export function firstOverlappingPatterns(
  patterns: readonly string[],
): readonly [number, number] | null {
  for (const [later, pattern] of patterns.entries()) {
    const earlier = patterns.findIndex((other, at) => at < later && overlaps(other, pattern))
    if (earlier !== -1) return [earlier, later]
  }
  return null
}

function overlaps(a: string, b: string): boolean {
  if (!a.includes('*') && !b.includes('*')) return false
  if (a === '*' || b === '*') return true
  const [name, sub] = a.split('/')
  const [otherName, otherSub] = b.split('/')
  return same(name, otherName) && same(sub, otherSub)
}

// undefined is the resource itself, which no wildcard among subresources covers.
function same(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a === b || a === '*' || b === '*'
}
