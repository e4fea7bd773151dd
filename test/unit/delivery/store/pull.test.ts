import { describe, expect, test } from 'vitest'
import { CLAIM_LABEL, DELIVERY_FIELD_MANAGER } from '../../../../src/api/names.ts'
import {
  SECRET_STORE_LABEL,
  SECRET_STORE_VERSION_ANNOTATION,
} from '../../../../src/api/secret-store-names.ts'
import { sync } from '../../../../src/delivery/store/sync.ts'
import type { ServerFault } from '../../../support/delivery/memory-api-server.ts'
import {
  NAMESPACE,
  type StoreWorld,
  atPath,
  encoded,
  pullWorld,
} from '../../../support/store/store-world.ts'

const PATH = 'shop/app'
const NO_WRITES = { server: 0, store: 0 }
const ONE_WRITE = { server: 1, store: 0 }

/** A world whose Secret has the entry's data. */
async function pulledWorld(content = { user: 'ada', pass: 'x' }): Promise<StoreWorld> {
  const world = pullWorld(content)
  expect(await world.sync()).toBe('written')
  expect(world.data()).toEqual(content)
  return world
}

/** Acts once, before the next write of a Secret reaches the API server. */
function beforeWrite(world: StoreWorld, act: () => void): void {
  world.server.faultOf = ({ method }) => {
    if (method !== 'PATCH') return null
    world.server.faultOf = () => null
    act()
    return null
  }
}

describe('the entry becomes the data of the Secret (36.3)', () => {
  test('by server-side apply, with one write', async () => {
    const world = pullWorld({ user: 'ada' })
    const { result, writes } = await world.counting(() => world.sync())
    expect(result).toBe('written')
    expect(writes).toEqual(ONE_WRITE)
    expect(world.data()).toEqual({ user: 'ada' })
    expect(world.server.writes()[0]?.query.get('fieldManager')).toBe(DELIVERY_FIELD_MANAGER)
    expect(world.compared).toEqual(['Pull written'])
    expect(world.events).toEqual([])
  })

  test('at another path and of version 1, too', async () => {
    const world = pullWorld(null, {
      annotations: {
        ...atPath('db/main').annotations,
        [SECRET_STORE_VERSION_ANNOTATION]: '1',
      },
    })
    world.store.version1.set('shop/db/main', { user: 'ada' })
    expect(await world.sync()).toBe('written')
    expect(world.data()).toEqual({ user: 'ada' })
    const again = await world.counting(() => world.sync())
    expect(again).toEqual({ result: 'unchanged', writes: NO_WRITES })
    world.store.version1.set('shop/db/main', { user: 'eve' })
    expect(await world.sync()).toBe('written')
    expect(world.data()).toEqual({ user: 'eve' })
    world.store.version1.delete('shop/db/main')
    expect(await world.sync()).toBe('not_found')
    expect(world.data()).toEqual({ user: 'eve' })
  })

  test('and only once: later rounds read metadata alone, a restart reads both, and neither writes', async () => {
    const world = await pulledWorld()
    const calls = world.store.calls.length
    for (let round = 0; round < 5; round += 1)
      expect(await world.counting(() => world.sync())).toEqual({
        result: 'unchanged',
        writes: NO_WRITES,
      })
    const later = world.store.calls.slice(calls).map(({ method }) => method)
    expect(later).toEqual(Array.from({ length: 5 }, () => 'readMetadata'))
    world.restart()
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'unchanged',
      writes: NO_WRITES,
    })
  })

  test('a new version replaces it: entries gone in the store go, what others added stays', async () => {
    const world = await pulledWorld()
    world.edit({ data: { theirs: 'kept' } })
    world.store.put(PATH, { user: 'eve', more: 'y' })
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'written',
      writes: ONE_WRITE,
    })
    expect(world.data()).toEqual({ user: 'eve', more: 'y', theirs: 'kept' })
  })

  test('a new version with the same data writes nothing', async () => {
    const world = await pulledWorld()
    world.store.put(PATH, { user: 'ada', pass: 'x' })
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'unchanged',
      writes: NO_WRITES,
    })
    expect(world.record().inStep?.entryVersion).toBe(2)
  })

  test('a version of the same number, in a store that was rolled back, is another one', async () => {
    const world = await pulledWorld()
    world.store.rollBack(PATH, 0, {})
    world.store.put(PATH, { user: 'eve' })
    expect(await world.sync()).toBe('written')
    expect(world.data()).toMatchObject({ user: 'eve' })
  })

  test('values of the same length differ', async () => {
    const world = await pulledWorld({ user: 'ada', pass: 'x' })
    world.store.put(PATH, { user: 'eve', pass: 'y' })
    await world.sync()
    expect(world.data()).toEqual({ user: 'eve', pass: 'y' })
  })

  test('an entry without data takes ours out', async () => {
    const world = await pulledWorld()
    world.edit({ data: { theirs: 'kept' } })
    world.store.put(PATH, {})
    await world.sync()
    expect(world.data()).toEqual({ theirs: 'kept' })
  })

  test('data that others have changed are put back', async () => {
    const world = await pulledWorld()
    world.edit({ data: { pass: 'other' } })
    expect(await world.sync()).toBe('written')
    expect(world.data()).toEqual({ user: 'ada', pass: 'x' })
  })
})

