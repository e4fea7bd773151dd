// The rules for a verified Response: a person is signed in only if all of them hold (contract 25.6 "saml"; SAML Core 2.5, Profiles 4.1.4.3). Pure.
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { ASSERTION, childrenOf, onlyChild, wholeText } from './elements.ts'
import type { SamlMessage } from './message.ts'
import type { XmlElement } from './xml.ts'

/** What a Response is compared with. */
interface ExpectedMessage {
  /** ID of the request of this attempt. */
  readonly requestId: string
  readonly redirectURI: string
  /** Whom it must be for: entityIssuer, else redirectURI. */
  readonly audience: string
  /** null = any; it is part of the subject then. */
  readonly ssoIssuer: string | null
  readonly nowMs: number
}

/** @throws SignInRefused `provider_answer`, with the first rule that is broken */
export function refuseUnlessExpected(message: SamlMessage, expected: ExpectedMessage): void {
  const broken = RULES.find(({ holds }) => !holds(message, expected))
  if (broken) throw new SignInRefused('provider_answer', broken.rule)
}

/** The one NameID of the Subject; null = there is none, or there are several. */
export function nameIdOf({ assertion }: SamlMessage): XmlElement | null {
  const subject = subjectOf(assertion)
  return subject && onlyChild(subject, ASSERTION, 'NameID')
}

/** The Issuer of an element; null = there is none, or there are several. */
export function issuerOf(element: XmlElement): string | null {
  const issuer = onlyChild(element, ASSERTION, 'Issuer')
  return issuer && wholeText(issuer)
}

const subjectOf = (assertion: XmlElement): XmlElement | null =>
  onlyChild(assertion, ASSERTION, 'Subject')

const confirmationsOf = ({ assertion }: SamlMessage): readonly XmlElement[] => {
  const subject = subjectOf(assertion)
  return subject ? childrenOf(subject, ASSERTION, 'SubjectConfirmation') : []
}

const conditionsOf = ({ assertion }: SamlMessage): XmlElement | null =>
  onlyChild(assertion, ASSERTION, 'Conditions')

/** Whether the data of every confirmation holds; one without data does not. */
const everyConfirmation = (message: SamlMessage, holds: (data: XmlElement) => boolean): boolean =>
  confirmationsOf(message).every((confirmation) => {
    const data = onlyChild(confirmation, ASSERTION, 'SubjectConfirmationData')
    return data !== null && holds(data)
  })

const TOLERANCE_MS = 30_000
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** A time in epoch milliseconds; NaN = it has another form, or no time zone. */
const timeMs = (text: string): number => (TIME.test(text) ? Date.parse(text) : Number.NaN)

/** Whether the time of an element has come, if it names one. */
const hasBegun = ({ attributes }: XmlElement, nowMs: number): boolean => {
  const notBefore = attributes.get('NotBefore')
  return notBefore === undefined || timeMs(notBefore) <= nowMs + TOLERANCE_MS
}

/** Whether the time of an element has not ended, if it names one. */
const hasNotEnded = ({ attributes }: XmlElement, nowMs: number): boolean => {
  const notOnOrAfter = attributes.get('NotOnOrAfter')
  return notOnOrAfter === undefined || nowMs - TOLERANCE_MS < timeMs(notOnOrAfter)
}

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
const KNOWN_CONDITIONS = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** An Issuer and a NameID of this length, with a `#` between them, are a subject that a User can hold. */
const LONGEST_ID = 1023

/** Whether an identity can be built of a text. */
const isIdentifying = (text: string | null): boolean =>
  text !== null && text.trim() !== '' && text.length <= LONGEST_ID

/** Whether a NameID is in this name space, if it names one; an empty attribute names none. */
const isQualifiedBy = (message: SamlMessage, attribute: string, nameSpace: string | null) =>
  (nameIdOf(message)?.attributes.get(attribute) || nameSpace) === nameSpace

/** A rule, as a sentence. */
interface MessageRule {
  readonly rule: string
  readonly holds: (message: SamlMessage, expected: ExpectedMessage) => boolean
}

