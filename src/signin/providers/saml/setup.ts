// The settings of a SAML provider, ready for use (contract 25.6 "saml").
import type { SamlProvider } from '../../../api/config.gen.ts'
import { nameIdFormatUrn } from '../../../domain/settings/formats.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { allowedUrl } from '../outgoing.ts'
import { callbackUrl, type ProviderOptions } from '../provider.ts'
import { type SigningCertificates, signingCertificates } from './certificates.ts'
import { createSignatureThread, type VerifySignatures } from './signature-thread.ts'

/** A provider whose settings can be used. */
export interface SamlSetup {
  readonly settings: SamlProvider
  readonly ssoUrl: URL
  /** Sent and compared as it is. */
  readonly redirectURI: string
  /** entityIssuer, else redirectURI: who asks, and whom an answer must be for. */
  readonly audience: string
  /** As a URN. */
  readonly nameIdFormat: string
  /** What may sign now. @throws SignInRefused `provider_unusable` */
  readonly certificates: () => Promise<SigningCertificates>
  readonly verify: VerifySignatures
  readonly clock: Clock
}

/** The provider, ready for use. @returns a text where the settings are unusable: why, without their values */
export function setupOf(options: ProviderOptions<SamlProvider>): SamlSetup | string {
  const { settings, filesDir, clock, signal } = options
  const { ssoURL = '', ca, caData, entityIssuer } = settings
  if (settings.insecureSkipSignatureValidation === true) return UNSIGNED
  if (!ca && !caData) return 'caData and ca are absent: one of them must have a certificate'
  const configured = URL.parse(ssoURL)
  const ssoUrl = configured && allowedUrl(ssoURL, configured)
  if (ssoUrl === null) return 'ssoURL must be an https URL without password'
  const redirectURI = callbackUrl(options, settings.redirectURI)
  if (!URL.canParse(redirectURI)) return 'redirectURI must be a URL'
  const nameIdFormat = nameIdFormatUrn(settings.nameIDPolicyFormat || 'persistent')
  if (nameIdFormat === null) return 'nameIDPolicyFormat must be a format of SAML'
  return {
    settings,
    ssoUrl,
    redirectURI,
    audience: entityIssuer || redirectURI,
    nameIdFormat,
    certificates: () => signingCertificates(settings, filesDir, clock.nowMs()),
    verify: createSignatureThread(clock, signal),
    clock,
  }
}

const UNSIGNED =
  'unsigned assertions are not accepted: take insecureSkipSignatureValidation away, and set caData or ca'