describe('the last data stay (36.3)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly act: (world: StoreWorld) => void; readonly outcome: string; readonly reasons: readonly string[] }>([
    { name: 'the path is missing', act: ({ store }) => store.remove(PATH), outcome: 'not_found', reasons: ['StoreNotFound'] },
    { name: 'its version is deleted', act: ({ store }) => store.end(PATH, 'deleted'), outcome: 'not_found', reasons: ['StoreNotFound'] },
    { name: 'its version is destroyed', act: ({ store }) => store.end(PATH, 'destroyed'), outcome: 'not_found', reasons: ['StoreNotFound'] },
    { name: 'it has metadata only', act: ({ store }) => { store.remove(PATH); store.describe(PATH, {}) }, outcome: 'not_found', reasons: ['StoreNotFound'] },
    { name: 'it goes between the two reads', act: ({ store }) => { store.put(PATH, { user: 'eve' }); store.before = ({ method }) => method === 'readData' && store.end(PATH, 'deleted') }, outcome: 'not_found', reasons: ['StoreNotFound'] },
    { name: 'the store is away', act: ({ store }) => { store.faultOf = () => 'unreachable' }, outcome: 'unreachable', reasons: [] },
    { name: 'the store goes away after the metadata', act: ({ store }) => { store.put(PATH, { user: 'eve' }); store.faultOf = ({ method }) => (method === 'readData' ? 'unreachable' : null) }, outcome: 'unreachable', reasons: [] },
    { name: 'the token is refused', act: ({ store }) => { store.faultOf = () => 'denied' }, outcome: 'denied', reasons: [] },
    { name: 'the store refuses the call', act: ({ store }) => { store.faultOf = () => 'refused' }, outcome: 'refused', reasons: ['StoreContentRefused'] },
    { name: 'a name is none of a Secret', act: ({ store }) => store.put(PATH, { user: 'eve', 'a/b': 'x' }), outcome: 'refused', reasons: ['StoreContentRefused'] },
    { name: 'it is too large', act: ({ store }) => store.put(PATH, { user: 'x'.repeat(1024 * 1024 + 1) }), outcome: 'refused', reasons: ['StoreContentRefused'] },
  ])('the data stay: $name', async ({ act, outcome, reasons }) => {
    const world = await pulledWorld()
    act(world)
    expect(await world.counting(() => world.sync())).toEqual({ result: outcome, writes: NO_WRITES })
    expect(world.data()).toEqual({ user: 'ada', pass: 'x' })
    expect(world.events.map(({ reason }) => reason)).toEqual(reasons)
  })

  test('an entry that comes back is pulled again', async () => {
    const world = await pulledWorld()
    world.store.end(PATH, 'deleted')
    expect(await world.sync()).toBe('not_found')
    world.store.put(PATH, { user: 'eve' })
    await world.clock.advance(10_000)
    expect(await world.sync()).toBe('written')
    expect(world.data()).toEqual({ user: 'eve' })
  })
})