const RULES: readonly MessageRule[] = [
  {
    rule: 'Version of Response and Assertion must be 2.0',
    holds: ({ response, assertion }) =>
      [response, assertion].every(({ attributes }) => attributes.get('Version') === '2.0'),
  },
  {
    rule: 'Destination of the Response must be redirectURI',
    holds: ({ response: { attributes } }, { redirectURI }) =>
      (attributes.get('Destination') ?? redirectURI) === redirectURI,
  },
  {
    rule: 'InResponseTo of the Response must be the request of this attempt',
    holds: ({ response }, { requestId }) => response.attributes.get('InResponseTo') === requestId,
  },
  {
    rule: 'Issuer of the Assertion must be there, and have no #',
    holds: ({ assertion }) => {
      const issuer = issuerOf(assertion)
      return isIdentifying(issuer) && issuer?.includes('#') === false
    },
  },
  {
    rule: 'Issuer of the Assertion must be ssoIssuer',
    holds: ({ assertion }, { ssoIssuer }) =>
      ssoIssuer === null || issuerOf(assertion) === ssoIssuer,
  },
  {
    rule: 'Issuer of the Response, where there is one, must equal the Issuer of the Assertion',
    holds: ({ response, assertion }) =>
      childrenOf(response, ASSERTION, 'Issuer').length === 0 ||
      issuerOf(response) === issuerOf(assertion),
  },
  {
    rule: 'the Subject must have one NameID, which is not empty',
    holds: (message) => {
      const nameId = nameIdOf(message)
      return isIdentifying(nameId && wholeText(nameId))
    },
  },
  {
    rule: 'NameID must not be transient: have the provider send a persistent one',
    holds: (message) => nameIdOf(message)?.attributes.get('Format')?.trim() !== TRANSIENT,
  },
  // Two people may have one NameID in two name spaces (SAML Core 8.3.7), and a subject has no place for these.
  {
    rule: 'NameQualifier of NameID, where there is one, must be the Issuer',
    holds: (message) => isQualifiedBy(message, 'NameQualifier', issuerOf(message.assertion)),
  },
  {
    rule: 'SPNameQualifier of NameID, where there is one, must be entityIssuer, else redirectURI',
    holds: (message, { audience }) => isQualifiedBy(message, 'SPNameQualifier', audience),
  },
  {
    rule: 'SubjectConfirmation must be there, and its Method must be bearer',
    holds: (message) => {
      const confirmations = confirmationsOf(message)
      const isBearer = confirmations.every(({ attributes }) => attributes.get('Method') === BEARER)
      return confirmations.length > 0 && isBearer
    },
  },
  {
    rule: 'Recipient of SubjectConfirmationData must be redirectURI',
    holds: (message, { redirectURI }) =>
      everyConfirmation(message, ({ attributes }) => attributes.get('Recipient') === redirectURI),
  },
  {
    rule: 'InResponseTo of SubjectConfirmationData must be the request of this attempt',
    holds: (message, { requestId }) =>
      everyConfirmation(message, ({ attributes }) => attributes.get('InResponseTo') === requestId),
  },
  {
    rule: 'NotBefore of SubjectConfirmationData must be past, where it is there',
    holds: (message, { nowMs }) => everyConfirmation(message, (data) => hasBegun(data, nowMs)),
  },
  {
    rule: 'NotOnOrAfter of SubjectConfirmationData must be there and to come',
    holds: (message, { nowMs }) =>
      everyConfirmation(
        message,
        (data) => data.attributes.has('NotOnOrAfter') && hasNotEnded(data, nowMs),
      ),
  },
  {
    rule: 'Conditions must be there, and none but audience, one-time use and proxy restriction',
    holds: (message) =>
      conditionsOf(message)?.children.every(
        ({ namespace, name }) => namespace === ASSERTION && KNOWN_CONDITIONS.includes(name),
      ) === true,
  },
  {
    rule: 'NotBefore of Conditions must be past, where it is there',
    holds: (message, { nowMs }) => {
      const conditions = conditionsOf(message)
      return conditions !== null && hasBegun(conditions, nowMs)
    },
  },
  {
    rule: 'NotOnOrAfter of Conditions must be to come, where it is there',
    holds: (message, { nowMs }) => {
      const conditions = conditionsOf(message)
      return conditions !== null && hasNotEnded(conditions, nowMs)
    },
  },
  {
    rule: 'AudienceRestriction must be there, with entityIssuer, else redirectURI, in each',
    holds: (message, { audience }) => {
      const conditions = conditionsOf(message)
      const restrictions = conditions
        ? childrenOf(conditions, ASSERTION, 'AudienceRestriction')
        : []
      return (
        restrictions.length > 0 &&
        restrictions.every((restriction) =>
          childrenOf(restriction, ASSERTION, 'Audience').some((one) => wholeText(one) === audience),
        )
      )
    },
  },
]
