import { expect, test } from 'vitest'
import { type KeyIndex, secretDigest } from '../../../src/authn/credential-index.ts'
import { keysAffectedBy } from '../../../src/domain/accesskey/owner-chain.ts'
import { indexOf, key, ownedBy, secretOf } from './key-builder.ts'

const same = { key: secretOf('same') }
const at = (version: number) => ({ metadata: { resourceVersion: String(version) } })

test.each<{
  readonly name: string
  readonly act: (index: KeyIndex) => void
  readonly touched: readonly string[]
}>([
  {
    name: 'a change touches the key',
    act: ({ store }) => store.put(key('x', {}, at(2))),
    touched: ['x'],
  },
  { name: 'a new key', act: ({ store }) => store.put(key('new', {}, at(2))), touched: ['new'] },
  {
    name: 'a key that comes touches those with its secret (3.3)',
    act: ({ store }) => store.put(key('third', same, at(2))),
    touched: ['a', 'b', 'third'],
  },
  {
    name: 'so does one that goes',
    act: ({ store }) => store.remove(key('a', same, at(2))),
    touched: ['a', 'b'],
  },
  {
    name: 'a change of it otherwise does not',
    act: ({ store }) => store.put(key('a', { ...same, disabled: true }, at(2))),
    touched: ['a'],
  },
  {
    name: 'one that holds its digest instead of the key touches them (3.3)',
    act: ({ store }) => store.put(key('a', { key: `sha256:${secretDigest(same.key)}` }, at(2))),
    touched: ['a', 'b'],
  },
  {
    name: 'a key touches all that it owns, down the line (10.3)',
    act: ({ store }) => store.put(key('owner', { disabled: true }, at(2))),
    touched: ['child', 'grandchild', 'owner'],
  },
  {
    name: 'another of the same name',
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
