// Sign-in through any OpenID Connect provider, by field `oidc` (contract 25.6).
import type { OidcProvider } from '../../../api/config.gen.ts'
import type { ProviderOptions, SignInProvider } from '../provider.ts'
import { identityOf } from './claims.ts'
import { createOidcClient } from './client.ts'
import { type OidcDialect, oneIssuer } from './dialect.ts'

/** Creates a provider. It calls none until it is used; unusable settings are refused then. */
export const createOidcProvider = (options: ProviderOptions<OidcProvider>): SignInProvider =>
  createOidcClient(options, plainDialect(options))

const DEFAULT_SCOPES = ['email', 'profile']

function plainDialect({ id, settings }: ProviderOptions<OidcProvider>): OidcDialect {
  const { issuerUrl = '', type, insecureCa } = settings
  const scopes = settings.scopes?.length ? settings.scopes : DEFAULT_SCOPES
  const host = URL.parse(issuerUrl)?.host ?? id
  return {
    kind: 'oidc',
    label: type || `OpenID Connect (${host})`,
    client: { ...settings, scopes },
    fault: null,
    issuers: oneIssuer('issuerUrl', issuerUrl),
    // A provider gives a refresh token only to who has just consented (OpenID Connect Core 11).
    parameters: scopes.includes('offline_access') ? { prompt: 'consent' } : {},
    warnings: insecureCa === true ? ['its certificates are not validated (insecureCa)'] : [],
    identify: async ({ claims }) => identityOf(claims, settings),
    tryLookUps: async () => {},
  }
}
