// Finds the file of a test by its title, which may come from a table.

/** A place that a table fills in: `$name`, `%s`, and `${...}` of a template. */
const PLACE = /\$\{[^}]*\}|\$[\w.]+|%[sdifjoO#]/g
const TEXT = /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g
/** How many letters a table's title must have besides such places: with fewer, the title of each row is in the file. */
const LEAST_LETTERS = 8

/** Whether the source of a test file has that part of a title, or a table with a row of that whole title. */
export const mayHaveTitle = (source: string, title: string): boolean =>
  source.includes(title) ||
  [...source.matchAll(TEXT)].some(([, , template = '']) => isRowOf(template, title))

function isRowOf(template: string, title: string): boolean {
  const words = template.split(PLACE)
  if (words.length === 1 || words.join('').trim().length < LEAST_LETTERS) return false
  return new RegExp(words.map(escaped).join('.+')).test(title)
}

/** The text as a regular expression that matches it alone. */
export const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
