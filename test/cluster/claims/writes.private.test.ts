/** @module-tag no-retry */
// What claims cost: how many writes a rotation takes, none at rest, at a restart, at a resync and when a GitOps tool applies the
// same again, and how long a new claim waits for its Secret (contract 28.5, 28.8).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEY_CLAIMS, API_VERSION } from '../../../src/api/names.ts'
import { CLAIM_CONTROLLER } from '../../../src/delivery/claims/setup.ts'
import { type Mark, auditOf } from '../../support/audit-log.ts'
import { sumOfWrites, writesOfPrograms } from '../../support/claims/claim-writes.ts'
import { claimNamespace, startDelivery } from '../../support/claims/delivery.ts'
import { type StoredClaim, claimsOf } from '../../support/claims/stored-claims.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { isIdle, metric, reconciled } from '../../support/metrics-page.ts'
import { repeated, sampled } from '../../support/tier.ts'

const MANY = repeated(20, 500)
/** In whole: longer than a round through the Secrets. */
const REST_MS = repeated(1000, 45_000)
const IN_TIME = { withinMs: 180_000 }
const DAY = 86_400
const MOST_OF_ROTATION = 7
/** The bound is 2 s on an idle machine (28.8). */
const BUSY_MS = 10_000

const plane = await privateControlPlane()
const audit = auditOf(plane)
const settings = settingsOf(plane)
const claims = claimsOf(plane)
/** At most 100 claims of a namespace count, and some tests have one more. */
const OF_EACH = 90
const namespaces = await Promise.all(
  Array.from({ length: Math.ceil(MANY / OF_EACH) }, (_, at) => claimNamespace(plane, `shop-${at}`)),
)
const [shop = ''] = namespaces
const start = () => startDelivery(plane, { flags: ['--claim-keys-per-second=100'] })

let manager: OwnProcess
let delivery: OwnProcess
let many: readonly StoredClaim[]
beforeAll(async () => {
  ;[manager, delivery] = await Promise.all([
    startOperator({ kubeconfig: await plane.operatorKubeconfig() }),
    start(),
  ])
})
afterAll(() => Promise.all([manager?.stop(), delivery?.stop()]))

const writesSince = (mark: Mark) => writesOfPrograms(audit, mark)

/** Waits until every claim is reconciled again, and the process is idle. */
async function untilAllReconciled(before = 0): Promise<void> {
  const isDone = async (): Promise<true | undefined> => {
    const count = await reconciled(delivery, CLAIM_CONTROLLER)
    return (
      (count - before >= many.length && (await isIdle(delivery, CLAIM_CONTROLLER))) || undefined
    )
  }
  await eventually('every claim is reconciled', isDone, IN_TIME)
}

async function untilNothingIsWritten(): Promise<Mark> {
  return eventually(
    'nothing is written',
    async () => {
      const mark = await audit.mark()
      await staysTrue('nothing is written', () => undefined, { forMs: 500 })
      return sumOfWrites(await writesSince(mark)) === 0 ? mark : undefined
    },
    IN_TIME,
  )
}

test('a new claim has its Secret within 2 s (28.8)', async () => {
  const waitsMs: number[] = []
  for (let at = 0; at < repeated(2, 20); at += 1) {
    const startMs = performance.now()
    const claim = await claims.create(shop)
    await eventually(
      'the Secret is written',
      async () => (await claims.secret(claim)) ?? undefined,
      IN_TIME,
    )
    waitsMs.push(performance.now() - startMs)
    await claims.shown(claim, 'Delivered')
    await claims.remove(claim)
  }
  const p50Ms = waitsMs.toSorted((a, b) => a - b)[Math.floor(waitsMs.length / 2)] ?? 0
  console.log(`measured: claim applied to Secret written: p50 ${Math.round(p50Ms)} ms`)
  expect(p50Ms).toBeLessThan(BUSY_MS)
})

