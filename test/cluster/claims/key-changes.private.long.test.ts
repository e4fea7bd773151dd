/** @module-tag no-retry */
// What becomes of a claim when its key is deleted, disabled, due, or given other limits (contract 28.5).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CREATED_ANNOTATION } from '../../../src/api/names.ts'
import { formatSecond } from '../../../src/domain/time.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { sumOf } from '../../support/metrics-page.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { userClientOf } from '../people/people-client.ts'
import {
  AFTER_A_ROUND,
  type ClaimNamespace,
  type DeliveredClaims,
  SOON,
  type StoredClaim,
  createClaimNamespace,
  deliverAll,
  startDelivery,
} from './claim-world.ts'

const plane = await privateControlPlane()
const [keys, users, settings] = [keyClientOf(plane), userClientOf(plane), settingsOf(plane)]
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
const delivery = await startDelivery(plane)
afterAll(async () => void (await Promise.all([delivery.stop(), operator.stop()])))

const SPECS = {
  deleted: {},
  disabled: {},
  'user-gone': { key: { user: 'ada' } },
  limits: { key: { ttl: 6000 }, secret: { labels: { app: 'a' } } },
  due: { key: { ttl: 6000 } },
  suspended: { key: { ttl: 6000 } },
}
let shop: ClaimNamespace
let first: DeliveredClaims<keyof typeof SPECS>

beforeAll(async () => {
  await users.create({ username: 'ada' }, { name: 'ada' })
  shop = await createClaimNamespace(plane)
  await shop.allow()
  first = await deliverAll(plane, shop, SPECS)
})

const keyOf = (claim: StoredClaim) => keys.read(claim.status.key?.name ?? '')

