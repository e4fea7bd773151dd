import { describe, expect, test } from 'vitest'
import {
  PUSH_FIELD_MANAGER,
  SECRET_STORE_LABEL,
  SECRET_STORE_WRITTEN_ANNOTATION,
} from '../../../../src/api/secret-store-names.ts'
import { isSameContent } from '../../../../src/domain/store/secret-content.ts'
import { type StoreWorld, atPath, pushWorld } from '../../../support/store/store-world.ts'

const PATH = 'shop/app'
const NO_WRITES = { server: 0, store: 0 }
const UID = 'uid-p-shop-app'

const written = (world: StoreWorld): string | undefined =>
  world.found().metadata.annotations?.[SECRET_STORE_WRITTEN_ANNOTATION]
const reasons = (world: StoreWorld): readonly string[] => world.events.map(({ reason }) => reason)

/** The custom metadata of what the Secret has pushed. */
const owned = (version: number, uid = UID) => ({
  'managed-by': 'management-operator',
  namespace: 'p-shop',
  name: 'app',
  uid,
  version: String(version),
})

/** A world whose entry has the Secret's data. */
async function pushedWorld(data = { user: 'ada' }): Promise<StoreWorld> {
  const world = pushWorld(data)
  expect(await world.sync()).toBe('written')
  return world
}

/** Acts once, between the reads of the entry's metadata and of the Secret. */
function afterMetadata({ server }: StoreWorld, act: () => void): void {
  server.faultOf = ({ method }) => {
    if (method !== 'GET') return null
    server.faultOf = () => null
    act()
    return null
  }
}

/** Both sides are in step, and stay so without a write, over rounds and after a restart. */
async function expectAtRest(world: StoreWorld): Promise<void> {
  expect(world.store.content(PATH)).toEqual(world.data())
  expect(written(world)).toBe(String(world.store.version(PATH)))
  expect(world.store.custom(PATH)).toMatchObject(
    owned(world.store.version(PATH), world.found().metadata.uid),
  )
  for (let round = 0; round < 3; round += 1)
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'unchanged',
      writes: NO_WRITES,
    })
  world.restart()
  expect(await world.counting(() => world.sync())).toEqual({
    result: 'unchanged',
    writes: NO_WRITES,
  })
}

describe('the data of the Secret become the entry (36.4)', () => {
  test('first the data, then whose it is, then the annotation, which is of a field manager of its own', async () => {
    const world = pushWorld({ user: 'ada' })
    const { result, writes } = await world.counting(() => world.sync())
    expect(result).toBe('written')
    expect(writes).toEqual({ server: 1, store: 2 })
    expect(world.store.writes().map(({ method }) => method)).toEqual([
      'writeData',
      'writeCustomMetadata',
    ])
    expect(world.store.custom(PATH)).toEqual(owned(1))
    expect(world.server.writes()[0]?.query.get('fieldManager')).toBe(PUSH_FIELD_MANAGER)
    expect(world.data()).toEqual({ user: 'ada' })
    await expectAtRest(world)
    expect(world.events).toEqual([])
  })

  test('rounds without a change read metadata alone', async () => {
    const world = await pushedWorld()
    const calls = world.store.calls.length
    await world.sync()
    await world.sync()
    expect(world.store.calls.slice(calls).map(({ method }) => method)).toEqual([
      'readMetadata',
      'readMetadata',
    ])
  })

  test('a change replaces the version that was written, values of the same length, too', async () => {
    const world = await pushedWorld({ user: 'ada' })
    world.edit({ data: { user: 'eve' } })
    expect(await world.sync()).toBe('written')
    expect(world.store.content(PATH)).toEqual({ user: 'eve' })
    expect(world.store.version(PATH)).toBe(2)
    await expectAtRest(world)
  })

  test('a change of labels alone writes nothing', async () => {
    const world = await pushedWorld()
    world.edit({ labels: { team: 'x' } })
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'unchanged',
      writes: NO_WRITES,
    })
  })

  test("others' custom metadata stay", async () => {
    const world = await pushedWorld()
    world.store.describe(PATH, { ...world.store.custom(PATH), team: 'x' })
    world.edit({ data: { user: 'eve' } })
    await world.sync()
    expect(world.store.custom(PATH)).toEqual({ ...owned(2), team: 'x' })
  })

  test('a Secret that is deleted deletes nothing in the store', async () => {
    const world = await pushedWorld()
    const listed = world.listed()
    const { record } = { record: world.record() }
    expect(record.inStep?.entryVersion).toBe(1)
    world.server.remove('secrets', world.found())
    world.secret('Pull', { name: 'other' })
    await world.sync('other', listed)
    expect(world.store.content(PATH)).toEqual({ user: 'ada' })
    expect(world.store.writes()).toHaveLength(2)
  })
})

