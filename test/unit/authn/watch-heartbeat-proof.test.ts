// Until when a gateway's watch is proven complete, whatever the watch and the clocks do.
import { describe, expect, test } from 'vitest'
import { HEARTBEAT_ANNOTATION } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { textAfter } from '../../support/key-builder.ts'
import { keyObject } from '../../support/object-builder.ts'
import { heartbeatObject, highestAges, startReplicas } from './heartbeat-replicas.ts'

describe('a late or replayed heartbeat proves no later moment (10.4, C4)', () => {
  const listed = async () => {
    const setup = startReplicas({})
    const [replica] = setup.replicas
    replica.connection.isDown = true
    replica.list()
    await setup.clock.advance(100_000)
    return { ...setup, replica, put: (object: KubeObject) => replica.sink.put(object) }
  }

  test.each([
    { name: 'a heartbeat that arrives at once proves the current moment', at: 100, age: 0 },
    {
      name: 'a heartbeat that arrives a minute late proves a moment a minute ago',
      at: 40,
      age: 60,
    },
  ])('$name', async ({ at, age }) => {
    const { replica, put } = await listed()
    put(heartbeatObject('7', textAfter(at)))
    expect(replica.age()).toBe(age)
  })

  test('an event of another key or of the status of this one proves nothing', async () => {
    const { clock, replica, put } = await listed()
    put(heartbeatObject('7', textAfter(100)))
    await clock.advance(16_000)
    put(
      keyObject({
        metadata: { name: 'other', annotations: { [HEARTBEAT_ANNOTATION]: textAfter(116) } },
      }),
    )
    put(heartbeatObject('8', textAfter(100)))
    expect(replica.age()).toBe(16)
  })

  test('a list proves nothing before it is complete', async () => {
    const { replica } = await listed()
    replica.sink.begin()
    replica.sink.put(heartbeatObject('7', textAfter(99)))
    expect(replica.age()).toBe(Number.POSITIVE_INFINITY)
    replica.sink.end()
    expect(replica.age()).toBe(1)
  })

  test('the old heartbeat of a restored etcd proves no later moment', async () => {
    const { replica, put } = await listed()
    put(heartbeatObject('70', textAfter(95)))
    replica.sink.begin()
    replica.sink.put(heartbeatObject('7', textAfter(-3600)))
    replica.sink.end()
    expect(replica.age()).toBe(5)
  })
})

describe('a watch with a gap relists, and proves nothing until then (C4)', () => {
  const [FIRST, SECOND, THIRD] = [90, 95, 99].map(textAfter) as [string, string, string]
  const observed = async (...heartbeats: readonly KubeObject[]) => {
    const setup = startReplicas({})
    const [replica] = setup.replicas
    await setup.clock.advance(100_000)
    setup.api.put(heartbeatObject('2', FIRST), false)
    replica.list()
    for (const one of heartbeats) replica.sink.put(one)
    return { ...setup, replica }
  }

  test.each([
    {
      name: 'with successive heartbeats',
      events: [heartbeatObject('3', SECOND, FIRST), heartbeatObject('4', THIRD, SECOND)],
    },
    { name: 'with a change of status', events: [heartbeatObject('3', FIRST)] },
  ])('there is no gap in a watch $name', async ({ events }) => {
    const { replica } = await observed(...events)
    expect(replica.relists()).toBe(0)
    expect(replica.age()).toBeLessThan(11)
  })

  test.each([
    { name: 'a heartbeat is missing', events: [heartbeatObject('4', THIRD, SECOND)] },
    {
      name: 'an earlier heartbeat comes back',
      events: [heartbeatObject('3', SECOND, FIRST), heartbeatObject('4', FIRST)],
    },
    {
      name: 'a heartbeat follows an earlier one',
      events: [heartbeatObject('3', SECOND, FIRST), heartbeatObject('4', THIRD, FIRST)],
    },
    {
      name: 'another object has the same name',
      events: [heartbeatObject('3', SECOND, FIRST, 'other')],
    },
  ])('there is a gap when $name', async ({ events }) => {
    const { clock, replica } = await observed(...events, heartbeatObject('9', textAfter(100), 'x'))
    expect(replica.age()).toBe(Number.POSITIVE_INFINITY)
    expect([replica.relists(), replica.gaps()]).toEqual([1, 1])
    expect(replica.logged()).toEqual([
      'warn: watched objects went back to an earlier state, listing them again',
    ])
    await clock.advance(5)
    expect(replica.age()).toBeLessThan(11)
  })

  test('a gap in the watch of another kind drops the proof, until the objects are listed again', async () => {
    const { clock, replica } = await observed(heartbeatObject('3', SECOND, FIRST))
    replica.heartbeat.distrust()
    replica.heartbeat.distrust()
    replica.sink.put(heartbeatObject('4', THIRD, SECOND))
    expect(replica.age()).toBe(Number.POSITIVE_INFINITY)
    expect([replica.relists(), replica.gaps()]).toEqual([1, 0])
    expect(replica.logged()).toEqual([
      'warn: objects of another kind went back to an earlier state, listing these',
    ])
    await clock.advance(5)
    expect(replica.age()).toBeLessThan(11)
  })

  test('a heartbeat key that is deleted and created again makes no gap', async () => {
    const { replica } = await observed()
    replica.sink.remove(heartbeatObject('3', FIRST))
    replica.sink.put(heartbeatObject('4', THIRD, '', 'other'))
    expect([replica.relists(), replica.age()]).toEqual([0, 1])
  })

  test('every replica relists at the first write after a restore of etcd', async () => {
    const setup = startReplicas({ random: 0.3 }, { random: 0.6 })
    setup.run()
    await setup.clock.advance(12_000)
    const snapshot = setup.api.object
    await setup.clock.advance(12_000)
    setup.api.put(snapshot, false)
    await setup.clock.advance(8000)
    expect(setup.replicas.map(({ relists }) => relists())).toEqual([1, 1])
    expect(setup.replicas.map(({ age }) => age() < 7)).toEqual([true, true])
  })
})

