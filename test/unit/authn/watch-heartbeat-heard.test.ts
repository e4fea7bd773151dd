// What a gateway takes for fresh, whatever its watch and the clocks do.
import { describe, expect, test } from 'vitest'
import { HEARTBEAT_ANNOTATION } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { textAfter } from '../../support/access-key.ts'
import { keyObject } from '../../support/objects.ts'
import { heartbeat, oldest, start } from './heartbeats.ts'

describe('what proves nothing newer (10.4, C4)', () => {
  const listening = async () => {
    const world = start({})
    const [replica] = world.replicas
    replica.line.isDown = true
    replica.list()
    await world.clock.advance(100_000)
    return { ...world, replica, tell: (object: KubeObject) => replica.sink.put(object) }
  }

  test.each([
    { name: 'one of now does', at: 100, age: 0 },
    { name: 'one that lags by a minute', at: 40, age: 60 },
  ])('$name', async ({ at, age }) => {
    const { replica, tell } = await listening()
    tell(heartbeat('7', textAfter(at)))
    expect(replica.age()).toBe(age)
  })

  test('other keys, and the status of this one', async () => {
    const { clock, replica, tell } = await listening()
    tell(heartbeat('7', textAfter(100)))
    await clock.advance(16_000)
    tell(
      keyObject({
        metadata: { name: 'other', annotations: { [HEARTBEAT_ANNOTATION]: textAfter(116) } },
      }),
    )
    tell(heartbeat('8', textAfter(100)))
    expect(replica.age()).toBe(16)
  })

  test('a listing, before it is complete', async () => {
    const { replica } = await listening()
    replica.sink.begin()
    replica.sink.put(heartbeat('7', textAfter(99)))
    expect(replica.age()).toBe(Number.POSITIVE_INFINITY)
    replica.sink.end()
    expect(replica.age()).toBe(1)
  })

  test('an etcd that was restored: the time it brings back is old', async () => {
    const { replica, tell } = await listening()
    tell(heartbeat('70', textAfter(95)))
    replica.sink.begin()
    replica.sink.put(heartbeat('7', textAfter(-3600)))
    replica.sink.end()
    expect(replica.age()).toBe(5)
  })
})

describe('a watch that tells of another past: all is listed anew, and until then nothing known (C4)', () => {
  const [FIRST, SECOND, THIRD] = [90, 95, 99].map(textAfter) as [string, string, string]
  const told = async (...heartbeats: readonly KubeObject[]) => {
    const world = start({})
    const [replica] = world.replicas
    await world.clock.advance(100_000)
    world.api.put(heartbeat('2', FIRST), false)
    replica.list()
    for (const one of heartbeats) replica.sink.put(one)
    return { ...world, replica }
  }

  test.each([
    {
      name: 'one after the other',
      told: [heartbeat('3', SECOND, FIRST), heartbeat('4', THIRD, SECOND)],
    },
    { name: 'a status', told: [heartbeat('3', FIRST)] },
  ])('not so: $name', async ({ told: events }) => {
    const { replica } = await told(...events)
    expect(replica.doubts()).toBe(0)
    expect(replica.age()).toBeLessThan(11)
  })

  test.each([
    { name: 'one is missing', told: [heartbeat('4', THIRD, SECOND)] },
    {
      name: 'one of before is written to',
      told: [heartbeat('3', SECOND, FIRST), heartbeat('4', FIRST)],
    },
    {
      name: 'one follows another past',
      told: [heartbeat('3', SECOND, FIRST), heartbeat('4', THIRD, FIRST)],
    },
    { name: 'another of the same name', told: [heartbeat('3', SECOND, FIRST, 'other')] },
  ])('$name', async ({ told: events }) => {
    const { clock, replica } = await told(...events, heartbeat('9', textAfter(100), 'x'))
    expect(replica.age()).toBe(Number.POSITIVE_INFINITY)
    expect(replica.doubts()).toBe(1)
    expect(replica.logged()).toEqual([
      'warn: the access keys went back to an earlier state, listing them again',
    ])
    await clock.advance(5)
    expect(replica.age()).toBeLessThan(11)
  })

  test('one that is deleted and comes again is none', async () => {
    const { replica } = await told()
    replica.sink.remove(heartbeat('3', FIRST))
    replica.sink.put(heartbeat('4', THIRD, '', 'other'))
    expect([replica.doubts(), replica.age()]).toEqual([0, 1])
  })

  test('an etcd that was restored, to every replica that hears the first write behind it', async () => {
    const world = start({ random: 0.3 }, { random: 0.6 })
    world.beat()
    await world.clock.advance(12_000)
    const snapshot = world.api.object
    await world.clock.advance(12_000)
    world.api.put(snapshot, false)
    await world.clock.advance(8000)
    expect(world.replicas.map(({ doubts }) => doubts())).toEqual([1, 1])
    expect(world.replicas.map(({ age }) => age() < 7)).toEqual([true, true])
  })
})

