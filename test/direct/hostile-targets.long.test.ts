// The direct endpoint before a virtual cluster that answers as no API server does (contract 13.3).
import { afterAll } from 'vitest'
import { TARGET_LABEL } from '../../src/api/names.ts'
import { kubeconfig } from '../../tools/control-plane/kubeconfig.ts'
import { eventually } from '../support/eventually.ts'
import { testHostileAnswers } from '../support/hostile-suite.ts'
import { startHostileTarget } from '../support/hostile-target.ts'
import { startDirectCluster } from './direct-cluster.ts'
import { startTokenPlatform } from './token-platform.ts'

const WIRES = ['h1', 'h2', 'frames'] as const

const target = await startHostileTarget()
afterAll(() => target.stop())
const platform = await startTokenPlatform()
const cluster = await startDirectCluster(platform)
const endpoint = await cluster.startEndpoint()
await cluster.apply(
  WIRES.map((wire) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `virtualcluster-${wire}`,
      namespace: 'platform-system-targets',
      labels: { [TARGET_LABEL]: 'virtualcluster' },
    },
    stringData: {
      name: wire,
      project: 'p',
      kubeconfig: kubeconfig(
        'hostile',
        { url: target.urls[wire], caPem: target.caPem },
        { token: 'of-the-endpoint' },
      ),
    },
  })),
)
const [token, scopedToken, otherToken] = await Promise.all([
  platform.issueToken(),
  platform.issueToken({ scope: { projects: [{ project: 'p' }] } }),
  platform.issueToken(),
])
const pathOf = (wire: string): string => `/kubernetes/project/p/virtualcluster/${wire}`
for (const wire of WIRES) {
  const isServed = async () =>
    (await endpoint.call(`${pathOf(wire)}/version`, token)).code === 200 || undefined
  await eventually(`virtual cluster ${wire} is served`, isServed, { withinMs: 30_000 })
}

testHostileAnswers({
  pid: endpoint.process.pid,
  url: endpoint.process.url(),
  ca: endpoint.caPem,
  pathOf,
  token,
  scopedToken,
  other: { token: otherToken, path: '/kubernetes/cluster/version' },
  target,
})
