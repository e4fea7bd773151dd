import { describe, expect, test } from 'vitest'
import {
  EXPIRED_ANNOTATION,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
} from '../../../src/api/group.ts'
import { textAfter } from '../../support/access-key.ts'
import { heartbeat, oldest, start } from './heartbeats.ts'

describe('the heartbeat key (10.4)', () => {
  test('is created where it is missing: it opens nothing, and no cap takes it away', async () => {
    const { clock, api, replicas, beat } = start({})
    beat()
    await clock.advance(1000)
    expect(api.writes).toEqual([{ by: 'r0', what: 'create' }])
    expect(api.object).toMatchObject({
      kind: 'OwnedAccessKey',
      metadata: {
        name: 'platform-heartbeat',
        annotations: { [HEARTBEAT_ANNOTATION]: textAfter(0), [EXPIRED_ANNOTATION]: 'Keep' },
      },
      spec: { subject: 'heartbeat', disabled: true },
    })
    expect(replicas[0].age()).toBe(1)
  })

  test('is not created before the keys are listed', async () => {
    const { clock, api, replicas } = start({})
    const abort = new AbortController()
    void replicas[0].heartbeat.keepBeating(abort.signal)
    await clock.advance(20_000)
    expect(api.writes).toEqual([])
    abort.abort()
  })

  test('is created anew when somebody deletes it', async () => {
    const { clock, api, beat } = start({})
    beat()
    await clock.advance(1000)
    api.put(null)
    await clock.advance(5000)
    expect(api.writes.map(({ what }) => what)).toEqual(['create', 'create'])
  })

  test('gets its annotations back', async () => {
    const { clock, api, beat } = start({})
    api.put(heartbeat('3', null))
    beat()
    await clock.advance(1000)
    expect(api.writes).toEqual([{ by: 'r0', what: 'patch' }])
    expect(api.object?.metadata.annotations).toEqual({
      [HEARTBEAT_ANNOTATION]: textAfter(0),
      [HEARTBEAT_BEFORE_ANNOTATION]: '',
      [EXPIRED_ANNOTATION]: 'Keep',
    })
  })

  test('one of several gateways writes to it, about every 5 seconds', async () => {
    const world = start({ random: 0 }, { random: 0.9 })
    world.beat()
    await world.clock.advance(1000)
    expect(await oldest(world, 60)).toEqual([expect.closeTo(5, 0), expect.closeTo(5, 0)])
    expect(world.api.writes.length).toBeGreaterThanOrEqual(11)
    expect(world.api.writes.length).toBeLessThanOrEqual(13)
    expect(world.replicas.map(({ logged }) => logged())).toEqual([[], []])
  })

  test('those that write at the same moment do not fight: one wins, and both hear of it', async () => {
    const world = start({ random: 0.5 }, { random: 0.5 })
    world.api.put(heartbeat('3', textAfter(-20)))
    world.beat()
    await oldest(world, 60)
    expect(world.api.refused.length).toBeGreaterThan(0)
    expect(world.api.writes.length).toBeLessThanOrEqual(13)
    expect(world.replicas.map(({ age }) => age() < 7)).toEqual([true, true])
    expect(world.replicas.map(({ logged }) => logged())).toEqual([[], []])
  })

  test('another takes over from one that is gone', async () => {
    const world = start({ random: 0 }, { random: 1 })
    world.beat()
    await world.clock.advance(20_000)
    world.replicas[0].line.isDown = true
    const [, age] = await oldest(world, 60)
    expect(age).toBeLessThan(7)
    expect(world.api.writes.at(-1)?.by).toBe('r1')
  })

  test('tells how long a write of its own took to come back (commit to effect, 15)', async () => {
    const { clock, replicas, beat } = start({})
    replicas[0].line.eventsAfterMs = 40
    beat()
    await clock.advance(11_000)
    expect(replicas[0].returned).toEqual([40, 40, 40])
  })
})
