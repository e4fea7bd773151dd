/** A line of the file: a test by its file and titles, and its calls of `expect`. */
export interface TestLine {
  readonly test: string
  readonly expects: number
  /** 0 for the first try. */
  readonly retry: number
}

/** The number of a rule in docs/guarantees.md, alone or in a list within parentheses: `(2.3)`, `(2.3, 2.6)`. */
const RULE = /^(?:contract )?([1-9]\d?\.[1-9]\d?|15)$/

/** The rules that a title names. */
export function rulesIn(title: string): readonly string[] {
  const parts = [...title.matchAll(/\(([^()]*)\)/g)].flatMap(([, inner = '']) => inner.split(', '))
  return [...new Set(parts.flatMap((part) => RULE.exec(part)?.[1] ?? []))]
}

/** Calls of `expect` in all, and for each rule in the tests that name it. */
export interface Assertions {
  readonly total: number
  readonly byRule: ReadonlyMap<string, number>
}

/** Sums the lines of a file. Of a test that was tried again the last try counts. */
export function assertionsIn(text: string): Assertions {
  const lines = text.split('\n').filter(Boolean)
  const read = lines.map((line) => JSON.parse(line) as TestLine)
  const lastTry = new Map<string, number>()
  for (const { test, retry } of read) lastTry.set(test, Math.max(retry, lastTry.get(test) ?? 0))
  const counted = read.filter(({ test, retry }) => retry === lastTry.get(test))
  const byRule = new Map<string, number>()
  for (const { test, expects } of counted) {
    for (const rule of rulesIn(test)) byRule.set(rule, (byRule.get(rule) ?? 0) + expects)
  }
  return { total: counted.reduce((sum, { expects }) => sum + expects, 0), byRule }
}

/** A line for each rule that has fewer calls than before. */
export function fewer(before: Assertions, after: Assertions): readonly string[] {
  return [...before.byRule]
    .map(([rule, count]) => ({ rule, count, now: after.byRule.get(rule) ?? 0 }))
    .filter(({ count, now }) => now < count)
    .toSorted((a, b) => a.rule.localeCompare(b.rule, 'en', { numeric: true }))
    .map(({ rule, count, now }) => `${rule}: ${count} before, ${now} after`)
}
