import type { AuthSettings, Connector } from '../../api/config.gen.ts'

/** The provider objects of auth and of a connector, by which people sign in. */
export const PROVIDERS = ['oidc', 'sourceHostA', 'sourceHostB', 'idpA', 'idpB', 'saml'] as const

/** One of PROVIDERS. */
export type ProviderName = (typeof PROVIDERS)[number]

/** Which providers are set there. */
export const providersIn = (home: AuthSettings | Connector): readonly ProviderName[] =>
  PROVIDERS.filter((name) => home[name] !== undefined)
