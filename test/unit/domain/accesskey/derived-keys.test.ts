import { describe, expect, test } from 'vitest'
import {
  type DerivedKey,
  derivedKeyOf,
  descendantsOf,
  resolveKeyUid,
} from '../../../../src/domain/accesskey/derived-keys.ts'
import { keyObject } from '../../../support/object-builder.ts'

/** Keys by name, each with the one that it was made with; uids are `uid-<name>`. */
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
  ])('from $uid on are $names', ({ uid, names }) => {
    expect(descendantsOf(KEYS, uid).map(({ name }) => name)).toEqual(names)
  })

  test('are found also when two keys name each other as creator', () => {
    const round = keysOf({ a: 'b', b: 'a' })
    expect(descendantsOf(round, 'uid-a').map(({ name }) => name)).toEqual(['a', 'b'])
  })
})

test.each([
  { said: 'leaked', uid: 'uid-leaked' },
  // Somebody has named a key of his so.
  { said: 'uid-leaked', uid: 'uid-leaked' },
  { said: 'uid-gone', uid: 'uid-gone' },
  { said: 'gone', uid: null },
  { said: 'uid-nobody', uid: null },
])('resolveKeyUid finds $uid for $said (12.2)', ({ said, uid }) => {
  expect(resolveKeyUid(KEYS, said)).toBe(uid)
})

test('the view of an object holds no secret (3.5)', () => {
  const metadata = { labels: { 'management.platform.sh/made-with': 'uid-x' } }
  const view = derivedKeyOf(
    keyObject({ metadata, spec: { user: 'ada', key: 'the-secret', disabled: true } }),
  )
  expect(view).toMatchObject({ identity: 'user:ada', isDisabled: true, madeWith: 'uid-x' })
  expect(JSON.stringify(view)).not.toContain('the-secret')
})
