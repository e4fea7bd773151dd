// The tables and pictures of docs/performance.md, from the run of the benchmark in docs/performance/results.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pictures } from '../../bench/report/pictures.ts'
import type { Results } from '../../bench/report/results.ts'
import { asMarkdown, figuresTable, goalsTable } from '../../bench/report/tables.ts'

const FILE = join(import.meta.dirname, '../../docs/performance/results.json')

const results = (): Results => JSON.parse(readFileSync(FILE, 'utf8')) as Results

/** What stands between the marks of the page: the machine, the goals, and the figures of each section. */
export function performanceParts(): Readonly<Record<string, string>> {
  const run = results()
  const { machine, date, command, load } = run
  const figures = Object.keys(run.sections).map((section) => asMarkdown(figuresTable(run, section)))
  return {
    machine: `\`${command}\` on ${date}: ${machine}; load average ${load[0]} before and ${load[1]} after.`,
    goals: asMarkdown(goalsTable(run)),
    figures: figures.join('\n\n'),
  }
}

/** The pictures by file name in docs/performance. */
export const performancePictures = (): Readonly<Record<string, string>> => pictures(results())
