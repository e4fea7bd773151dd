// Addresses of the public providers (contract 25.6). Sovereign clouds and tests have others, by flags.

/** Base addresses of the providers that need no address in the settings; none has a slash at its end. */
export interface ProviderAddresses {
  readonly sourceHostA: SourceHostAAddresses
  /** Of sourceHostB without baseURL. */
  readonly sourceHostB: string
  /** Issuer of idpA. */
  readonly idpA: string
  /** Where the groups of idpA are looked up. */
  readonly idpADirectory: string
  /** What tenants of idpB stand behind. */
  readonly idpB: string
  /** Where names and groups of idpB are looked up. */
  readonly idpBGraph: string
}

/** The two addresses of sourceHostA. */
interface SourceHostAAddresses {
  /** Where people sign in. */
  readonly site: string
  /** Where programs ask. */
  readonly api: string
}

/** The addresses that providers document. */
export const PUBLIC_ADDRESSES: ProviderAddresses = {
  sourceHostA: { site: 'https://github.com', api: 'https://api.github.com' },
  sourceHostB: 'https://gitlab.com',
  idpA: 'https://accounts.google.com',
  idpADirectory: 'https://admin.googleapis.com',
  idpB: 'https://login.microsoftonline.com',
  idpBGraph: 'https://graph.microsoft.com',
}

/** The addresses of a server of sourceHostA that a company runs itself. */
export const enterpriseAddresses = (site: string): SourceHostAAddresses => ({
  site,
  api: `${site}/api/v3`,
})
