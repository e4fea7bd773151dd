import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../src/api/config.gen.ts'
import type { ConfigMap } from '../../../../src/api/objects.ts'
import { Store, fullObject, objectKey } from '../../../../src/kube/informer/store.ts'
import { thing } from './scripted-server.ts'
import { storeWith } from './store-builder.ts'

const inEast = { namespace: 'east', uid: 'east-a', owner: 'x' }
const inWest = { namespace: 'west', uid: 'west-a', owner: 'x' }

/** Objects of one name in two namespaces, and a cluster-scoped object of that name. */
const threeOfOneName = () =>
  storeWith([thing('a', 1, inEast), thing('a', 2, inWest), thing('a', 3, { uid: 'cluster-a' })])

describe('a store of several namespaces', () => {
  test('finds each of three objects of one name by its namespace, or without one', () => {
    const { store } = threeOfOneName()
    expect(store.size).toBe(3)
    expect(['east/a', 'west/a', 'a'].map((key) => store.getByKey(key)?.uid)).toEqual([
      'east-a',
      'west-a',
      'cluster-a',
    ])
    expect(store.getByKey('north/a')).toBeUndefined()
  })

  test('finds an object by the name that its kind needs, and no other compiles', () => {
    const records = new Store(fullObject<ConfigMap>)
    records.put(thing('a', 1, inEast))
    expect([records.get('a', 'east')?.uid, records.get('a', 'west')]).toEqual(['east-a', undefined])
    // @ts-expect-error -- a ConfigMap is namespaced
    expect(records.get('a')).toBeUndefined()
    const configs = new Store(fullObject<Config>)
    configs.put(thing('a', 1))
    expect(configs.get('a')?.uid).toBe('a-uid')
    // @ts-expect-error -- a Config is cluster-scoped
    expect(configs.get('a', 'east')).toBeUndefined()
  })

  test('reports the key of each change, and changes only that object', () => {
    const { store, changes, objects } = threeOfOneName()
    store.put(thing('a', 5, inWest))
    store.observe(thing('a', 6, inEast))
    store.remove(thing('a', 7, inWest))
    expect(changes).toEqual(['west/a 2>5', 'east/a 1>6', 'west/a 5>'])
    expect(objects()).toEqual(['a@6', 'a@3'])
  })

  test('indexes both, and drops only the deleted one from the index', () => {
    const { store } = threeOfOneName()
    const uids = () => store.by('owner', 'x').map(({ uid }) => uid)
    expect([uids(), store.countBy('owner', 'x')]).toEqual([['east-a', 'west-a'], 2])
    store.remove(thing('a', 9, inEast))
    expect([uids(), store.firstBy('owner', 'x')?.uid]).toEqual([['west-a'], 'west-a'])
  })

  test('removes only the objects that a relist lacks', () => {
    const { list, changes, objects } = threeOfOneName()
    list(thing('a', 2, inWest))
    expect(objects()).toEqual(['a@2'])
    expect(changes).toEqual(['east/a 1> listed', 'a 3> listed'])
  })

  test('keeps the namespace of a full object, so that objectKey gives its key', () => {
    const store = new Store(fullObject)
    store.put(thing('a', 1, inEast))
    const [item] = [...store.values()]
    expect(item).toMatchObject({ name: 'a', namespace: 'east' })
    expect(objectKey(item ?? { name: '' })).toBe('east/a')
  })
})
