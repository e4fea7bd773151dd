import type { AuthSettings, Connector } from '../../api/config.gen.ts'

/** The entries of a list of maps, with their indexes; entries and lists of other types are skipped. */
export function indexedMaps<T extends object>(
  list: readonly T[] | undefined,
): readonly (readonly [number, T])[] {
  if (!Array.isArray(list)) return []
  return (list as readonly T[])
    .map((entry, at) => [at, entry] as const)
    .filter(([, entry]) => typeof entry === 'object' && entry !== null)
}

/** The texts of a list; entries and lists of other types are skipped. */
export function indexedTexts(
  list: readonly string[] | undefined,
): readonly (readonly [number, string])[] {
  if (!Array.isArray(list)) return []
  return (list as readonly string[])
    .map((entry, at) => [at, entry] as const)
    .filter(([, entry]) => typeof entry === 'string')
}

/** The provider objects of auth and of a connector, by which people sign in. */
export const PROVIDERS = ['oidc', 'sourceHostA', 'sourceHostB', 'idpA', 'idpB', 'saml'] as const

/** One of PROVIDERS. */
export type ProviderName = (typeof PROVIDERS)[number]

/** Which providers are set there. */
export const configuredProviders = (home: AuthSettings | Connector): readonly ProviderName[] =>
  PROVIDERS.filter((name) => home[name] !== undefined)