describe("another owner's entry stays (36.4)", () => {
  const FOREIGN = { theirs: 'x' }
  const OTHER = {
    'managed-by': 'management-operator',
    namespace: 'p-shop',
    name: 'other',
    uid: 'uid-2',
    version: '1',
  }

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly before: (world: StoreWorld) => void }>([
    { name: 'of people', before: ({ store }) => store.put(PATH, FOREIGN) },
    { name: 'of people, and the annotation names its version', before: (world) => { world.store.put(PATH, FOREIGN); world.edit({ annotations: { [SECRET_STORE_WRITTEN_ANNOTATION]: '1' } }) } },
    { name: 'of another Secret', before: ({ store }) => { store.put(PATH, FOREIGN); store.describe(PATH, OTHER) } },
    { name: 'of another Secret, and the annotation names its version', before: (world) => { world.store.put(PATH, FOREIGN); world.store.describe(PATH, OTHER); world.edit({ annotations: { [SECRET_STORE_WRITTEN_ANNOTATION]: '1' } }) } },
    { name: 'of another Secret with the same data', before: ({ store }) => { store.put(PATH, { user: 'ada' }); store.describe(PATH, OTHER) } },
    { name: 'of another Secret, without a version', before: ({ store }) => store.describe(PATH, OTHER) },
    { name: 'of another program', before: ({ store }) => { store.put(PATH, FOREIGN); store.describe(PATH, { 'managed-by': 'external-secrets' }) } },
    { name: 'of another namespace', before: ({ store }) => { store.put(PATH, FOREIGN); store.describe(PATH, { ...owned(1), namespace: 'q-shop' }) } },
    { name: 'with a second version', before: ({ store }) => { store.put(PATH, FOREIGN); store.put(PATH, { user: 'ada' }) } },
    { name: 'deleted', before: ({ store }) => { store.put(PATH, FOREIGN); store.end(PATH, 'deleted') } },
    { name: 'destroyed', before: ({ store }) => { store.put(PATH, FOREIGN); store.end(PATH, 'destroyed') } },
    { name: 'written after its metadata were read', before: (world) => afterMetadata(world, () => world.store.put(PATH, FOREIGN)) },
    { name: 'written between the two calls', before: ({ store }) => { store.before = ({ method }) => { if (method !== 'writeData') return; store.before = () => undefined; store.put(PATH, FOREIGN) } } },
  ])('$name: StoreConflict, and no write on either side', async ({ before }) => {
    const world = pushWorld({ user: 'ada' })
    before(world)
    const revision = world.server.revision
    expect(await world.sync()).toBe('conflict')
    const content = world.store.content(PATH)
    expect(world.server.revision).toBe(revision)
    expect(reasons(world)).toEqual(['StoreConflict'])
    for (let round = 0; round < 5; round += 1) {
      await world.clock.advance(300_000)
      expect(await world.sync()).toBe('conflict')
    }
    expect(world.store.content(PATH)).toEqual(content)
    expect(world.store.writes().every(({ method }) => method === 'writeData')).toBe(true)
    expect(reasons(world)).toEqual(['StoreConflict'])
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly act: (world: StoreWorld) => void; readonly outcome: string }>([
    { name: 'a version of others in between stays', act: (world) => { world.store.put(PATH, FOREIGN); world.edit({ data: { user: 'eve' } }) }, outcome: 'conflict' },
    { name: 'a version of others stays, also where the Secret is as it was', act: ({ store }) => store.put(PATH, FOREIGN), outcome: 'conflict' },
    { name: 'a version of others stays where the annotation is gone', act: (world) => { world.store.put(PATH, FOREIGN); world.takeAway(SECRET_STORE_WRITTEN_ANNOTATION) }, outcome: 'conflict' },
    { name: 'a version of others with the data is ours again', act: ({ store }) => store.put(PATH, { user: 'ada' }), outcome: 'written' },
    { name: 'a version of others after a roll-back, under the number that was pushed, stays', act: (world) => { world.store.rollBack(PATH, 0, owned(0)); world.store.put(PATH, FOREIGN) }, outcome: 'conflict' },
    { name: 'a version of others that they have deleted stays', act: ({ store }) => { store.put(PATH, FOREIGN); store.end(PATH, 'deleted') }, outcome: 'conflict' },
    { name: 'an entry that another has taken over stays', act: (world) => { world.store.describe(PATH, OTHER); world.edit({ data: { user: 'eve' } }) }, outcome: 'conflict' },
    { name: 'a version of others that comes after the metadata were read stays', act: (world) => { world.edit({ data: { user: 'eve' } }); afterMetadata(world, () => world.store.put(PATH, { user: 'ada', theirs: 'x' })) }, outcome: 'conflict' },
  ])('$name', async ({ act, outcome }) => {
    const world = await pushedWorld()
    act(world)
    expect(await world.sync()).toBe(outcome)
    const content = world.store.content(PATH)
    // Where it is ours again, both have the same.
    expect(content === undefined || !isSameContent(content, world.data())).toBe(outcome === 'conflict')
  })

  test('a conflict ends when the entry is deleted', async () => {
    const world = pushWorld({ user: 'ada' })
    world.store.put(PATH, FOREIGN)
    expect(await world.sync()).toBe('conflict')
    world.store.remove(PATH)
    await world.clock.advance(10_000)
    expect(await world.sync()).toBe('written')
    await expectAtRest(world)
  })

  test('two Secrets on one path: the first has it, the second never', async () => {
    const world = await pushedWorld()
    world.secret('Push', { name: 'second', data: { user: 'eve' }, ...atPath('app') })
    for (let round = 0; round < 4; round += 1) {
      await world.clock.advance(300_000)
      expect(await world.sync('second')).toBe('conflict')
      expect(await world.sync()).toBe('unchanged')
    }
    expect(world.store.content(PATH)).toEqual({ user: 'ada' })
    expect(world.store.writes()).toHaveLength(2)
  })
})

