import { expect, test } from 'vitest'
import { type KeyIndex, secretDigest } from '../../../src/authn/credential-index.ts'
import { keysAffectedBy } from '../../../src/domain/accesskey/owner-chain.ts'
import { indexOf, key, ownedBy, secretOf } from './test-authenticator.ts'

const same = { key: secretOf('same') }
const at = (version: number) => ({ metadata: { resourceVersion: String(version) } })

test.each<{
  readonly name: string
  readonly act: (index: KeyIndex) => void
  readonly touched: readonly string[]
}>([
  {
    name: 'a change touches its key',
    act: ({ store }) => store.put(key('x', {}, at(2))),
    touched: ['x'],
  },
  { name: 'a new key', act: ({ store }) => store.put(key('new', {}, at(2))), touched: ['new'] },
  {
    name: 'a created key touches the keys with its secret (3.3)',
    act: ({ store }) => store.put(key('third', same, at(2))),
    touched: ['a', 'b', 'third'],
  },
  {
    name: 'a deleted key touches the keys with its secret',
    act: ({ store }) => store.remove(key('a', same, at(2))),
    touched: ['a', 'b'],
  },
  {
    name: 'another change touches only its key',
    act: ({ store }) => store.put(key('a', { ...same, disabled: true }, at(2))),
    touched: ['a'],
  },
  {
    name: 'a key replaced by its digest touches the keys with that secret (3.3)',
    act: ({ store }) => store.put(key('a', { key: `sha256:${secretDigest(same.key)}` }, at(2))),
    touched: ['a', 'b'],
  },
  {
    name: 'a change touches all keys that it owns, directly or through others (10.3)',
    act: ({ store }) => store.put(key('owner', { disabled: true }, at(2))),
    touched: ['child', 'grandchild', 'owner'],
  },
  {
    name: 'a new object of the same name touches both',
    act: ({ store }) =>
      store.put(key('x', {}, { metadata: { uid: 'uid-y', resourceVersion: '2' } })),
    touched: ['x', 'y'],
  },
])('$name', ({ act, touched }) => {
  const index = indexOf(
    key('x'),
    key('a', same),
    key('b', same, {}, 1),
    key('owner'),
    key('child', {}, ownedBy('owner')),
    key('grandchild', {}, ownedBy('child')),
    key('circle', {}, ownedBy('circle')),
  )
  const seen: string[] = []
  index.store.subscribe((change) =>
    seen.push(...keysAffectedBy(change, index).map(({ uid }) => uid)),
  )
  act(index)
  expect(seen.toSorted()).toEqual(touched.map((name) => `uid-${name}`))
})
