// Requests with the credentials of the gateway's ServiceAccount and whatever headers a test wants: what the
// API server lets the account do, with the gateway out of the way.
import { parseYaml } from '../../../src/runtime/yaml.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import type { Raw, RawAnswer } from '../../support/raw-client.ts'

/** Headers of impersonation, by the end of their names: `user`, `group`, `extra-platform.sh%2faccess-key`. */
export type As = Readonly<Record<string, string | string[]>>

/** The extra that goes with every request of the gateway. */
export const OUR_EXTRA = { 'extra-platform.sh%2faccess-key': 'ci' } as const

/** Sends requests as the gateway's account, impersonating what is given. */
export type AsGateway = <Body = unknown>(
  method: Parameters<Raw>[0],
  path: string,
  as?: As,
  body?: unknown,
) => Promise<RawAnswer<Body>>

/** A credential of the gateway's account on that control plane. */
export async function asGateway(
  plane: Pick<TestControlPlane, 'raw' | 'serviceAccountKubeconfig'>,
): Promise<AsGateway> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  return (method, path, as = {}, body) => {
    const impersonation = Object.entries(as).map(([end, value]) => [`impersonate-${end}`, value])
    const headers = { 'user-agent': 'borrowed/test', ...Object.fromEntries(impersonation) }
    return plane.raw(method, path, body, { kubeconfig, headers })
  }
}

/** The client certificate and its key in a kubeconfig of tools/control-plane, in the words of node:tls. */
export function clientOf(kubeconfig: string): { readonly cert: string; readonly key: string } {
  const { users } = parseYaml(kubeconfig) as {
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[]
  }
  const [user] = users.map((one) => one.user)
  const part = (name: string): string => Buffer.from(user?.[name] ?? '', 'base64').toString('utf8')
  return { cert: part('client-certificate-data'), key: part('client-key-data') }
}
