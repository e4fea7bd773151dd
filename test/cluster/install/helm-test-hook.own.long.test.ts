// `helm test` as a user runs it: Helm makes its account and its Pod, and the test node runs that to its end.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { choosePort } from '../../../tools/control-plane/ports.ts'
import { CHART, allVersions, startHelmCluster } from './helm-cluster.ts'
import { NAMESPACE, awaitRollout, startPlatformNode, valuesOf } from './installed-platform.ts'

const cluster = await startHelmCluster()
const { helm } = cluster
const node = await startPlatformNode(cluster, { present: undefined })
const RELEASE = ['management-operator', `--namespace=${NAMESPACE}`]

test('helm test runs the check to its end, and leaves nothing of it (34.2)', async () => {
  // One gateway, at the address that tokens name as their issuer.
  const port = await choosePort(join(cluster.folder, 'port'), console.log)
  const address = `127.0.0.1:${port}`
  const gateway = ['replicas=1', `extraArgs={--bind-address=${address}}`].map(
    (one) => `--set=gateway.${one}`,
  )
  const values = [...valuesOf('present'), `--set=issuerURL=https://${address}/oidc`, ...gateway]
  await helm('install', ...RELEASE, CHART, '--create-namespace', ...values)
  await awaitRollout(cluster, node)
  const before = await allVersions(cluster)
  const printed = await helm('test', ...RELEASE, '--timeout=120s')
  expect(printed).toMatch(/Phase: +Succeeded/)
  const [check] = node.ended
  expect(check).toMatchObject({ pod: 'management-operator-check', exitCode: 0, wasDeleted: false })
  const lines = check?.log.trim().split('\n') ?? []
  const parts = ['kinds', 'policies', 'rights', 'settings', 'lease', 'delivery']
  expect(lines.map((line) => line.split(/ +/).slice(0, 2).join(' '))).toEqual(
    [...parts, 'certificate', 'issuer', 'key'].map((part) => `found ${part}`),
  )
  const left = [...(await allVersions(cluster)).keys()].filter((name) => !before.has(name))
  expect(left).toEqual([])
  expect(node.problems).toEqual([])
})