describe('a key (28.5)', () => {
  test('that was deleted is replaced, as a Pod of a Deployment', async () => {
    await keys.remove(first.firstKey('deleted'))
    const claim = await first.replaced('deleted')
    expect(claim.status.previous).toBeUndefined()
    expect((await keyOf(claim))?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('that was disabled is not replaced, until it is enabled or a rotation is asked for', async () => {
    const name = first.firstKey('disabled')
    await keys.patch(name, { spec: { disabled: true } })
    const stalled = await shop.claims.shown('disabled', 'KeyDisabled')
    expect(stalled.status.conditions).toMatchObject([
      { type: 'Ready', status: 'False', message: expect.stringContaining(name) as string },
      { type: 'Stalled', status: 'True', reason: 'KeyDisabled' },
    ])
    await shop.change('disabled', { secret: { data: { other: '$(KEY)' } } })
    const still = await shop.claims.shown('disabled', 'KeyDisabled')
    expect(still.status.key?.name).toBe(name)
    await keys.patch(name, { spec: { disabled: false } })
    const claim = await shop.replaced(first.was('disabled'), AFTER_A_ROUND)
    const { name: second = '' } = claim.status.key ?? {}
    await keys.patch(second, { spec: { disabled: true } })
    await shop.claims.shown('disabled', 'KeyDisabled')
    await shop.rotate('disabled', 'again')
    const third = await shop.replaced(claim, AFTER_A_ROUND)
    expect((await keyOf(third))?.spec.disabled).not.toBe(true)
  })

  test('whose person is disabled is not replaced, and the claim says what the key says', async () => {
    await users.patch('ada', { spec: { disabled: true } })
    const { status } = await shop.claims.shown('user-gone', 'KeyNotReady')
    const key = await keyOf(first.was('user-gone'))
    const says = key?.status.conditions?.find(({ type }) => type === 'Ready')?.message ?? 'nothing'
    expect(status.conditions?.[0]?.message).toBe(`Access key ${key?.metadata.name}: ${says}`)
    await shop.rotate('user-gone', 'please')
    await users.patch('ada', { spec: { disabled: false } })
    const claim = await first.replaced('user-gone')
    expect(claim.status.lastRotate).toBe('please')
  })

  test('gets other limits and names as they change, without another Secret', async () => {
    const secret = await shop.secret('limits')
    const scope = { roles: [{ role: 'viewer' }] }
    const changed = { ttl: 7200, displayName: 'CI', description: 'Builds.', scope }
    await shop.change('limits', { key: changed })
    const claim = await shop.claims.shown('limits', 'Delivered')
    expect((await keyOf(claim))?.spec).toMatchObject(changed)
    expect(claim.status.key?.name).toBe(first.firstKey('limits'))
    await shop.change('limits', { key: { scope: null, displayName: '' } })
    await eventuallyPasses(
      'the scope is gone',
      async () => {
        expect((await keyOf(claim))?.spec.scope).toBeUndefined()
      },
      SOON,
    )
    const after = await shop.secret('limits')
    expect(after?.texts).toEqual(secret?.texts)
    const { expirationTimestamp } = (await shop.claims.shown('limits', 'Delivered')).status
    await eventuallyPasses(
      'the Secret says when the key ends now',
      async () => {
        const { annotations } = (await shop.secret('limits'))?.metadata ?? {}
        expect(annotations?.['management.platform.sh/expires']).toBe(expirationTimestamp)
      },
      SOON,
    )
    expect(expirationTimestamp).not.toBe(first.was('limits').status.expirationTimestamp)
  })

  test('goes on working when labels and annotations of the Secret change', async () => {
    const { texts } = (await shop.secret('limits')) ?? {}
    await shop.change('limits', {
      secret: { labels: { app: null, tier: 'b' }, annotations: { note: 'x' } },
    })
    await shop.claims.shown('limits', 'Delivered')
    const after = await shop.secret('limits')
    expect(after?.texts).toEqual(texts)
    expect(after?.metadata.labels).toMatchObject({ tier: 'b' })
    expect(after?.metadata.labels).not.toHaveProperty('app')
    expect(after?.metadata.annotations).toMatchObject({ note: 'x' })
  })

  test('that is due by its age is replaced, and the elder works until its own end', async () => {
    const name = first.firstKey('due')
    const old = { [CREATED_ANNOTATION]: formatSecond(Date.now() - 5_000_000) }
    await keys.patch(name, { metadata: { annotations: old } })
    const claim = await first.replaced('due')
    const elder = await keys.read(name)
    expect(claim.status.previous?.name).toBe(name)
    // It ends a second early, so that the manager need not write down first that it has expired.
    expect(Date.parse(claim.status.previous?.expirationTimestamp ?? '')).toBe(
      Date.parse(elder?.status.expirationTimestamp ?? '') - 1000,
    )
  })

  test('of a claim that is suspended is not replaced, and what was missed is caught up', async () => {
    await shop.change('suspended', { suspend: true })
    const name = first.firstKey('suspended')
    await keys.patch(name, {
      metadata: { annotations: { [CREATED_ANNOTATION]: formatSecond(Date.now() - 5_900_000) } },
    })
    const claim = await shop.claims.until(
      'suspended',
      'is suspended',
      ({ status }) =>
        status.nextRotation === undefined && status.conditions?.[0]?.reason === 'Delivered',
    )
    expect(claim.status.key?.name).toBe(name)
    await shop.claims.shown('suspended', 'Delivered')
    await shop.change('suspended', { suspend: false })
    expect((await first.replaced('suspended')).status.previous?.name).toBe(name)
  })
})

describe('a cap of lifetimes (28.5)', () => {
  test('that is lowered brings rotations forward and makes no loop; one that is too low stalls', async () => {
    const claim = await shop.read('limits')
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 120 } })
    const next = await shop.replaced(claim, AFTER_A_ROUND)
    const forMs =
      Date.parse(next.status.nextRotation ?? '') - Date.parse(next.status.lastRotation ?? '')
    expect(forMs).toBeGreaterThan(65_000)
    expect(forMs).toBeLessThanOrEqual(80_000)
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 119 } })
    const stalled = await shop.claims.shown('limits', 'LifetimeTooShort')
    expect(stalled.status.conditions).toMatchObject([
      { type: 'Ready', status: 'False', message: expect.stringContaining('119 s') as string },
      { type: 'Stalled', status: 'True' },
    ])
    expect(stalled.status.key?.name).toBe(next.status.key?.name)
    await settings.declare({})
    await shop.claims.shown('limits', 'Delivered')
  })
})

test('the metrics count what was done, by cause (28.7)', async () => {
  const page = await delivery.metrics()
  const count = (cause: string) => sumOf(page, 'platform_claim_rotations_total', `cause="${cause}"`)
  const done = ['first', 'requested', 'data_changed', 'key_deleted', 'due']
  expect(done.filter((cause) => count(cause) === 0)).toEqual([])
  expect(count('first')).toBe(Object.keys(SPECS).length)
  expect(count('secret_changed')).toBe(0)
  await eventuallyPasses(
    'no rotation is overdue',
    async () =>
      expect(sumOf(await delivery.metrics(), 'platform_claim_rotation_overdue_seconds')).toBe(0),
    AFTER_A_ROUND,
  )
})
