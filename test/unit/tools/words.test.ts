import { describe, expect, test } from 'vitest'
import { phrasesIn, spellingsIn } from '../../../tools/words/patterns.ts'
import { limitFault, lowered, misspellingsIn, sharesOf } from '../../../tools/words/shares.ts'
import { proseOf, textsIn } from '../../../tools/words/texts.ts'

describe('the check of words', () => {
  test.each<{ readonly text: string; readonly finds: readonly string[] }>([
    { text: 'not the key of the certificate, but that of the CA', finds: ['that of'] },
    { text: 'Those of references and the ones\nof imports', finds: ['Those of', 'the ones of'] },
    { text: 'it is no file', finds: ['is no file'] },
    { text: 'There is no such key, it is no longer valid and is no older than a day', finds: [] },
    { text: 'the document is not taken', finds: ['taken'] },
    { text: 'The name is already taken, and its marks are taken off.', finds: [] },
    { text: 'The key NameTaken is a reason.', finds: [] },
    { text: 'Nobody is told anew.', finds: ['Nobody', 'told', 'anew'] },
    { text: 'the state as of the last poll', finds: ['as of'] },
    { text: 'refused as of Kubernetes 1.36, and as of 2026-01-01', finds: [] },
    { text: 'A name in backquotes, as `heard`, is free.', finds: [] },
    {
      text: 'Kept. What the cluster refuses stays.',
      finds: ['What the cluster refuses stays'],
    },
    {
      text: 'What is no address is refused.',
      finds: ['is no address', 'What is no address is refused'],
    },
    { text: 'What the current context names.', finds: [] },
    { text: 'Kept. What does a page cost?', finds: [] },
    { text: 'Kept. What to do then: nothing.', finds: [] },
  ])('finds $finds in "$text"', ({ text, finds }) => {
    expect(phrasesIn(text).map(({ words }) => words)).toEqual(finds)
  })

  test.each<{ readonly text: string; readonly message: number; readonly comment: number }>([
    { text: 'cannot read the file', message: 0, comment: 0 },
    { text: "can't read the file", message: 1, comment: 0 },
    { text: 'can not read the file', message: 1, comment: 1 },
    { text: 'A key can not only end, it can be disabled.', message: 0, comment: 0 },
  ])('finds $message misspellings in a message "$text"', ({ text, message, comment }) => {
    expect(spellingsIn(text, true)).toHaveLength(message)
    expect(spellingsIn(text, false)).toHaveLength(comment)
  })

  test('reads comments and literals, and neither code nor regular expressions', () => {
    const source = [
      '// One comment',
      '// on two lines.',
      "const taken = /'told' \"anew\"/.test(`a ${taken ? 'b' : `c ${1}`} d`) / 2",
      '/** A docstring.',
      ' * Its second line. */',
      "const text = 'it\\'s' + \"two\" // the end",
    ].join('\n')
    expect(textsIn(source).map(({ kind, line, text }) => [kind, line, words(text)])).toEqual([
      ['comment', 1, 'One comment on two lines.'],
      ['string', 3, 'b'],
      ['string', 3, 'c …'],
      ['string', 3, 'a … d'],
      ['comment', 4, 'A docstring. Its second line.'],
      ['string', 6, "it's"],
      ['string', 6, 'two'],
      ['comment', 6, 'the end'],
    ])
  })

  test('reads the prose of a page without its code, headings and links', () => {
    const page =
      '# What is told\n\nText [a](told.md).\n\n```sh\ntold\n```\n\n    told\n<a id="told"></a>\n'
    expect(words(proseOf(page).text)).toBe('Text [a] .')
  })

  test('counts the finds of each folder per 1,000 lines, and places each', () => {
    const shares = sharesOf([
      { path: 'src/a/one.ts', text: `//\n// told\n${'x\n'.repeat(498)}` },
      { path: 'src/a/two.ts', text: `//\n'by nobody' + 'nobody'\n${'x\n'.repeat(498)}` },
      { path: 'src/a/b/three.ts', text: '// told\n' },
      { path: 'docs/page.md', text: 'It is told.\n\nIt is told.\n' },
    ])
    expect(shares.map(({ folder, perThousand }) => [folder, perThousand])).toEqual([
      ['docs', 666.7],
      ['src/a', 2],
      ['src/a/b', 0],
    ])
    expect(shares[1]?.finds).toEqual([
      { path: 'src/a/one.ts', line: 2, pattern: 'word', words: 'told' },
      { path: 'src/a/two.ts', line: 2, pattern: 'word', words: 'nobody' },
    ])
  })

  test('judges a string of src alone as a message', () => {
    const text = `// can't\nconst a = "can't read"\n`
    const found = misspellingsIn([
      { path: 'src/a.ts', text },
      { path: 'test/a.ts', text },
    ])
    expect(found).toEqual([{ path: 'src/a.ts', line: 2, pattern: 'cannot', words: "can't" }])
  })

  test.each<{ readonly perThousand: number; readonly fault: string | null }>([
    { perThousand: 200.1, fault: 'more than 200' },
    { perThousand: 200, fault: null },
    { perThousand: 99, fault: 'lower its limit of 200' },
  ])('judges $perThousand finds against a limit of 200', ({ perThousand, fault }) => {
    expect(limitFault({ folder: 'src', finds: [], perThousand }, { src: 200 })).toBe(fault)
  })

  test('holds a folder without a limit to the goal', () => {
    expect(limitFault({ folder: 'src', finds: [], perThousand: 6 }, {})).toBeNull()
    expect(limitFault({ folder: 'src', finds: [], perThousand: 6.1 }, {})).toBe('more than 6')
  })

  test('lowers limits, and never raises one', () => {
    const shares = [
      { folder: 'a', finds: [], perThousand: 9.2 },
      { folder: 'b', finds: [], perThousand: 9.2 },
      { folder: 'c', finds: [], perThousand: 5 },
      { folder: 'd', finds: [], perThousand: 9 },
    ]
    expect(lowered(shares, { a: 12, b: 8, c: 12 })).toEqual({ a: 10, b: 8 })
  })
})

const words = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
