import { describe, expect, test } from 'vitest'
import { SECRET_STORE_PATH_ANNOTATION } from '../../../../src/api/secret-store-names.ts'
import { NAMESPACE, StoreWorld, storeSettings } from '../../../support/store/store-world.ts'

/** A world with a namespace of a project. */
function projectWorld(): StoreWorld {
  const world = new StoreWorld()
  world.namespace(NAMESPACE)
  return world
}

/** The same with so many Secrets that are pulled from entries. */
function worldWith(secrets: number): StoreWorld {
  const world = projectWorld()
  for (let at = 0; at < secrets; at += 1) {
    world.secret('Pull', { name: `s${at}` })
    world.store.put(`shop/s${at}`, { value: `v${at}` })
  }
  return world
}

describe('rounds (36.5)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'in the middle', random: 0.5, endedMs: [0, 60_000, 120_000] },
    { name: 'earliest', random: 0, endedMs: [0, 54_000, 108_000] },
    { name: 'latest', random: 1, endedMs: [0, 66_000, 132_000] },
  ])('come each interval, a tenth earlier or later: $name', async ({ random, endedMs }) => {
    const world = worldWith(1)
    const rounds = world.rounds({ random: () => random })
    await world.clock.advance(140_000)
    expect(rounds.endedMs).toEqual(endedMs)
    expect(rounds.ended).toEqual([['written'], ['unchanged'], ['unchanged']])
  })

  test('come each 10 seconds where the settings say less', async () => {
    const world = worldWith(1)
    const rounds = world.rounds({ settings: storeSettings('1s') })
    await world.clock.advance(25_000)
    expect(rounds.endedMs).toEqual([0, 10_000, 20_000])
  })

  test('have 8 Secrets at a time', async () => {
    const world = worldWith(30)
    world.store.tookMs = 100
    const rounds = world.rounds()
    await world.clock.advance(10_000)
    expect(world.store.most).toBe(8)
    expect(rounds.ended[0]).toHaveLength(30)
  })

  test('that take longer than the interval follow each other, and are never two at once', async () => {
    const world = worldWith(16)
    world.store.tookMs = 9000
    const rounds = world.rounds({ settings: storeSettings('10s') })
    await world.clock.advance(100_000)
    // Two turns of two calls, and later of one.
    expect(rounds.endedMs).toEqual([36_000, 54_000, 72_000, 90_000])
    expect(world.store.most).toBe(8)
  })

  test('change nothing while nothing changes: no write on either side', async () => {
    const world = worldWith(20)
    world.secret('Push', { name: 'pushed', data: { user: 'ada' } })
    world.rounds()
    await world.clock.advance(30_000)
    const { writes } = await world.counting(() => world.clock.advance(600_000))
    expect(writes).toEqual({ server: 0, store: 0 })
  })

  test('a restart of the process changes nothing either', async () => {
    const world = worldWith(20)
    const first = world.rounds()
    await world.clock.advance(30_000)
    await first.stop()
    const second = world.rounds()
    const { writes } = await world.counting(() => world.clock.advance(600_000))
    expect(writes).toEqual({ server: 0, store: 0 })
    expect(second.ended[0]).toEqual(Array.from({ length: 20 }, () => 'unchanged'))
  })

  test('end when the settings change, also in the middle, and those of the new ones begin', async () => {
    const world = worldWith(30)
    world.store.tookMs = 1000
    const first = world.rounds()
    await world.clock.advance(1500)
    const stopped = first.stop()
    const second = world.rounds({ settings: storeSettings('30s') })
    await world.clock.advance(31_000)
    await stopped
    const calls = world.store.calls.length
    expect(first.ended).toEqual([])
    expect(second.ended[0]).toHaveLength(30)
    await first.stop()
    expect(world.store.calls).toHaveLength(calls)
  })
})

