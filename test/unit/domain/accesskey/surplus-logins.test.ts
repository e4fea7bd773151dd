import { describe, expect, test } from 'vitest'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { isCountedLogin, surplusLoginsOf } from '../../../../src/domain/accesskey/surplus-logins.ts'
import { accessKey, after } from '../../../support/key-builder.ts'

const login = (name: string, differing: Partial<AccessKey> = {}): AccessKey =>
  accessKey({ name, uid: `uid-${name}`, type: 'Login', ...differing })

const logins = (count: number, differing: (at: number) => Partial<AccessKey>) =>
  Array.from({ length: count }, (_, at) =>
    login(`login-${String(at).padStart(2, '0')}`, differing(at)),
  )

const namesOf = (keys: readonly AccessKey[]) => keys.map(({ name }) => name)

describe('of the Login keys of a user 20 are kept (5.1)', () => {
  test('twenty keys are all kept', () => {
    expect(surplusLoginsOf(logins(20, (at) => ({ lastActivityMs: after(at) })))).toEqual([])
  })

  test('of 22 the two that were used longest ago are deleted', () => {
    const used = logins(22, (at) => ({ lastActivityMs: after(100 - at) }))
    expect(namesOf(surplusLoginsOf(used))).toEqual(['login-20', 'login-21'])
  })

  test('a key that was never used counts from its creation', () => {
    const used = logins(20, (at) => ({ lastActivityMs: after(10 + at) }))
    const [older, newer] = [9, 99].map((seconds) =>
      login(`new-${seconds}`, { creationMs: after(seconds) }),
    )
    expect(namesOf(surplusLoginsOf([...used, older, newer].flatMap((key) => key ?? [])))).toEqual([
      'login-00',
      'new-9',
    ])
  })

  test('of keys used at the same time the uid decides, whatever their order', () => {
    const same = logins(21, () => ({ lastActivityMs: after(1) }))
    expect(namesOf(surplusLoginsOf(same))).toEqual(['login-20'])
    expect(namesOf(surplusLoginsOf(same.toReversed()))).toEqual(['login-20'])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a Login key of a user', key: login('a'), counts: true },
    { name: 'a key of another type', key: login('a', { type: 'User' }), counts: false },
    { name: 'a Login key of a team', key: login('a', { identity: 'team:sre' }), counts: false },
    { name: 'a Login key of nobody', key: login('a', { identity: null }), counts: false },
    { name: 'one that a GitOps tool tracks', key: login('a', { isTracked: true }), counts: false },
    { name: 'one that is being deleted', key: login('a', { isDeleting: true }), counts: false },
    { name: 'one that is disabled', key: login('a', { isDisabled: true }), counts: true },
  ])('$name counts: $counts', ({ key, counts }) => {
    expect(isCountedLogin(key)).toBe(counts)
  })
})
