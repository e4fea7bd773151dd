// The writes of the delivery process: what triggers each, how to match its request in a proxy, and the state that must follow
// (contract 28.3, 28.5, 28.6).
import { hash } from 'node:crypto'
import { expect } from 'vitest'
import { ACCESS_KEY_CLAIMS, ACCESS_KEYS, CLAIM_LABEL, SECRETS } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { type ClaimClient, keyIn } from '../../support/claims/stored-claims.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import type { Match } from '../../support/fault-proxy.ts'
import { uniqueName } from '../../support/object-builder.ts'
import type { StoredKey } from '../keys/key-client.ts'

const SOON = { withinMs: 40_000 }
const LIST_LIMIT = 10_000

/** A write of the process, for one claim. */
export interface ClaimWritePoint {
  readonly name: string
  /** Prepares the claim. */
  readonly prepare: () => Promise<unknown>
  readonly matches: Match
  /** Makes the process start on what needs the write. */
  readonly trigger: () => Promise<unknown>
  /** Waits for the correct final state; may be called again. */
  readonly completed: () => Promise<unknown>
}

/** What the points are made of. */
export interface CrashDeps {
  readonly plane: Pick<TestControlPlane, 'admin'>
  readonly claims: ClaimClient
  readonly namespace: string
  /** For claims that are deleted. */
  readonly endingNamespace: string
}

/** The keys of a claim, those that are being deleted too. */
export async function keysOf(
  { admin }: Pick<TestControlPlane, 'admin'>,
  uid: string,
): Promise<readonly StoredKey[]> {
  const labelSelector = `${CLAIM_LABEL}=${uid}`
  const { items } = await admin.list(ACCESS_KEYS, { labelSelector }, LIST_LIMIT)
  return items as readonly StoredKey[]
}

/** One point for each write: its claim has a name of its own, which the matched requests have in their path or body. */
export function claimWritePoints(deps: CrashDeps): readonly (() => ClaimWritePoint)[] {
  const { claims, namespace } = deps
  const rotation = (name: string, matches: (claim: string) => Match) => (): ClaimWritePoint => {
    const one = claimUnder(deps, namespace)
    let asked = ''
    return {
      name,
      prepare: one.deliver,
      matches: matches(one.name),
      trigger: async () => (asked = await claims.rotate(one.ref)),
      completed: async () => {
        await claims.rotated(one.ref, asked)
        await one.hasOneKey()
      },
    }
  }
  const first = (name: string, matches: (claim: string) => Match) => (): ClaimWritePoint => {
    const one = claimUnder(deps, namespace)
    return {
      name,
      prepare: async () => undefined,
      matches: matches(one.name),
      trigger: one.create,
      completed: one.isDelivered,
    }
  }
  const change = (name: string, patch: object, matches: (claim: string) => Match) => () => {
    const one = claimUnder(deps, namespace)
    return {
      name,
      prepare: one.deliver,
      matches: matches(one.name),
      trigger: () => claims.patch(one.ref, patch),
      completed: one.isDelivered,
    }
  }
  const ending = (name: string, matches: (claim: string) => Match) => (): ClaimWritePoint => {
    const one = claimUnder(deps, deps.endingNamespace)
    return {
      name,
      prepare: one.deliver,
      matches: matches(one.name),
      trigger: () => claims.remove(one.ref),
      completed: one.hasEnded,
    }
  }
  const at = requestsOf(namespace)
  const atEnding = requestsOf(deps.endingNamespace)
  return [
    rotation('creation of the key', at.createsKey),
    rotation('the Secret', at.appliesSecret),
    rotation('status', at.status),
    rotation('deletion of the elder', at.deletesKey),
    first('the first Secret', at.createsSecret),
    first('ownership of what the first Secret has', at.ownsSecret),
    first('adoption of the claim', at.writesClaim),
    first('creation of the first key', at.createsKey),
    first('the first status', at.status),
    change('limits of the key', { spec: { key: { displayName: 'Shop' } } }, at.limitsKey),
    change(
      'labels of the Secret',
      { spec: { secret: { labels: { app: 'shop' } } } },
      at.appliesSecret,
    ),
    ending('deletion of the keys of a deleted claim', atEnding.deletesKey),
    ending('release of a deleted claim', atEnding.writesClaim),
  ]
}

/** Requests to the objects of a claim, by its name. */
function requestsOf(namespace: string) {
  const keys = pathOf(ACCESS_KEYS, {})
  const secrets = pathOf(SECRETS, { namespace })
  const claimPath = (name: string): string => pathOf(ACCESS_KEY_CLAIMS, { namespace, name })
  const keyPath = (name: string): string => `${keys}/claim-${namespace}-${name}-`
  const byMethod =
    (method: string, isIts: (path: string, body: string) => boolean): Match =>
    ({ path, body, query, ...request }) =>
      request.method === method && !query.has('dryRun') && isIts(path, body)
  return {
    createsKey: (name: string) =>
      byMethod('POST', (path, body) => path === keys && body.includes(`/${name}"`)),
    limitsKey: (name: string) => byMethod('PATCH', (path) => path.startsWith(keyPath(name))),
    deletesKey: (name: string) => byMethod('DELETE', (path) => path.startsWith(keyPath(name))),
    createsSecret: (name: string) =>
      byMethod('POST', (path, body) => path === secrets && body.includes(`"${name}"`)),
    ownsSecret: (name: string) =>
      byMethod(
        'PATCH',
        (path, body) => path === `${secrets}/${name}` && body.includes('managedFields'),
      ),
    appliesSecret: (name: string) =>
      byMethod('PATCH', (path, body) => path === `${secrets}/${name}` && body.includes('"data"')),
    writesClaim: (name: string) => byMethod('PATCH', (path) => path === claimPath(name)),
    status: (name: string) => byMethod('PATCH', (path) => path === `${claimPath(name)}/status`),
  }
}

function claimUnder({ plane, claims }: CrashDeps, namespace: string) {
  const name = uniqueName('claim')
  const ref = { metadata: { namespace, name } }
  let uid = ''
  const create = async (): Promise<void> => {
    // Its elder ends as soon as the successor is delivered.
    const made = await claims.create(namespace, { overlap: 0 }, name)
    uid = made.metadata.uid
  }
  const hasOneKey = (): Promise<void> =>
    eventuallyPasses(
      `${name} has one key, which is in its Secret`,
      async () => {
        const claim = await claims.read(ref)
        const digest = hash('sha256', keyIn(await claims.secret(ref)))
        const keys = await keysOf(plane, claim.metadata.uid)
        expect(keys.map(({ spec }) => spec.key)).toEqual([`sha256:${digest}`])
        expect(claim.status.key?.keyID).toBe(digest.slice(0, 16))
      },
      SOON,
    )
  const isDelivered = async (): Promise<void> => {
    await claims.shown(ref, 'Delivered')
    await hasOneKey()
  }
  return {
    name,
    ref,
    create,
    hasOneKey,
    isDelivered,
    deliver: async () => {
      await create()
      await isDelivered()
    },
    hasEnded: () =>
      eventuallyPasses(
        `${name} has ended, and its keys`,
        async () => {
          expect(await claims.exists(ref)).toBe(false)
          expect(await keysOf(plane, uid)).toEqual([])
        },
        SOON,
      ),
  }
}
