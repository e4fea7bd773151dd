// The delivery process as a child process, with its own ServiceAccount and the shipped roles, and the namespaces that let it
// write Secrets (contract 28.3, 28.4).
import type { TestControlPlane } from '../control-plane.ts'
import { type OwnProcess, type ServingOptions, startCommand } from '../command-process.ts'
import { untilMay } from '../raw-client.ts'

/** The process's ServiceAccount in the shipped manifests. */
export const DELIVERY_ACCOUNT = { namespace: 'platform-system', name: 'delivery' } as const

/** Its name in the audit log and in access reviews. */
export const DELIVERY_USER = `system:serviceaccount:${DELIVERY_ACCOUNT.namespace}:${DELIVERY_ACCOUNT.name}`

/** A kubeconfig of the account. */
export const deliveryKubeconfig = (plane: TestControlPlane): Promise<string> =>
  plane.serviceAccountKubeconfig(DELIVERY_ACCOUNT.namespace, DELIVERY_ACCOUNT.name)

/**
 * Starts a delivery process and waits until it is ready. It ends with the test process, whatever ends that.
 *
 * @param options `kubeconfig` when absent: that of the account, without a proxy
 */
export const startDelivery = async (
  plane: TestControlPlane,
  options: ServingOptions & { readonly kubeconfig?: string } = {},
): Promise<OwnProcess> =>
  startCommand('delivery', {
    ...options,
    kubeconfig: options.kubeconfig ?? (await deliveryKubeconfig(plane)),
  })

/** Creates a namespace whose owner lets Secrets be delivered into it; resolves once the API server knows. */
export async function claimNamespace(
  { raw }: Pick<TestControlPlane, 'raw'>,
  namespace: string,
): Promise<string> {
  await raw('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const group = 'rbac.authorization.k8s.io'
  const role = 'platform-secret-delivery'
  const { code } = await raw('POST', `/apis/${group}/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name: role },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', ...DELIVERY_ACCOUNT }],
  })
  if (code !== 201) throw new Error(`the right to deliver into ${namespace}: ${code}`)
  const wish = { verb: 'patch', resource: 'secrets', namespace }
  await untilMay(raw, { user: DELIVERY_USER }, wish)
  return namespace
}
