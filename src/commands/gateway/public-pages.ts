import type { StartedAuthenticator } from '../../authn/start.ts'
import { createKeysPage, discoveryAnswer } from '../../gateway/oidc/discovery.ts'
import { createRevokedPage } from '../../gateway/oidc/revoked.ts'
import type { PublicPage, PublicRoute } from '../../gateway/stages/public-routes.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type HealthCheck, type Page, healthPage } from '../../serving/http/pages.ts'
import { livenessPage, commonChecks } from '../probes.ts'
import type { Certificate } from './certificate.ts'
import type { Following } from './informers.ts'

/** When the gateway is ready (contract 8.2). */
export function readinessOf(
  stopping: AbortSignal,
  following: Following,
  callers: Pick<StartedAuthenticator, 'readiness'>,
  certificate: Certificate,
): Readonly<Record<string, HealthCheck>> {
  return {
    ...commonChecks(stopping, following, following.stores),
    'settings-seen': () =>
      following.settingsSeen() ? null : 'no settings in force have been seen',
    'keys-known': () =>
      following.jwks.current() === null ? 'no public signing keys have been seen' : null,
    ...callers.readiness,
    certificate: certificate.fault,
  }
}

/** The page of each route without a credential. */
export function publicPages(
  following: Following,
  readiness: Readonly<Record<string, HealthCheck>>,
  clock: Clock,
): Readonly<Record<PublicRoute, PublicPage>> {
  const { issuer, jwks, stores, heardMs } = following
  return {
    '/healthz': textual(livenessPage),
    '/readyz': textual(healthPage('readyz', readiness)),
    '/oidc/.well-known/openid-configuration': () => discoveryAnswer(issuer.current()),
    '/oidc/keys': createKeysPage(jwks),
    '/oidc/revoked': createRevokedPage({ ...stores, heardMs, clock }),
  }
}

const textual =
  (page: Page): PublicPage =>
  async (_, query) => {
    const { status, contentType, body } = await page(query)
    const headers = { 'content-type': contentType, 'cache-control': 'no-store' }
    return { status, headers, body: Buffer.from(body) }
  }
