/** @module-tag no-retry */
// A newer version and the way back, under load: a copy of this chart whose key kind has one more optional field.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { runBlock, shellBlocksOf } from '../../support/documentation-blocks.ts'
import { gatewayCa } from '../../support/gateway-process.ts'
import { CHART, changedBetween, objectVersions, prepare, startHelmCluster } from './helm-cluster.ts'
import type { Manifest } from './installer.ts'
import {
  NAMESPACE,
  PODS,
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

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/helm.md'), 'utf8')
const upgrade = shellBlocksOf(PAGE).find((block) => block.startsWith('helm upgrade')) ?? ''

const cluster = await startHelmCluster()
const { plane, kubectl, helm, folder, file } = cluster
const node = await startPlatformNode(cluster, { present: undefined, newer: undefined })
const RELEASE = ['management-operator', `--namespace=${NAMESPACE}`]
const NOTE = 'of the newer version'
/** Gateways write to it all the time. */
const isHeartbeat = (name: string): boolean => name.endsWith('/platform-heartbeat')
/** Keys, tokens, settings and Secrets: all but what the chart has. */
const isData = (name: string): boolean =>
  /^(OwnedAccessKey|DirectClusterEndpointToken|Config|Secret|ConfigMap) /.test(name) &&
  !isHeartbeat(name) &&
  !name.includes('sh.helm.release')

interface Kind {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: { readonly spec: { readonly properties: Record<string, object> } }
        }
      }
    }[]
  }
}

/** Writes a chart where the page's command expects it: this one, with an optional field `note` of keys. */
function writeNewerChart(): void {
  const chart = join(folder, 'charts/management-operator')
  cpSync(CHART, chart, { recursive: true })
  const kinds = join(chart, 'files/kinds.yaml')
  const objects = parseAllDocuments(readFileSync(kinds, 'utf8')).map(
    (one) => one.toJS() as Manifest & Kind,
  )
  const keys = objects.find(({ metadata }) => metadata.name.startsWith('ownedaccesskeys.'))
  for (const { schema } of keys?.spec.versions ?? [])
    schema.openAPIV3Schema.properties.spec.properties['note'] = { type: 'string' }
  writeFileSync(kinds, objects.map((one) => stringify(one)).join('---\n'))
  const about = join(chart, 'Chart.yaml')
  writeFileSync(
    about,
    readFileSync(about, 'utf8').replaceAll(/(ersion): 0\.\d+\.\d+/g, '$1: 0.99.0'),
  )
}

const noteOf = (): Promise<string> => kubectl('get', 'oak/noted', '-o', 'jsonpath={.spec.note}')
const upgradeToNewer = (): Promise<string> =>
  runBlock(plane, `${upgrade.trim()} --set=image.tag=newer`, {
    cwd: folder,
    env: { ...cluster.env, PATH: dirname(cluster.program) },
  })

let load: RunningLoad
let result: ServiceResult
afterAll(() => load?.stop())

prepare(cluster, async () => {
  await helm('install', ...RELEASE, CHART, '--create-namespace', ...valuesOf('present'))
  await awaitRollout(cluster, node)
  await createCredentials(cluster, { used: { ttl: 3600 }, idle: {} })
  writeNewerChart()
  const { spec } = await keyNamed(cluster, 'used')
  const [raw, ca] = [plane.raw, await gatewayCa(plane.admin)]
  load = startLoad({ raw, node, namespace: NAMESPACE, ca, keys: [spec?.key ?? ''], perSecond: 50 })
  await load.answered(50)
})

test("the page's upgrade brings a kind with one more field (34.2)", async () => {
  expect(upgrade).not.toBe('')
  await upgradeToNewer()
  await awaitRollout(cluster, node)
  await awaitOnly(cluster, 'newer')
  const noted = {
    apiVersion: 'management.platform.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: { name: 'noted' },
    spec: { user: 'ada', note: NOTE },
  }
  await kubectl('create', '-f', file('noted.yaml', stringify(noted)))
  await kubectl('wait', 'oak/noted', '--for=condition=Ready', '--timeout=30s')
  expect(await noteOf()).toBe(NOTE)
})

test('a rollback keeps every object, and writes none that is not of the chart (34.2)', async () => {
  const before = await objectVersions(cluster)
  await helm('rollback', ...RELEASE)
  await awaitRollout(cluster, node)
  await awaitOnly(cluster, 'present')
  await load.answered(100)
  result = await load.stop()
  const after = await objectVersions(cluster)
  expect([...before.keys()].filter((name) => !after.has(name))).toEqual([])
  expect(changedBetween(before, after).filter(isData)).toEqual(['OwnedAccessKey /used'])
  expect(await noteOf()).toBe('')
})

test('neither way fails one of 50 requests a second, and all pods end in order (8.3, 34.2)', () => {
  const { faults, answers, repeated, byPod } = result
  console.log(`measured: ${answers} answers, ${repeated} sent again, ${JSON.stringify(byPod)}`)
  expect(faults).toEqual([])
  expect(node.problems).toEqual([])
  expect(node.ended).toHaveLength(2 * PODS)
  for (const end of node.ended) expect(end).toMatchObject({ exitCode: 0, wasDeleted: true })
  expect(new Set(node.ended.map(({ image }) => image))).toEqual(
    new Set(['present', 'newer'].map(imageOf)),
  )
})

test.each(['used', 'idle'])('key %s works after a rollback (34.2)', async (name) => {
  const { spec } = await keyNamed(cluster, name)
  expect(await faultsOfKey(cluster, node, spec?.key ?? '')).toEqual([])
})

// The use of a key is recorded in its status, which is a write: this key is used last.
test('a field of the newer version is there again after the next upgrade, as nobody wrote the object (34.2)', async () => {
  const versionOf = () => kubectl('get', 'oak/noted', '-o', 'jsonpath={.metadata.resourceVersion}')
  const version = await versionOf()
  await upgradeToNewer()
  await kubectl('wait', 'oak/noted', `--for=jsonpath={.spec.note}=${NOTE}`, '--timeout=30s')
  expect(await versionOf()).toBe(version)
  const { spec } = await keyNamed(cluster, 'noted')
  expect(await faultsOfKey(cluster, node, spec?.key ?? '')).toEqual([])
})
