// A delivery process and a secret store for their metrics.
import { type OwnProcess, startCommand } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  type StorePlatform,
  createProject,
  startStorePlatform,
} from '../secret-store/store-world.ts'
import { NAMESPACE } from './expressions.ts'

/** A delivery process, and the secret store that Config names. */
export interface DeliveryOn {
  readonly process: OwnProcess
  readonly platform: StorePlatform
}

/** Starts both on a control plane whose manager runs. @param program the store's, see storeProgram */
export async function startDeliveryOn(
  plane: TestControlPlane,
  program: string,
): Promise<DeliveryOn> {
  const platform = await startStorePlatform(plane, program)
  const process = await startCommand('delivery', {
    kubeconfig: await plane.serviceAccountKubeconfig(NAMESPACE, 'delivery'),
    flags: ['--leader-elect', `--secret-store-ca-file=${platform.store.caFile}`],
  })
  return { process, platform }
}

/** Adds the store to the settings in force, and makes a project whose Secret follows an entry of it. */
export async function pullOn(
  plane: TestControlPlane,
  { store, declare }: StorePlatform,
): Promise<void> {
  await declare({}, (await settingsOf(plane).read()).spec)
  const project = await createProject(plane)
  await store.put(`${project.name}/database`, { password: 'a' })
  await project.create('database', { direction: 'Pull' })
  await project.has('database', { password: 'a' })
}

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
