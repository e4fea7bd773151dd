// Runs the tests: `node tools/test.ts [--all] [project ...]`, every project when none is named. `--all` adds
// the long ones: files named *.long.test.ts, and the rest of each table and flood (test/support/tier.ts). The
// last line is `N passed, N failed, N skipped`. A project in which nothing ran has failed, and so has a run
// with a skip without a reason, or with more than three flaky tests. vitest.config.ts has the projects.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Reporter, startVitest } from 'vitest/node'
import { useBundledProgram } from './bundle/bundle.ts'
import { heartbeat } from './test/heartbeat.ts'
import { rightsFailures } from './test/rights.ts'
import { isGood, judged, nothing, sum, summary, type Tally, tallyOf } from './test/tally.ts'

/**
 * The groups of a row run one after the other; projects of one group share its workers. No more than two control planes
 * run: the one of docs, which mostly waits, beside the groups that have one.
 */
const ONE_CONTROL_PLANE: readonly (readonly string[])[] = [['cluster'], ['direct']]
const TWO_CONTROL_PLANES: readonly (readonly string[])[] = [
  ['private'],
  ['own', 'faults'],
  ['sync'],
  ['sync-own'],
  ['container'],
]
const DOCS: readonly (readonly string[])[] = [['docs']]
const UNITS: readonly (readonly string[])[] = [['unit']]
const PROJECTS = [UNITS, DOCS, ONE_CONTROL_PLANE, TWO_CONTROL_PLANES].flat(2)

/** Several runs print at the same time: nothing is drawn over. */
const REPORTER: ['default', { summary: false }] = ['default', { summary: false }]

const ALL = '--all'
const chosen = process.argv.slice(2).filter((name) => name !== ALL)
const isWhole = process.argv.includes(ALL)
const unknown = chosen.filter((name) => !PROJECTS.includes(name))
if (unknown.length > 0) {
  console.error(`no test project ${unknown.join(', ')}: there are ${PROJECTS.join(', ')}`)
  process.exit(2)
}

process.env['TEST_TIER'] = isWhole ? 'all' : 'quick'
const output = newOutputFolder()
// Processes of the program run it as the image has it, which starts in a third of the time.
await useBundledProgram(`${output}-program`)
// Units need no control plane: at low priority they use what the others leave, which is most in the second row. With
// `--all` they come first: there groups measure, and units would be what they measure.
const units = isWhole ? await inTurn(UNITS) : []
const first = await Promise.all([ONE_CONTROL_PLANE, DOCS].map(inTurn))
const second = await Promise.all([TWO_CONTROL_PLANES, ...(isWhole ? [] : [UNITS])].map(inTurn))
let total = [units, ...first, ...second].flat().reduce(sum, nothing)
// Unused rights are known only once everything ran.
const ranAll = isWhole && PROJECTS.every((name) => chosen.length === 0 || chosen.includes(name))
total = judged(sum(total, { ...nothing, failures: rightsFailures(output, ranAll) }))
for (const part of ['template', 'program'])
  rmSync(`${output}-${part}`, { recursive: true, force: true })
const isAllGood = isGood(total)
if (isAllGood || readdirSync(output).length === 0) rmSync(output, { recursive: true })
else console.log(`what the operators wrote is in ${output}`)
for (const line of summary(total)) console.log(line)
process.exit(isAllGood ? 0 : 1)

/** Operators of this run leave their output there; it stays when the run fails. */
function newOutputFolder(): string {
  const root = join(import.meta.dirname, '../.test')
  mkdirSync(root, { recursive: true })
  const folder = mkdtempSync(join(root, 'run-'))
  process.env['TEST_OUTPUT'] = folder
  process.env['TEST_TEMPLATE'] = `${folder}-template`
  return folder
}

async function inTurn(groups: readonly (readonly string[])[]): Promise<readonly Tally[]> {
  const tallies: Tally[] = []
  for (const group of groups) tallies.push(await run(group))
  return tallies
}

/** Runs the chosen projects of a group. */
async function run(group: readonly string[]): Promise<Tally> {
  const projects = group.filter((name) => chosen.length === 0 || chosen.includes(name))
  if (projects.length === 0) return nothing
  console.log(`\n== ${projects.join(', ')} ==`)
  let tally = nothing
  let silent = projects
  const counter: Reporter = {
    onTestRunEnd: (modules, uncaught) => {
      tally = tallyOf(modules, uncaught)
      silent = projects.filter((name) => !modules.some(({ project }) => project.name === name))
    },
  }
  const live = process.stdout.isTTY ? [] : [heartbeat(console.log)]
  const options = { project: [...projects], watch: false, allowOnly: false }
  try {
    const vitest = await startVitest([], { ...options, reporters: [REPORTER, counter, ...live] })
    await vitest.close()
  } catch (error) {
    console.error(error)
  }
  const failures = silent.map((name) => ({ test: `project ${name}`, error: 'no test of it ran' }))
  return sum(tally, { ...nothing, failures })
}
