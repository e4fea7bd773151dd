import { describe, expect, test } from 'vitest'
import {
  EXPIRED_ANNOTATION,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
} from '../../../src/api/names.ts'
import { textAfter } from '../../support/key-builder.ts'
import {
  heartbeatObject,
  heartbeatWithSpec,
  highestAges,
  previousVersionHeartbeat,
  startReplicas,
} from './heartbeat-replicas.ts'

describe('the heartbeat key (10.4)', () => {
  test('is created where it is missing: it authenticates no client, and no cap ends it', async () => {
    const { clock, api, replicas, run } = startReplicas({})
    run()
    await clock.advance(1000)
    expect(api.writes).toEqual([{ by: 'r0', what: 'create' }])
    expect(api.object).toMatchObject({
      kind: 'OwnedAccessKey',
      metadata: {
        name: 'platform-heartbeat',
        annotations: { [HEARTBEAT_ANNOTATION]: textAfter(0), [EXPIRED_ANNOTATION]: 'Keep' },
      },
      spec: { type: 'Reset', subject: 'heartbeat' },
    })
    expect(api.object?.spec).not.toHaveProperty('disabled')
    expect(replicas[0].age()).toBe(1)
  })

  test('is not created before the keys are listed', async () => {
    const { clock, api, replicas } = startReplicas({})
    const abort = new AbortController()
    void replicas[0].heartbeat.keepWriting(abort.signal)
    await clock.advance(20_000)
    expect(api.writes).toEqual([])
    abort.abort()
  })

  test('is created again after a user deleted it', async () => {
    const { clock, api, run } = startReplicas({})
    run()
    await clock.advance(1000)
    api.put(null)
    await clock.advance(5000)
    expect(api.writes.map(({ what }) => what)).toEqual(['create', 'create'])
  })

  test('gets deleted annotations back', async () => {
    const { clock, api, run } = startReplicas({})
    api.put(heartbeatObject('3', null))
    run()
    await clock.advance(1000)
    expect(api.writes).toEqual([{ by: 'r0', what: 'patch' }])
    expect(api.object?.metadata.annotations).toEqual({
      [HEARTBEAT_ANNOTATION]: textAfter(0),
      [HEARTBEAT_BEFORE_ANNOTATION]: '',
      [EXPIRED_ANNOTATION]: 'Keep',
    })
  })

  test('is written by one of several gateways, about every 5 seconds', async () => {
    const setup = startReplicas({ random: 0 }, { random: 0.9 })
    setup.run()
    await setup.clock.advance(1000)
    expect(await highestAges(setup, 60)).toEqual([expect.closeTo(5, 0), expect.closeTo(5, 0)])
    expect(setup.api.writes.length).toBeGreaterThanOrEqual(11)
    expect(setup.api.writes.length).toBeLessThanOrEqual(13)
    expect(setup.replicas.map(({ logged }) => logged())).toEqual([[], []])
  })

  test('of two gateways that write at the same moment one wins, and both observe its write', async () => {
    const setup = startReplicas({ random: 0.5 }, { random: 0.5 })
    setup.api.put(heartbeatObject('3', textAfter(-20)))
    setup.run()
    await highestAges(setup, 60)
    expect(setup.api.refused.length).toBeGreaterThan(0)
    expect(setup.api.writes.length).toBeLessThanOrEqual(13)
    expect(setup.replicas.map(({ age }) => age() < 7)).toEqual([true, true])
    expect(setup.replicas.map(({ logged }) => logged())).toEqual([[], []])
  })

  test('another gateway takes over when the writing one is gone', async () => {
    const setup = startReplicas({ random: 0 }, { random: 1 })
    setup.run()
    await setup.clock.advance(20_000)
    setup.replicas[0].connection.isDown = true
    const [, age] = await highestAges(setup, 60)
    expect(age).toBeLessThan(7)
    expect(setup.api.writes.at(-1)?.by).toBe('r1')
  })

  test('a gateway reports the time from its write to the watch event (commit to effect, 15)', async () => {
    const { clock, replicas, run } = startReplicas({})
    replicas[0].connection.eventsAfterMs = 40
    run()
    await clock.advance(11_000)
    expect(replicas[0].delivered).toEqual([40, 40, 40])
  })
})

