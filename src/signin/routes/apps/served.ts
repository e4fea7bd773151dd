// Whether apps are served, and what signs for them (contract 26.1).
import { appIssuer } from '../../../domain/signin/app-routes.ts'
import { TokenRefused } from '../../apps/refusal.ts'
import type { TokenIssue } from '../../apps/tokens.ts'
import { HttpFault } from '../../http/request.ts'
import type { SignInState } from '../../settings.ts'
import type { RouteContext } from '../route.ts'

/** The issuer. @throws HttpFault 404 where apps are not served, as for a path that does not exist */
export function servedIssuer({ settings, publicUrl }: SignInState): string {
  const issuer = appIssuer(settings.oidc, publicUrl)
  if (issuer === null) throw new HttpFault(404, 'this page does not exist')
  return issuer
}

/** What signs and verifies now. @throws TokenRefused while there is no key */
export function issueOf({ state, deps }: Pick<RouteContext, 'state' | 'deps'>): TokenIssue {
  const issuer = servedIssuer(state)
  const keys = deps.apps.signingKeys()
  if (keys !== null) return { issuer, keys, nowMs: deps.clock.nowMs() }
  const message = 'no key can sign yet'
  throw new TokenRefused('temporarily_unavailable', message, { status: 503 })
}