describe('which Secrets are synced (36.2)', () => {
  // biome-ignore format: a table
  test.each([
    'shop', 'p-', 'q-shop', 'x-p-shop', 'P-shop', 'p', 'kube-system', 'platform-system', 'platform-system-x', 'sign-in', 'default',
  ])('none of namespace %s, not even a list', async (namespace) => {
    const world = new StoreWorld()
    world.namespace(namespace)
    world.secret('Pull', { namespace })
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(rounds.ended).toEqual([[]])
    expect(world.server.calls.map(({ plural }) => plural)).toEqual(['namespaces'])
    expect(world.store.calls).toEqual([])
  })

  test("none of the platform's own namespaces, whatever the prefix", async () => {
    const world = new StoreWorld()
    for (const namespace of ['platform-system', 'platform-system-x', 'platform-shop']) {
      world.namespace(namespace)
      world.secret('Pull', { namespace })
    }
    world.rounds({ settings: { ...storeSettings(), projectPrefix: 'platform-' } })
    await world.clock.advance(0)
    expect(world.store.calls.map(({ path }) => path)).toEqual(['shop/app'])
  })

  test('each in its own part: the same path of two projects are two entries', async () => {
    const world = projectWorld()
    world.namespace('p-blog')
    world.secret('Push', { data: { of: 'shop' } })
    world.secret('Push', { namespace: 'p-blog', data: { of: 'blog' } })
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(rounds.ended).toEqual([['written', 'written']])
    expect(world.store.content('shop/app')).toEqual({ of: 'shop' })
    expect(world.store.content('blog/app')).toEqual({ of: 'blog' })
    expect(world.store.paths()).toHaveLength(2)
  })

  test('none of a namespace that has not let this process in, and all once it has', async () => {
    const world = worldWith(2)
    world.namespace('p-blog')
    world.secret('Pull', { namespace: 'p-blog' })
    world.store.put('blog/app', { user: 'ada' })
    world.server.mayUseSecrets = (namespace) => namespace !== 'p-blog'
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(rounds.ended).toEqual([['written', 'written']])
    world.server.mayUseSecrets = () => true
    await world.clock.advance(60_000)
    expect(world.data('app', 'p-blog')).toEqual({ user: 'ada' })
  })

  test('none without the label, and a path that is none leaves the others alone', async () => {
    const world = worldWith(1)
    const other = world.secret('Pull', { name: 'other' })
    world.server.put('secrets', { ...other, metadata: { ...other.metadata, labels: {} } })
    const annotations = { [SECRET_STORE_PATH_ANNOTATION]: `../blog/${'x'.repeat(100_000)}` }
    world.secret('Pull', { name: 'escape', annotations })
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(rounds.ended[0]?.toSorted()).toEqual(['refused', 'written'])
    expect(world.events.map(({ reason }) => reason)).toEqual(['StorePathRefused'])
    expect(world.store.calls.every(({ path }) => path === 'shop/s0')).toBe(true)
  })

  test('a thousand of a namespace, no more', async () => {
    const world = worldWith(1001)
    const rounds = world.rounds()
    await world.clock.advance(10_000)
    expect(rounds.ended[0]).toHaveLength(1000)
  })
})

describe('a Secret that is pushed (36.5)', () => {
  test('a change is found within 5 seconds, one of an entry in the next round', async () => {
    const world = worldWith(1)
    world.secret('Push', { data: { user: 'ada' } })
    world.rounds()
    await world.clock.advance(10_000)
    world.store.put('shop/s0', { value: 'new' })
    world.edit({ data: { user: 'eve' } })
    await world.clock.advance(5000)
    expect(world.store.content('shop/app')).toEqual({ user: 'eve' })
    expect(world.data('s0')).toEqual({ value: 'v0' })
    await world.clock.advance(50_000)
    expect(world.data('s0')).toEqual({ value: 'new' })
  })

  test('is not asked about in the store while it does not change, and not looked for where there is none', async () => {
    const world = projectWorld()
    world.namespace('p-blog')
    world.secret('Push', { data: { user: 'ada' } })
    world.secret('Pull', { namespace: 'p-blog' })
    world.rounds()
    await world.clock.advance(1000)
    const [calls, lists] = [world.store.calls.length, world.server.calls.length]
    await world.clock.advance(50_000)
    expect(world.store.calls).toHaveLength(calls)
    const looked = world.server.calls.slice(lists)
    expect(looked).toHaveLength(12)
    expect(new Set(looked.map(({ namespace }) => namespace))).toEqual(new Set([NAMESPACE]))
  })

  test('is looked at again until it is written, where it changes all the time', async () => {
    const world = projectWorld()
    world.secret('Push', { data: { user: 'ada' } })
    world.rounds()
    await world.clock.advance(1000)
    for (let at = 0; at < 10; at += 1) {
      world.edit({ data: { user: `u${at}` } })
      await world.clock.advance(1000)
    }
    await world.clock.advance(5000)
    expect(world.store.content('shop/app')).toEqual({ user: 'u9' })
  })
})
