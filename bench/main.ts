// The benchmark: the product beside its peers and the floor, on one real API server, in rounds.
// `node bench/main.ts [--full] [--only=operators,start]` prints tables and the verdict on each goal, and writes
// .bench/results.json and pictures. Nothing else should run on the machine. Linux only: CPU time is read from /proc.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startControlPlane } from '../tools/control-plane/control-plane.ts'
import { measureGateway } from './gateway/measure.ts'
import { GATEWAY_SIZES, GATEWAY_SUBJECTS } from './gateway/options.ts'
import type { Measured } from './measure/rounds.ts'
import type { Testbed } from './operators/comparators.ts'
import { verdictsOf } from './report/goals.ts'
import { pictures } from './report/pictures.ts'
import type { Results } from './report/results.ts'
import { asText, figuresTable, goalsTable } from './report/tables.ts'
import { FULL, QUICK, SECTIONS, withTestbed } from './sections.ts'
import { useShippedProgram } from './shipped-program.ts'

const { values } = parseArgs({
  options: { full: { type: 'boolean', default: false }, only: { type: 'string' } },
})
const known: readonly string[] = [...Object.keys(SECTIONS), ...GATEWAY_SUBJECTS]
const chosen = values.only?.split(',') ?? known
const unknown = chosen.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`no section ${unknown.join(', ')}: there are ${known.join(', ')}`)
  process.exit(2)
}

const OUTPUT = join(import.meta.dirname, '../.bench')
const loadNow = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10

await useShippedProgram()
const loadBefore = loadNow()
const sections: Record<string, Measured> = {}
const ofOperators = chosen.filter((name) => name in SECTIONS)
if (ofOperators.length > 0) await withTestbed(measureOperators)
const ofGateway = GATEWAY_SUBJECTS.filter((name) => chosen.includes(name))
if (ofGateway.length > 0) await measured('gateway', measureProxies)

const results = writeResults()
console.log(`\n${results.machine}, load ${results.load.join(' before, ')} after`)
for (const section of Object.keys(sections))
  console.log(`\n${asText(figuresTable(results, section))}`)
console.log(`\n${asText(goalsTable(verdictsOf(results)))}`)
if (!values.full)
  console.log(
    '\nmake bench-full measures what is missing here: docs/performance.md has a run of it',
  )
console.log(`\nresults.json and pictures are in ${OUTPUT}`)

/** Writes all results so far, and returns them. */
function writeResults(): Results {
  const soFar: Results = {
    machine: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
    date: new Date().toISOString().slice(0, 10),
    command: commandOf(values),
    load: [loadBefore, loadNow()],
    sections,
  }
  mkdirSync(OUTPUT, { recursive: true })
  writeFileSync(join(OUTPUT, 'results.json'), `${JSON.stringify(soFar, null, 2)}\n`)
  for (const [file, svg] of Object.entries(pictures(soFar))) writeFileSync(join(OUTPUT, file), svg)
  return soFar
}

/** The command that repeats this run. */
function commandOf({ full, only }: typeof values): string {
  if (only === undefined) return full ? 'make bench-full' : 'make bench'
  return `node bench/main.ts ${full ? '--full ' : ''}--only=${only}`
}

async function measureOperators(bed: Testbed): Promise<void> {
  for (const name of ofOperators)
    await measured(name, async () => SECTIONS[name]?.(bed, values.full ? FULL : QUICK, console.log))
}

/**
 * Writes the results of a part as soon as it ends, so that a stopped run has them. A part that fails is reported, and
 * does not end the others.
 */
async function measured(
  part: string,
  measure: () => Promise<Readonly<Record<string, Measured>> | undefined>,
): Promise<void> {
  console.log(`\n== ${part} ==`)
  const startMs = performance.now()
  try {
    Object.assign(sections, await measure())
    writeResults()
    console.log(`${part} took ${Math.round((performance.now() - startMs) / 1000)} s`)
  } catch (error) {
    console.error(`${part} could not be measured:`, error)
    process.exitCode = 1
  }
}

/** On a control plane of its own, as its objects stay there. */
async function measureProxies(): Promise<Readonly<Record<string, Measured>>> {
  const plane = await startControlPlane({ log: console.log })
  try {
    const sizes = values.full ? GATEWAY_SIZES.full : GATEWAY_SIZES.quick
    const options = { ...sizes, subjects: ofGateway, log: console.log }
    const { figures, missing } = await measureGateway(plane, options)
    for (const [way, because] of Object.entries(missing)) console.log(`without ${way}: ${because}`)
    return figures
  } finally {
    await plane.stop()
  }
}
