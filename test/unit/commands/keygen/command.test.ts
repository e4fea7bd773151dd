import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'
import { hasValidChecksum } from '../../../support/canary.ts'
import { programArgs } from '../../../support/command-process.ts'

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const run = (...argv: readonly string[]): Ran =>
  spawnSync(process.execPath, [...programArgs(), ...argv], { encoding: 'utf8' })

const digestOf = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`

describe('keygen (contract 3.6)', () => {
  test('prints a key and its digest on two lines', () => {
    const { status, stdout, stderr } = run('keygen')
    const [, key = '', digest = ''] = /^key: {4}(\S+)\ndigest: (\S+)\n$/.exec(stdout) ?? []
    expect(hasValidChecksum(key)).toBe(true)
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(digest).toBe(digestOf(key))
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  test('prints JSON for scripts, with another key each time', () => {
    const [one, two] = [1, 2].map(
      () => JSON.parse(run('keygen', '--output=json').stdout) as { key: string; digest: string },
    )
    expect(one?.digest).toBe(digestOf(one?.key ?? ''))
    expect(one?.key).not.toBe(two?.key)
  })

  test('--help prints its text', () => {
    const { status, stdout } = run('keygen', '--help')
    expect(stdout).toContain('Usage: management-operator keygen [flags]')
    expect(status).toBe(0)
  })

  test.each([
    { argv: ['keygen', '--output=yaml'], says: 'one of text, json' },
    { argv: ['keygen', '--key'], says: '--output, --help' },
    { argv: ['keygen', 'pak_x'], says: 'is not a flag' },
  ])('$argv is refused', ({ argv, says }) => {
    const { status, stdout, stderr } = run(...argv)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^management-operator keygen: [^\n]+\n$/)
    expect(stderr).toContain(says)
  })
})

describe('the program', () => {
  test.each([
    { argv: ['--version'], says: `${PROGRAM_VERSION}\n` },
    { argv: ['--help'], says: 'Usage: management-operator <command> [flags]' },
  ])('$argv', ({ argv, says }) => {
    const { status, stdout } = run(...argv)
    expect(stdout).toContain(says)
    expect(status).toBe(0)
  })

  test.each([
    {
      argv: [],
      says: 'no command given, accepted are manager, gateway, direct, syncer, target, kubeconfig, check, keygen',
    },
    {
      argv: ['mangler'],
      says: '"mangler" is not a command, accepted are manager, gateway, direct, syncer, target, kubeconfig, check, keygen',
    },
    { argv: ['toString'], says: '"toString" is not a command' },
    { argv: ['--verbose'], says: '"--verbose" is not a command' },
  ])('$argv is refused in one line', ({ argv, says }) => {
    const { status, stdout, stderr } = run(...argv)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^management-operator: [^\n]+\n$/)
    expect(stderr).toContain(says)
  })
})