describe('a Secret that changes meanwhile (36.3)', () => {
  test('is written on the change, which stays', async () => {
    const world = pullWorld({ user: 'ada' })
    beforeWrite(world, () => world.edit({ data: { theirs: 'kept' } }))
    expect(await world.sync()).toBe('written')
    expect(world.data()).toEqual({ user: 'ada', theirs: 'kept' })
  })

  test('is left for the next round after three times', async () => {
    const world = pullWorld({ user: 'ada' })
    world.server.faultOf = ({ method }) => {
      if (method === 'PATCH') world.edit({ data: { theirs: String(world.server.revision) } })
      return null
    }
    expect(await world.sync()).toBeNull()
    expect(world.server.writes()).toHaveLength(3)
    world.server.faultOf = () => null
    expect(await world.sync()).toBe('written')
  })

  test('is gone: nothing is made', async () => {
    const world = pullWorld({ user: 'ada' })
    const listed = world.listed()
    const secret = world.found()
    const record = world.record()
    world.server.remove('secrets', secret)
    expect(await sync(listed, 'shop', record, world.deps)).toBeNull()
    expect(world.server.all('secrets')).toEqual([])
  })

  test('is gone before the write: nothing is made', async () => {
    const world = pullWorld({ user: 'ada' })
    beforeWrite(world, () => void world.server.remove('secrets', world.found()))
    expect(await world.sync()).toBeNull()
    expect(world.server.all('secrets')).toEqual([])
  })

  test('was made again: it is another one, and not written for the first', async () => {
    const world = pullWorld({ user: 'ada' })
    const listed = world.listed()
    world.secret('Pull', { uid: 'uid-other', data: { own: 'x' } })
    expect(await world.sync('app', listed)).toBeNull()
    expect(world.data()).toEqual({ own: 'x' })
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly act: (world: StoreWorld) => void }>([
    { name: 'asks for another path', act: (world) => world.edit(atPath('other')) },
    { name: 'asks for nothing any more', act: (world) => world.takeAway(SECRET_STORE_LABEL, 'labels') },
    { name: 'is pushed now', act: (world) => world.edit({ labels: { [SECRET_STORE_LABEL]: 'Push' } }) },
    { name: 'is a claim\'s now', act: (world) => world.edit({ labels: { [CLAIM_LABEL]: 'uid' } }) },
  ])('a Secret that $name since it was listed does not get what it had asked for', async ({ act }) => {
    const world = pullWorld({ user: 'ada' })
    world.store.put('shop/other', { user: 'eve' })
    const listed = world.listed()
    act(world)
    const { writes } = await world.counting(() => world.sync('app', listed))
    expect(writes).toEqual(NO_WRITES)
    expect(world.data()).toEqual({})
  })

  test('a Secret that asks for another path with the same version gets its data in the next round', async () => {
    const world = await pulledWorld({ user: 'ada', pass: 'x' })
    world.store.put('shop/other', { user: 'eve' })
    const listed = world.listed()
    world.edit(atPath('other'))
    world.store.remove(PATH)
    world.store.put(PATH, { user: 'ada', pass: 'x' })
    world.restart()
    await world.sync('app', listed)
    await world.sync()
    expect(world.data()).toEqual({ user: 'eve' })
  })
})

describe('answers of the API server to a pull (36.3)', () => {
  // biome-ignore format: a table
  test.each<{ readonly fault: ServerFault; readonly outcome: string; readonly reasons: readonly string[] }>([
    { fault: { code: 422, reason: 'Invalid', message: 'ada is immutable' }, outcome: 'refused', reasons: ['StoreContentRefused'] },
    { fault: { code: 403, reason: 'Forbidden', message: 'ada' }, outcome: 'refused', reasons: ['StoreContentRefused'] },
    { fault: { code: 413, reason: 'RequestEntityTooLarge', message: 'ada' }, outcome: 'refused', reasons: ['StoreContentRefused'] },
    { fault: { code: 503, reason: 'ServiceUnavailable', message: 'ada' }, outcome: 'failed', reasons: [] },
    { fault: 'unsent', outcome: 'failed', reasons: [] },
    { fault: 'lost', outcome: 'failed', reasons: [] },
  ])('$fault', async ({ fault, outcome, reasons }) => {
    const world = pullWorld({ user: 'ada' })
    world.server.faultOf = ({ method }) => (method === 'PATCH' ? fault : null)
    expect(await world.sync()).toBe(outcome)
    expect(world.events.map(({ reason }) => reason)).toEqual(reasons)
    const said = JSON.stringify([world.events, world.log.lines])
    expect(said).not.toContain('ada')
    world.server.faultOf = () => null
    await world.clock.advance(10_000)
    expect(await world.sync()).toBe(fault === 'lost' ? 'unchanged' : 'written')
    expect(world.data()).toEqual({ user: 'ada' })
  })

  test('a write whose answer was lost is not repeated', async () => {
    const world = pullWorld({ user: 'ada' })
    world.server.faultOf = ({ method }) => (method === 'PATCH' ? 'lost' : null)
    await world.sync()
    world.server.faultOf = () => null
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'unchanged',
      writes: NO_WRITES,
    })
  })
})

test('data in base64 are what the store has, byte by byte (36.3)', async () => {
  const content = { bom: '\uFEFFx', nul: 'a\u0000b', umlaut: 'ä', astral: '😀', empty: '' }
  const world = pullWorld(content)
  await world.sync()
  expect(world.found('app', NAMESPACE).data).toEqual(encoded(content))
})
