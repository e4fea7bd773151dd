// The product's numbered rules as docs/guarantees.md has them, the tests that show each, and the comments that cite them.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The title of each rule by its number, such as `2.3`. */
export function rules(): ReadonlyMap<string, string> {
  const page = textOf('docs/guarantees.md')
  const found = page.matchAll(/^<a id="([\d.]+)"><\/a>\*\*\1 (.+?)\.?\*\*/gm)
  return new Map(Array.from(found, ([, number = '', title = '']) => [number, title]))
}

/** The test files that name each rule, as `(2.3)`, `(2.3, 2.6)` or `contract 2.3`, by rule. */
export function testsByRule(): ReadonlyMap<string, readonly string[]> {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).toSorted()
  const texts = files.map((file) => [file, textOf(file)] as const)
  return new Map(
    [...rules().keys()].map((rule) => {
      const number = rule.replace('.', '\\.')
      const named = new RegExp(`(?:\\(|contract )(?:[\\d.]+, )*${number}\\b(?!\\.)`)
      return [rule, texts.filter(([, text]) => named.test(text)).map(([file]) => file)]
    }),
  )
}

/** `file: number` of each citation in src of a rule or section that docs/guarantees.md does not have. */
export function danglingCitations(): readonly string[] {
  const numbers = [...rules().keys()]
  const sections = numbers.map((number) => number.split('.')[0])
  const known = new Set([...numbers, ...sections])
  return globSync('src/**/*.ts', { cwd: ROOT })
    .toSorted()
    .flatMap((file) =>
      citationsIn(textOf(file))
        .filter((number) => !known.has(number))
        .map((number) => `${file}: ${number}`),
    )
}

/** Of `contract 2.3`, `contract 2.3, 2.6` and `contract 2.3 and 2.6`. */
function citationsIn(text: string): readonly string[] {
  const lists = text.matchAll(/\bcontract (\d+(?:\.\d+)?(?:(?:,| and|, and) \d+(?:\.\d+)?)*)/g)
  return [...lists].flatMap(([, list = '']) => list.split(/,? and |, /))
}
