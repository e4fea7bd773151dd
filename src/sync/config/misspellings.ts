// Keys of the configuration that are probably meant to be others (contract 16.1).

/** The known key that this key differs from by case or one letter; null = the key itself is known, or like no other. */
export function slipOf(key: string, known: readonly string[]): string | null {
  if (known.includes(key)) return null
  const given = key.toLowerCase()
  return known.find((one) => isNear(given, one.toLowerCase())) ?? null
}

/** Whether one letter more, less, another or two swapped make one text the other. */
function isNear(one: string, other: string): boolean {
  if (one === other) return true
  let from = 0
  while (from < one.length && one[from] === other[from]) from += 1
  const swapped = `${one[from + 1] ?? ''}${one[from] ?? ''}${one.slice(from + 2)}`
  const rest = other.slice(from)
  return (
    one.slice(from + 1) === other.slice(from + 1) ||
    one.slice(from + 1) === rest ||
    one.slice(from) === other.slice(from + 1) ||
    swapped === rest
  )
}

/** A sentence for each such key. @param at where they stand, with a dot behind; empty = at the top */
export const slipsIn = (
  keys: readonly string[],
  known: readonly string[],
  at: string,
): readonly string[] =>
  keys.flatMap((key) => {
    const meant = slipOf(key, known)
    return meant === null ? [] : [`${at}${key} has no meaning here, did you mean ${at}${meant}?`]
  })