describe(`${MANY} claims`, () => {
  beforeAll(async () => {
    const make = (namespace: string) =>
      Array.from({ length: Math.min(MANY, OF_EACH) }, () => claims.create(namespace))
    many = (await Promise.all(namespaces.flatMap(make))).slice(0, MANY)
    // By one page of metrics: hundreds of readers would keep the API server busy.
    const areDelivered = async () =>
      (await metric(delivery, 'platform_claims', 'state="delivered"')) >= MANY || undefined
    await eventually('all are delivered', areDelivered, IN_TIME)
  }, IN_TIME.withinMs)

  test('get no write at rest, and none at a restart (28.8)', async () => {
    const mark = await untilNothingIsWritten()
    await staysTrue('the process is at rest', () => undefined, { forMs: REST_MS })
    await delivery.stop()
    delivery = await start()
    await untilAllReconciled()
    expect(await writesSince(mark)).toEqual({})
  })

  test('get no write at a resync (28.8)', async () => {
    const before = await reconciled(delivery, CLAIM_CONTROLLER)
    const mark = await audit.mark()
    // It shortens nothing, and is another one at each try.
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 365 * DAY + before } })
    await settings.settled('the cap is in force', isReadyBy('Applied'))
    await untilAllReconciled(before)
    const writes = Object.keys(await writesSince(mark))
    // The manager writes the settings in force.
    expect(writes.filter((what) => /delivery|accesskey/.test(what))).toEqual([])
  })
})

// biome-ignore format: a table
const ROTATED = [
  { name: 'whose elder ends at once', spec: { overlap: 0 } },
  { name: 'whose elder ends later', spec: { overlap: 2 } },
  { name: 'into a Secret with labels and templates', spec: { overlap: 0, secret: { labels: { app: 'shop' }, data: { id: '$(KEY_ID)', key: '$(KEY)' } } } },
]

test('a rotation takes 7 writes of all programs at most (28.8)', async () => {
  const made = await Promise.all(ROTATED.map(({ spec }) => claims.create(shop, spec)))
  await Promise.all(made.map((claim) => claims.shown(claim, 'Delivered')))
  const mark = await untilNothingIsWritten()
  await Promise.all(
    made.map(async (claim) => {
      await claims.rotated(claim, await claims.rotate(claim))
      await claims.shown(claim, 'Delivered', ({ previous }) => previous === undefined)
    }),
  )
  await untilNothingIsWritten()
  for (const [at, { name }] of ROTATED.entries()) {
    const writes = await writesOfPrograms(audit, mark, made[at]?.metadata.name)
    console.log(`measured: writes of a rotation ${name}: ${JSON.stringify(writes)}`)
    expect(sumOfWrites(writes)).toBeLessThanOrEqual(MOST_OF_ROTATION)
    expect(sumOfWrites(writes)).toBeGreaterThan(0)
  }
})

const SERVER_SIDE = ['--server-side', '--field-manager']
// biome-ignore format: a table
const TOOLS = [
  { tool: 'kubectl apply', flags: [] },
  { tool: 'Argo CD', flags: [...SERVER_SIDE, 'argocd-controller'] },
  { tool: 'Flux, with force', flags: [...SERVER_SIDE, 'kustomize-controller', '--force-conflicts'] },
]

/** The claim as a tool applies it, once it is delivered. */
async function appliedBy({ tool, flags }: (typeof TOOLS)[number]) {
  const name = `applied-by-${tool.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`
  const manifest = {
    apiVersion: API_VERSION,
    kind: ACCESS_KEY_CLAIMS.kind,
    metadata: { name, namespace: shop, labels: { 'app.kubernetes.io/part-of': 'shop' } },
    spec: {
      key: { ttl: DAY, displayName: 'Deploys', scope: { roles: [{ role: 'metrics-reader' }] } },
      rotateAfter: 3600,
      overlap: 600,
      secret: { labels: { app: 'shop' }, data: { '.env': 'KEY=$(KEY)\nUNTIL=$(EXPIRES)\n' } },
    },
  }
  const input = JSON.stringify(manifest)
  const kubectl = (command: string) => plane.kubectl([command, ...flags, '-f', '-'], { input })
  const apply = async (): Promise<void> => {
    const { code, stderr } = await kubectl('apply')
    expect({ tool, code, stderr }).toEqual({ tool, code: 0, stderr: '' })
  }
  await apply()
  const settled = await claims.shown(manifest, 'Delivered')
  return { manifest, settled, secret: await claims.secret(manifest), apply, kubectl }
}

test('three applies of the same claim by each tool change nothing, and cause no write (28.5)', async () => {
  const applied = await Promise.all(sampled(TOOLS, 2).map(appliedBy))
  const mark = await untilNothingIsWritten()
  for (const { apply } of applied) for (let round = 1; round <= 3; round += 1) await apply()
  await staysTrue('nothing changes', () => undefined, { forMs: 1000 })
  expect(await writesSince(mark)).toEqual({})
  for (const { manifest, settled, secret, kubectl } of applied) {
    expect(await claims.read(manifest)).toEqual(settled)
    expect(await claims.secret(manifest)).toEqual(secret)
    const { code, stdout } = await kubectl('diff')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  }
})
