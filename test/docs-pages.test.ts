// Pages that list things of the repository are complete, and list nothing else.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { REASONS } from '../src/api/reasons.ts'
import { IMPLEMENTED_SETTINGS } from '../src/domain/settings/effective-settings.ts'
import { FUZZ_TARGETS } from '../tools/fuzz/targets.ts'
import { unimplementedConditions } from '../src/domain/settings/unimplemented.ts'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

test('CONTRIBUTING.md lists the targets of make', () => {
  const targets = [...textOf('Makefile').matchAll(/^([a-z-]+):.*## /gm)].map(([, name]) => name)
  const rows = [...textOf('CONTRIBUTING.md').matchAll(/^\| `make ([a-z-]+)[^`]*` \|/gm)]
  const listed = new Set([...rows.map(([, name]) => name), 'help'])
  expect(listed).toEqual(new Set(targets))
})

test('CONTRIBUTING.md lists the projects of tests', () => {
  const [, section = ''] = textOf('CONTRIBUTING.md').split('\n## Tests\n')
  const [table = ''] = section.split('\n\n').filter((part) => part.startsWith('| project |'))
  const names = [...textOf('vitest.config.ts').matchAll(/^ {10}name: '([a-z-]+)',/gm)]
  const rows = [...table.matchAll(/^\| ([a-z-]+) \| `/gm)]
  expect(new Set(rows.map(([, name]) => name))).toEqual(new Set(names.map(([, name]) => name)))
})

test('CONTRIBUTING.md lists every fuzz target', () => {
  const [, section = ''] = textOf('CONTRIBUTING.md').split('\n## Fuzzing\n')
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| ((?:`[a-z]+`(?:, )?)+) \|/gm)
  const listed = Array.from(rows, ([, names = '']) => names.match(/[a-z]+/g) ?? []).flat()
  expect(listed.toSorted()).toEqual(Object.keys(FUZZ_TARGETS).toSorted())
})

test('CONTRIBUTING.md and docs/architecture.md show the same arrow of imports', () => {
  const arrow = (page: string) => /`api →[^`]+`/.exec(textOf(page))?.[0]
  expect(arrow('CONTRIBUTING.md')).toBe(arrow('docs/architecture.md'))
})

describe('docs/config.md', () => {
  const page = textOf('docs/config.md')

  test('lists the reasons of SecretStoreReady, which the delivery process gives (36.1)', () => {
    const rows = page.matchAll(/^\| SecretStoreReady \| \w+ \| (.*?) \|/gm)
    const listed = Array.from(rows, ([, names = '']) => names.match(/\w+/g) ?? []).flat()
    expect(new Set(listed)).toEqual(new Set(REASONS.secretStoreReady))
  })

  test('lists the conditions of a Config with their reasons (4.3, 6.7)', () => {
    const [, table = ''] = page.split('\n## Conditions\n')
    const listed = [...table.matchAll(/^\| (\w+) \| (True|False) \| `(\w+)` \|/gm)]
    const rows = listed.filter(([, type]) => type !== 'SecretStoreReady')
    const [, stalled = ''] = /^\| Stalled \| True \| (.*?) \|/m.exec(table) ?? []
    const failing = rows.flatMap(([, type, status, reason]) =>
      type === 'Ready' && status === 'False' ? [reason] : [],
    )
    expect([...stalled.matchAll(/\w+/g)].map(([reason]) => reason)).toEqual(failing)
    const parts = unimplementedConditions({ costControl: { enabled: true } })
    const sources = ['plan', 'reported-conditions'].map((name) =>
      textOf(`src/controllers/config/${name}.ts`),
    )
    const own = [...sources.join('\n').matchAll(/type: '(\w+)', status: '(\w+)', reason: '(\w+)'/g)]
    expect(rows.map(([, ...row]) => row.join(' ')).toSorted()).toEqual(
      [
        ...own.map(([, ...row]) => row.join(' ')),
        ...parts.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
      ].toSorted(),
    )
  })

  test('lists the settings that have an effect (2.2, 7.2, 9.1)', () => {
    const [, rest = ''] = page.split('\n## What the operator acts on\n')
    const [section = ''] = rest.split('\n## ')
    const rows = [...section.matchAll(/^\| (`[^|]*`) \|/gm)]
    const listed = rows.flatMap(([, names = '']) =>
      [...names.matchAll(/`(?:\w+\.)?(\w+)`/g)].map(([, name = '']) => name),
    )
    expect(listed.toSorted()).toEqual(IMPLEMENTED_SETTINGS.toSorted())
  })
})

const COMMANDS = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
]

test.each(COMMANDS.filter((page) => page.endsWith('.md')))(
  '%s starts programs only by npm, which finds the pinned Node',
  (page) => expect(textOf(page)).not.toContain('node_modules/.bin/'),
)
