import { describe, expect, test } from 'vitest'
import {
  type DerivedKey,
  derivedKeyOf,
  descendantsOf,
  resolveKeyUid,
} from '../../../../src/domain/accesskey/derived-keys.ts'
import { keyObject } from '../../../support/object-builder.ts'

/** Keys by name, each with the key it was created with; uids are `uid-<name>`. */
const keysOf = (made: Readonly<Record<string, string | null>>): readonly DerivedKey[] =>
  Object.entries(made).map(([name, maker]) => ({
    name,
    uid: `uid-${name}`,
    identity: 'user:ada',
    isDisabled: false,
    isDeleting: false,
    madeWith: maker === null ? null : `uid-${maker}`,
  }))

const KEYS = keysOf({
  'by-b': 'b',
  other: null,
  b: 'leaked',
  leaked: null,
  a: 'leaked',
  'by-other': 'other',
  'of-gone': 'gone',
  'uid-leaked': null,
})

describe('the keys that were created with a key (12.2, X9)', () => {
  test.each([
    { uid: 'uid-leaked', names: ['leaked', 'b', 'a', 'by-b'] },
    { uid: 'uid-b', names: ['b', 'by-b'] },
    { uid: 'uid-by-b', names: ['by-b'] },
    { uid: 'uid-gone', names: ['of-gone'] },
    { uid: 'uid-nobody', names: [] },
  ])('of $uid are $names', ({ uid, names }) => {
    expect(descendantsOf(KEYS, uid).map(({ name }) => name)).toEqual(names)
  })

  test('are found also when two keys name each other as their creator', () => {
    const round = keysOf({ a: 'b', b: 'a' })
    expect(descendantsOf(round, 'uid-a').map(({ name }) => name)).toEqual(['a', 'b'])
  })
})

test.each([
  { given: 'leaked', uid: 'uid-leaked' },
  // A user chose this name for a key.
  { given: 'uid-leaked', uid: 'uid-leaked' },
  { given: 'uid-gone', uid: 'uid-gone' },
  { given: 'gone', uid: null },
  { given: 'uid-nobody', uid: null },
])('resolveKeyUid resolves $given to $uid (12.2)', ({ given, uid }) => {
  expect(resolveKeyUid(KEYS, given)).toBe(uid)
})

test('the view of an object holds no secret (3.5)', () => {
  const metadata = { labels: { 'management.platform.sh/made-with': 'uid-x' } }
  const view = derivedKeyOf(
    keyObject({ metadata, spec: { user: 'ada', key: 'the-secret', disabled: true } }),
  )
  expect(view).toMatchObject({ identity: 'user:ada', isDisabled: true, madeWith: 'uid-x' })
  expect(JSON.stringify(view)).not.toContain('the-secret')
})
