import { describe, expect, test } from 'vitest'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  isCountedLogin,
  isSurplusLogin,
  leastUsedLogin,
} from '../../../../src/domain/accesskey/surplus-logins.ts'
import { accessKey, after } from '../../../support/key-builder.ts'

const login = (name: string, differing: Partial<AccessKey> = {}): AccessKey =>
  accessKey({ name, uid: `uid-${name}`, type: 'Login', ...differing })

const logins = (count: number, differing: (at: number) => Partial<AccessKey>) =>
  Array.from({ length: count }, (_, at) =>
    login(`login-${String(at).padStart(2, '0')}`, differing(at)),
  )

/** Those that are deleted, of all Login keys of a user. */
const surplusOf = (all: readonly AccessKey[]): readonly AccessKey[] =>
  all.filter((key) => isSurplusLogin(key, all))

const namesOf = (keys: readonly AccessKey[]) => keys.map(({ name }) => name)

describe('of the Login keys of a user 20 are kept (5.1)', () => {
  test('twenty keys are all kept', () => {
    expect(surplusOf(logins(20, (at) => ({ lastActivityMs: after(at) })))).toEqual([])
  })

  test('of 22 the two that were used longest ago are deleted', () => {
    const used = logins(22, (at) => ({ lastActivityMs: after(100 - at) }))
    expect(namesOf(surplusOf(used))).toEqual(['login-20', 'login-21'])
  })

  test('a key that was never used counts from its creation', () => {
    const used = logins(20, (at) => ({ lastActivityMs: after(10 + at) }))
    const [older, newer] = [9, 99].map((seconds) =>
      login(`new-${seconds}`, { creationMs: after(seconds) }),
    )
    expect(namesOf(surplusOf([...used, older, newer].flatMap((key) => key ?? [])))).toEqual([
      'login-00',
      'new-9',
    ])
  })

  test('of keys used at the same time the uid decides, whatever their order', () => {
    const same = logins(21, () => ({ lastActivityMs: after(1) }))
    expect(namesOf(surplusOf(same))).toEqual(['login-20'])
    expect(namesOf(surplusOf(same.toReversed()))).toEqual(['login-20'])
  })

  test('the next that is deleted is the one that was used longest ago, if there are more than 20', () => {
    const used = logins(22, (at) => ({ lastActivityMs: after(100 - at) }))
    expect(leastUsedLogin(used)?.name).toBe('login-21')
    expect(leastUsedLogin(used.toReversed())?.name).toBe('login-21')
    expect(leastUsedLogin(used.slice(0, 20))).toBeUndefined()
  })

  test('a key that does not count is not deleted, however many there are', () => {
    const used = logins(22, (at) => ({ lastActivityMs: after(100 - at) }))
    expect(isSurplusLogin(login('other', { type: 'User', lastActivityMs: after(1) }), used)).toBe(
      false,
    )
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
