// The product's numbered rules and threats as docs/guarantees.md and docs/threats.md have them, the tests that show each,
// and the comments that cite them.
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

/** The title of each threat by its id, such as `D5` or `SA`. */
export function threats(): ReadonlyMap<string, string> {
  const found = textOf('docs/threats.md').matchAll(
    /^<a id="([A-Z]\d+|S[A-M])"><\/a>\*\*\1 (.+?)[.,]?\*\*/gm,
  )
  return new Map(Array.from(found, ([, id = '', title = '']) => [id, title]))
}

/** Each citation of a threat in the sources and tests: the file and the id. */
export function threatCitations(): readonly { readonly file: string; readonly id: string }[] {
  return globSync('{src,test,tools,bench}/**/*.{ts,go}', { cwd: ROOT })
    .toSorted()
    .flatMap((file) => threatsIn(textOf(file)).map((id) => ({ file, id })))
}

/** A rule, a threat, or a row of threats. */
const ITEM = String.raw`(?:[A-FIKX]\d{1,2}(?: to [A-FIKX]\d{1,2})?|S[A-M]|\d+(?:\.\d+)?)`
const ITEMS = String.raw`${ITEM}(?:(?:[,;]| and) (?:(?:contract|threats?|invariants?) )?${ITEM})*`
const IN_PARENTHESES = String.raw`(?<![\w$.])\((?:(?:contract|threats?|invariants?) )?(${ITEMS})\)`
const BY_ITS_WORD = String.raw`\b(?:threats?|invariants?) (${ITEMS})`
const CITATION = new RegExp(`${IN_PARENTHESES}|${BY_ITS_WORD}`, 'g')

/** The threats of `(9.2; threats D1)`, `(A1 to A3, B2)`, `(12.4, X4)` and `threat X8`. */
export function threatsIn(text: string): readonly string[] {
  const lines = text.replaceAll(/\n *(?:\/\/|\*) */g, ' ')
  return Array.from(lines.matchAll(CITATION), ([, list, named]) => list ?? named ?? '').flatMap(
    (list) => [...list.matchAll(/([A-FIKX])(\d+)(?: to \1(\d+))?|(S[A-M])/g)].flatMap(idsOf),
  )
}

/** `D4` and `D5` of the row `D4 to D5`; a threat of signing in has two letters. */
function idsOf([, part = '', from = '', to = from, letters]: RegExpExecArray): readonly string[] {
  if (letters !== undefined) return [letters]
  const count = Number(to) - Number(from) + 1
  return Array.from({ length: count }, (_, at) => `${part}${Number(from) + at}`)
}

/** The rules of `contract 2.3`, `contract 2.3, 2.6` and `contract 2.3 and 2.6`. */
function citationsIn(text: string): readonly string[] {
  const lists = text.matchAll(/\bcontract (\d+(?:\.\d+)?(?:(?:,| and|, and) \d+(?:\.\d+)?)*)/g)
  return [...lists].flatMap(([, list = '']) => list.split(/,? and |, /))
}
