/** @module-tag no-retry */
import { expect, test } from 'vitest'
import {
  readSessionsSettings,
  sessionsFlagsTable,
} from '../../../../src/commands/sessions/command.ts'

const read = (line: string) => readSessionsSettings(line.split(' ').filter((word) => word !== ''))

test.each([
  { line: '--user ada', user: 'ada', ends: false, kubeconfig: null },
  { line: '--user=Ada@Example.com --end', user: 'Ada@Example.com', ends: true, kubeconfig: null },
  { line: '--kubeconfig file --user ada', user: 'ada', ends: false, kubeconfig: 'file' },
])('sessions $line (27.2)', ({ line, ...settings }) => {
  expect(read(line)).toEqual({ kind: 'run', settings })
})

test.each([
  { line: '', says: ['--user is required, a user name'] },
  { line: '--end', says: ['--user is required'] },
  { line: '--user=', says: ['--user is required'] },
  { line: `--user ${'u'.repeat(254)}`, says: ['a user name, as access keys have it'] },
  { line: '--user ada bob', says: ['"bob"'] },
  { line: '--user ada --all', says: ['"--all" is not a flag, accepted are --user, --end'] },
  { line: '--user ada --end=maybe', says: ['true or false'] },
])('sessions $line is refused in one line that names the valid form (8.1)', ({ line, says }) => {
  const refusal = read(line)
  expect(refusal.kind).toBe('refuse')
  const text = refusal.kind === 'refuse' ? refusal.text : ''
  expect(text).toMatch(/^management-operator sessions: [^\n]+\n$/)
  for (const part of says) expect(text).toContain(part)
})

test('--help of sessions names every flag of the table in the docs (8.1)', () => {
  const help = read('--help')
  const text = help.kind === 'print' ? help.text : ''
  expect(text).toContain('Usage: management-operator sessions [flags]')
  const flags = [...sessionsFlagsTable().matchAll(/^\| `--([a-z-]+)/gm)].map(([, name]) => name)
  expect(flags).toEqual(['user', 'end', 'kubeconfig', 'help'])
  for (const flag of flags) expect(text).toContain(` --${flag}`)
})
