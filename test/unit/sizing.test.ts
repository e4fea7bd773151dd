// The figures of docs/sizing.md, measured in a separate process.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { KeyMemory } from '../support/store-memory.ts'
import { repeated } from '../support/tier.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/sizing.md'), 'utf8')

/** The number after these words in a row of the page. */
function figure(words: string): number {
  const row = PAGE.split('\n').find((line) => line.startsWith('|') && line.includes(words))
  return Number(row?.split('|').at(-2))
}

function measured(count: number): KeyMemory {
  const program = join(ROOT, 'test/support/store-memory.ts')
  const args = ['--expose-gc', program, String(count)]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

describe('docs/sizing.md: memory for each key', () => {
  const few = measured(repeated(5_000, 10_000))
  const many = measured(repeated(20_000, 40_000))

  test.each([
    { of: 'as JSON', words: 'as JSON', is: many.json },
    { of: 'in the operator', words: "in the operator's memory", is: many.view },
    { of: 'as whole objects', words: 'kept whole', is: many.whole },
  ])("$of is within a fifth of the page's figure", ({ words, is }) => {
    expect(is / figure(words)).toBeGreaterThan(0.8)
    expect(is / figure(words)).toBeLessThan(1.2)
  })

  test('grows in proportion to the number of keys', () => {
    expect(many.view / few.view).toBeLessThan(1.2)
  })
})
