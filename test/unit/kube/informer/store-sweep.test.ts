// The store removes objects that a list lacked in parts, so that other work of the event loop comes in between.
import { describe, expect, test } from 'vitest'
import { thing } from './scripted-server.ts'
import { type ObservedStore, storeWith } from './store-builder.ts'

const COUNT = 20_000
const storedObjects = Array.from({ length: COUNT }, (_, n) => thing(`a-${n}`, n + 1))

describe(`a list that lacks some of ${COUNT} objects`, () => {
  test.each([
    { name: 'all of them', kept: [] },
    { name: 'all but the first', kept: storedObjects.slice(0, 1) },
    { name: 'every second one', kept: storedObjects.filter((_, n) => n % 2 === 0) },
  ])('$name: a sweep removes at most 1000', ({ kept }) => {
    const { store, changes } = storeWith(storedObjects)
    store.begin()
    for (const object of kept) store.put(object)
    const taken: number[] = []
    for (let before = store.size; store.sweep(); before = store.size)
      taken.push(before - store.size)
    expect(Math.max(...taken)).toBeLessThanOrEqual(1000)
    expect(store.size).toBe(kept.length)
    store.end()
    expect(changes).toHaveLength(COUNT - kept.length)
    expect(new Set(changes).size).toBe(changes.length)
  })

  test('the end of the list removes all that the sweeps left', () => {
    const { store } = storeWith(storedObjects)
    store.begin()
    store.put(thing('new', COUNT + 1))
    store.sweep()
    expect(store.size).toBe(COUNT - 1000 + 1)
    store.end()
    expect(store.size).toBe(1)
  })
})

describe('a change between two sweeps', () => {
  const LATER = COUNT + 9
  const last = storedObjects.at(-1)?.metadata.name ?? ''
  test.each<{ name: string; act: (storeWith: ObservedStore) => void; objects: readonly string[] }>([
    { name: 'no change', act: () => undefined, objects: ['kept@1'] },
    {
      name: 'an object is added',
      act: ({ store }) => store.put(thing('new', LATER)),
      objects: ['kept@1', `new@${LATER}`],
    },
    {
      name: 'a removed object is created again',
      act: ({ store }) => store.put(thing('a-0', LATER, { uid: 'other' })),
      objects: ['kept@1', `a-0@${LATER}`],
    },
    {
      name: 'an object that would be removed next is modified',
      act: ({ store }) => store.put(thing(last, LATER)),
      objects: [`kept@1`, `${last}@${LATER}`],
    },
    {
      name: 'an object that the list has is deleted',
      act: ({ store }) => store.remove(thing('kept', LATER)),
      objects: [],
    },
    {
      name: 'our write to a removed object is answered',
      act: ({ store }) => store.observe(thing('a-0', LATER)),
      objects: ['kept@1'],
    },
    {
      name: 'our write to an object that would be removed next is answered',
      act: ({ store }) => store.observe(thing(last, LATER)),
      objects: ['kept@1'],
    },
    {
      name: 'another list begins: only it decides what stays',
      act: ({ store }) => {
        store.begin()
        for (const name of ['kept', last]) store.put(thing(name, LATER))
      },
      objects: [`kept@${LATER}`, `${last}@${LATER}`],
    },
  ])('$name', ({ act, objects: expected }) => {
    const observed = storeWith([thing('kept', 1), ...storedObjects])
    const { store, objects } = observed
    store.begin()
    store.put(thing('kept', 1))
    expect(store.sweep()).toBe(true)
    act(observed)
    while (store.sweep()) continue
    store.end()
    expect(objects()).toEqual(expected)
  })

  test('sweeps of the first list leave the store unsynced, and indexes without removed objects', () => {
    const namesOwnedBy = Array.from({ length: 2500 }, (_, n) =>
      thing(`a-${n}`, n + 1, { owner: 'x' }),
    )
    const { store, namesOwnedBy: of } = storeWith()
    let synced = 0
    store.begin()
    for (const object of namesOwnedBy) store.put(object)
    // The stream broke, and the next one has a single object.
    store.begin()
    store.put(thing('a-7', 8, { owner: 'x' }))
    store.whenSynced(() => (synced += 1))
    while (store.sweep()) expect([store.synced, synced]).toEqual([false, 0])
    expect(of('x')).toEqual(['a-7'])
    expect([store.synced, synced]).toEqual([false, 0])
    store.end()
    expect([store.synced, synced]).toEqual([true, 1])
  })
})
