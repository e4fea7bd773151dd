import { describe, expect, test } from 'vitest'
import { impersonationOf } from '../../../../src/gateway/proxy/forward.ts'

const ADA = { user: 'ada', groups: ['dev', 'system:authenticated'] }

test('the headers of an identity hold one per group, and always the extra (10.5)', () => {
  expect(impersonationOf(ADA, 'ci')).toEqual({
    'impersonate-user': 'ada',
    'impersonate-group': ['dev', 'system:authenticated'],
    'impersonate-extra-platform.sh%2faccess-key': 'ci',
  })
})

describe('the gateway never impersonates these users, whatever the key says (A3, A4, A5)', () => {
  const BAD = [
    '',
    ' ',
    '\t',
    '\u00a0',
    '\u200b',
    '\u0000',
    '\u001f',
    '\u007f',
    'a b',
    ' a',
    'a ',
    'é',
    '日',
  ]
  const OWN = [
    'system:masters',
    'SYSTEM:masters',
    'System:node:n',
    'system:',
    'system:authenticateD',
  ]
  test.each([...BAD, ...OWN])('%j', (name) => {
    expect(() => impersonationOf({ ...ADA, user: name }, 'ci')).toThrow(/identity of an access key/)
    expect(() => impersonationOf({ ...ADA, groups: ['dev', name] }, 'ci')).toThrow(/identity/)
  })

  test.each(BAD)('a key named %j', (name) => {
    expect(() => impersonationOf(ADA, name)).toThrow(/identity of an access key/)
  })

  test("a user with the name of the platform's group", () => {
    expect(() => impersonationOf({ ...ADA, user: 'system:authenticated' }, 'ci')).toThrow(/system:/)
  })
})
