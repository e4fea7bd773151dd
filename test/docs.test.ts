import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { danglingCitations, rules, testsByRule } from '../tools/rules.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Anchors of a page, explicit ones and anchors of headings on GitHub, repeated ones included. */
function anchorsOf(page: string): readonly string[] {
  const prose = readFileSync(page, 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
  const own = Array.from(prose.matchAll(/<a id="([^"]+)">/g), ([, id = '']) => id)
  const headings = Array.from(prose.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
  return [...own, ...headings]
}

describe('docs', () => {
  test('guarantees.md has the numbered rules, each with its title', () => {
    expect(rules().size).toBeGreaterThan(70)
    expect(rules().get('2.3')).toBe('Fixed and sliding ends')
  })

  test('every rule that a comment in src cites is in guarantees.md', () =>
    expect(danglingCitations()).toEqual([]))

  test.each([...testsByRule()])('rule %s is in the title of a test', (_rule, files) => {
    expect(files).not.toEqual([])
  })

  test.each(PAGES)('every relative link of %s has a target', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const links = [...text.matchAll(/\]\((?!https?:)([^)]+)/g)].map(([, link]) => link ?? '')
    const broken = links.filter((link) => {
      const [file, anchor] = link.split('#')
      const target = file ? join(ROOT, dirname(page), file) : join(ROOT, page)
      return !existsSync(target) || (anchor && !anchorsOf(target).includes(anchor))
    })
    expect(broken).toEqual([])
  })

  test('README is short', () =>
    expect(Buffer.byteLength(readFileSync(join(ROOT, 'README.md')))).toBeLessThanOrEqual(6000))

  test('README lists every page', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
    const guides = PAGES.filter((page) => dirname(page) === 'docs')
    expect(guides.filter((page) => !readme.includes(`](${page})`))).toEqual([])
  })

  test.each(PAGES.filter((page) => page !== 'CHANGELOG.md'))(
    'the anchors of %s are unique',
    (page) => {
      const anchors = anchorsOf(join(ROOT, page))
      expect(anchors).toEqual([...new Set(anchors)])
    },
  )
})
