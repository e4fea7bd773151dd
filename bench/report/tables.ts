// The tables of a run, for the terminal and for the docs.
import { figureOf } from '../measure/rounds.ts'
import { type Verdict, spreadText } from './goals.ts'
import { type Results, figureNames } from './results.ts'

/** Rows of cells; the first has the titles. */
export type Table = readonly (readonly string[])[]

/** Goals with what was found and whether that meets them. */
export const goalsTable = (verdicts: readonly Verdict[]): Table => [
  ['goal', 'wanted', 'found', 'verdict'],
  ...verdicts.map(({ goal, wanted, found, verdict }) => [goal, wanted, found, verdict]),
]

/** The figures of one section: a row for each figure, a column for each comparator. Empty when it was not run. */
export function figuresTable(results: Results, section: string): Table {
  const measured = results.sections[section]
  if (measured === undefined) return []
  const names = Object.keys(measured)
  return [
    [section, ...names],
    ...figureNames(measured).map((figure) => [
      figure,
      ...names.map((name) => {
        const spread = figureOf(measured, name, figure)
        return spread === null ? '' : spreadText(spread)
      }),
    ]),
  ]
}

/** In columns of the width of their longest cell. */
export function asText(table: Table): string {
  const widths = (table[0] ?? []).map((_, at) =>
    Math.max(...table.map((row) => row[at]?.length ?? 0)),
  )
  return table
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** In Markdown. */
export function asMarkdown([titles = [], ...rows]: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(titles), `|${'---|'.repeat(titles.length)}`, ...rows.map(line)].join('\n')
}
