/** @module-tag no-retry */
// Changes of what the credential of a claim is, and what becomes of its elder (contract 28.5).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatSecond } from '../../../src/domain/time.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { keyClientOf } from '../keys/key-client.ts'
import {
  AFTER_A_ROUND,
  type ClaimNamespace,
  type DeliveredClaims,
  SOON,
  type StoredClaim,
  createClaimNamespace,
  declareClaim,
  deliverAll,
  startDelivery,
} from './claim-world.ts'

const plane = await privateControlPlane()
const [keys, settings] = [keyClientOf(plane), settingsOf(plane)]
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
const delivery = await startDelivery(plane)
afterAll(async () => void (await Promise.all([delivery.stop(), operator.stop()])))

const OVERLAP = { overlap: 3600 }
const SPECS = {
  asked: OVERLAP,
  'asked-twice': OVERLAP,
  'at-once': { overlap: 0 },
  person: {},
  'token-set': {},
  'token-unset': { token: {} },
  'token-changed': { token: { ttl: 600 }, ...OVERLAP },
  'token-due': { token: { ttl: 120 } },
  'token-deleted': { token: {} },
  data: OVERLAP,
  target: { secret: { data: { a: '$(SERVER)$(KEY)' } }, ...OVERLAP },
}
let shop: ClaimNamespace
let first: DeliveredClaims<keyof typeof SPECS>

beforeAll(async () => {
  await settings.declare({ platformHost: 'platform.example.com' })
  shop = await createClaimNamespace(plane)
  await shop.allow()
  first = await deliverAll(plane, shop, SPECS)
})

const keyOf = (claim: StoredClaim) => keys.read(claim.status.key?.name ?? '')
const textOf = async (name: string, entry = 'key'): Promise<string> =>
  (await shop.secret(name))?.texts[entry] ?? ''

describe('a rotation that is asked for (28.5)', () => {
  test('replaces the credential, and the elder works until the overlap is over', async () => {
    const before = await textOf('asked')
    await shop.rotate('asked', 'monday')
    const claim = await first.replaced('asked')
    const end = Date.parse(claim.status.lastRotation ?? '') + 3_600_000
    expect(claim.status).toMatchObject({
      lastRotate: 'monday',
      previous: {
        name: first.firstKey('asked'),
        keyID: first.was('asked').status.key?.keyID,
        expirationTimestamp: formatSecond(end),
      },
    })
    expect(await textOf('asked')).not.toBe(before)
    expect(new Set((await shop.keys(claim)).map(({ metadata }) => metadata.name))).toEqual(
      new Set([claim.status.key?.name, first.firstKey('asked')]),
    )
    expect(await shop.event(claim, 'Rotated')).toMatchObject({ type: 'Normal' })
    const since = (from: StoredClaim) => Date.parse(from.status.lastRotation ?? '')
    expect(since(claim) - since(first.was('asked'))).toBeGreaterThanOrEqual(30_000)
  })

  test('ends the elder at once without an overlap', async () => {
    await shop.rotate('at-once', '1')
    const claim = await first.replaced('at-once')
    await keys.gone(first.firstKey('at-once'))
    expect((await shop.claims.shown('at-once', 'Delivered')).status.previous).toBeUndefined()
    expect(await keyOf(claim)).not.toBeNull()
  })

  test('ends the eldest at once the second time within the overlap, and waits 30 s', async () => {
    await shop.rotate('asked-twice', '1')
    const second = await first.replaced('asked-twice')
    await shop.rotate('asked-twice', '2')
    const third = await shop.replaced(second, AFTER_A_ROUND)
    const since = (from: StoredClaim) => Date.parse(from.status.lastRotation ?? '')
    expect(since(third) - since(second)).toBeGreaterThanOrEqual(30_000)
    await keys.gone(first.firstKey('asked-twice'))
    expect(third.status).toMatchObject({
      lastRotate: '2',
      previous: { name: second.status.key?.name },
    })
    expect(await shop.keys(third)).toHaveLength(2)
  })
})

