// The fields of auth and of its connectors that configure ways to sign in, and the ids of connectors.
import type { AuthSettings, Connector } from '../../api/config.gen.ts'
import type { FormatCheck } from './formats.ts'

/** The provider fields of auth and of a connector: each configures a way to sign in. */
export const PROVIDERS = ['oidc', 'sourceHostA', 'sourceHostB', 'idpA', 'idpB', 'saml'] as const

/** One of PROVIDERS. */
export type ProviderName = (typeof PROVIDERS)[number]

/** The providers that are set in auth or in a connector. */
export const configuredProviders = (settings: AuthSettings | Connector): readonly ProviderName[] =>
  PROVIDERS.filter((name) => settings[name] !== undefined)

/** Path segments of the product's own routes, in the position of a connector's id. */
const RESERVED_IDS: readonly string[] = [...PROVIDERS, 'password', 'login', 'logout']

/** Id of a connector: one segment of a URL path that is not reserved. */
export const connectorId: FormatCheck = (text) => {
  if (RESERVED_IDS.includes(text))
    return `is a route of the product itself: choose another than ${RESERVED_IDS.join(', ')}`
  return /^[A-Za-z0-9][A-Za-z0-9._~-]*$/.test(text)
    ? null
    : 'is not an id: it stands in a URL; use letters, digits, ., _, ~ and -, a letter or digit first'
}

/** Id and kind of the one way to sign in that needs no provider. */
export const PASSWORD = 'password'
