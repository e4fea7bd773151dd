/** @module-tag no-retry */
// An upgrade from the former version to this chart under load. Controllers of Kubernetes roll the Deployments out, and a
// test node runs manager and gateway as processes, with probes, preStop and grace period as the pods say.
import { afterAll, expect, test } from 'vitest'
import { auditOf } from '../../support/audit-log.ts'
import { gatewayCa } from '../../support/gateway-process.ts'
import { formerVersion } from './former-version.ts'
import {
  CHART,
  changedBetween,
  objectVersions,
  objectsOfRelease,
  prepare,
  startHelmCluster,
} from './helm-cluster.ts'
import {
  DEPLOYMENTS,
  NAMESPACE,
  PODS,
  applyDefault,
  awaitOnly,
  awaitRollout,
  createCredentials,
  faultsOfKey,
  imageOf,
  keyNamed,
  startPlatformNode,
  valuesOf,
} from './installed-platform.ts'
import { type RunningLoad, type ServiceResult, startLoad } from './service-clients.ts'

const cluster = await startHelmCluster()
const { plane, helm } = cluster
const former = await formerVersion(cluster.folder)
const node = await startPlatformNode(cluster, { former: former.programFile, present: undefined })
const audit = auditOf(plane)
const NAME = 'management-operator'
const RELEASE = [NAME, `--namespace=${NAMESPACE}`]
/** Without a chart kubectl has applied the objects, and owns their fields. */
const TAKING = former.chart === null ? ['--install', '--take-ownership', '--force-conflicts'] : []
/** Helm's records: it marks that of a former chart as superseded. */
const RECORDS = (former.chart === null ? ['v1'] : ['v1', 'v2']).map(
  (revision) => `Secret ${NAMESPACE}/sh.helm.release.v1.${NAME}.${revision}`,
)
/** Keys in use: gateways record it. */
const USED = ['sliding', 'fixed']
/** Of the product itself; a gateway that starts makes it anew. */
const HEARTBEAT = 'platform-heartbeat'

const expiryOf = async (name: string): Promise<number> =>
  Date.parse((await keyNamed(cluster, name)).status?.expirationTimestamp ?? '')

let load: RunningLoad
let result: ServiceResult
afterAll(() => load?.stop())

prepare(cluster, async () => {
  if (former.chart === null) await applyDefault(cluster, former.folder, 'former')
  else await helm('install', ...RELEASE, former.chart, '--create-namespace', ...valuesOf('former'))
  await awaitRollout(cluster, node)
  await createCredentials(cluster, {
    sliding: { ttl: 3600, ttlAfterLastActivity: true },
    idle: { ttl: 7200, ttlAfterLastActivity: true },
    fixed: { ttl: 86_400 },
  })
  const keys = await Promise.all(USED.map((name) => keyNamed(cluster, name)))
  const [raw, ca] = [plane.raw, await gatewayCa(plane.admin)]
  const secrets = keys.map(({ spec }) => spec?.key ?? '')
  load = startLoad({ raw, node, namespace: NAMESPACE, ca, keys: secrets, perSecond: 50 })
  await load.answered(100)
})

test(`an upgrade from ${former.commit.slice(0, 8)} writes only what it changes (34.2)`, async () => {
  const [before, mark] = [await objectVersions(cluster), await audit.mark()]
  const expiries = await Promise.all(['fixed', 'sliding'].map(expiryOf))
  await helm('upgrade', ...TAKING, ...RELEASE, CHART, ...valuesOf('present'))
  await awaitRollout(cluster, node)
  await awaitOnly(cluster, 'present')
  await load.answered(100)
  result = await load.stop()
  const ofChart = await objectsOfRelease(cluster, NAME, NAMESPACE)
  const changed = changedBetween(before, await objectVersions(cluster))
  expect(
    changed.filter((name) => !ofChart.includes(name) && !name.endsWith(`/${HEARTBEAT}`)),
  ).toEqual(['OwnedAccessKey /fixed', 'OwnedAccessKey /sliding', ...RECORDS])
  const users = DEPLOYMENTS.map((name) => `system:serviceaccount:${NAMESPACE}:${name}`)
  const writes = (await audit.writesSince(mark, { notLeases: true })).filter(
    // A review stores nothing.
    ({ user, name, resource }) =>
      users.includes(user) && name !== HEARTBEAT && resource !== 'selfsubjectaccessreviews',
  )
  expect(
    new Set(
      writes.map(({ resource, subresource, name }) => [resource, subresource, name].join(' ')),
    ),
  ).toEqual(new Set(USED.map((name) => `ownedaccesskeys status ${name}`)))
  const [fixed = 0, sliding = 0] = await Promise.all(['fixed', 'sliding'].map(expiryOf))
  expect(fixed).toBe(expiries[0])
  expect(sliding).toBeGreaterThan(expiries[1] ?? 0)
})

test('an upgrade fails none of 50 requests a second (34.2)', async () => {
  const { faults, answers, repeated, byPod } = result
  console.log(`measured: ${answers} answers, ${repeated} sent again, ${JSON.stringify(byPod)}`)
  expect(faults).toEqual([])
  // Two of each version.
  expect(Object.keys(byPod)).toHaveLength(4)
})

test('former pods end in order, within their grace period (8.3)', () => {
  expect(node.problems).toEqual([])
  expect(node.ended).toHaveLength(PODS)
  for (const end of node.ended)
    expect(end).toMatchObject({ image: imageOf('former'), exitCode: 0, wasDeleted: true })
})

test('a key that nobody used meanwhile works as before (34.2)', async () => {
  const { spec } = await keyNamed(cluster, 'idle')
  expect(await faultsOfKey(cluster, node, spec?.key ?? '')).toEqual([])
})
