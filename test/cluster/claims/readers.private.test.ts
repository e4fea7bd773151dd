/** @module-tag no-retry */
// Readers of delivered keys call a real gateway without pause, while the keys are replaced: no call is refused. After others have
// deleted or changed a Secret, none is but for a minute (contract 28.3, 28.4, 28.5).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION, SECRETS } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { claimNamespace, startDelivery } from '../../support/claims/delivery.ts'
import { outputOf, plaintextIn } from '../../support/claims/plaintext-search.ts'
import { readSecrets } from '../../support/claims/secret-readers.ts'
import { type StoredClaim, claimsOf, keyIn } from '../../support/claims/stored-claims.ts'
import type { OwnProcess } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { inWhole, isWhole, repeated } from '../../support/tier.ts'
import { startTestGateway } from '../gateway/test-gateway.ts'

const CLAIMS = repeated(10, 50)
const TURNS = repeated(1, 4)
/** As long as the slow reader may have an elder. */
const OVERLAP = repeated(5, 20)
const EAGER_MS = 100
const SLOW_MS = OVERLAP * 1000 - 3000
const MENDED = { withinMs: 60_000 }
const LEFT_ALONE_MS = 31_000

const setup = await startTestGateway(await privateControlPlane())
const { plane } = setup
const claims = claimsOf(plane)
const namespace = await claimNamespace(plane, 'readers')

let delivery: OwnProcess
let all: readonly StoredClaim[]
const delivered = new Set<string>()
beforeAll(async () => {
  delivery = await startDelivery(plane)
  const spec = { overlap: OVERLAP }
  all = await Promise.all(Array.from({ length: CLAIMS }, () => claims.create(namespace, spec)))
  await Promise.all(all.map((claim) => claims.shown(claim, 'Delivered')))
})
afterAll(() => delivery?.stop())

async function noteKeys(): Promise<void> {
  for (const claim of all) delivered.add(keyIn(await claims.secret(claim)))
}

/** Replaces the credential of each claim. In whole they are 30 s apart, as in production. */
async function rotateAll(): Promise<void> {
  await noteKeys()
  if (isWhole)
    await staysTrue('the claims are left alone', () => undefined, { forMs: LEFT_ALONE_MS })
  await Promise.all(all.map(async (claim) => claims.rotated(claim, await ask(claim))))
  await noteKeys()
}

async function ask(claim: StoredClaim): Promise<string> {
  if (!isWhole) return claims.rotate(claim)
  const asked = `at ${Date.now()}`
  await claims.patch(claim, { metadata: { annotations: { [ROTATE_ANNOTATION]: asked } } })
  return asked
}

test(`no call is refused over ${CLAIMS * TURNS} rotations (28.3, 28.5)`, async () => {
  await using eager = readSecrets(setup, { namespace, everyMs: EAGER_MS })
  await using slow = readSecrets(setup, { namespace, everyMs: SLOW_MS })
  for (let turn = 0; turn < TURNS; turn += 1) await rotateAll()
  const haveAll = () => (eager.keys() > CLAIMS * TURNS && slow.keys() >= CLAIMS * 2) || undefined
  await eventually('the readers have the last keys', haveAll, { withinMs: 2 * SLOW_MS + 20_000 })
  console.log(`measured: calls by readers: ${eager.calls()} and ${slow.calls()}`)
  expect([...eager.refused, ...slow.refused]).toEqual([])
})

const secretPath = ({ metadata: { namespace: its, name } }: StoredClaim): string =>
  pathOf(SECRETS, { namespace: its, name })

// biome-ignore format: a table
const DEEDS = [
  { what: 'deleted', deed: (claim: StoredClaim) => plane.raw('DELETE', secretPath(claim)) },
  { what: 'changed', deed: (claim: StoredClaim) => plane.raw('PATCH', secretPath(claim), { data: { key: Buffer.from('mine'.repeat(10)).toString('base64') } }) },
]

describe.each(inWhole('a Secret that others have'))('%s', () => {
  test.each(DEEDS)('$what has a key that works within a minute (28.4)', async ({ deed }) => {
    await staysTrue('the claims are left alone', () => undefined, { forMs: LEFT_ALONE_MS })
    const [before, some] = [new Map<string, string>(), all.slice(0, 5)]
    for (const claim of some) before.set(claim.metadata.name, keyIn(await claims.secret(claim)))
    await using reader = readSecrets(setup, { namespace, everyMs: EAGER_MS })
    const startMs = Date.now()
    for (const claim of some) expect((await deed(claim)).code).toBe(200)
    for (const claim of some) {
      const isMended = async (): Promise<true | undefined> => {
        const key = keyIn(await claims.secret(claim))
        return (key.startsWith('pak_') && key !== before.get(claim.metadata.name)) || undefined
      }
      await eventually('the Secret has another key', isMended, MENDED)
    }
    const mendedMs = Date.now()
    console.log(`measured: a Secret is mended after ${mendedMs - startMs} ms`)
    await staysTrue('the reader calls', () => undefined, { forMs: 5000 })
    await noteKeys()
    // What it had read before goes on working.
    const late = reader.refused.filter(({ sentMs }) => sentMs > mendedMs + 2 * EAGER_MS + 500)
    expect(late).toEqual([])
  })
})

test('no key in clear is outside its Secret (3.5, 28.3)', async () => {
  const [gateway] = setup.gateways
  const outputs = {
    delivery: await outputOf(delivery),
    manager: await outputOf(setup.operator),
    gateway: gateway === undefined ? '' : await outputOf(gateway),
  }
  expect(delivered.size).toBeGreaterThanOrEqual(CLAIMS * (TURNS + 1))
  expect(await plaintextIn(plane, [...delivered], { namespace, outputs })).toEqual([])
})
