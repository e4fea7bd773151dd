import type { Answer } from '../serving/http/answer.ts'
import type { PublicPage } from './handler.ts'

/** Every path that is answered without a credential (contract 9.1). There are no others. */
export const PUBLIC_ROUTES = [
  '/healthz',
  '/readyz',
  '/oidc/.well-known/openid-configuration',
  '/oidc/keys',
  '/oidc/revoked',
] as const

/** One of PUBLIC_ROUTES. */
export type PublicRoute = (typeof PUBLIC_ROUTES)[number]

/** The path of the gateway's own version (contract 9.1). */
export const VERSION_ROUTE = '/version'

/** What clients read as a server's version (k8s.io/apimachinery version.Info), of this program. */
export function versionPage(version: string): PublicPage {
  const [major = '0', minor = '0'] = version.split('.')
  const info = { major, minor, gitVersion: `v${version}`, platform: 'management-operator' }
  const body = Buffer.from(`${JSON.stringify(info, null, 2)}\n`)
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return (): Answer => ({ status: 200, headers, body })
}
