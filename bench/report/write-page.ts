// Fills docs/performance.md with tables and pictures of two runs of the benchmark, `make bench` and `make bench-full`,
// whose results are in docs/performance. With --check it changes nothing and fails where something is stale.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filledPages, writePages } from '../../tools/generate/pages.ts'
import { verdictsOf } from './goals.ts'
import { pictures } from './pictures.ts'
import type { Results } from './results.ts'
import { asMarkdown, figuresTable, goalsTable } from './tables.ts'

const FOLDER = join(import.meta.dirname, '../../docs/performance')

const resultsOf = (file: string): Results =>
  JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Results

const quick = (): Results => resultsOf('results.json')

/** The machines, the goals, and the figures of each section. */
function performanceParts(): Readonly<Record<string, string>> {
  const [run, full] = [quick(), resultsOf('results-full.json')]
  return {
    machine: machineOf(run),
    'machine-full': machineOf(full),
    goals: asMarkdown(goalsTable(verdictsOf(run).filter((one) => !one.isOfFullScale))),
    figures: figuresOf(run),
    // A goal may be newer than the run, which takes long.
    'goals-full': asMarkdown(
      goalsTable(verdictsOf(full).filter(({ verdict }) => verdict !== 'not measured')),
    ),
    'figures-full': figuresOf(full),
  }
}

const machineOf = ({ machine, date, command, load }: Results): string =>
  `\`${command}\` on ${date}: ${machine}; load average ${load[0]} before and ${load[1]} after.`

const figuresOf = (run: Results): string =>
  Object.keys(run.sections)
    .map((section) => asMarkdown(figuresTable(run, section)))
    .join('\n\n')

writePages([
  ...filledPages({ 'performance.md': performanceParts() }, (file) => file === 'performance.md'),
  ...Object.entries(pictures(quick())).map(
    ([file, svg]) => [join('performance', file), svg] as const,
  ),
])
