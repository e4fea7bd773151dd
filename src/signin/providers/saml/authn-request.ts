// The request that a browser posts to the provider (SAML Core 3.4.1, Bindings 3.5). Pure.
import { ASSERTION, PROTOCOL } from './elements.ts'

/** What a request says. */
interface AuthnRequest {
  /** An xs:ID: a letter or `_` first. */
  readonly id: string
  readonly issuedMs: number
  /** Where it is posted to, as the settings have it. */
  readonly ssoUrl: string
  /** Where the answer goes. */
  readonly redirectURI: string
  /** Who asks. */
  readonly issuer: string
  /** The format of NameID that is asked for, as a URN. */
  readonly nameIdFormat: string
}

const POST_BINDING = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'

/** As XML. */
const authnRequestXml = ({
  id,
  issuedMs,
  ssoUrl,
  redirectURI,
  issuer,
  nameIdFormat,
}: AuthnRequest): string =>
  `<samlp:AuthnRequest xmlns:samlp="${PROTOCOL}" xmlns:saml="${ASSERTION}" ID="${escaped(id)}" Version="2.0"` +
  ` IssueInstant="${new Date(issuedMs).toISOString()}" Destination="${escaped(ssoUrl)}"` +
  ` AssertionConsumerServiceURL="${escaped(redirectURI)}" ProtocolBinding="${POST_BINDING}">` +
  `<saml:Issuer>${escaped(issuer)}</saml:Issuer>` +
  `<samlp:NameIDPolicy Format="${escaped(nameIdFormat)}" AllowCreate="true"/></samlp:AuthnRequest>`

/** The request as the field `SAMLRequest` of the form. */
export const encodedRequest = (request: AuthnRequest): string =>
  Buffer.from(authnRequestXml(request)).toString('base64')

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"'\t\n\r]/g, (character) => ESCAPES[character] ?? '')
