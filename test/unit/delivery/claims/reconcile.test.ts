/** @module-tag no-retry */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  CLAIM_LABEL,
  EXPIRED_ANNOTATION,
  EXPIRES_ANNOTATION,
  KEY_ID_ANNOTATION,
  ROTATE_ANNOTATION,
} from '../../../../src/api/names.ts'
import { CLAIM_UID } from '../../../support/delivery/claim-facts.ts'
import {
  DeliveryWorld,
  deliveredWorld,
  expectDelivered,
} from '../../../support/delivery/delivery-world.ts'
import { type ServerCall, isWrite } from '../../../support/delivery/memory-api-server.ts'

const DAY = 86_400
const TOKEN = { token: { ttl: 3600 } }

const wordsOf = ({ method, plural, subresource }: ServerCall): string =>
  [method, plural, subresource].filter(Boolean).join(' ')

describe('a first delivery (28.3)', () => {
  test('tries, makes a key, waits until it works for a second, writes the Secret, says so', async () => {
    const world = await deliveredWorld()
    const calls = world.server.calls.filter(({ method }) => method !== 'GET')
    expect(calls.map((call) => `${call.isDryRun ? 'try ' : ''}${wordsOf(call)}`)).toEqual([
      'PATCH accesskeyclaims',
      'try POST secrets',
      'POST ownedaccesskeys',
      'POST secrets',
      'PATCH secrets',
      'PATCH accesskeyclaims status',
    ])
    expectDelivered(world)
    const [key] = world.keys
    const readyMs = world.manager.readySinceMs.get(key?.metadata.uid ?? '') ?? 0
    expect(world.claim?.status?.lastRotation).toBe(
      new Date(Math.floor((readyMs + 1000) / 1000) * 1000).toISOString().replace('.000', ''),
    )
  })

  test('the key object has the digest of what the Secret has, and nothing else of it', async () => {
    const world = await deliveredWorld({
      key: { user: 'ada', groups: ['dev'], ttl: 600, scope: {} },
    })
    const plaintext = Buffer.from(world.secret?.data?.['key'] ?? '', 'base64').toString()
    expect(plaintext).toMatch(/^pak_\w{50}$/)
    const digest = hash('sha256', plaintext)
    const [key] = world.keys
    expect(key?.spec).toEqual({
      user: 'ada',
      groups: ['dev'],
      ttl: 600,
      scope: {},
      type: 'Other',
      key: `sha256:${digest}`,
    })
    expect(key?.metadata.name).toMatch(/^claim-shop-deploy-[a-z2-7]{8}$/)
    expect(key?.metadata.labels).toEqual({ [CLAIM_LABEL]: CLAIM_UID })
    expect(key?.metadata.annotations).toMatchObject({
      [CLAIM_LABEL]: 'shop/deploy',
      [EXPIRED_ANNOTATION]: 'Delete',
    })
    expect(world.secret?.metadata).toMatchObject({
      labels: { [CLAIM_LABEL]: CLAIM_UID },
      annotations: {
        [KEY_ID_ANNOTATION]: digest.slice(0, 16),
        [EXPIRES_ANNOTATION]: '2026-11-21T10:10:00Z',
      },
      ownerReferences: [
        { kind: 'AccessKeyClaim', name: 'deploy', uid: CLAIM_UID, controller: true },
      ],
    })
    expect(JSON.stringify(world.secret?.metadata.ownerReferences)).not.toContain(
      'blockOwnerDeletion',
    )
  })

  test('a token is delivered under a key of its own, whose plaintext goes nowhere', async () => {
    const world = await deliveredWorld({ token: { ttl: 3600, scope: {} }, key: { user: 'ada' } })
    expectDelivered(world)
    const [token] = world.server.all('directclusterendpointtokens')
    expect(token?.spec).toEqual({ ttl: 3600, scope: {} })
    expect(token?.metadata.ownerReferences).toMatchObject([
      { uid: world.keys[0]?.metadata.uid, controller: true },
    ])
    expect(JSON.stringify(world.server.calls.filter(isWrite))).not.toContain('pak_')
    expect(world.claim?.status?.token?.name).toBe(token?.metadata.name)
  })

  test('no line of the log, no Event and no status has a credential (3.5)', async () => {
    for (const spec of [{}, TOKEN]) {
      const world = await deliveredWorld(spec)
      world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
      await world.run(60)
      expect(world.log.lines.length).toBeGreaterThan(2)
      const said = JSON.stringify([world.log.lines, world.events, world.claim])
      expect(said).not.toMatch(/pak_|tok_/)
    }
  })

  test('waits for a manager that is down, says so after 5 s, and delivers when it is back', async () => {
    const world = new DeliveryWorld()
    world.manager.isDown = true
    await world.run(60)
    expect(world.reason).toBe('Pending')
    expect(world.secret).toBeUndefined()
    world.manager.isDown = false
    await world.run(10)
    expectDelivered(world)
  })

  test('a token that was revoked before the watch says so is not delivered, and not asked for all the time', async () => {
    const world = new DeliveryWorld({ spec: TOKEN })
    const isRead = ({ method, plural }: ServerCall): boolean =>
      method === 'GET' && plural === 'directclusterendpointtokens'
    world.server.faultOf = (call) => (isRead(call) ? { code: 404, reason: 'NotFound' } : null)
    await world.run(10)
    expect(world.server.calls.filter(isRead).length).toBeLessThanOrEqual(10)
    expect(world.log.lines.map(({ sentence }) => sentence)).not.toContain('credential delivered')
    world.server.faultOf = () => null
    await world.run(10)
    expectDelivered(world)
  })

  test('a rotation that is asked for at once is one, and the request is in the status', async () => {
    const world = new DeliveryWorld({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
    await world.run(100)
    expectDelivered(world)
    expect(world.claim?.status?.lastRotate).toBe('now')
  })
})

describe('rotation by age (28.5, 28.8)', () => {
  test.each([
    { name: 'a key of 30 days', spec: {}, days: 365, period: 20 * DAY, keys: 2 },
    { name: 'a key without overlap', spec: { overlap: 0 }, days: 365, period: 20 * DAY, keys: 1 },
    {
      name: 'a token of a day',
      spec: { token: { ttl: DAY }, key: { ttl: 10 * DAY } },
      days: 60,
      period: (2 / 3) * DAY,
      keys: 2,
    },
  ])(
    '$name over $days days: the Secret always works, seven writes a rotation at most',
    async ({ spec, days, period, keys }) => {
      const world = await deliveredWorld(spec)
      const before = world.server.writes().length
      const count = world.delivered.length
      for (let day = 0; day < days; day += 1) {
        await world.run(DAY)
        expect(world.fault).toBeNull()
      }
      const rotations = world.delivered.length - count
      expect(rotations).toBeGreaterThanOrEqual(Math.floor((days * DAY) / period) - 1)
      expect(rotations).toBeLessThan(((days * DAY) / period) * 1.3)
      expect(world.server.writes().length - before).toBeLessThanOrEqual(rotations * 7)
      expect(world.keys.length).toBeLessThanOrEqual(keys)
      expect(world.broken).toEqual([])
      expect(world.errors).toEqual([])
    },
    60_000,
  )

  test('the process writes nothing between rotations, at a restart and at a resync (28.8)', async () => {
    const world = await deliveredWorld()
    const before = world.server.writes().length
    await world.run(10 * DAY)
    world.crash()
    await world.run(60)
    await world.reconcile()
    expect(world.server.writes().length).toBe(before)
  })

  test('a rotation takes few steps: one key, one Secret, one status, and the elder later', async () => {
    const world = await deliveredWorld()
    const before = world.server.writes().length
    world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
    await world.run(60)
    expect(world.server.writes().slice(before).map(wordsOf)).toEqual([
      'POST ownedaccesskeys',
      'PATCH secrets',
      'PATCH accesskeyclaims status',
    ])
    expectDelivered(world, 2)
    expect(world.claim?.status?.previous?.name).toBeDefined()
    await world.run(25 * DAY)
    expectDelivered(world, 2)
  })
})
