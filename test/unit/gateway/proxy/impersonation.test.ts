import { describe, expect, test } from 'vitest'
import { impersonationOf } from '../../../../src/gateway/proxy/impersonation.ts'

const ADA = { user: 'ada', groups: ['dev', 'system:authenticated'] }

test('the headers of an identity hold one per group, and always the extra (10.5)', () => {
  expect(impersonationOf(ADA, { 'platform.sh/access-key': 'ci' })).toEqual({
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
    expect(() =>
      impersonationOf({ ...ADA, user: name }, { 'platform.sh/access-key': 'ci' }),
    ).toThrow(/of a caller/)
    expect(() =>
      impersonationOf({ ...ADA, groups: ['dev', name] }, { 'platform.sh/access-key': 'ci' }),
    ).toThrow(/identity/)
  })

  test.each(BAD)('a key named %j', (name) => {
    expect(() => impersonationOf(ADA, { 'platform.sh/access-key': name })).toThrow(/of a caller/)
  })

  test("a user with the name of the platform's group", () => {
    expect(() =>
      impersonationOf({ ...ADA, user: 'system:authenticated' }, { 'platform.sh/access-key': 'ci' }),
    ).toThrow(/system:/)
  })
})
