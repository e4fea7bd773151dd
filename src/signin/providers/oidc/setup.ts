// The settings of an OpenID Connect provider, ready for use (contract 25.6).
import type { OidcProvider } from '../../../api/config.gen.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { ServerTrust } from '../../../runtime/http-client.ts'
import { allowedUrl, createOutgoing, type Outgoing } from '../outgoing.ts'
import { callbackUrl, type ProviderOptions } from '../provider.ts'
import { trustedRoots } from '../roots.ts'
import type { OidcDialect } from './dialect.ts'
import { createDiscovery, type Discovery } from './discovery.ts'

/** A provider whose settings can be used. */
export interface OidcSetup {
  readonly dialect: OidcDialect
  readonly clientId: string
  /** Sent as it is. */
  readonly redirectURI: string
  readonly send: Outgoing
  readonly discovery: Discovery
  readonly clock: Clock
}

/** The provider, ready for use. @returns a text where the settings are unusable: why, without their values */
export function setupOf(
  options: ProviderOptions<unknown>,
  dialect: OidcDialect,
): OidcSetup | string {
  const { clock, resolve, signal, filesDir } = options
  const { client, issuers, fault } = dialect
  const { issuerUrl = '', clientId = '' } = client
  if (fault !== null) return fault
  const issuer = URL.parse(issuerUrl)
  const configured = issuer && allowedUrl(issuerUrl, issuer)
  if (configured === null || /[?#]/.test(issuerUrl))
    return `${issuers.field} must be an https URL without password, query and fragment`
  if (clientId === '') return 'clientId is absent'
  const redirectURI = callbackUrl(options, client.redirectURI)
  if (!URL.canParse(redirectURI)) return 'redirectURI must be a URL'
  const trust = () => trustOf(client, filesDir)
  const send = createOutgoing({ configured, trust, resolve, clock })
  const discovery = createDiscovery({ issuers, configured, send, clock, signal })
  return { dialect, clientId, redirectURI, send, discovery, clock }
}

async function trustOf(
  { insecureCa, caFile }: OidcProvider,
  filesDir: string | null,
): Promise<Exclude<ServerTrust, 'plain'>> {
  if (insecureCa === true) return 'unverified'
  return trustedRoots({ field: 'caFile', path: caFile }, filesDir)
}
