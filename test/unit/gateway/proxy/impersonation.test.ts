import { describe, expect, test } from 'vitest'
import type { KeyCaller } from '../../../../src/authn/caller.ts'
import {
  impersonationOf,
  impersonationOfCaller,
} from '../../../../src/gateway/proxy/impersonation.ts'
import { viewOf } from '../../../support/key-builder.ts'

const ADA = { user: 'ada', groups: ['dev', 'system:authenticated'] }

test('the headers of an identity hold one per group, and always the extra (10.5)', () => {
  expect(impersonationOf(ADA, { 'platform.sh/access-key': 'ci' })).toEqual({
    'impersonate-user': 'ada',
    'impersonate-group': ['dev', 'system:authenticated'],
    'impersonate-extra-platform.sh%2faccess-key': 'ci',
  })
})

describe('the headers of a caller (10.5)', () => {
  const key = viewOf({ metadata: { name: 'ci' } })
  const caller = (parts: Partial<KeyCaller> = {}): KeyCaller => ({
    key,
    identity: ADA,
    scope: null,
    expiresMs: null,
    ...parts,
  })

  test('are built once for a key, and cannot change', () => {
    const built = impersonationOfCaller(caller())
    expect(built).toEqual(impersonationOf(ADA, { 'platform.sh/access-key': 'ci' }))
    expect(impersonationOfCaller(caller())).toBe(built)
    expect(Object.isFrozen(built) && Object.isFrozen(built['impersonate-group'])).toBe(true)
    expect(Object.isFrozen(ADA.groups)).toBe(false)
  })

  test('follow another state of the key, and another identity of it', () => {
    impersonationOfCaller(caller())
    const team = { user: 'ada', groups: ['dev', 'team:web'] }
    expect(impersonationOfCaller(caller({ identity: team }))['impersonate-group']).toEqual(
      team.groups,
    )
    const other = viewOf({ metadata: { name: 'other' } })
    expect(Object.values(impersonationOfCaller(caller({ key: other })))).toContain('other')
    expect(impersonationOfCaller(caller())['impersonate-group']).toEqual(ADA.groups)
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
