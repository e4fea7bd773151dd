import { expect, test } from 'vitest'
import type { UserSpec } from '../../../../src/api/user.gen.ts'
import { passwordRefOf } from '../../../../src/signin/password/password-ref.ts'

test.each([
  { name: 'a Secret', ref: { name: 'ada' }, found: { name: 'ada', key: 'password' } },
  { name: 'a Secret and a key', ref: { name: 'ada', key: 'h' }, found: { name: 'ada', key: 'h' } },
  { name: 'an empty key', ref: { name: 'ada', key: '' }, found: { name: 'ada', key: 'password' } },
  { name: 'a null key', ref: { name: 'ada', key: null }, found: { name: 'ada', key: 'password' } },
  { name: 'absence', ref: undefined, found: null },
  { name: 'null', ref: null, found: null },
  { name: 'a text', ref: 'ada', found: null },
  { name: 'a list', ref: ['ada'], found: null },
  { name: 'no name', ref: { key: 'password' }, found: null },
  { name: 'an empty name', ref: { name: '' }, found: null },
  { name: 'a path as the name', ref: { name: '../x' }, found: null },
  { name: 'another namespace in the name', ref: { name: 'default/ada' }, found: null },
  { name: 'a name that is too long', ref: { name: 'a'.repeat(254) }, found: null },
  { name: 'a number as the name', ref: { name: 7 }, found: null },
  { name: 'a key that no Secret has', ref: { name: 'ada', key: 'a/b' }, found: null },
  { name: 'a key that is too long', ref: { name: 'ada', key: 'k'.repeat(254) }, found: null },
  { name: 'dots as the key', ref: { name: 'ada', key: '..' }, found: null },
  { name: 'a number as the key', ref: { name: 'ada', key: 7 }, found: null },
])('$name in passwordRef is read, or the User has no password (24.1, 25.5)', ({ ref, found }) => {
  const spec = { passwordRef: ref } as unknown as UserSpec
  expect(passwordRefOf({ spec })).toEqual(found)
})

test('a User without a spec has no password (25.5)', () => {
  expect(passwordRefOf({})).toBeNull()
})
