// The log sentences of the program, read from its sources, for tests of the pages that list them.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Quoted text; the second group is the text between the quotes. */
const LITERAL = /(['"`])((?:\\.|(?!\1).)*)\1/

/** A source without comments, each place for values an ellipsis. */
const sourceOf = (path: string): string =>
  textOf(path)
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/\$\{[^}]*\}/g, '…')
    .replaceAll(/…( …)+/g, '…')

/** The arguments of each call of a function. */
function callsOf(source: string, named: RegExp): readonly string[] {
  return [...source.matchAll(new RegExp(`${named.source}\\(`, 'g'))].map(({ 0: name, index }) => {
    const start = index + name.length
    let end = start
    for (let open = 1; open > 0 && end < source.length; end += 1)
      open += { '(': 1, ')': -1 }[source[end] ?? ''] ?? 0
    return source.slice(start, end - 1).trim()
  })
}

/** A source file and all files that it imports more than types from. */
function partsOf(path: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(path)) return found
  found.add(path)
  for (const [, from = ''] of textOf(path).matchAll(/^import (?!type )[^']*'(\.[^']+)'/gm))
    partsOf(join(dirname(path), from), found)
  return found
}

/** Their sentence is a parameter. */
const WITHOUT_SENTENCE = ['src/runtime/log.ts', 'src/runtime/log-throttle.ts']

/** The sentences of all warnings and errors that a command may log. @param path of its source */
export function sentencesOf(path: string): ReadonlySet<string> {
  const calls = [...partsOf(path)]
    .filter((part) => !WITHOUT_SENTENCE.includes(part))
    .flatMap((part) =>
      callsOf(sourceOf(part), /\b(?:(?:log|logger)\.(?:warn|error)|(?<![.\w])warn)/),
    )
  const sentences = calls.map((call) => {
    const literals = [...call.matchAll(new RegExp(LITERAL, 'g'))]
    return literals.at(-1)?.[2] ?? call
  })
  return new Set(sentences)
}

/** The texts in backquotes that rows of tables begin with. */
export const rowsIn = (section: string): readonly string[] =>
  [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
  )
