/** @module-tag no-retry */
// The end of claims and of their namespaces, in every order, and of keys whose claim is gone (contract 28.3, 28.6).
import { afterAll, describe, expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import {
  AFTER_A_ROUND,
  type ClaimNamespace,
  SOON,
  type StoredClaim,
  createClaimNamespace,
  startDelivery,
} from './claim-world.ts'

const plane = await privateControlPlane()
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
let delivery = await startDelivery(plane)
afterAll(async () => void (await Promise.all([delivery.stop(), operator.stop()])))

const CASCADES = ['background', 'foreground'] as const

/** A namespace with a claim of a key and one of a token. */
async function twoClaims(): Promise<{
  readonly shop: ClaimNamespace
  readonly claims: readonly StoredClaim[]
}> {
  const shop = await createClaimNamespace(plane)
  await shop.allow()
  const claims = await Promise.all([shop.delivered('key'), shop.delivered('token', { token: {} })])
  return { shop, claims }
}

/** Waits until nothing that was made for the claims is left. @returns true */
const nothingIsLeft = (
  shop: ClaimNamespace,
  claims: readonly StoredClaim[],
  within = SOON,
): Promise<true> =>
  eventually(
    'keys and tokens are gone',
    async () => {
      const left = claims.map(async (claim) => [await shop.keys(claim), await shop.tokens(claim)])
      return (await Promise.all(left)).flat(2).length === 0 || undefined
    },
    within,
  )

/** Waits until the namespace is gone. @returns true */
const namespaceGone = (name: string): Promise<true> =>
  eventually(
    `namespace ${name} is gone`,
    async () => (await plane.raw('GET', `/api/v1/namespaces/${name}`)).code === 404 || undefined,
    AFTER_A_ROUND,
  )

const restartDelivery = async (): Promise<void> => {
  delivery = await startDelivery(plane)
}

describe('a claim that is deleted (28.6)', () => {
  test.each(CASCADES)('goes with --cascade=%s, and its Secrets too', async (cascade) => {
    const { shop, claims } = await twoClaims()
    await shop.kubectl('delete', 'akc', 'key', 'token', `--cascade=${cascade}`, '--timeout=30s')
    expect(await nothingIsLeft(shop, claims)).toBe(true)
    await eventuallyPasses(
      'the Secrets are gone',
      async () =>
        expect([await shop.secret('key'), await shop.secret('token')]).toEqual([null, null]),
      SOON,
    )
  })

  test('leaves a Secret that opens nothing with --cascade=orphan', async () => {
    const { shop, claims } = await twoClaims()
    const { texts } = (await shop.secret('key')) ?? {}
    await shop.kubectl('delete', 'akc', 'key', '--cascade=orphan', '--timeout=30s')
    expect(await nothingIsLeft(shop, claims.slice(0, 1))).toBe(true)
    const left = await shop.secret('key')
    expect(left?.texts).toEqual(texts)
    expect(left?.metadata.ownerReferences).toBeUndefined()
  })

  test('has another Secret when it is made again at once', async () => {
    const { shop, claims } = await twoClaims()
    await shop.kubectl('delete', 'akc', 'key', '--wait=true')
    await shop.apply('key')
    const now = await eventually(
      'it is delivered',
      async () => {
        const claim = await shop.read('key')
        return claim.status.conditions?.[0]?.reason === 'Delivered' ? claim : undefined
      },
      AFTER_A_ROUND,
    )
    expect(now.metadata.uid).not.toBe(claims[0]?.metadata.uid)
    expect((await shop.secret('key'))?.metadata.labels).toMatchObject({
      'management.platform.sh/claim': now.metadata.uid,
    })
  })

  test('goes without the right to its Secret', async () => {
    const { shop, claims } = await twoClaims()
    await shop.disallow()
    await shop.kubectl('delete', 'akc', '--all', '--timeout=30s')
    expect(await nothingIsLeft(shop, claims)).toBe(true)
  })

  test('goes after its Secret, its key and its token', async () => {
    const { shop, claims } = await twoClaims()
    const keys = claims.map(({ status }) => status.key?.name ?? '')
    await mustKubectl(plane, ['delete', 'secret', 'key', 'token', '-n', shop.name])
    await mustKubectl(plane, ['delete', 'ownedaccesskeys', ...keys, '--wait=false'])
    await shop.kubectl('delete', 'akc', '--all', '--timeout=30s')
    expect(await nothingIsLeft(shop, claims)).toBe(true)
  })

  test('goes in the middle of a rotation', async () => {
    const shop = await createClaimNamespace(plane)
    await shop.allow()
    const claims = [await shop.apply('key'), await shop.apply('token', { token: {} })]
    await eventually(
      'a key is made',
      async () => (await shop.keys(claims[1] as StoredClaim)).length > 0 || undefined,
      SOON,
    )
    await shop.kubectl('delete', 'akc', '--all', '--timeout=30s')
    expect(await nothingIsLeft(shop, claims)).toBe(true)
    expect(
      [await shop.secret('key'), await shop.secret('token')].filter(
        (one) => one !== null && !one.metadata.ownerReferences,
      ),
    ).toEqual([])
  })

  test('goes once the process runs, and not before', async () => {
    const { shop, claims } = await twoClaims()
    await delivery.stop()
    await shop.kubectl('delete', 'akc', '--all', '--wait=false')
    expect((await shop.read('key')).metadata.finalizers).toContain(REVOKE_FINALIZER)
    await restartDelivery()
    await shop.claims.gone('key')
    expect(await nothingIsLeft(shop, claims)).toBe(true)
  })
})

describe('a namespace that is deleted (28.6)', () => {
  test('goes with its claims, their keys and their tokens', async () => {
    const { shop, claims } = await twoClaims()
    await mustKubectl(plane, ['delete', 'namespace', shop.name, '--wait=false'])
    expect(await namespaceGone(shop.name)).toBe(true)
    expect(await nothingIsLeft(shop, claims)).toBe(true)
  })

  test('goes with claims that were never delivered', async () => {
    const shop = await createClaimNamespace(plane)
    await shop.apply('forbidden')
    await shop.claims.shown('forbidden', 'DeliveryForbidden')
    await mustKubectl(plane, ['delete', 'namespace', shop.name, '--wait=false'])
    expect(await namespaceGone(shop.name)).toBe(true)
  })

  test('goes once the process runs', async () => {
    const { shop, claims } = await twoClaims()
    await delivery.stop()
    await mustKubectl(plane, ['delete', 'namespace', shop.name, '--wait=false'])
    await eventually(
      'its Secrets are gone',
      async () => (await shop.secret('key')) === null || undefined,
      SOON,
    )
    await restartDelivery()
    expect(await namespaceGone(shop.name)).toBe(true)
    expect(await nothingIsLeft(shop, claims)).toBe(true)
  })
})

describe('keys whose claim is gone (28.3)', () => {
  const withoutFinalizer = { metadata: { finalizers: null } }

  test('end within a minute when the finalizer was taken off by hand', async () => {
    const { shop, claims } = await twoClaims()
    // Else it would let the claims go in order, or take them back.
    delivery.kill('SIGSTOP')
    await shop.kubectl('delete', 'akc', '--all', '--wait=false')
    for (const name of ['key', 'token']) await shop.claims.patch(name, withoutFinalizer)
    await shop.claims.gone('token')
    delivery.kill('SIGCONT')
    expect(await nothingIsLeft(shop, claims, AFTER_A_ROUND)).toBe(true)
  })

  test('end at the start of the process, and keys of living claims do not', async () => {
    const { shop, claims } = await twoClaims()
    const living = await shop.delivered('lives')
    await delivery.stop()
    for (const name of ['key', 'token']) await shop.claims.patch(name, withoutFinalizer)
    await shop.kubectl('delete', 'akc', 'key', 'token')
    expect(await shop.keys(claims[0] as StoredClaim)).toHaveLength(1)
    await restartDelivery()
    expect(await nothingIsLeft(shop, claims)).toBe(true)
    expect(await shop.keys(living)).toMatchObject([{ metadata: { name: living.status.key?.name } }])
    expect(await shop.read('lives')).toMatchObject({
      metadata: { resourceVersion: living.metadata.resourceVersion },
    })
  })
})
