// A target that answers as no API server does keeps neither memory nor the time of other callers (contract 13.3).
import { afterAll } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import type { FrontDoor } from '../../support/hostile-load.ts'
import { testHostileAnswers } from '../../support/hostile-suite.ts'
import { startHostileTarget } from '../../support/hostile-target.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { LOCAL_TARGETS, clusterSecret, kubeconfigText } from './own-targets.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const target = await startHostileTarget()
afterAll(() => target.stop())
const setup = await startTestGateway(await privateControlPlane(), 1, LOCAL_TARGETS)
testHostileAnswers(await frontDoor())

async function frontDoor(): Promise<FrontDoor> {
  const { plane, ca, gateways } = setup
  const wires = ['h1', 'h2', 'frames'] as const
  const input = wires
    .map((wire) =>
      clusterSecret(
        wire,
        kubeconfigText(
          { url: target.urls[wire], caPem: target.caPem },
          { token: 'of-the-gateway' },
        ),
      ),
    )
    .join('---\n')
  await mustKubectl(plane, ['apply', '--server-side', '-f', '-'], { input })
  const [gateway] = gateways
  if (!gateway) throw new Error('no gateway was started')
  const areReady = async () =>
    (await gateway.metrics()).match(/^platform_gateway_target_ready\{.*\} 1$/gm)?.length ===
      wires.length || undefined
  await eventually('the gateway knows the targets', areReady, SOON)
  const [key, scoped, other] = await Promise.all([
    setup.key({ user: 'ada' }),
    setup.key({ user: 'ada', scope: { clusters: [{ cluster: '*' }] } }),
    setup.key({ user: 'bob' }),
  ])
  return {
    pid: gateway.pid,
    url: gateway.url(),
    ca,
    pathOf: (wire) => `/kubernetes/cluster/${wire}`,
    token: key.token,
    scopedToken: scoped.token,
    other: { token: other.token, path: `${MANAGEMENT}/version` },
    target,
  }
}
