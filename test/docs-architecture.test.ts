// docs/architecture.md names files and folders: all of them exist.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { returnsIn, walkFrom } from './support/code-walk.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** A file of TypeScript with its folder, or a folder. */
const PATH = /(?<![\w/.:([<>-])(?:[\w<>-]+\/)+(?:[\w-]+(?:\.[\w-]+)*\.ts\b|(?![\w<.]))/g

const named = [...new Set(Array.from(PAGE.matchAll(PATH), ([path]) => path))]

test('docs/architecture.md says of each package why it is there, and of no other', () => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Readonly<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>
  const [, section = ''] = PAGE.split('\n## Packages\n')
  const rows = section.split('\n## ')[0]?.match(/^\| `.*?(?= \| )/gm) ?? []
  const packages = rows.flatMap((row) =>
    [...row.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )
  const installed = [...Object.keys(dependencies), ...Object.keys(devDependencies)]
  expect(packages.toSorted()).toEqual(installed.toSorted())
})

test('docs/architecture.md names many files and folders', () =>
  expect(named.length).toBeGreaterThan(80))

test.each(named)('docs/architecture.md names %s, which exists', (path) => {
  const pattern = path.replaceAll(/<[\w-]+>/g, '*')
  expect(globSync([pattern, `src/${pattern}`], { cwd: ROOT })).not.toEqual([])
})

test('docs/architecture.md has every folder of src in its tree', () => {
  const [, tree = ''] = /\n## The tree\n+```\n([^]*?)\n```/.exec(PAGE) ?? []
  const shown = [...tree.matchAll(/^(src\/\S*)\//gm)].flatMap(([, folder = '']) =>
    globSync(folder.replaceAll(/<[\w-]+>/g, '*'), { cwd: ROOT }),
  )
  const files = globSync('src/*/**/*.ts', { cwd: ROOT }).filter((path) => !path.endsWith('.gen.ts'))
  const missing = new Set(files.map((path) => dirname(path)).filter((one) => !shown.includes(one)))
  expect([...missing].filter((one) => !one.startsWith('src/api')).toSorted()).toEqual([])
})

const TOKENS = 'src/controllers/directclusterendpointtoken'

/** The files of a section's block, in its order. */
function filesOfBlock(title: string): readonly string[] {
  const [, block = ''] = PAGE.split(`\n## ${title}\n`)[1]?.split('```') ?? []
  return [...block.matchAll(/^ *\S.*? {2,}(\S+\.ts)/gm)].map(([, file]) => `src/${file}`)
}

test('docs/architecture.md shows the walk of a token to its signature, with at most 13 returns', () => {
  const stops = walkFrom(`${TOKENS}/reconcile.ts`, 'reconcile')
  const shown = filesOfBlock('From a token to its signature')
  const walked = [...new Set(stops.map(({ file }) => file))]
  expect(walked.filter((file) => file.startsWith(TOKENS) || shown.includes(file))).toEqual(shown)
  expect(returnsIn(stops)).toBeLessThanOrEqual(13)
})
