// What a forge reads names things of this repository: owners of paths, sources of updates, commands.
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const foldersOf = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: ROOT, exclude: ['node_modules'] })
    .map((file) => join('/', dirname(file)))
    .toSorted()

interface Update {
  readonly 'package-ecosystem': string
  /** Either one folder or several. */
  readonly directory?: string
  readonly directories?: readonly string[]
  readonly cooldown: { readonly 'default-days': number }
}

describe('.github/dependabot.yml', () => {
  const { updates }: { updates: readonly Update[] } = parse(textOf('.github/dependabot.yml'))
  const watched = (ecosystem: string): readonly string[] =>
    updates
      .filter((update) => update['package-ecosystem'] === ecosystem)
      .flatMap(({ directory, directories = [] }) => (directory ? [directory] : directories))

  test.each([
    ['npm', '{,tools/**/}package.json'],
    ['docker', 'Dockerfile'],
    ['gomod', '*/*/go.mod'],
    ['pip', '*/*/requirements.txt'],
  ])('%s updates come from every folder with a manifest of it', (ecosystem, pattern) => {
    expect(watched(ecosystem)).toEqual(foldersOf(pattern))
  })

  test('every update waits a week after its release', () => {
    expect(updates.map(({ cooldown }) => cooldown['default-days'])).toEqual(updates.map(() => 7))
  })
})

test('.github/CODEOWNERS names only paths that exist, each with one owner', () => {
  const lines = textOf('.github/CODEOWNERS').split('\n')
  const rows = lines.filter((line) => line && !line.startsWith('#')).map((line) => line.split(/ +/))
  expect(rows.filter((row) => row.length !== 2)).toEqual([])
  expect(rows.filter(([path = '']) => path !== '*' && !existsSync(join(ROOT, path)))).toEqual([])
})

describe('issue templates', () => {
  const folder = '.github/ISSUE_TEMPLATE'
  const forms = readdirSync(join(ROOT, folder)).filter((name) => name !== 'config.yml')

  test.each(forms)('%s names only files that exist', (name) => {
    const named = textOf(`${folder}/${name}`).matchAll(/\b(?:docs\/[\w/-]+(?:\.md)?|[A-Z]+\.md)/g)
    expect([...named].filter(([path]) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test('the bug form offers every command', () => {
    const { body } = parse(textOf(`${folder}/bug.yml`))
    const { options } = body.find(({ id }: { id?: string }) => id === 'command').attributes
    const commands = textOf('src/commands/command-line.ts').matchAll(/^ {2}(\w+): /gm)
    expect(new Set(options)).toEqual(
      new Set([...Array.from(commands, ([, name]) => name), 'only manifests']),
    )
  })
})
