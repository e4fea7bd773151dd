import { describe, expect, test } from 'vitest'
import { SECRET_STORE_WRITTEN_ANNOTATION } from '../../../../src/api/secret-store-names.ts'
import { pullWorld, pushWorld } from '../../../support/store/store-world.ts'

describe('a webhook that quotes the data as the reason of its refusal (36.5)', () => {
  const reason = 'hunter2 is a weak password'
  test.each([403, 422, 400, 500, 503])('%i: neither Event nor log has it', async (code) => {
    const pulled = pullWorld({ value: 'hunter2' })
    const pushed = pushWorld({ value: 'hunter2' })
    for (const world of [pulled, pushed]) {
      world.server.faultOf = ({ method }) => (method === 'PATCH' ? { code, reason } : null)
      await world.sync()
      expect(JSON.stringify([world.events, world.log.lines])).not.toContain('hunter2')
      expect(world.record().fault?.message).toContain(String(code))
    }
  })
})

test('an entry that is another one each time it is read is not in step, and is counted (36.5)', async () => {
  const world = pushWorld({ user: 'ada' })
  await world.sync()
  world.edit({ data: { user: 'eve' } })
  world.store.before = ({ method }) => {
    if (method === 'readData') world.store.rollBack('shop/app', 0, {})
    if (method === 'readData') world.store.put('shop/app', { user: 'ada' })
  }
  expect(await world.sync()).toBe('failed')
})

test('a tool that takes the annotation away at each write is not fought (36.4)', async () => {
  const world = pushWorld({ user: 'ada' })
  await world.sync()
  const writes = world.server.writes().length
  for (let at = 0; at < 100; at += 1) {
    world.takeAway(SECRET_STORE_WRITTEN_ANNOTATION)
    await world.sync()
    await world.clock.advance(4000)
  }
  // Once at first, and then every 5 minutes.
  expect(world.server.writes().length - writes).toBeLessThanOrEqual(3)
})
