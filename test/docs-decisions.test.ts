// The pages of docs/decisions have the parts that a reader looks for, and name what is there.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'docs/decisions')
const textOf = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const pages = readdirSync(FOLDER)
  .filter((name) => name !== 'README.md')
  .toSorted()

describe('docs/decisions', () => {
  test('the decisions are numbered without a gap', () => {
    expect(pages.length).toBeGreaterThan(10)
    const numbers = pages.map((name) => /^(\d{4})-[a-z0-9-]+\.md$/.exec(name)?.[1])
    expect(numbers).toEqual(pages.map((_, at) => String(at + 1).padStart(4, '0')))
  })

  test('the index lists every decision by its title', () => {
    const rows = [...textOf('README.md').matchAll(/^\| \[(\d{4})\]\((\S+)\) \| (.+) \|$/gm)]
    expect(rows.map(([, , name]) => name)).toEqual(pages)
    const titles = rows.map(([, number, , title]) => `# ${number} ${title}`)
    expect(titles).toEqual(pages.map((name) => textOf(name).split('\n')[0]))
  })

  test.each(pages)('%s has its four parts, none of them empty or long', (name) => {
    const [, ...parts] = textOf(name).split('\n## ')
    expect(parts.map((part) => part.split('\n')[0])).toEqual([
      'Context',
      'Decision',
      'What it costs',
      'What would change our mind',
    ])
    expect(parts.filter((part) => part.length < 60)).toEqual([])
    expect(textOf(name).split('\n').length).toBeLessThanOrEqual(26)
  })

  test.each(pages)('%s names only files and folders that exist', (name) => {
    const named = Array.from(textOf(name).matchAll(/`([\w./-]+)`/g), ([, path = '']) => path)
    const paths = named.filter((path) => path.includes('/') || path === 'Dockerfile')
    expect(paths).not.toEqual([])
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})
