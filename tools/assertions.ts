// Compares how many calls of `expect` the tests of each rule made in two runs, and fails where a rule has fewer:
// `ASSERTIONS=$PWD/before.json vitest run`, the same after a change, then
// `node tools/assertions.ts before.json after.json`. Runs that name the same file add to it.
import { readFileSync } from 'node:fs'
import { assertionsIn, fewer } from './assertions/by-rule.ts'

const [beforeFile, afterFile] = process.argv.slice(2)
if (beforeFile === undefined || afterFile === undefined) {
  console.error('usage: node tools/assertions.ts before.json after.json')
  process.exit(2)
}
const before = assertionsIn(readFileSync(beforeFile, 'utf8'))
const after = assertionsIn(readFileSync(afterFile, 'utf8'))
const lost = fewer(before, after)
for (const line of lost) console.log(line)
console.log(`rules with fewer assertions: ${lost.length} of ${before.byRule.size}`)
console.log(`assertions: ${before.total} before, ${after.total} after`)
if (lost.length > 0) process.exitCode = 1