describe('a silent watch (10.4)', () => {
  test('its proof ages although heartbeats are written', async () => {
    const { clock, api, replicas, run } = startReplicas({})
    run()
    await clock.advance(1000)
    replicas[0].connection.eventsAfterMs = null
    await clock.advance(30_000)
    expect(api.writes.length).toBeGreaterThan(4)
    expect(replicas[0].age()).toBe(31)
  })

  test('relists 10 seconds after a stored write, and not before', async () => {
    const { clock, replicas, run } = startReplicas({})
    run()
    await clock.advance(1000)
    replicas[0].connection.eventsAfterMs = null
    await clock.advance(13_000)
    expect(replicas[0].relists()).toBe(0)
    await clock.advance(2000)
    expect(replicas[0].relists()).toBe(1)
    expect(replicas[0].logged()).toEqual([
      'warn: the watch missed a write, listing the objects again',
    ])
  })

  test('does not relist while no write is stored', async () => {
    const { clock, replicas, run } = startReplicas({})
    run()
    await clock.advance(1000)
    Object.assign(replicas[0].connection, { eventsAfterMs: null, isDown: true })
    await clock.advance(60_000)
    expect(replicas[0].relists()).toBe(0)
    expect(replicas[0].age()).toBe(61)
  })

  test('is always stale when it lags by 20 seconds', async () => {
    const setup = startReplicas({})
    Object.assign(setup.replicas[0].connection, { eventsAfterMs: 20_000, listsAgain: false })
    setup.run()
    await setup.clock.advance(60_000)
    const ages: number[] = []
    for (let at = 0; at < 100; at += 1) {
      await setup.clock.advance(100)
      ages.push(setup.replicas[0].age())
    }
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(20)
  })

  test('heartbeats go on when the server is restored to an earlier state', async () => {
    const { clock, api, replicas, run } = startReplicas({})
    run()
    await clock.advance(11_000)
    const { writes } = api
    const before = writes.length
    replicas[0].connection.eventsAfterMs = null
    api.put(heartbeatObject('2', textAfter(-3600)), false)
    await clock.advance(16_000)
    expect(writes.length).toBeGreaterThan(before + 1)
    expect(replicas[0].relists()).toBe(1)
    replicas[0].list()
    expect(replicas[0].age()).toBeLessThan(7)
  })
})

describe('wall clocks of gateways that differ (10.4)', () => {
  test.each([
    { name: 'an hour ahead', aheadMs: 3_600_000 },
    { name: 'an hour behind', aheadMs: -3_600_000 },
    { name: 'ten seconds ahead', aheadMs: 10_000 },
    { name: 'ten seconds behind', aheadMs: -10_000 },
    { name: 'two seconds behind', aheadMs: -2000 },
  ])(
    'another gateway’s clock $name: both stay fresh, and neither writes more than its share',
    async ({ aheadMs }) => {
      const setup = startReplicas({ random: 0.3 }, { aheadMs, random: 0.6 })
      setup.run()
      await setup.clock.advance(10_000)
      const ages = await highestAges(setup, 120)
      expect(Math.max(...ages)).toBeLessThan(15)
      expect(setup.api.writes.length).toBeLessThanOrEqual(52)
    },
  )

  test('a heartbeat of a clock that is ahead does not hide a lagging watch', async () => {
    const setup = startReplicas({ random: 0.3 }, { aheadMs: 3_600_000, random: 0.6 })
    Object.assign(setup.replicas[0].connection, { eventsAfterMs: 20_000, listsAgain: false })
    setup.run()
    await setup.clock.advance(60_000)
    const ages: number[] = []
    for (let at = 0; at < 100; at += 1) {
      await setup.clock.advance(100)
      ages.push(setup.replicas[0].age())
    }
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(20)
  })

  test.each([
    { name: 'forward', stepMs: 3_600_000 },
    { name: 'back', stepMs: -3_600_000 },
  ])(
    'our own clock is put $name by an hour: a silent watch is never fresh, and a sound one soon is again',
    async ({ stepMs }) => {
      const setup = startReplicas({})
      setup.run()
      await setup.clock.advance(12_000)
      setup.replicas[0].connection.eventsAfterMs = null
      await setup.clock.advance(14_000)
      setup.clock.setNow(setup.clock.nowMs() + stepMs)
      await setup.clock.advance(4000)
      expect(setup.replicas[0].age()).toBeGreaterThan(15)
      setup.replicas[0].connection.eventsAfterMs = 5
      await setup.clock.advance(6000)
      expect(setup.replicas[0].age()).toBeLessThan(7)
    },
  )
})
