/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import {
  CLAIM_LABEL,
  EXPIRES_ANNOTATION,
  KEY_ID_ANNOTATION,
  ROTATE_ANNOTATION,
} from '../../../../src/api/names.ts'
import { editSecret } from '../../../support/delivery/secret-edits.ts'
import { CLAIM_UID } from '../../../support/delivery/claim-facts.ts'
import {
  type DeliveryWorld,
  deliveredWorld,
  expectDelivered,
} from '../../../support/delivery/delivery-world.ts'

const DAY = 86_400
const TOKEN = { token: { ttl: 3600 } }

describe('what is asked for reaches the Secret (28.5)', () => {
  test('no claim is replaced twice within 30 s, whatever is asked', async () => {
    const world = await deliveredWorld()
    const atMs: number[] = []
    for (let step = 0; step < 120; step += 1) {
      world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: `${step}` } } })
      const count = world.delivered.length
      await world.run(1)
      if (world.delivered.length > count) atMs.push(world.clock.nowMs())
    }
    const gaps = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0))
    expect(atMs.length).toBeGreaterThan(2)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(30_000)
    expect(world.broken).toEqual([])
    expect(world.keys.length).toBeLessThanOrEqual(2)
  })

  test('another identity ends the elder when the Secret is written, and not before', async () => {
    const world = await deliveredWorld()
    await world.run(60)
    world.edit({ spec: { key: { user: 'ada' } } })
    await world.run(0.2)
    expect(world.keys).toHaveLength(2)
    await world.run(10)
    expectDelivered(world)
    expect(world.claim?.status?.identity).toBe('user:ada')
  })

  test('limits are patched into the key that works: no new secret', async () => {
    const world = await deliveredWorld({ key: { scope: {}, displayName: 'CI' } })
    const data = world.secret?.data
    world.edit({ spec: { key: { ttl: 600, description: 'Builds.' } } })
    await world.run(5)
    expectDelivered(world)
    expect(world.secret?.data).toEqual(data)
    expect(world.keys[0]?.spec).toMatchObject({ ttl: 600, displayName: '', description: 'Builds.' })
    expect(world.keys[0]?.spec).not.toHaveProperty('scope')
    expect(world.secret?.metadata.annotations?.[EXPIRES_ANNOTATION]).toBe('2026-11-21T10:10:00Z')
  })

  test('who takes a person out of a suspended claim widens nothing of the key that is left (28.2)', async () => {
    const world = await deliveredWorld({ key: { user: 'ada', ttl: 600, scope: {} } })
    world.edit({ spec: { suspend: true } })
    await world.run(60)
    expect(world.keys).toMatchObject([{ spec: { user: 'ada', ttl: 600, scope: {} } }])
  })

  test('labels and annotations are applied with the data that are there, and taken off again', async () => {
    const world = await deliveredWorld()
    const data = world.secret?.data
    world.edit({ spec: { secret: { labels: { app: 'ci' }, annotations: { a: 'b' } } } })
    await world.run(5)
    expect(world.secret?.metadata.labels).toMatchObject({ app: 'ci', [CLAIM_LABEL]: CLAIM_UID })
    world.edit({ spec: {} })
    await world.run(5)
    expect(world.secret?.metadata.labels).toEqual({ [CLAIM_LABEL]: CLAIM_UID })
    expect(world.secret?.data).toEqual(data)
    expectDelivered(world)
  })

  test('a data key that is asked for no more is gone, and what others have added stays (28.4)', async () => {
    const world = await deliveredWorld({ secret: { data: { key: '$(KEY)', id: '$(KEY_ID)' } } })
    editSecret(world.server, {
      data: { theirs: 'eA==' },
      metadata: { labels: { theirs: 'x' } } as never,
    })
    world.lookAgain()
    await world.run(60)
    world.edit({ spec: { secret: { data: { key: '$(KEY)' } } } })
    await world.run(10)
    expect(Object.keys(world.secret?.data ?? {}).toSorted()).toEqual(['key', 'theirs'])
    expect(world.secret?.metadata.labels).toMatchObject({ theirs: 'x' })
    expectDelivered(world, 2)
  })

  test.each([
    {
      name: 'deleted',
      change: (world: DeliveryWorld) =>
        world.secret && world.server.remove('secrets', world.secret),
    },
    {
      name: 'changed',
      change: (world: DeliveryWorld) => editSecret(world.server, { data: { key: 'eA==' } }),
    },
  ])(
    'a Secret that others have $name gets another key: Event SecretChanged (28.4)',
    async ({ change }) => {
      const world = await deliveredWorld()
      await world.run(60)
      change(world)
      world.lookAgain()
      await world.run(10)
      expectDelivered(world, 2)
      expect(world.delivered).toEqual(['first', 'secret_changed'])
      expect(world.events.map(({ reason, type }) => `${type} ${reason}`)).toEqual([
        'Normal Delivered',
        'Warning SecretChanged',
        'Normal Rotated',
      ])
    },
  )

  test('an elder whose id others put into the Secret ends all the same, and the Secret gets another (28.5)', async () => {
    const world = await deliveredWorld({ overlap: 600 })
    const elder = world.claim?.status?.key
    world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'leaked' } } })
    await world.run(60)
    const annotations = { [KEY_ID_ANNOTATION]: elder?.keyID ?? '' }
    editSecret(world.server, { metadata: { annotations } as never })
    world.lookAgain()
    await world.run(650)
    expectDelivered(world)
    expect(world.keys.map(({ metadata }) => metadata.name)).not.toContain(elder?.name)
    expect(world.delivered).toEqual(['first', 'requested', 'key_deleted'])
  })

  test('a deleted key is made again, a disabled one is not until it is asked for', async () => {
    const world = await deliveredWorld()
    await world.run(60)
    for (const key of world.keys) world.server.remove('ownedaccesskeys', key)
    await world.run(10)
    expectDelivered(world)
    for (const key of world.keys)
      world.server.put('ownedaccesskeys', {
        ...key,
        spec: { ...(key.spec as object), disabled: true },
      })
    await world.run(DAY)
    expect(world.reason).toBe('KeyDisabled')
    expect(world.delivered).toEqual(['first', 'key_deleted'])
    world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
    await world.run(10)
    expectDelivered(world, 2)
  })

  test('a suspended claim makes nothing, runs to its end, and goes on when it is asked to', async () => {
    const world = await deliveredWorld({ key: { ttl: 600 } })
    world.edit({ spec: { key: { ttl: 600 }, suspend: true } })
    await world.run(500)
    expect(world.reason).toBe('Delivered')
    await world.run(200)
    expect(world.reason).toBe('Suspended')
    expect(world.delivered).toEqual(['first'])
    world.edit({ spec: { key: { ttl: 600 } } })
    await world.run(10)
    expectDelivered(world)
  })

  test('a suspended claim whose token has ended is at rest: nothing is sent (28.8)', async () => {
    const world = await deliveredWorld(TOKEN)
    world.edit({ spec: { ...TOKEN, suspend: true } })
    await world.run(3700)
    expect(world.reason).toBe('Suspended')
    const before = world.server.calls.length
    await world.run(3600)
    expect(world.server.calls.length).toBe(before)
  })

  test('a claim that is deleted ends its keys and lets go; its Secret goes with it (28.6)', async () => {
    const world = await deliveredWorld(TOKEN)
    if (world.claim) world.server.remove('accesskeyclaims', world.claim)
    await world.run(5)
    expect([world.claim, world.secret, world.keys]).toEqual([undefined, undefined, []])
    expect(world.server.all('directclusterendpointtokens')).toEqual([])
  })
})
