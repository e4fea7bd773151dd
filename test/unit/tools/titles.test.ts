import { describe, expect, test } from 'vitest'
import { titleFault } from '../../../tools/words/title-rules.ts'
import { titlesIn } from '../../../tools/words/titles.ts'

describe('the check of titles', () => {
  test('reads each title with the describes around it', () => {
    const source = [
      "describe('a key', () => {",
      "  describe.each(['x'])('of $kind', () => {",
      "    test('ends', () => {",
      '      expect(1).toBe(1)',
      '    })',
      '  })',
      '  test.each<{',
      '    readonly name: string',
      '  }>([',
      "    { name: 'a' },",
      "  ])('keeps $name', () => {})",
      '})',
      '',
      'test.skipIf(isQuick)(',
      '  `it\\`s ${COUNT}`,',
      '  () => {},',
      ')',
    ].join('\n')
    expect(titlesIn(source)).toEqual([
      { line: 3, describes: ['a key', 'of $kind'], title: 'ends' },
      { line: 7, describes: ['a key'], title: 'keeps $name' },
      { line: 14, describes: [], title: 'it`s ${COUNT}' },
    ])
  })

  // biome-ignore format: a table
  test.each<{ readonly describes?: readonly string[]; readonly title: string }>([
    { title: 'a key ends at its ttl (2.3)' },
    { title: 'requests of a client are ended' },
    { title: 'there is no event without a Service' },
    { title: 'only Leases are written after all faults' },
    { title: '$name, and no more' },
    { describes: ['a key (2.3)'], title: 'ends at its ttl' },
    { describes: ['a key that was revoked'], title: 'is deleted' },
    { describes: ['a key that was revoked'], title: 'never works again' },
    { describes: ['a key', 'of another user'], title: 'is hidden' },
    { describes: ['a key'], title: 'of another user is hidden' },
    { describes: ['requests without an answer'], title: 'have half a second' },
    { describes: ['a failed write loses no record'], title: 'after $name' },
    { describes: ['the operator writes'], title: 'nothing when the token has ended' },
    { describes: ['when the watch breaks'], title: 'a key is read from the server' },
  ])('accepts "$describes > $title"', (title) => {
    expect(titleFault({ line: 1, describes: [], ...title })).toBeNull()
  })

  // biome-ignore format: a table
  test.each<{ readonly describes?: readonly string[]; readonly title: string; readonly fault: string }>([
    { title: 'is deleted', fault: 'begins without its subject' },
    { title: 'refuses a key', fault: 'begins without its subject' },
    { title: 'reports a stuck reflector', fault: 'begins without its subject' },
    { title: 'of two keys the older works', fault: 'begins without its subject' },
    { title: 'what is held comes first', fault: 'begins without its subject' },
    { title: 'expired by the cap, a key is kept', fault: 'begins without its subject' },
    { title: 'nothing without a list', fault: 'begins without its subject' },
    { describes: ['a key'], title: 'deleted: restored as it was', fault: 'begins in mid-sentence' },
    { describes: ['a key'], title: 'but not at once', fault: 'begins in mid-sentence' },
    { describes: ['a key'], title: 'of another user', fault: 'has no verb' },
    { describes: ['a key is revoked for good'], title: 'is deleted', fault: 'has no subject: the describe is a sentence' },
    { describes: ['after a restart'], title: 'is deleted', fault: 'has no subject: the describe is not a noun' },
  ])('refuses "$describes > $title"', ({ fault, ...title }) => {
    expect(titleFault({ line: 1, describes: [], ...title })).toBe(fault)
  })
})
