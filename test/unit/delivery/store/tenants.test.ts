import { describe, expect, test } from 'vitest'
import { NAMESPACE, StoreWorld } from '../../../support/store/store-world.ts'

/** A world in which project `zoo` has entries that the store fails for, and the others have good ones. */
function worldWithBadProject(): StoreWorld {
  const world = new StoreWorld()
  for (const namespace of ['p-blog', NAMESPACE, 'p-zoo']) world.namespace(namespace)
  for (let at = 0; at < 100; at += 1) world.secret('Pull', { name: `bad${at}`, namespace: 'p-zoo' })
  for (const project of ['blog', 'shop'])
    for (let at = 0; at < 10; at += 1) {
      world.secret('Pull', { name: `s${at}`, namespace: `p-${project}` })
      world.store.put(`${project}/s${at}`, { value: 'v' })
    }
  // As a store answers 500 for a path that is too long for its storage.
  world.store.faultOf = ({ path }) => (path.startsWith('zoo/') ? 'unreachable' : null)
  return world
}

describe('one project does not stop the others (36.5)', () => {
  test('whose entries the store answers with 500: all others are in step after one round', async () => {
    const world = worldWithBadProject()
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(rounds.ended[0]?.filter((outcome) => outcome === 'written')).toHaveLength(20)
    expect(rounds.ended[0]).toHaveLength(120)
    for (let at = 0; at < 10; at += 1) expect(world.data(`s${at}`)).toEqual({ value: 'v' })
  })

  test('with many slow entries: the few of others come in the first turns', async () => {
    const world = worldWithBadProject()
    world.store.tookMs = 1000
    world.store.faultOf = () => null
    world.rounds()
    await world.clock.advance(10_000)
    expect(world.data('s0')).toEqual({ value: 'v' })
    expect(world.data('s9')).toEqual({ value: 'v' })
  })

  test('one Secret that this program fails for: the others are synced, and the round ends with it', async () => {
    const world = worldWithBadProject()
    world.store.faultOf = ({ path }) => {
      if (path === 'zoo/bad7') throw new TypeError('a defect')
      return null
    }
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(rounds.ended[0]?.filter((outcome) => outcome === 'failed')).toHaveLength(1)
    expect(rounds.ended[0]?.filter((outcome) => outcome === 'written')).toHaveLength(20)
    expect(world.log.lines.some(({ level }) => level === 'error')).toBe(true)
  })
})
