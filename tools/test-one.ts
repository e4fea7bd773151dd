// Runs tests by their title: `node tools/test-one.ts [--name <title>] [path ...]`. The title is a part of it as the file
// has it, or the whole title of a row. Paths are files or folders; without one, all files that may have such a test.
// TEST_TIER=quick leaves rows of tables out.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Reporter, startVitest } from 'vitest/node'
import { escaped, mayHaveTitle } from './test/by-title.ts'
import { nothing, tallyOf } from './test/tally.ts'

const ROOT = join(import.meta.dirname, '..')
const { values, positionals: paths } = parseArgs({
  options: { name: { type: 'string', default: '' } },
  allowPositionals: true,
})
const { name } = values
if (name === '' && paths.length === 0) {
  console.error("name a test: make test-one NAME='a part of its title' or FILE=test/...")
  process.exit(2)
}

const below = (path: string): boolean => paths.some((start) => path.startsWith(start))
const files = globSync('test/**/*.test.ts', { cwd: ROOT })
  .filter((path) => (paths.length > 0 ? below(path) : mayHaveTitle(textOf(path), name)))
  .toSorted()
if (files.length === 0) {
  const helpers = globSync('test/**/*.ts', { cwd: ROOT }).filter((path) =>
    mayHaveTitle(textOf(path), name),
  )
  console.error(`no test file has a title with ${JSON.stringify(name)}`)
  for (const path of helpers)
    console.error(`${path} has it: name a file that imports that, FILE=...`)
  process.exit(1)
}

let tally = nothing
const counter: Reporter = {
  onTestRunEnd: (modules, uncaught) => {
    tally = tallyOf(modules, uncaught)
  },
}
console.log(files.join('\n'))
const vitest = await startVitest(files, {
  watch: false,
  allowOnly: false,
  reporters: ['default', counter],
  ...(name === '' ? {} : { testNamePattern: escaped(name) }),
})
await vitest.close()
if (tally.passed + tally.failures.length === 0) {
  console.error(`no test ran: no title has ${JSON.stringify(name)}`)
  process.exitCode = 1
}

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
