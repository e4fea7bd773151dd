// Changes of a message of SAML, and rows of tables about them.
import type { SamlProvider } from '../../../src/api/config.gen.ts'
import { CALLBACK, type Change, IDP, inSeconds, type Part, REQUEST_ID } from './forger.ts'

/** A message that is signed, and right but for this. */
export interface RuleRow {
  readonly name: string
  readonly changes: readonly Change[]
  /** Of the refusal. */
  readonly because: string
  readonly settings?: SamlProvider
  readonly parts?: readonly Part[]
}

/** Elements of the message, to be replaced. */
export const CONFIRMATION = /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/s
export const CONDITIONS = /<saml:Conditions .*<\/saml:Conditions>/s
export const DATA = /<saml:SubjectConfirmationData [^>]*>/
export const NAME_ID = /<saml:NameID .*<\/saml:NameID>/s
/** What stands in the message, and what could. */
export const AUDIENCE = `<saml:Audience>${CALLBACK}</saml:Audience>`
export const RESTRICTION = `<saml:AudienceRestriction>${AUDIENCE}</saml:AudienceRestriction>`
export const HOLDER_OF_KEY = 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key'
export const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** SubjectConfirmationData that is right but for these attributes; a text of '' takes one away. */
export const data = (attributes: Readonly<Record<string, string>>): Change => {
  const all = {
    NotOnOrAfter: inSeconds(300),
    Recipient: CALLBACK,
    InResponseTo: REQUEST_ID,
    ...attributes,
  }
  const written = Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ` ${name}="${value}"`)
  return [DATA, `<saml:SubjectConfirmationData${written.join('')}/>`]
}

/** Conditions of these attributes. */
export const conditions = (attributes: string, content = RESTRICTION): Change => [
  CONDITIONS,
  `<saml:Conditions${attributes}>${content}</saml:Conditions>`,
]

/** A NameID, and the last part of its format. */
export const nameId = (content: string, format = 'persistent'): Change => [
  NAME_ID,
  `<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:${format}">${content}</saml:NameID>`,
]

/** The Issuer of Response and Assertion. */
export const issuers = (content: string): readonly Change[] => [
  [`>${IDP}</saml:Issuer><samlp:Status>`, `>${content}</saml:Issuer><samlp:Status>`],
  [
    `<saml:Issuer>${IDP}</saml:Issuer><saml:Subject>`,
    `<saml:Issuer>${content}</saml:Issuer><saml:Subject>`,
  ],
]
