// hvac, the client of most programs in Python, takes the store of secrets that tests run for one (contract 39, 36).
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureKvStore } from '../../../tools/kv-store/program.ts'
import { ensurePythonClient } from '../../../tools/python-client/python-client.ts'
import { startKvStore } from '../../support/kv-store/kv-store.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { runCommand } from '../../support/run-command.ts'

const program = await programOrSkip(ensureKvStore)
const SCRIPT = join(import.meta.dirname, 'kv-store.py')

test('hvac writes by check-and-set, reads, deletes, and renews its token (39)', async () => {
  const { python, env } = await ensurePythonClient(console.log)
  await using store = await startKvStore(program)
  const mounts = ['secret/*', 'kv1/*'] as const
  const token = await store.makeToken({
    renewable: true,
    rules: mounts.map((path) => ({ path, capabilities: ['create', 'update', 'read', 'delete'] })),
  })
  const { code, stdout, stderr } = await runCommand(
    python,
    [SCRIPT, store.url, store.caFile, token],
    { env },
  )
  expect(stderr).toBe('')
  expect(code).toBe(0)
  const stale = 'check-and-set parameter did not match the current version'
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    ['read', ['InvalidPath', []]],
    ['create', 1],
    ['create again', ['InvalidRequest', [stale]]],
    ['name', 204],
    ['replace', 2],
    ['read', [{ user: 'grace' }, 2, false]],
    ['metadata', [2, ['1', '2'], { owner: 'hvac' }]],
    ['delete', 204],
    ['read', [null, 2, true]],
    ['write 1', 204],
    ['read 1', { user: 'ada' }],
    ['elsewhere', ['Forbidden', ['1 error occurred:\n\t* permission denied\n\n']]],
    ['lookup', [true, ['default', 'test']]],
    ['renew', [true, ['default', 'test']]],
    ['revoke', 204],
    ['lookup', ['Forbidden', ['permission denied']]],
  ])
})
