// The settings of GitHub, ready for use (contract 25.6 "sourceHostA").
import type { SourceHostAProvider } from '../../../api/config.gen.ts'
import { enterpriseAddresses, type ProviderAddresses } from '../addresses.ts'
import { allowedUrl, createOutgoing, type Outgoing } from '../outgoing.ts'
import { callbackUrl, type ProviderOptions } from '../provider.ts'
import { trustedRoots } from '../roots.ts'

/** A provider whose settings can be used. */
export interface SourceHostASetup {
  readonly settings: SourceHostAProvider
  readonly clientId: string
  readonly clientSecret: string
  /** Sent as it is. */
  readonly redirectURI: string
  readonly addresses: ProviderAddresses['sourceHostA']
  readonly send: Outgoing
}

/** The provider, ready for use. @returns a text where the settings are unusable: why, without their values */
export function setupOf(options: ProviderOptions<SourceHostAProvider>): SourceHostASetup | string {
  const { settings, filesDir, clock, resolve } = options
  const { clientId, clientSecret, hostName, rootCA } = settings
  if (!clientId) return 'clientId is absent'
  if (!clientSecret) return 'clientSecret is absent'
  const addresses = hostName ? ownAddresses(hostName) : options.addresses.sourceHostA
  if (addresses === null) return 'hostName must be a host'
  if (rootCA && !hostName) return 'rootCA needs hostName'
  const redirectURI = callbackUrl(options, settings.redirectURI)
  if (!URL.canParse(redirectURI)) return 'redirectURI must be a URL'
  const trust = () => trustedRoots({ field: 'rootCA', path: rootCA }, filesDir)
  const send = createOutgoing({ configured: new URL(addresses.site), trust, resolve, clock })
  return { settings, clientId, clientSecret, redirectURI, addresses, send }
}

/** The addresses of a company's own server, in one spelling: the subject of a person has them. */
function ownAddresses(hostName: string): ProviderAddresses['sourceHostA'] | null {
  const text = `https://${hostName}`
  const url = URL.parse(text)
  const isHost = url !== null && allowedUrl(text, url) !== null && !/[/?#\\]/.test(hostName)
  return isHost ? enterpriseAddresses(url.origin) : null
}
