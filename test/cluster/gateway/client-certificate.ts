import { parseYaml } from '../../../src/runtime/yaml.ts'

/** The client certificate and its key in a kubeconfig of tools/control-plane, in the words of node:tls. */
export function clientOf(kubeconfig: string): { readonly cert: string; readonly key: string } {
  const { users } = parseYaml(kubeconfig) as {
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[]
  }
  const [user] = users.map((one) => one.user)
  const part = (name: string): string => Buffer.from(user?.[name] ?? '', 'base64').toString('utf8')
  return { cert: part('client-certificate-data'), key: part('client-key-data') }
}
