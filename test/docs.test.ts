import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { testsByRule } from '../tools/rules.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

describe('docs', () => {
  test.each([...testsByRule()])('rule %s is shown by a test that names it', (_rule, files) => {
    expect(files).not.toEqual([])
  })

  test.each(PAGES)('every relative link of %s leads somewhere', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link ?? '')
    const broken = links.filter((link) => !existsSync(join(ROOT, dirname(page), link)))
    expect(broken).toEqual([])
  })
})
