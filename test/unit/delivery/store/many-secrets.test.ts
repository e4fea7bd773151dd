import { describe, expect, test } from 'vitest'
import { StoreWorld } from '../../../support/store/store-world.ts'

const NAMESPACES = 4
const EACH = 500

/** 2,000 Secrets of four projects, each tenth of which is pushed. */
function manySecrets(): StoreWorld {
  const made = new StoreWorld()
  for (let project = 0; project < NAMESPACES; project += 1) {
    made.namespace(`p-${project}`)
    for (let at = 0; at < EACH; at += 1) {
      const parts = { name: `s${at}`, namespace: `p-${project}` }
      if (at % 10 === 0) made.secret('Push', { ...parts, data: { value: `v${at}` } })
      else {
        made.secret('Pull', parts)
        made.store.put(`${project}/s${at}`, { value: `v${at}` })
      }
    }
  }
  return made
}

describe('2,000 Secrets (36.5)', () => {
  test('that do not change cost one read of metadata each in a round, and no write', async () => {
    const many = manySecrets()
    const rounds = many.rounds()
    await many.clock.advance(20_000)
    expect(rounds.ended[0]?.every((outcome) => outcome === 'written')).toBe(true)
    expect(rounds.ended[0]).toHaveLength(NAMESPACES * EACH)
    const [calls, reads] = [many.store.calls.length, many.server.calls.length]
    const { writes } = await many.counting(() => many.clock.advance(120_000))
    expect(writes).toEqual({ server: 0, store: 0 })
    const asked = many.store.calls.slice(calls)
    expect(rounds.ended).toHaveLength(3)
    expect(asked).toHaveLength(2 * NAMESPACES * EACH)
    expect(asked.every(({ method }) => method === 'readMetadata')).toBe(true)
    const read = many.server.calls.slice(reads)
    // Lists alone: of the Secrets none is read.
    expect(read.every(({ name }) => name === undefined)).toBe(true)
    expect(many.store.most).toBeLessThanOrEqual(8)
  })
})

test('the process forgets a Secret that is gone (36.5)', async () => {
  const world = new StoreWorld()
  world.namespace('p-shop')
  const secret = world.secret('Pull', { name: 'missing' })
  world.rounds()
  await world.clock.advance(0)
  expect(world.events).toHaveLength(1)
  world.server.remove('secrets', secret)
  await world.clock.advance(60_000)
  // The very same one: were it known, this would be no news.
  world.secret('Pull', { name: 'missing' })
  await world.clock.advance(60_000)
  expect(world.events).toHaveLength(2)
})

test('lists wait for each other, ten in a second: 50 namespaces do not flood it (36.5)', async () => {
  const world = new StoreWorld()
  for (let at = 0; at < 50; at += 1) world.namespace(`p-${at}`)
  const rounds = world.rounds()
  const lists = () => world.server.calls.filter(({ plural }) => plural === 'secrets').length
  await world.clock.advance(0)
  expect(lists()).toBe(10)
  await world.clock.advance(1000)
  expect(lists()).toBe(20)
  await world.clock.advance(10_000)
  expect(lists()).toBe(50)
  expect(rounds.ended).toHaveLength(1)
})