describe('another identity (28.5)', () => {
  test('replaces the key, and the elder ends when the Secret is written', async () => {
    await declareClaim(plane, shop, 'person', { key: { user: 'grace', groups: ['dev'] } })
    const claim = await first.replaced('person')
    await keys.gone(first.firstKey('person'))
    expect(claim.status.identity).toBe('user:grace')
    expect((await keyOf(claim))?.spec).toMatchObject({ user: 'grace', groups: ['dev'] })
    expect((await keyOf(claim))?.spec.subject).toBeUndefined()
  })
})

describe('a token (28.5)', () => {
  test('that is asked for now replaces the key, which ends', async () => {
    await shop.change('token-set', { token: {}, secret: { data: { t: '$(TOKEN)' } } })
    const claim = await first.replaced('token-set')
    await keys.gone(first.firstKey('token-set'))
    const [token] = await shop.tokens(claim)
    expect((await shop.secret('token-set'))?.texts).toEqual({ t: token?.status?.token })
  })

  test('that is asked for no more is replaced by a key, and ends', async () => {
    await shop.change('token-unset', { token: null })
    const claim = await first.replaced('token-unset')
    await keys.gone(first.firstKey('token-unset'))
    expect(claim.status.token).toBeUndefined()
    expect(await shop.tokens(claim)).toEqual([])
    expect((await shop.secret('token-unset'))?.texts).toEqual({
      key: expect.stringMatching(/^pak_/) as string,
    })
  })

  test('with another scope is made under the same key, and the elder ends at once', async () => {
    const scope = { roles: [{ role: 'viewer' }] }
    await shop.change('token-changed', { token: { scope } })
    const claim = await first.replaced('token-changed')
    expect(claim.status.key?.name).toBe(first.was('token-changed').status.key?.name)
    await eventuallyPasses(
      'there is one token',
      async () => {
        const tokens = await shop.tokens(claim)
        expect(tokens.map(({ spec }) => spec)).toEqual([{ ttl: 600, scope }])
      },
      SOON,
    )
  })

  test('that is deleted is replaced under the same key', async () => {
    await mustKubectl(plane, [
      'delete',
      'directclusterendpointtokens',
      first.was('token-deleted').status.token?.name ?? '',
    ])
    const claim = await first.replaced('token-deleted')
    expect(claim.status.key?.name).toBe(first.was('token-deleted').status.key?.name)
    expect(await textOf('token-deleted', 'token')).toBe(
      (await shop.tokens(claim))[0]?.status?.token,
    )
  })

  test('is due by its own lifetime, before its key is', async () => {
    const { status } = first.was('token-due')
    expect(
      Date.parse(status.nextRotation ?? '') - Date.parse(status.lastRotation ?? ''),
    ).toBeLessThan(81_000)
    const claim = await shop.replaced(first.was('token-due'), { withinMs: 120_000 })
    expect(claim.status.key?.name).toBe(status.key?.name)
    expect(claim.status.token?.name).not.toBe(status.token?.name)
    const lateMs =
      Date.parse(claim.status.lastRotation ?? '') - Date.parse(status.nextRotation ?? '')
    expect(lateMs).toBeLessThan(15_000)
  })
})

describe('a Secret (28.5)', () => {
  test('is replaced when data changed, and the elder works on', async () => {
    await shop.change('data', { secret: { data: { password: '$(KEY)' } } })
    const claim = await first.replaced('data')
    const { texts } = (await shop.secret('data')) ?? {}
    expect(texts).toEqual({ password: expect.stringMatching(/^pak_/) as string })
    expect(claim.status.previous?.name).toBe(first.firstKey('data'))
  })

  test('is replaced when the target or the address of the gateway changed', async () => {
    await shop.change('target', { secret: { target: 'cluster/blue' } })
    const claim = await first.replaced('target')
    const other = (await shop.read('asked')).status.key
    expect(await textOf('target', 'a')).toContain(
      'https://platform.example.com/kubernetes/cluster/blue',
    )
    await settings.declare({ platformHost: 'other.example.com' })
    await shop.replaced(claim, AFTER_A_ROUND)
    expect(await textOf('target', 'a')).toContain(
      'https://other.example.com/kubernetes/cluster/blue',
    )
    expect((await shop.read('asked')).status.key).toEqual(other)
  })
})
