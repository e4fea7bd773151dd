// The issuer of apps (contract 26.1): its address, and what signs now.
import { APPS_PATH } from '../../domain/signin/app-routes.ts'
import { HttpFault } from '../http/request.ts'
import type { RouteContext } from '../routes/route.ts'
import type { SignInState } from '../settings.ts'
import { TokenRefused } from './refusal.ts'
import type { TokenIssue } from './tokens.ts'

/** The issuer; null = apps are not served: `oidc.enabled` is off, or the platform has no address. */
export const appIssuer = ({
  settings,
  publicUrl,
}: Pick<SignInState, 'settings' | 'publicUrl'>): string | null =>
  settings.oidc?.enabled === true && publicUrl !== null ? `${publicUrl}${APPS_PATH}` : null

/** As appIssuer. @throws HttpFault 404 where apps are not served, as for a path that does not exist */
export function servedIssuer(state: SignInState): string {
  const issuer = appIssuer(state)
  if (issuer === null) throw new HttpFault(404, 'this page does not exist')
  return issuer
}

/** What signs and verifies now. @throws TokenRefused while there is no key */
export function issueOf({ state, deps }: Pick<RouteContext, 'state' | 'deps'>): TokenIssue {
  const keys = deps.apps.signingKeys()
  if (keys === null)
    throw new TokenRefused('temporarily_unavailable', 'there is no key to sign with yet', {
      status: 503,
    })
  return { issuer: servedIssuer(state), keys, nowMs: deps.clock.nowMs() }
}
