import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { named, onPath } from '../../../tools/prometheus/programs.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'path-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A folder with these as executable files. */
function withPrograms(name: string, programs: readonly string[]): string {
  const one = join(folder, name)
  mkdirSync(one)
  for (const program of programs) {
    writeFileSync(join(one, program), '')
    chmodSync(join(one, program), 0o755)
  }
  return one
}

describe('the programs of Prometheus', () => {
  test('are named by two variables', () => {
    expect(named({ PROMETHEUS: '/opt/prometheus', PROMTOOL: '/opt/promtool' })).toEqual({
      prometheus: '/opt/prometheus',
      promtool: '/opt/promtool',
    })
    expect(named({ PROMETHEUS: '', PROMTOOL: '' })).toBeNull()
  })

  test.each([{ PROMETHEUS: '/opt/prometheus' }, { PROMTOOL: '/opt/promtool' }])(
    'are rejected when only one variable is set: %o',
    (env) => {
      expect(() => named(env)).toThrow('set both PROMETHEUS and PROMTOOL, or neither')
    },
  )

  test('are found on PATH when both are in one folder', () => {
    const first = withPrograms('first', ['prometheus'])
    const second = withPrograms('second', ['promtool'])
    const both = withPrograms('both', ['prometheus', 'promtool'])
    expect(onPath([first, second].join(delimiter))).toBeNull()
    expect(onPath(['', first, second, both].join(delimiter))).toEqual({
      prometheus: join(both, 'prometheus'),
      promtool: join(both, 'promtool'),
    })
  })
})
