import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PROGRAM_VERSION } from '../../../../src/runtime/flags.ts'
import { hasValidChecksum } from '../../../support/canary.ts'
import { runHere } from '../../../support/command-line.ts'
import { type RunResult, runProgram } from '../../../support/command-process.ts'

const run = (...argv: readonly string[]): Promise<RunResult> => runHere(argv)

const digestOf = (key: string): string => `sha256:${createHash('sha256').update(key).digest('hex')}`

describe('keygen (contract 3.6)', () => {
  test('prints a key and its digest on two lines', async () => {
    const { code, stdout, stderr } = await runProgram(['keygen'])
    const [, key = '', digest = ''] = /^key: {4}(\S+)\ndigest: (\S+)\n$/.exec(stdout) ?? []
    expect(hasValidChecksum(key)).toBe(true)
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(digest).toBe(digestOf(key))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('prints JSON for scripts, with another key each time', async () => {
    const printed = async () =>
      JSON.parse((await run('keygen', '--output=json')).stdout) as { key: string; digest: string }
    const one = await printed()
    expect(one.digest).toBe(digestOf(one.key))
    expect(one.key).not.toBe((await printed()).key)
  })

  test('--help prints its text', async () => {
    const { code, stdout } = await run('keygen', '--help')
    expect(stdout).toContain('Usage: management-operator keygen [flags]')
    expect(code).toBe(0)
  })

  test.each([
    { argv: ['keygen', '--output=yaml'], says: 'one of text, json' },
    { argv: ['keygen', '--key'], says: '--output, --help' },
    { argv: ['keygen', 'pak_x'], says: 'is not a flag' },
  ])('$argv is refused', async ({ argv, says }) => {
    const { code, stdout, stderr } = await run(...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^management-operator keygen: [^\n]+\n$/)
    expect(stderr).toContain(says)
  })
})

describe('the program', () => {
  test.each([
    { argv: ['--version'], says: `${PROGRAM_VERSION}\n` },
    { argv: ['--help'], says: 'Usage: management-operator <command> [flags]' },
  ])('$argv', async ({ argv, says }) => {
    const { code, stdout } = await run(...argv)
    expect(stdout).toContain(says)
    expect(code).toBe(0)
  })

  test.each([
    {
      argv: [],
      says: 'no command given, accepted are manager, gateway, direct, delivery, sign-in, syncer, target, kubeconfig, check, keygen',
    },
    {
      argv: ['mangler'],
      says: '"mangler" is not a command, accepted are manager, gateway, direct, delivery, sign-in, syncer, target, kubeconfig, check, keygen',
    },
    { argv: ['toString'], says: '"toString" is not a command' },
    { argv: ['--verbose'], says: '"--verbose" is not a command' },
  ])('$argv is refused in one line', async ({ argv, says }) => {
    const { code, stdout, stderr } = await run(...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^management-operator: [^\n]+\n$/)
    expect(stderr).toContain(says)
  })
})
