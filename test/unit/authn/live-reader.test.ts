import { expect, test } from 'vitest'
import { createTestAuthenticator, key, secretOf } from './test-authenticator.ts'

test('the elder of two keys with the same secret is the caller as they are now: one was created again (3.3)', async () => {
  const same = { key: secretOf('same') }
  const other = key('b', { ...same, user: 'bob' }, {}, 1)
  const { now, outcome } = createTestAuthenticator(key('a', same), other)
  now.proven = null
  now.stored = [key('a', same, { metadata: { uid: 'other' } }, 2), other]
  expect(await outcome(secretOf('same'))).toBe('bob')
})