describe('a store that was set back (36.4)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly act: (world: StoreWorld) => void }>([
    { name: 'emptied', act: ({ store }) => store.remove(PATH) },
    { name: 'rolled back by a version', act: ({ store }) => store.rollBack(PATH, 1, owned(1)) },
    { name: 'rolled back before it said whose it is, with what the Secret has', act: (world) => { world.store.rollBack(PATH, 1, {}); world.takeAway(SECRET_STORE_WRITTEN_ANNOTATION); world.edit({ data: { user: 'ada' } }) } },
    { name: 'without its version', act: ({ store }) => { store.rollBack(PATH, 0, owned(1)) } },
    { name: 'with its version deleted', act: ({ store }) => store.end(PATH, 'deleted') },
    { name: 'with its version destroyed', act: ({ store }) => store.end(PATH, 'destroyed') },
    { name: 'without its custom metadata, with the data', act: ({ store }) => { store.rollBack(PATH, 0, {}); store.put(PATH, { user: 'eve' }) } },
  ])('$name: gets the data again', async ({ name, act }) => {
    const world = await pushedWorld()
    world.edit({ data: { user: 'eve' } })
    await world.sync()
    act(world)
    // The Secret knows a second version, and a foreign first one has what it has.
    if (name.startsWith('without its custom')) world.takeAway(SECRET_STORE_WRITTEN_ANNOTATION)
    expect(await world.sync()).toBe('written')
    await expectAtRest(world)
  })
})

