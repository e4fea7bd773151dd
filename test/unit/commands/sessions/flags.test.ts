/** @module-tag no-retry */
import { expect, test } from 'vitest'
import { runHere } from '../../../support/command-line.ts'

test.each([
  { line: '', says: '--user is required, a user name, as access keys have it in spec.user' },
  { line: '--end', says: '--user is required' },
  { line: '--user=', says: '--user is required' },
  { line: `--user ${'u'.repeat(254)}`, says: 'a user name, as access keys have it in spec.user' },
  { line: '--user ada bob', says: '"bob"' },
  { line: '--user ada --all', says: '"--all" is not a flag, accepted are --user, --end' },
  { line: '--user ada --end=maybe', says: 'true or false' },
])('sessions $line is refused in one line that names the valid form (8.1)', async (row) => {
  const words = row.line.split(' ').filter((word) => word !== '')
  const { code, stdout, stderr } = await runHere(['sessions', ...words])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^management-operator sessions: [^\n]+\n$/)
  expect(stderr).toContain(row.says)
})
