import { describe, expect, test } from 'vitest'
import { SECRET_STORE_WRITTEN_ANNOTATION } from '../../../../src/api/secret-store-names.ts'
import { type StoreWorld, pushWorld } from '../../../support/store/store-world.ts'

const PATH = 'shop/app'
const NO_WRITES = { server: 0, store: 0 }

/** The process dies there: nothing of this program catches it. */
class Crash extends Error {}

type Point = 'writeData' | 'writeCustomMetadata' | 'annotation'

/** Syncs, and dies right after this write; another process starts. */
async function crashAfter(point: Point, world: StoreWorld): Promise<void> {
  if (point === 'annotation') {
    await world.sync()
  } else {
    world.store.wrote = ({ method }) => {
      if (method === point) throw new Crash()
    }
    const error = await world.sync().catch((thrown: unknown) => thrown)
    if (!(error instanceof Crash)) throw new Error('nothing was written that far')
    world.store.wrote = () => undefined
  }
  world.restart()
}

async function expectAtRest(world: StoreWorld): Promise<void> {
  const version = world.store.version(PATH)
  expect(world.store.content(PATH)).toEqual(world.data())
  expect(world.found().metadata.annotations?.[SECRET_STORE_WRITTEN_ANNOTATION]).toBe(
    String(version),
  )
  expect(world.store.custom(PATH)?.['version']).toBe(String(version))
  for (let round = 0; round < 2; round += 1)
    expect(await world.counting(() => world.sync())).toEqual({
      result: 'unchanged',
      writes: NO_WRITES,
    })
}

const POINTS = ['writeData', 'writeCustomMetadata', 'annotation'] as const

describe('a crash of the process while it pushes (36.4)', () => {
  describe.each(POINTS)('right after %s', (point) => {
    test.each(['first', 'later'])(
      'of the %s version: no other version is written',
      async (turn) => {
        const world = pushWorld({ user: 'ada' })
        if (turn === 'later') {
          await world.sync()
          world.edit({ data: { user: 'eve' } })
        }
        await crashAfter(point, world)
        const version = world.store.version(PATH)
        expect(await world.sync()).toBe(point === 'annotation' ? 'unchanged' : 'written')
        expect(world.store.version(PATH)).toBe(version)
        await expectAtRest(world)
      },
    )

    // The store does not say who has written a version that custom metadata do not name: it may be anybody's.
    const outcome = point === 'writeData' ? 'conflict' : 'written'
    test.each(['first', 'later'])(
      `of the %s version, and the Secret changes meanwhile: ${outcome}`,
      async (turn) => {
        const world = pushWorld({ user: 'ada' })
        if (turn === 'later') {
          await world.sync()
          world.edit({ data: { user: 'eve' } })
        }
        await crashAfter(point, world)
        const before = world.store.content(PATH)
        world.edit({ data: { user: 'bob' } })
        expect(await world.sync()).toBe(outcome)
        const isPushed = outcome === 'written'
        expect(world.store.content(PATH)).toEqual(isPushed ? world.data() : before)
        if (isPushed) await expectAtRest(world)
      },
    )
  })

  test('of the first version in a store that was emptied is taken for ours', async () => {
    const world = pushWorld({ user: 'ada' })
    await world.sync()
    world.store.remove(PATH)
    await crashAfter('writeData', world)
    expect(await world.sync()).toBe('written')
    expect(world.store.version(PATH)).toBe(1)
    await expectAtRest(world)
  })

  test('leaves custom metadata that arrive late: the next process writes them again', async () => {
    const world = pushWorld({ user: 'ada' })
    await world.sync()
    const late = world.store.custom(PATH) ?? {}
    world.edit({ data: { user: 'eve' } })
    await world.sync()
    world.store.describe(PATH, late)
    expect(await world.sync()).toBe('written')
    await expectAtRest(world)
  })

  test('a version that others write after ours stays', async () => {
    const world = pushWorld({ user: 'ada' })
    await crashAfter('writeData', world)
    world.store.put(PATH, { theirs: 'x' })
    expect(await world.sync()).toBe('conflict')
    expect(world.store.content(PATH)).toEqual({ theirs: 'x' })
  })

  test('a version that others write where ours would be stays', async () => {
    const world = pushWorld({ user: 'ada' })
    world.store.before = ({ method }) => {
      if (method === 'writeData') throw new Crash()
    }
    await expect(world.sync()).rejects.toBeInstanceOf(Crash)
    world.store.before = () => undefined
    world.restart()
    world.store.put(PATH, { theirs: 'x' })
    expect(await world.sync()).toBe('conflict')
    expect(world.store.content(PATH)).toEqual({ theirs: 'x' })
  })
})

describe('a call that fails while it pushes (36.4, 36.5)', () => {
  const METHODS = ['readMetadata', 'readData', 'writeData', 'writeCustomMetadata'] as const
  const FAULTS = ['unreachable', 'denied', 'refused', 'lost'] as const
  const rows = METHODS.flatMap((method) => FAULTS.map((fault) => ({ method, fault })))

  test.each(rows)('$method $fault: it says so, and heals', async ({ method, fault }) => {
    const world = pushWorld({ user: 'ada' })
    // So that the data have to be compared.
    await world.sync()
    world.edit({ data: { user: 'eve' } })
    world.restart()
    world.store.faultOf = (call) => (call.method === method ? fault : null)
    expect(await world.sync()).toBe(fault === 'lost' ? 'unreachable' : fault)
    expect(world.events.map(({ reason }) => reason)).toEqual(
      fault === 'refused' ? ['StoreContentRefused'] : [],
    )
    world.store.faultOf = () => null
    await world.clock.advance(10_000)
    expect(await world.sync()).toBe('written')
    expect(world.store.version(PATH)).toBe(2)
    await expectAtRest(world)
  })

  test.each(['unsent', 'lost', { code: 403, reason: 'Forbidden', message: 'ada' }] as const)(
    'the annotation %j: it heals without another version',
    async (fault) => {
      const world = pushWorld({ user: 'ada' })
      world.server.faultOf = ({ method }) => (method === 'PATCH' ? fault : null)
      expect(await world.sync()).toBe('failed')
      world.server.faultOf = () => null
      await world.sync()
      expect(world.store.version(PATH)).toBe(1)
      await expectAtRest(world)
      expect(JSON.stringify([world.log.lines, world.events])).not.toContain('ada')
    },
  )

  test('a Secret without its annotation, which nobody may write: a change is pushed all the same', async () => {
    const world = pushWorld({ user: 'ada' })
    world.server.faultOf = ({ method }) =>
      method === 'PATCH' ? { code: 403, reason: 'Forbidden' } : null
    await world.sync()
    world.edit({ data: { user: 'eve' } })
    expect(await world.sync()).toBe('failed')
    expect(world.store.content(PATH)).toEqual({ user: 'eve' })
    expect(world.store.version(PATH)).toBe(2)
  })
})
