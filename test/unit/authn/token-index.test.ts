// Tokens by the user of their key; a token deleted before its exp still counts (12.2).
import { describe, expect, test } from 'vitest'
import { TOKENS } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { createTokenIndex } from '../../../src/authn/credential-index.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { indexOf, key, ownedBy } from './test-authenticator.ts'

const token = (name: string, owner: string, endsAfter: number | null, version = 1): KubeObject => ({
  apiVersion: 'management.platform.sh/v1',
  kind: TOKENS.kind,
  metadata: {
    ...ownedBy(owner).metadata,
    name,
    uid: `uid-${name}`,
    resourceVersion: String(version),
    creationTimestamp: textAfter(0),
  },
  ...(endsAfter === null ? {} : { status: { expirationTimestamp: textAfter(endsAfter) } }),
})

function started() {
  const keys = indexOf(key('ci'), key('cd'), key('bobs', { user: 'bob' }))
  let nowMs = t0
  const tokens = createTokenIndex(keys, () => nowMs)
  const { store } = tokens
  store.begin()
  for (const one of [token('a', 'ci', 60), token('b', 'cd', null), token('c', 'bobs', 60)])
    store.put(one)
  store.end()
  return {
    keys,
    tokens,
    pass: (seconds: number) => (nowMs += seconds * 1000),
    names: (identity: string) => tokens.ownedByIdentity(identity).map(({ name }) => name),
    deleted: (identity: string) => tokens.countDeleted(identity, nowMs),
  }
}

describe('tokens of a user (12.2)', () => {
  test('include the tokens of all keys of the user', () => {
    const { names } = started()
    expect(names('user:ada')).toEqual(['a', 'b'])
    expect(names('user:bob')).toEqual(['c'])
    expect(names('team:ada')).toEqual([])
  })

  test('count until their exp also when deleted, unless they were never issued', () => {
    const { tokens, names, deleted, pass } = started()
    tokens.store.remove(token('a', 'ci', 60, 2))
    tokens.store.remove(token('b', 'cd', null, 3))
    expect({ names: names('user:ada'), deleted: deleted('user:ada') }).toEqual({
      names: [],
      deleted: 1,
    })
    expect(deleted('user:bob')).toBe(0)
    pass(60)
    expect(deleted('user:ada')).toBe(0)
  })

  test('count when their key is deleted first', () => {
    const { keys, tokens, names, deleted } = started()
    const { metadata } = key('ci')
    keys.store.remove({ ...key('ci'), metadata: { ...metadata, resourceVersion: '9' } })
    expect(names('user:ada')).toEqual(['b', 'a'])
    tokens.store.remove(token('a', 'ci', 60, 10))
    expect({ names: names('user:ada'), deleted: deleted('user:ada') }).toEqual({
      names: ['b'],
      deleted: 1,
    })
  })

  test('leave the index when they expire', () => {
    const { tokens, deleted, pass } = started()
    pass(61)
    tokens.store.remove(token('a', 'ci', 60, 2))
    expect(deleted('user:ada')).toBe(0)
  })
})
