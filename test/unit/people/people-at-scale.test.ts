// 10,000 Users and 2,000 Teams, measured in a separate process (24.2). docs/sizing.md has the figures.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PeopleAtScale } from '../../support/people-at-scale.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAGE = readFileSync(join(ROOT, 'docs/sizing.md'), 'utf8')

const measured = (): PeopleAtScale =>
  JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', join(ROOT, 'test/support/people-at-scale.ts')], {
      encoding: 'utf8',
    }),
  )

/** The number after these words in a row of the page. */
function figure(words: string): number {
  const row = PAGE.split('\n').find((line) => line.startsWith('|') && line.includes(words))
  return Number(row?.split('|').at(-2))
}

/** The limit of docs/performance.md for a turn of the event loop, in CPU time. */
const LONGEST_TURN_MS = 50

describe('10,000 Users and 2,000 Teams (24.2)', () => {
  const found = measured()

  test.each([
    { of: 'a User', words: 'a User with 6 groups', bytes: found.bytesPerUser },
    { of: 'a Team', words: 'a Team with 100 people', bytes: found.bytesPerTeam },
    { of: 'the teams of a caller', words: 'the teams of a caller', bytes: found.bytesPerLookup },
  ])("the memory for $of is within a quarter of the page's figure", ({ words, bytes }) => {
    expect(bytes / figure(words)).toBeGreaterThan(0.75)
    expect(bytes / figure(words)).toBeLessThan(1.25)
  })

  test('no object of a list, and no change of everybody, holds the event loop for 50 ms', () => {
    // A list yields after 10 ms, and the object that has begun by then is stored.
    expect(10 + found.longestPutMs).toBeLessThan(LONGEST_TURN_MS)
    expect(found.everybodyMs).toBeLessThan(LONGEST_TURN_MS)
  })
})
