// The tables and pictures of docs/performance.md, from two runs of the benchmark in docs/performance: `make bench` and
// `make bench-full`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pictures } from '../../bench/report/pictures.ts'
import type { Results } from '../../bench/report/results.ts'
import { asMarkdown, figuresTable, goalsTable } from '../../bench/report/tables.ts'

const FOLDER = join(import.meta.dirname, '../../docs/performance')

const resultsOf = (file: string): Results =>
  JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Results

const quick = (): Results => resultsOf('results.json')

/** What stands between the marks of the page: the machines, the goals, and the figures of each section. */
export function performanceParts(): Readonly<Record<string, string>> {
  const [run, full] = [quick(), resultsOf('results-full.json')]
  return {
    machine: machineOf(run),
    'machine-full': machineOf(full),
    // A goal that both have measured is judged by the run that anyone repeats in ten minutes.
    goals: asMarkdown(goalsTable({ ...run, sections: { ...full.sections, ...run.sections } })),
    figures: figuresOf(run),
    'goals-full': asMarkdown(goalsTable(full)),
    'figures-full': figuresOf(full),
  }
}

const machineOf = ({ machine, date, command, load }: Results): string =>
  `\`${command}\` on ${date}: ${machine}; load average ${load[0]} before and ${load[1]} after.`

const figuresOf = (run: Results): string =>
  Object.keys(run.sections)
    .map((section) => asMarkdown(figuresTable(run, section)))
    .join('\n\n')

/** The pictures by file name in docs/performance. */
export const performancePictures = (): Readonly<Record<string, string>> => pictures(quick())
