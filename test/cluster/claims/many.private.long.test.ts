/** @module-tag no-retry */
// Five thousand claims: memory of the delivery process, the time until all are delivered, and what it asks of the API server at
// rest (contract 28.8).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLAIM_CONTROLLER } from '../../../src/delivery/claims/setup.ts'
import { answeredIn, auditOf } from '../../support/audit-log.ts'
import { writesOfPrograms } from '../../support/claims/claim-writes.ts'
import { DELIVERY_USER, claimNamespace, startDelivery } from '../../support/claims/delivery.ts'
import { claimsOf } from '../../support/claims/stored-claims.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { asInPod } from '../../support/image-process.ts'
import { isIdle, metric, reconciled } from '../../support/metrics-page.ts'

const NAMESPACES = 50
const CLAIMS_OF_EACH = 100
const MANY = NAMESPACES * CLAIMS_OF_EACH
const MOST_BYTES = 150 * 2 ** 20
const CONCURRENT_CREATES = 16
const IN_TIME = { withinMs: 900_000 }
/** Two rounds through the Secrets. */
const REST_MS = 60_000

const plane = await privateControlPlane()
const audit = auditOf(plane)
const claims = claimsOf(plane)
const pod = await asInPod('config/delivery/deployment.yaml')
const start = () => startDelivery(plane, { ...pod, flags: ['--claim-keys-per-second=500'] })

let manager: OwnProcess
let delivery: OwnProcess
const namespaces: string[] = []
beforeAll(async () => {
  ;[manager, delivery] = await Promise.all([
    startOperator({ kubeconfig: await plane.operatorKubeconfig() }),
    start(),
  ])
  for (let at = 0; at < NAMESPACES; at += 1)
    namespaces.push(await claimNamespace(plane, `many-${at}`))
}, IN_TIME.withinMs)
afterAll(() => Promise.all([manager?.stop(), delivery?.stop()]))

const rss = (): Promise<number> => metric(delivery, 'process_resident_memory_bytes')
const delivered = (): Promise<number> => metric(delivery, 'platform_claims', 'state="delivered"')
const inMb = (bytes: number): number => Math.round(bytes / 2 ** 20)

async function createAll(): Promise<void> {
  const wanted = namespaces.flatMap((namespace) =>
    Array.from({ length: CLAIMS_OF_EACH }, () => namespace),
  )
  const creators = Array.from({ length: CONCURRENT_CREATES }, async () => {
    for (let namespace = wanted.pop(); namespace; namespace = wanted.pop())
      await claims.create(namespace)
  })
  await Promise.all(creators)
}

test(
  `${MANY} claims are delivered in 150 MB (28.8)`,
  async () => {
    const startMs = performance.now()
    let peak = 0
    await createAll()
    const createdMs = performance.now()
    const areDelivered = async (): Promise<true | undefined> => {
      peak = Math.max(peak, await rss())
      return (
        ((await delivered()) === MANY && (await isIdle(delivery, CLAIM_CONTROLLER))) || undefined
      )
    }
    await eventually('all claims are delivered', areDelivered, IN_TIME)
    const [made, settled] = [createdMs - startMs, performance.now() - startMs]
    console.log(
      `measured: ${MANY} claims made in ${Math.round(made)} ms, delivered in ${Math.round(settled)} ms; RSS ${inMb(peak)} MB at most, ${inMb(await rss())} MB then`,
    )
    expect(peak).toBeLessThanOrEqual(MOST_BYTES)
  },
  IN_TIME.withinMs,
)

test('a restart reads them all, writes nothing, and takes no more memory (28.8)', async () => {
  await delivery.stop()
  const mark = await audit.mark()
  const startMs = performance.now()
  delivery = await start()
  let peak = 0
  const areReconciled = async (): Promise<true | undefined> => {
    peak = Math.max(peak, await rss())
    const count = await reconciled(delivery, CLAIM_CONTROLLER)
    return (count >= MANY && (await isIdle(delivery, CLAIM_CONTROLLER))) || undefined
  }
  await eventually('all claims are reconciled', areReconciled, IN_TIME)
  console.log(
    `measured: ${MANY} claims read after a restart in ${Math.round(performance.now() - startMs)} ms; RSS ${inMb(peak)} MB at most`,
  )
  expect(await writesOfPrograms(audit, mark)).toEqual({})
  expect(peak).toBeLessThanOrEqual(MOST_BYTES)
})

test('the process at rest lists each namespace once in 30 s, and does nothing else (28.8)', async () => {
  const mark = await audit.mark()
  await staysTrue('the process is at rest', () => undefined, { forMs: REST_MS })
  expect(await writesOfPrograms(audit, mark)).toEqual({})
  const requests = answeredIn(await audit.linesSince(mark, DELIVERY_USER))
  // A list is read in pages: its first one counts.
  const lists = requests.filter(
    ({ verb, requestURI }) => verb === 'list' && !requestURI.includes('continue='),
  )
  const byNamespace = Map.groupBy(lists, ({ objectRef }) => objectRef?.['namespace'] ?? '')
  const counts = new Set([...byNamespace.values()].map(({ length }) => length))
  const bytes = await rss()
  console.log(
    `measured: lists of a namespace in a minute: ${[...counts].join()}; RSS ${inMb(bytes)} MB`,
  )
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES)
  expect(byNamespace.size).toBe(NAMESPACES)
  // A round takes a little longer than 30 s, and the edges of the minute cut two.
  expect([...counts].every((count) => count >= 1 && count <= 3)).toBe(true)
  const others = requests.filter(({ verb }) => verb !== 'list' && verb !== 'watch')
  expect(others.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([])
})
