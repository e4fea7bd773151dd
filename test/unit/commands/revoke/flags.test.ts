/** @module-tag no-retry */
import { expect, test } from 'vitest'
import { readRevokeSettings, revokeFlagsTable } from '../../../../src/commands/revoke/command.ts'

const read = (line: string) => readRevokeSettings(line.split(' ').filter((word) => word !== ''))

test.each([
  { line: 'leaked', nameOrUid: 'leaked', isDryRun: false, kubeconfig: null },
  { line: '--dry-run leaked', nameOrUid: 'leaked', isDryRun: true, kubeconfig: null },
  { line: 'leaked --dry-run', nameOrUid: 'leaked', isDryRun: true, kubeconfig: null },
  { line: '--kubeconfig file leaked', nameOrUid: 'leaked', isDryRun: false, kubeconfig: 'file' },
])('revoke $line (12.2)', ({ line, ...settings }) => {
  expect(read(line)).toEqual({ kind: 'run', settings })
})

test.each([
  { line: '', says: ['one access key, by its name or uid'] },
  { line: 'one two', says: ['one access key, by its name or uid'] },
  { line: 'one --all', says: ['"--all" is not a flag, accepted are --kubeconfig, --dry-run'] },
  { line: '--dry-run=maybe', says: ['true or false', 'one access key'] },
])('revoke $line is refused in one line that names the valid form (8.1)', ({ line, says }) => {
  const refusal = read(line)
  expect(refusal.kind).toBe('refuse')
  const text = refusal.kind === 'refuse' ? refusal.text : ''
  expect(text).toMatch(/^management-operator revoke: [^\n]+\n$/)
  for (const part of says) expect(text).toContain(part)
})

test('--help names its arguments and every flag of the table in the docs (8.1)', () => {
  const help = read('--help')
  const text = help.kind === 'print' ? help.text : ''
  expect(text).toContain('Usage: management-operator revoke <name or uid> [flags]')
  const flags = [...revokeFlagsTable().matchAll(/^\| `--([a-z-]+)/gm)].map(([, name]) => name)
  expect(flags).toEqual(['kubeconfig', 'dry-run', 'help'])
  for (const flag of flags) expect(text).toContain(` --${flag}`)
})
