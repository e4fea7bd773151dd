// A delivery process for its metrics.
import { type OwnProcess, startCommand } from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { NAMESPACE } from './expressions.ts'

/** The delivery process of a control plane. */
export const startDeliveryOn = async (plane: TestControlPlane): Promise<OwnProcess> =>
  startCommand('delivery', {
    kubeconfig: await plane.serviceAccountKubeconfig(NAMESPACE, 'delivery'),
    flags: ['--leader-elect'],
  })

/** Makes a claim in a namespace of its own, and waits until it is delivered. */
export async function claimOn(plane: TestControlPlane): Promise<void> {
  const namespace = uniqueName('claims')
  const kubectl = (args: readonly string[], input = '') =>
    mustKubectl(plane, [...args, '-n', namespace], { input })
  const role = ['--clusterrole=platform-secret-delivery', `--serviceaccount=${NAMESPACE}:delivery`]
  await mustKubectl(plane, ['create', 'namespace', namespace])
  await kubectl(['create', 'rolebinding', 'claims', ...role])
  const apiVersion = 'management.platform.sh/v1'
  const claim = { apiVersion, kind: 'AccessKeyClaim', metadata: { name: 'deploy' }, spec: {} }
  await kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(claim))
  await kubectl(['wait', 'akc/deploy', '--for=condition=Ready', '--timeout=30s'])
}
