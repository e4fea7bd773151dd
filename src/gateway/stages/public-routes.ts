// Pages that need no credential, and the gateway's own version (contract 9.1).
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { PublicPage } from '../../serving/http/pages.ts'
import { ERRORS } from '../errors.ts'
import { VERSION_ROUTE } from '../targets/routes.ts'
import type { RequestContext, Stage } from '../request-context.ts'

/** Every path that the gateway answers without a credential (contract 9.1). There are no others. */
export const PUBLIC_ROUTES = [
  '/healthz',
  '/readyz',
  '/oidc/.well-known/openid-configuration',
  '/oidc/keys',
  '/oidc/revoked',
] as const

/** Every path that the direct endpoint answers without a credential (contract 9.2). There are no others. */
export const DIRECT_PUBLIC_ROUTES = ['/healthz', '/readyz'] as const

/** The public pages and `/version`. */
export interface PublicRouteDeps {
  /** By path. */
  readonly pages: Readonly<Record<string, PublicPage>>
  readonly version: PublicPage
  /** Whether `/version` needs a credential (authenticateVersionEndpoint). */
  readonly isVersionGuarded: () => boolean
}

const ONLY_READS = refuse(ERRORS.onlyReads)

/** Answers the routes that need no credential. They match the path byte by byte, as it was sent. */
export const publicRoute: Stage<PublicRouteDeps> = (context, deps) => {
  const { path } = context
  const page = Object.hasOwn(deps.pages, path) ? deps.pages[path] : undefined
  if (page) return answerPage(context, page)
  if (path === VERSION_ROUTE && !deps.isVersionGuarded()) return answerPage(context, deps.version)
  return null
}

/** Answers `/version` to authenticated callers. */
export const version: Stage<PublicRouteDeps> = (context, deps) =>
  context.path === VERSION_ROUTE ? answerPage(context, deps.version) : null

function answerPage(context: RequestContext, page: PublicPage): Answer | Promise<Answer> {
  const { http, query } = context
  context.target = 'Public'
  const isRead = http.method === 'GET' || http.method === 'HEAD'
  return isRead ? page(http, new URLSearchParams(query)) : ONLY_READS
}

/** The page with this program's version, in the form that clients expect (k8s.io/apimachinery version.Info). */
export function versionPage(programVersion: string): PublicPage {
  const [major = '0', minor = '0'] = programVersion.split('.')
  const info = { major, minor, gitVersion: `v${programVersion}`, platform: 'management-operator' }
  const body = Buffer.from(`${JSON.stringify(info, null, 2)}\n`)
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return (): Answer => ({ status: 200, headers, body })
}
