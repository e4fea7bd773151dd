// What a listing did not hold is taken out in parts, so that others come in between.
import { describe, expect, test } from 'vitest'
import { type Stage, stage, thing } from './stored.ts'

const COUNT = 20_000
const many = Array.from({ length: COUNT }, (_, n) => thing(`a-${n}`, n + 1))

describe(`of ${COUNT} objects`, () => {
  test.each([
    { name: 'all are gone', kept: [] },
    { name: 'the first stays', kept: many.slice(0, 1) },
    { name: 'every other one stays', kept: many.filter((_, n) => n % 2 === 0) },
  ])('$name: no sweep takes out more than a thousand', ({ kept }) => {
    const { store, told } = stage(many)
    store.begin()
    for (const object of kept) store.put(object)
    const taken: number[] = []
    for (let before = store.size; store.sweep(); before = store.size)
      taken.push(before - store.size)
    expect(Math.max(...taken)).toBeLessThanOrEqual(1000)
    expect(store.size).toBe(kept.length)
    store.end()
    expect(told).toHaveLength(COUNT - kept.length)
    expect(new Set(told).size).toBe(told.length)
  })

  test('all that are left are gone with the end', () => {
    const { store } = stage(many)
    store.begin()
    store.put(thing('new', COUNT + 1))
    store.sweep()
    expect(store.size).toBe(COUNT - 1000 + 1)
    store.end()
    expect(store.size).toBe(1)
  })
})

describe('between two sweeps', () => {
  const LATER = COUNT + 9
  const last = many.at(-1)?.metadata.name ?? ''
  test.each<{ name: string; act: (stage: Stage) => void; world: readonly string[] }>([
    { name: 'nothing happens', act: () => undefined, world: ['kept@1'] },
    {
      name: 'an object comes',
      act: ({ store }) => store.put(thing('new', LATER)),
      world: ['kept@1', `new@${LATER}`],
    },
    {
      name: 'one that was taken out comes again',
      act: ({ store }) => store.put(thing('a-0', LATER, { uid: 'other' })),
      world: ['kept@1', `a-0@${LATER}`],
    },
    {
      name: 'one that was to be taken out changes',
      act: ({ store }) => store.put(thing(last, LATER)),
      world: [`kept@1`, `${last}@${LATER}`],
    },
    {
      name: 'one that stays goes',
      act: ({ store }) => store.remove(thing('kept', LATER)),
      world: [],
    },
    {
      name: 'a write of ours to one that was taken out is answered',
      act: ({ store }) => store.observe(thing('a-0', LATER)),
      world: ['kept@1'],
    },
    {
      name: 'a write of ours to one that is to be taken out is answered',
      act: ({ store }) => store.observe(thing(last, LATER)),
      world: ['kept@1'],
    },
    {
      name: 'another listing begins: it alone says what stays',
      act: ({ store }) => {
        store.begin()
        for (const name of ['kept', last]) store.put(thing(name, LATER))
      },
      world: [`kept@${LATER}`, `${last}@${LATER}`],
    },
  ])('$name', ({ act, world: expected }) => {
    const staged = stage([thing('kept', 1), ...many])
    const { store, world } = staged
    store.begin()
    store.put(thing('kept', 1))
    expect(store.sweep()).toBe(true)
    act(staged)
    while (store.sweep()) continue
    store.end()
    expect(world()).toEqual(expected)
  })

  test('the first listing is not complete, and no index holds what is gone', () => {
    const owned = Array.from({ length: 2500 }, (_, n) => thing(`a-${n}`, n + 1, { owner: 'x' }))
    const { store, owned: of } = stage()
    let synced = 0
    store.begin()
    for (const object of owned) store.put(object)
    // The stream broke, and the next holds one of them.
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
