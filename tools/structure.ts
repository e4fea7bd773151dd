// Measures the source tree against its limits: `node tools/structure.ts [--list]`. It fails where one is
// exceeded and then lists what it found; with --list it always does. test/layers.test.ts has the rules of imports.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sourceFile } from './structure/imports.ts'
import { measure, SMALL_BELOW_LINES } from './structure/measures.ts'

/** The limits of the measures; they may only fall. */
const MOST = {
  smallPercent: 7,
  circles: 0,
  unused: 0,
  forTests: 43,
  ambiguous: 0,
}

const ROOT = join(import.meta.dirname, '..')
const paths = globSync('{src,test,tools,bench}/**/*.ts', { cwd: ROOT }).toSorted()
const found = measure(paths.map((path) => sourceFile(path, readFileSync(join(ROOT, path), 'utf8'))))
const smallPercent = (found.small.length / found.files.length) * 100
const rows = [
  {
    name: `% of the files have less than ${SMALL_BELOW_LINES} lines`,
    count: Number(smallPercent.toFixed(1)),
    most: MOST.smallPercent,
    list: found.small,
  },
  {
    name: 'circles of files or folders',
    count: found.circles.length,
    most: MOST.circles,
    list: found.circles.map((circle) => circle.join(' ')),
  },
  {
    name: 'exports that no other file uses',
    count: found.unused.length,
    most: MOST.unused,
    list: found.unused,
  },
  {
    name: 'exports that only tests use',
    count: found.forTests.length,
    most: MOST.forTests,
    list: found.forTests,
  },
  {
    name: 'type names with more than one meaning',
    count: found.ambiguous.length,
    most: MOST.ambiguous,
    list: found.ambiguous,
  },
]

console.log('structure of src:')
for (const { name, count, most, list } of rows) {
  const isOver = count > most
  console.log(`  ${count} ${name} (limit ${most})${isOver ? ': too many' : ''}`)
  if (isOver) process.exitCode = 1
  if (isOver || process.argv.includes('--list')) for (const one of list) console.log(`    ${one}`)
}
