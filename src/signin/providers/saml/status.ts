// The Status of a Response (SAML Core 3.2.2), by which a provider says no. Pure.
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { onlyChild, PROTOCOL } from './elements.ts'
import type { XmlElement } from './xml.ts'

const PREFIX = 'urn:oasis:names:tc:SAML:2.0:status:'

/** The codes that a person may see, in the form of OAuth's (contract 25.5); the inner one of two says more. */
const CODES: ReadonlyMap<string, string> = new Map(
  [
    ['Requester', 'requester'],
    ['Responder', 'responder'],
    ['VersionMismatch', 'version_mismatch'],
    ['AuthnFailed', 'authn_failed'],
    ['InvalidAttrNameOrValue', 'invalid_attr_name_or_value'],
    ['InvalidNameIDPolicy', 'invalid_name_id_policy'],
    ['NoAuthnContext', 'no_authn_context'],
    ['NoAvailableIDP', 'no_available_idp'],
    ['NoPassive', 'no_passive'],
    ['NoSupportedIDP', 'no_supported_idp'],
    ['PartialLogout', 'partial_logout'],
    ['ProxyCountExceeded', 'proxy_count_exceeded'],
    ['RequestDenied', 'request_denied'],
    ['RequestUnsupported', 'request_unsupported'],
    ['UnknownPrincipal', 'unknown_principal'],
    ['UnsupportedBinding', 'unsupported_binding'],
  ].map(([name, code]) => [`${PREFIX}${name}`, code ?? '']),
)

/**
 * Does nothing where the Status is Success. It is read before a signature is verified, as refusals are often not signed.
 *
 * @throws SignInRefused `provider_refused`, with the code of the provider where it is a known one
 */
export function refuseUnlessSuccess(response: XmlElement): void {
  const status = onlyChild(response, PROTOCOL, 'Status')
  const outer = status && onlyChild(status, PROTOCOL, 'StatusCode')
  const value = outer?.attributes.get('Value')
  if (value === `${PREFIX}Success`) return
  const inner = outer && onlyChild(outer, PROTOCOL, 'StatusCode')
  const code = CODES.get(inner?.attributes.get('Value') ?? '') ?? CODES.get(value ?? '') ?? null
  const because = `the Status is not Success${code === null ? '' : `: ${code}`}`
  throw new SignInRefused('provider_refused', because, { detail: code })
}
