// When a key changes, its caller is compared once for each of its watches (contract 13.3, 13.4).
import { expect, test } from 'vitest'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { type KeyCaller, isSameCaller, userInfoOf } from '../../../src/authn/caller.ts'
import { viewOf } from '../../support/key-builder.ts'

const SHOP = { projects: [{ project: 'shop' }] }

function callerOf(scope: Scope | null, spec = {}): KeyCaller {
  const key = viewOf({ metadata: { name: 'ci', uid: 'uid-ci' }, spec: { user: 'ada', ...spec } })
  const identity = userInfoOf(key) ?? { user: '', groups: [] }
  return { key: { ...key, scope }, identity, scope: null, expiresMs: null }
}

test.each<{ name: string; now: KeyCaller; isSame: boolean }>([
  { name: 'the same scope', now: callerOf({ ...SHOP }), isSame: true },
  { name: 'another scope', now: callerOf({ projects: [{ project: 'mail' }] }), isSame: false },
  { name: 'no scope', now: callerOf(null), isSame: false },
  { name: 'another group', now: callerOf(SHOP, { groups: ['dev'] }), isSame: false },
  { name: 'another expiry', now: { ...callerOf(SHOP), expiresMs: 1 }, isSame: true },
])('a key with $name is the same caller: $isSame (13.4)', ({ now, isSame }) =>
  expect(isSameCaller(callerOf(SHOP), now)).toBe(isSame),
)

test('a scope is serialized once per version of its key, however many watches compare it (13.3)', () => {
  let texts = 0
  const counted = () =>
    ({
      toJSON: () => {
        texts += 1
        return SHOP
      },
    }) as Scope
  const before = callerOf(counted())
  const now = callerOf(counted())
  const same = Array.from({ length: 600 }, () => isSameCaller({ ...before }, { ...now }))
  expect(new Set(same)).toEqual(new Set([true]))
  expect(texts).toBe(2)
})