describe('a watch that tells nothing more (10.4)', () => {
  test('what is known ages, however often it is written to', async () => {
    const { clock, api, replicas, beat } = start({})
    beat()
    await clock.advance(1000)
    replicas[0].line.eventsAfterMs = null
    await clock.advance(30_000)
    expect(api.writes.length).toBeGreaterThan(4)
    expect(replicas[0].age()).toBe(31)
  })

  test('is doubted when a write was stored 10 seconds ago, and not before', async () => {
    const { clock, replicas, beat } = start({})
    beat()
    await clock.advance(1000)
    replicas[0].line.eventsAfterMs = null
    await clock.advance(13_000)
    expect(replicas[0].doubts()).toBe(0)
    await clock.advance(2000)
    expect(replicas[0].doubts()).toBe(1)
    expect(replicas[0].logged()).toEqual([
      'warn: the watch of the access keys missed a write, listing them again',
    ])
  })

  test('is not doubted while nothing can be stored', async () => {
    const { clock, replicas, beat } = start({})
    beat()
    await clock.advance(1000)
    Object.assign(replicas[0].line, { eventsAfterMs: null, isDown: true })
    await clock.advance(60_000)
    expect(replicas[0].doubts()).toBe(0)
    expect(replicas[0].age()).toBe(61)
  })

  test('one that lags by 20 seconds is never fresh', async () => {
    const world = start({})
    Object.assign(world.replicas[0].line, { eventsAfterMs: 20_000, listsAnew: false })
    world.beat()
    await world.clock.advance(60_000)
    const ages: number[] = []
    for (let at = 0; at < 100; at += 1) {
      await world.clock.advance(100)
      ages.push(world.replicas[0].age())
    }
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(20)
  })

  test('a server restored to an earlier state is written to all the same', async () => {
    const { clock, api, replicas, beat } = start({})
    beat()
    await clock.advance(11_000)
    const { writes } = api
    const before = writes.length
    replicas[0].line.eventsAfterMs = null
    api.put(heartbeat('2', textAfter(-3600)), false)
    await clock.advance(16_000)
    expect(writes.length).toBeGreaterThan(before + 1)
    expect(replicas[0].doubts()).toBe(1)
    replicas[0].list()
    expect(replicas[0].age()).toBeLessThan(7)
  })
})

describe('clocks that part (10.4)', () => {
  test.each([
    { name: 'an hour ahead', aheadMs: 3_600_000 },
    { name: 'an hour behind', aheadMs: -3_600_000 },
    { name: 'ten seconds ahead', aheadMs: 10_000 },
    { name: 'ten seconds behind', aheadMs: -10_000 },
    { name: 'two seconds behind', aheadMs: -2000 },
  ])(
    'another one $name: both stay fresh, and neither writes more than its share',
    async ({ aheadMs }) => {
      const world = start({ random: 0.3 }, { aheadMs, random: 0.6 })
      world.beat()
      await world.clock.advance(10_000)
      const ages = await oldest(world, 120)
      expect(Math.max(...ages)).toBeLessThan(15)
      expect(world.api.writes.length).toBeLessThanOrEqual(52)
    },
  )

  test('a watch that lags shows with another clock ahead: its word proves nothing', async () => {
    const world = start({ random: 0.3 }, { aheadMs: 3_600_000, random: 0.6 })
    Object.assign(world.replicas[0].line, { eventsAfterMs: 20_000, listsAnew: false })
    world.beat()
    await world.clock.advance(60_000)
    const ages: number[] = []
    for (let at = 0; at < 100; at += 1) {
      await world.clock.advance(100)
      ages.push(world.replicas[0].age())
    }
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(20)
  })

  test.each([
    { name: 'forward', stepMs: 3_600_000 },
    { name: 'back', stepMs: -3_600_000 },
  ])(
    'our own is put $name by an hour: never fresh for what it is not, and soon again for what it is',
    async ({ stepMs }) => {
      const world = start({})
      world.beat()
      await world.clock.advance(12_000)
      world.replicas[0].line.eventsAfterMs = null
      await world.clock.advance(14_000)
      world.clock.setNow(world.clock.nowMs() + stepMs)
      await world.clock.advance(4000)
      expect(world.replicas[0].age()).toBeGreaterThan(15)
      world.replicas[0].line.eventsAfterMs = 5
      await world.clock.advance(6000)
      expect(world.replicas[0].age()).toBeLessThan(7)
    },
  )
})
