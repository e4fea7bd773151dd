import { describe, expect, test } from 'vitest'
import { userInfoOf } from '../../../src/authn/caller.ts'
import type { AccessKey } from '../../../src/domain/accesskey/access-key.ts'
import { viewOf } from '../../support/key-builder.ts'

/** A key as the gateway sees it, with an identity as the object would have it. */
const keyOf = (identity: string | null, groups: readonly string[] = []): AccessKey => ({
  ...viewOf({}),
  identity,
  groups,
})

describe('the user info of a key (10.5)', () => {
  test.each([
    {
      name: 'a user',
      key: keyOf('user:ada'),
      user: 'ada',
      groups: ['platform:authenticated', 'platform:user:ada', 'system:authenticated'],
    },
    {
      name: 'a team',
      key: keyOf('team:shop'),
      user: 'platform:team:shop',
      groups: ['platform:authenticated', 'platform:team:shop', 'system:authenticated'],
    },
    {
      name: 'a subject, unchanged',
      key: keyOf('subject:https://idp.example/#1'),
      user: 'https://idp.example/#1',
      groups: [
        'platform:authenticated',
        'platform:subject:https://idp.example/#1',
        'system:authenticated',
      ],
    },
    {
      name: "groups, unchanged and with the platform's prefix",
      key: keyOf('user:ada', ['dev', 'a:b']),
      user: 'ada',
      groups: [
        'dev',
        'a:b',
        'platform:group:dev',
        'platform:group:a:b',
        'platform:authenticated',
        'platform:user:ada',
        'system:authenticated',
      ],
    },
  ])('$name', ({ key, user, groups }) => {
    expect(userInfoOf(key)).toEqual({ user, groups })
  })

  const NOT_SENT = [
    '',
    ' ',
    '\t',
    '\u00a0',
    '\u200b',
    '\ufeff',
    '\u0000',
    'a b',
    ' ada',
    'ada ',
    'ada\n',
    'ada\r\nimpersonate-user: root',
    'é',
    '日本',
    'ａｄａ',
    'system:masters',
    'System:Masters',
    'SYSTEM:admin',
    'system:serviceaccount:kube-system:default',
    'system:node:n',
    'system:',
    'platform:team:shop',
    'Platform:authenticated',
  ]
  test.each(NOT_SENT)('there is no user info with %j in any field (A3, A4, A5)', (name) => {
    for (const kind of ['user', 'team', 'subject'])
      expect(userInfoOf(keyOf(`${kind}:${name}`))).toBeNull()
    expect(userInfoOf(keyOf('user:ada', [name]))).toBeNull()
    expect(userInfoOf(keyOf('user:ada', ['dev', name]))).toBeNull()
  })

  test('there is no user info for a key without an identity (A3)', () => {
    expect(userInfoOf(keyOf(null, ['dev']))).toBeNull()
  })
})