describe('a heartbeat key with another spec (10.4)', () => {
  const SPEC = { type: 'Reset', subject: 'heartbeat' }

  // biome-ignore format: a table
  test.each([
    { name: 'from the previous version', spec: { subject: 'heartbeat', disabled: true } },
    { name: 'of another type', spec: { ...SPEC, type: 'Other' } },
    { name: 'that a user disabled', spec: { ...SPEC, disabled: true } },
    { name: 'with a lifetime', spec: { ...SPEC, ttl: 60 } },
    { name: 'of a user', spec: { type: 'Reset', user: 'ada' } },
  ])('$name is replaced once, and then written to', async ({ spec }) => {
    const { clock, api, replicas, run } = startReplicas({}, { random: 0.5 })
    api.put(heartbeatWithSpec(spec))
    run()
    await clock.advance(1000)
    expect(api.writes.map(({ what }) => what)).toEqual(['delete', 'create'])
    expect(api.object).toMatchObject({ metadata: { uid: 'heartbeat-1' }, spec: SPEC })
    await clock.advance(60_000)
    expect(api.writes.slice(2).every(({ what }) => what === 'patch')).toBe(true)
    expect(replicas.map(({ age, relists, logged }) => [age() < 7, relists(), logged()])).toEqual([
      [true, 0, []],
      [true, 0, []],
    ])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'as gateways create it', spec: SPEC },
    { name: 'with empty fields', spec: { ...SPEC, disabled: false, ttl: 0, user: '' } },
    { name: 'with another description', spec: { ...SPEC, description: 'x' } },
    { name: 'with a secret, which may be in use', spec: { user: 'ada', key: `sha256:${'0'.repeat(64)}` } },
  ])('$name stays', async ({ spec }) => {
    const { clock, api, run } = startReplicas({})
    api.put(heartbeatWithSpec(spec))
    run()
    await clock.advance(30_000)
    expect(new Set(api.writes.map(({ what }) => what))).toEqual(new Set(['patch']))
  })

  test('is replaced once by two gateways that find it at the same moment', async () => {
    const setup = startReplicas({ random: 0.5 }, { random: 0.5 })
    setup.api.put(previousVersionHeartbeat())
    setup.run()
    await highestAges(setup, 60)
    expect(setup.api.writes.filter(({ what }) => what !== 'patch')).toHaveLength(2)
    expect(setup.replicas.map(({ age, logged }) => [age() < 7, logged()])).toEqual([
      [true, []],
      [true, []],
    ])
  })

  test('is replaced again when a gateway of the previous version recreates it in between', async () => {
    const { clock, api, replicas, run } = startReplicas({})
    api.put(previousVersionHeartbeat())
    api.onDeleted = () => {
      api.onDeleted = () => undefined
      api.put({
        ...previousVersionHeartbeat(),
        metadata: { ...previousVersionHeartbeat().metadata, uid: 'theirs' },
      })
    }
    run()
    await clock.advance(60_000)
    expect(api.writes.slice(0, 3).map(({ what }) => what)).toEqual(['delete', 'delete', 'create'])
    expect(api.writes.slice(3).every(({ what }) => what === 'patch')).toBe(true)
    expect(api.object?.spec).toMatchObject(SPEC)
    expect([replicas[0].age() < 7, replicas[0].logged()]).toEqual([true, []])
  })

  test('with a finalizer is deleted once, and written to until it is gone', async () => {
    const { clock, api, replicas, run } = startReplicas({})
    api.put(heartbeatWithSpec({ subject: 'heartbeat', disabled: true }, ['example.com/backup']))
    run()
    await clock.advance(30_000)
    expect(api.writes.slice(0, 2).map(({ what }) => what)).toEqual(['delete', 'patch'])
    expect(api.writes.slice(2).every(({ what }) => what === 'patch')).toBe(true)
    expect(replicas[0].age()).toBeLessThan(7)
  })

  test('that must not be deleted is written to, and the log says so', async () => {
    const { clock, api, replicas, run } = startReplicas({})
    replicas[0].connection.refusesDeletes = true
    api.put(previousVersionHeartbeat())
    run()
    await clock.advance(12_000)
    expect(new Set(api.writes.map(({ what }) => what))).toEqual(new Set(['patch']))
    expect(replicas[0].age()).toBeLessThan(7)
    expect(replicas[0].logged()).toContain('warn: could not replace the heartbeat object')
  })
})
