import { expect, test } from 'vitest'
import { attemptResultOf } from '../../../tools/install/impersonation.ts'

const PROBE = 'User "system:serviceaccount:platform-system:impersonation-probe"'
const USERS = 'resource "users" in API group'
const forbidden = (text: string): string => `Error from server (Forbidden): ${text}\n`

// biome-ignore format: a table
test.each([
  { name: 'an answer', code: 0, stderr: '', kind: 'allowed' },
  { name: 'a refusal of the user that it acts as', code: 1, kind: 'allowed',
    stderr: forbidden('forbidden: User "heartbeat" cannot get path "/version"') },
  { name: 'a refusal for the older verb', code: 1, kind: 'refused',
    stderr: forbidden(`users "heartbeat" is forbidden: ${PROBE} cannot impersonate ${USERS} ""`) },
  { name: 'a refusal for a constrained verb', code: 1, kind: 'unknown',
    stderr: forbidden(`users "heartbeat" is forbidden: ${PROBE} cannot impersonate:user-info ${USERS} "authentication.k8s.io"`) },
  { name: 'a refusal for a constrained verb on the path', code: 1, kind: 'unknown',
    stderr: forbidden(`forbidden: ${PROBE} cannot impersonate-on:user-info:get path "/version"`) },
  { name: 'a refusal of another account', code: 1, kind: 'unknown',
    stderr: forbidden(`users "heartbeat" is forbidden: User "system:anonymous" cannot impersonate ${USERS} ""`) },
  { name: 'an unknown token', code: 1, stderr: 'error: You must be logged in to the server (Unauthorized)\n', kind: 'unknown' },
  { name: 'no connection', code: 1, stderr: 'Unable to connect to the server: EOF\n', kind: 'unknown' },
  { name: 'kubectl ended by a signal', code: 128, stderr: '', kind: 'unknown' },
])('$name: $kind (10.5)', ({ code, stderr, kind }) => {
  const because = stderr.trim()
  expect(attemptResultOf({ code, stderr })).toEqual(kind === 'allowed' ? { kind } : { kind, because })
})