describe('a Secret that changes (36.4)', () => {
  test('a Secret that loses its annotation gets it back, and nothing else is written', async () => {
    const world = await pushedWorld()
    world.takeAway(SECRET_STORE_WRITTEN_ANNOTATION)
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'written',
      writes: { server: 1, store: 0 },
    })
    await expectAtRest(world)
  })

  test.each(['0', '7', '-1', '1e3', 'x', '', '99999999999999999999'])(
    'annotation %j is put right',
    async (text) => {
      const world = await pushedWorld()
      world.edit({
        annotations: { [SECRET_STORE_WRITTEN_ANNOTATION]: text },
        data: { user: 'eve' },
      })
      expect(await world.sync()).toBe('written')
      expect(world.store.content(PATH)).toEqual({ user: 'eve' })
      await expectAtRest(world)
    },
  )

  test('was deleted and made again, as a claim does: it replaces what the first has pushed', async () => {
    const world = await pushedWorld()
    world.secret('Push', { uid: 'uid-again', data: { user: 'eve' } })
    expect(await world.sync()).toBe('written')
    expect(world.store.custom(PATH)).toEqual(owned(2, 'uid-again'))
    await expectAtRest(world)
  })

  test('was made again after it was listed: what it asks for is seen in the next round', async () => {
    const world = pushWorld({ user: 'ada' })
    const listed = world.listed()
    world.secret('Push', { uid: 'uid-again', data: { user: 'eve' } })
    expect(await world.sync('app', listed)).toBeNull()
    expect(world.store.paths()).toEqual([])
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly act: (world: StoreWorld) => void }>([
    { name: 'asks for another path', act: (world) => world.edit(atPath('other')) },
    { name: 'is pulled', act: (world) => world.edit({ labels: { [SECRET_STORE_LABEL]: 'Pull' } }) },
    { name: 'asks for nothing', act: (world) => world.takeAway(SECRET_STORE_LABEL, 'labels') },
  ])('a Secret that $name since it was listed writes nothing', async ({ act }) => {
    const world = pushWorld({ user: 'ada' })
    const listed = world.listed()
    act(world)
    const { writes } = await world.counting(() => world.sync('app', listed))
    expect(writes).toEqual(NO_WRITES)
  })

  test('asks for another path with a foreign entry of the version that was pushed: a conflict, also later', async () => {
    const world = await pushedWorld()
    world.store.put('shop/other', { theirs: 'x' })
    world.edit(atPath('other'))
    expect(await world.sync()).toBe('conflict')
    await world.clock.advance(300_000)
    expect(await world.sync()).toBe('conflict')
    expect(world.store.content('shop/other')).toEqual({ theirs: 'x' })
  })

  test('a change after the data were pushed gets the annotation, too', async () => {
    const world = pushWorld({ user: 'ada' })
    world.store.wrote = () => {
      world.store.wrote = () => undefined
      world.edit({ data: { user: 'eve' } })
    }
    expect(await world.sync()).toBe('written')
    expect(world.store.content(PATH)).toEqual({ user: 'eve' })
    await expectAtRest(world)
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly data: Readonly<Record<string, string>>; readonly type?: string }>([
    { name: 'has no data', data: {} },
    { name: 'has a type of the platform', data: { a: 'x' }, type: 'management.platform.sh/key' },
    { name: 'is of Helm', data: { a: 'x' }, type: 'helm.sh/release.v1' },
    { name: 'is of a service account', data: { a: 'x' }, type: 'kubernetes.io/service-account-token' },
  ])('a Secret that $name is refused, and the entry stays', async ({ data, type }) => {
    const world = pushWorld(data, type === undefined ? {} : { type })
    world.store.put(PATH, { theirs: 'x' })
    expect(await world.counting(() => world.sync())).toEqual({ result: 'refused', writes: NO_WRITES })
    expect(reasons(world)).toEqual(['StoreContentRefused'])
  })

  test('to binary data is refused, and what was pushed stays', async () => {
    const world = await pushedWorld()
    const found = world.found()
    world.server.put('secrets', { ...found, data: { user: '/w==' } })
    expect(await world.sync()).toBe('refused')
    expect(world.store.content(PATH)).toEqual({ user: 'ada' })
  })
})
