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
