import { describe, expect, test } from 'vitest'
import { CLAIM_LABEL, DELIVERY_FIELD_MANAGER } from '../../../../src/api/names.ts'
import {
  PUSH_FIELD_MANAGER,
  SECRET_STORE_LABEL,
  SECRET_STORE_WRITTEN_ANNOTATION,
} from '../../../../src/api/secret-store-names.ts'
import { sync } from '../../../../src/delivery/store/sync.ts'
import { createClient } from '../../../../src/kube/client/client.ts'
import { DeliveryWorld, expectDelivered } from '../../../support/delivery/delivery-world.ts'
import { MemoryStore } from '../../../support/store/memory-store.ts'
import { NEW_RECORD, StoreWorld, pushWorld } from '../../../support/store/store-world.ts'

const PATH = 'shop/deploy'

/** A claim whose Secret asks to be pushed, with the store beside it. */
function claimWorld() {
  const world = new DeliveryWorld({
    spec: { secret: { labels: { [SECRET_STORE_LABEL]: 'Push' } } },
  })
  const store = new MemoryStore(world.clock)
  const record = { ...NEW_RECORD }
  const deps = {
    client: createClient(world.server.deps),
    pushClient: createClient({ ...world.server.deps, fieldManager: PUSH_FIELD_MANAGER }),
    clientDeps: world.server.deps,
    store,
    events: world.process.deps.events,
    observer: { compared: () => undefined },
    clock: world.clock,
    log: world.log.log,
  }
  const push = () => {
    const { secret } = world
    if (secret === undefined) throw new Error('there is no Secret')
    return sync({ ...secret.metadata, namespace: world.namespace }, 'shop', record, deps)
  }
  const text = () => Buffer.from(world.secret?.data?.['key'] ?? '', 'base64').toString()
  return { world, store, push, text }
}

describe("a claim's Secret in the store (36.2, 36.4)", () => {
  test('is pushed when it is delivered, and neither writes because of the other', async () => {
    const { world, store, push, text } = claimWorld()
    await world.run(10)
    expect(world.reason).toBe('Delivered')
    expect(await push()).toBe('written')
    expect(store.content(PATH)).toEqual({ key: text() })
    for (let round = 0; round < 5; round += 1) {
      const writes = world.server.writes().length
      world.lookAgain()
      await world.run(60)
      expect(await push()).toBe('unchanged')
      expect(world.server.writes()).toHaveLength(writes)
    }
    expect(store.writes()).toHaveLength(2)
    expectDelivered(world)
  })

  test('is pushed again after each rotation, with one version for each', async () => {
    const { world, store, push, text } = claimWorld()
    await world.run(10)
    await push()
    const first = text()
    world.edit({ metadata: { annotations: { 'management.platform.sh/rotate': '1' } } })
    await world.run(3600)
    expect(text()).not.toBe(first)
    expect(await push()).toBe('written')
    expect(store.content(PATH)).toEqual({ key: text() })
    expect(store.version(PATH)).toBe(2)
    const writes = world.server.writes().length
    world.lookAgain()
    await world.run(60)
    expect(await push()).toBe('unchanged')
    expect(world.server.writes()).toHaveLength(writes)
    expect(world.secret?.metadata.annotations?.[SECRET_STORE_WRITTEN_ANNOTATION]).toBe('2')
  })

  test('that is deleted is made again, and its next key replaces the entry', async () => {
    const { world, store, push, text } = claimWorld()
    await world.run(10)
    await push()
    const { secret } = world
    if (secret) world.server.remove('secrets', secret)
    world.lookAgain()
    await world.run(60)
    expect(await push()).toBe('written')
    expect(store.content(PATH)).toEqual({ key: text() })
  })

  test('is never pulled into', async () => {
    const world = new StoreWorld()
    world.secret('Pull', { labels: { [CLAIM_LABEL]: 'uid' }, data: { key: 'k' } })
    world.store.put('shop/app', { key: 'other' })
    expect(await world.sync()).toBe('refused')
    expect(world.data()).toEqual({ key: 'k' })
    expect(world.events.map(({ reason }) => reason)).toEqual(['StoreContentRefused'])
  })

  test('the annotation is of a field manager of its own: an apply of the data leaves it', async () => {
    const world = pushWorld({ key: 'k' })
    world.deliver({ key: 'one' })
    await world.sync()
    world.deliver({ key: 'two' })
    expect(world.found().metadata.annotations).toEqual({ [SECRET_STORE_WRITTEN_ANNOTATION]: '1' })
    await world.sync()
    expect(world.data()).toEqual({ key: 'two' })
    const managers = world.found().metadata.managedFields?.map(({ manager }) => manager)
    expect(managers).toEqual(expect.arrayContaining([DELIVERY_FIELD_MANAGER, PUSH_FIELD_MANAGER]))
  })
})
