// The providers that settings set up: those of auth, and one for each connector (contract 25.6).
import type { AuthSettings, Connector } from '../../api/config.gen.ts'
import type { ProviderName } from '../../domain/settings/providers.ts'
import { createIdpAProvider } from './idp-a/provider.ts'
import { createIdpBProvider } from './idp-b/provider.ts'
import { createOidcProvider } from './oidc/provider.ts'
import type { ProviderContext, ProviderOptions, SignInProvider } from './provider.ts'
import { createSamlProvider } from './saml/provider.ts'
import { createSourceHostAProvider } from './source-host-a/provider.ts'
import { createSourceHostBProvider } from './source-host-b/provider.ts'

/** The providers of the settings, in the order of the page. */
export const providersIn = (
  { connectors = [], ...auth }: AuthSettings,
  context: ProviderContext,
): readonly SignInProvider[] => [
  ...providersInFields(auth, (field) => ({ ...context, id: field, displayName: null })),
  ...connectors.flatMap((connector) => connectorProviders(connector, context)),
]

function connectorProviders(
  connector: Connector,
  context: ProviderContext,
): readonly SignInProvider[] {
  const { id, displayName } = connector
  // A Config with such a connector is invalid (6.5).
  if (!id) return []
  return providersInFields(connector, () => ({ ...context, id, displayName: displayName || null }))
}

/** The providers whose fields are set. @param named what the provider of a field is created with, besides its settings */
function providersInFields(
  { oidc, sourceHostA, sourceHostB, idpA, idpB, saml }: Pick<AuthSettings, ProviderName>,
  named: (field: ProviderName) => Omit<ProviderOptions<never>, 'settings'>,
): readonly SignInProvider[] {
  const found = [
    oidc && createOidcProvider({ ...named('oidc'), settings: oidc }),
    sourceHostA && createSourceHostAProvider({ ...named('sourceHostA'), settings: sourceHostA }),
    sourceHostB && createSourceHostBProvider({ ...named('sourceHostB'), settings: sourceHostB }),
    idpA && createIdpAProvider({ ...named('idpA'), settings: idpA }),
    idpB && createIdpBProvider({ ...named('idpB'), settings: idpB }),
    saml && createSamlProvider({ ...named('saml'), settings: saml }),
  ]
  return found.filter((provider) => provider !== undefined)
}
