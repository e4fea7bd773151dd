// Threats that comments and titles cite are on docs/threats.md, and each there has a test.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { threatCitations, threats, threatsIn } from '../tools/rules.ts'

const page = readFileSync(join(import.meta.dirname, '../docs/threats.md'), 'utf8')
const citations = threatCitations()

describe('docs/threats.md', () => {
  test('has the threats, each with its title', () => {
    expect(threats().size).toBe(page.match(/<a id=/g)?.length)
    expect(threats().get('X4')).toBe('Patches as an oracle')
  })

  test('has every threat that a comment or a title cites', () => {
    expect(citations.length).toBeGreaterThan(200)
    const dangling = citations.filter(({ id }) => !threats().has(id))
    expect(dangling.map(({ file, id }) => `${file}: ${id}`)).toEqual([])
  })

  test.each([...threats().keys()])('%s is cited by a test, and links to what says so', (id) => {
    const tests = citations.filter(
      (citation) => citation.id === id && citation.file.startsWith('test/'),
    )
    expect(tests).not.toEqual([])
    const [, entry = ''] = page.split(`<a id="${id}"></a>`)
    expect(entry.split('\n\n')[0]).toMatch(/\]\((guarantees|security)\.md#/)
  })
})

describe('a citation of threats', () => {
  test.each([
    { text: "test('a sentence (9.2; D1, D2)'", cites: ['D1', 'D2'] },
    { text: '// of one key (contract 9.2; threats D1).', cites: ['D1'] },
    { text: '// over two\n// lines (contract 2.9,\n// 9.2; threats D4, D8).', cites: ['D4', 'D8'] },
    { text: '// all (threats A1 to A3, B2)', cites: ['A1', 'A2', 'A3', 'B2'] },
    { text: "test('a sentence (25.2, 27.2, SH)'", cites: ['SH'] },
    { text: '// of a provider (contract 25.9; threats SB, SJ).', cites: ['SB', 'SJ'] },
    { text: '// as threats D5 and D6 say, and more', cites: ['D5', 'D6'] },
    { text: '// (threats F2; invariants I1, I2)', cites: ['F2', 'I1', 'I2'] },
  ])('$text cites $cites', ({ text, cites }) => expect(threatsIn(text)).toEqual(cites))

  test.each([
    'find(C1)',
    '(C1, the first cluster)',
    '(2.3)',
    '(SSH, and more)',
    "[['C1', 2]]",
    '// DEL and the C1 controls',
  ])('%s cites none', (text) => expect(threatsIn(text)).toEqual([]))
})
