import type * as Api from '../../api/config.gen.ts'

/** Default lifetime of a Login key without a ttl: 20 days, in seconds (contract 2.1). */
export const DEFAULT_LOGIN_TTL_SECONDS = 1_728_000

/** Default prefix of the namespaces of projects. */
export const DEFAULT_NAMESPACE_PREFIX = 'p-'

/**
 * The settings with every default that status shows (contract 6.4). Lifetimes, sizes, prefix,
 * interval and retention always appear; defaults of a provider or a button appear when that exists.
 */
export function withDefaults(settings: Api.ConfigSettings): Api.ConfigSettings {
  const { auth, audit, secretStore, costControl, uiSettings } = settings
  return {
    ...settings,
    auth: {
      loginAccessKeyTTLSeconds: DEFAULT_LOGIN_TTL_SECONDS,
      ...auth,
      ...providersOf(auth),
      ...(auth?.connectors && {
        connectors: auth.connectors.map((one) => ({ ...one, ...providersOf(one) })),
      }),
    },
    projectNamespacePrefix: settings.projectNamespacePrefix ?? DEFAULT_NAMESPACE_PREFIX,
    audit: { maxSize: 100, ...audit },
    ...(uiSettings && { uiSettings: withPositions(uiSettings) }),
    secretStore: { syncInterval: '1m', ...secretStore },
    costControl: {
      ...costControl,
      global: { ...costControl?.global, metrics: withRetention(costControl?.global?.metrics) },
      cluster: { ...costControl?.cluster, metrics: withRetention(costControl?.cluster?.metrics) },
    },
  }
}

// The specification names the scopes of the two providers in this order.
function providersOf({ oidc, idpA, idpB }: Api.Connector = {}): Partial<Api.Connector> {
  return {
    ...(oidc && { oidc: { ...oidc, scopes: scopes(oidc.scopes, ['email', 'profile']) } }),
    ...(idpA && { idpA: { ...idpA, scopes: scopes(idpA.scopes, ['profile', 'email']) } }),
    ...(idpB && { idpB: { tenant: 'common', ...idpB } }),
  }
}

const scopes = (given: readonly string[] = [], otherwise: readonly string[]): readonly string[] =>
  given.length > 0 ? given : otherwise

const withRetention = (metrics?: Api.CostControlMetrics): Api.CostControlMetrics => ({
  retention: '1y',
  ...metrics,
})

function withPositions(ui: Api.UiSettings): Api.UiSettings {
  if (!ui.navBarButtons) return ui
  return {
    ...ui,
    navBarButtons: ui.navBarButtons.map((button) => ({ position: 'BottomEnd', ...button })),
  }
}
