// Credentials from outside the kubeconfig: `exec` runs a program, `auth-provider` asks an identity provider. client-node does
// both.
import type { RequestOptions } from 'node:https'
import type { JsonMap } from '../../domain/json/json.ts'

/**
 * Gives a credential: the one it gave before, until that expires.
 *
 * @throws Error, a SyntaxError with parts of a credential when the plugin printed no JSON
 */
export type CredentialPlugin = () => Promise<{
  readonly tls: Pick<RequestOptions, 'cert' | 'key'>
  readonly headers: Readonly<Record<string, string>>
}>

/** Loads what gives the credential of a user of a kubeconfig; null = the user has a credential of its own. */
export async function loadPlugin(user: JsonMap): Promise<CredentialPlugin | null> {
  if (!user['exec'] && !user['auth-provider']) return null
  // Not at the top: it takes 0.2 s of CPU and 50 MB, and no pod has such a user.
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  const name = 'it'
  config.loadFromString(
    JSON.stringify({
      'current-context': name,
      clusters: [{ name, cluster: { server: 'https://it' } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      users: [{ name, user: { exec: user['exec'], 'auth-provider': user['auth-provider'] } }],
    }),
  )
  return async () => {
    const options: RequestOptions = { headers: {} }
    await config.applyToHTTPSOptions(options)
    const { cert, key, headers } = options
    const given = Object.entries(headers ?? {}).map(([field, value]) => [
      field.toLowerCase(),
      String(value).trim(),
    ])
    return {
      tls: { ...(cert ? { cert } : {}), ...(key ? { key } : {}) },
      headers: Object.fromEntries(given),
    }
  }
}
