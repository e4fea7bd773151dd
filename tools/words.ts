// Counts turns of phrase that hide who does what, in comments, strings and pages: `node tools/words.ts [--list] [--lower]`.
// It fails where a folder has more per 1,000 lines than its limit, and lists the finds there; --list lists all.
// --lower writes the limits of the folders that have improved. The titles of tests must be sentences.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  GOAL,
  limitFault,
  lowered,
  misspellingsIn,
  type PlacedFind,
  sharesOf,
} from './words/shares.ts'
import { titleFault } from './words/title-rules.ts'
import { titlesIn } from './words/titles.ts'

const ROOT = join(import.meta.dirname, '..')
/** Limits of the folders above the goal, by path, in finds per 1,000 lines. They may only fall. */
const LIMITS_FILE = join(ROOT, 'tools/words/limits.json')
/** Left out, because it quotes every phrase. */
const OWN_TEST = 'test/unit/tools/words.test.ts'

const pathsOf = (pattern: string): readonly string[] => globSync(pattern, { cwd: ROOT })
const files = [...pathsOf('{src,test,tools,bench}/**/*.ts'), ...pathsOf('{*,docs/**/*}.md')]
  .filter((path) => path !== OWN_TEST && !path.endsWith('.gen.ts'))
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
const shares = sharesOf(files)
const misspellings = misspellingsIn(files)

if (process.argv.includes('--lower')) {
  const limits = lowered(shares, readLimits())
  writeFileSync(LIMITS_FILE, `${JSON.stringify(limits, null, 2)}\n`)
}
const limits = readLimits()
const isWhole = process.argv.includes('--list')

console.log('phrases that hide who does what:')
const count = shares.reduce((sum, { finds }) => sum + finds.length, 0)
const above = shares.filter(({ perThousand }) => perThousand > GOAL)
console.log(`  ${count}, with more than ${GOAL} per 1,000 lines in ${above.length} folders`)
for (const share of shares) {
  const fault = limitFault(share, limits)
  if (fault !== null) process.exitCode = 1
  if (fault === null && (!isWhole || share.finds.length === 0)) continue
  const { folder, perThousand, finds } = share
  console.log(`  ${folder}: ${perThousand} per 1,000 lines${fault === null ? '' : `: ${fault}`}`)
  if (isWhole || perThousand > (limits[folder] ?? GOAL)) list(finds)
}
console.log(`  ${misspellings.length} misspellings of "cannot"; prose may have "can't", too`)
list(misspellings)
const titles = files.filter(({ path }) => path.endsWith('.test.ts')).flatMap(titleFaultsIn)
console.log(`  ${titles.length} titles of tests without a subject`)
for (const title of titles) console.log(`    ${title}`)
if (misspellings.length + titles.length > 0) process.exitCode = 1

function readLimits(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(LIMITS_FILE, 'utf8'))
}

function list(finds: readonly PlacedFind[]): void {
  for (const { path, line, words } of finds) console.log(`    ${path}:${line}: ${words}`)
}

function titleFaultsIn({ path, text }: (typeof files)[number]): readonly string[] {
  return titlesIn(text).flatMap((title) => {
    const fault = titleFault(title)
    const joined = [...title.describes, title.title].join(' > ')
    return fault === null ? [] : [`${path}:${title.line}: ${joined}: ${fault}`]
  })
}
