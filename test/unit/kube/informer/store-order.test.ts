// An ordered index keeps the first object of each value; the test compares it with a full sort.
import { expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'

interface Item {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly group: string | null
}

/** A view of an object, ordered by uid, which is random. */
const itemOf = ({ metadata, spec }: KubeObject<{ readonly group?: string }>): Item => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  group: spec?.group ?? null,
})

test.each(Array.from({ length: repeated(30, 1000) }, (_, seed) => seed + 1))(
  'the ordered index matches a full sort after random changes: seed %i',
  (seed) => {
    const random = randomFrom(seed)
    const store = new Store<Item>(
      (object) => itemOf(object as KubeObject<{ readonly group?: string }>),
      { group: ({ group }) => group },
      { group: (one, other) => one.uid < other.uid },
    )
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    for (let version = 1; version < 60; version += 1) {
      const name = random.pick(names)
      const known = store.get(name)
      const uid =
        known && random.pick([true, true, false]) ? known.uid : `uid-${random.between(0, 1)}`
      const group = random.pick(['x', 'x', 'x', 'y', ''])
      const metadata = { name, uid, resourceVersion: String(version), creationTimestamp: '' }
      const object = { metadata, ...(group && { spec: { group } }) } as KubeObject
      if (random.pick([true, true, false])) store.put(object)
      else if (known) store.remove({ ...object, metadata: { ...metadata, uid: known.uid } })
      for (const value of ['x', 'y', 'z']) {
        const all = [...store.values()].filter((item) => item.group === value)
        const inOrder = all.toSorted((one, other) => (one.uid < other.uid ? -1 : 1))
        expect(store.by('group', value)).toEqual(inOrder)
        expect(store.by('group', value, 2)).toEqual(inOrder.slice(0, 2))
        expect(store.firstBy('group', value)).toBe(inOrder[0])
        expect(store.countBy('group', value)).toBe(all.length)
      }
    }
  },
)
