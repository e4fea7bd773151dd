// A forger of SAML messages: a Response that is right, changed where a test wants, and signed in any way.
import { createHash, type KeyObject, createHmac, sign } from 'node:crypto'
import { DOMParser } from '@xmldom/xmldom/lib/index.js'
import { expect } from 'vitest'
import { SignedXml } from 'xml-crypto'
import { readXml, type XmlElement } from '../../../src/signin/providers/saml/xml.ts'
import { SECRETS } from '../oidc/sign-in.ts'
import { type SamlKey, sharedSamlKey } from './keys.ts'

/** The provider, and the callback of this product. */
export const IDP = 'https://idp.example.com/saml'
export const CALLBACK = 'https://platform.example.com/auth/saml/callback'
/** ID of the request of the attempt that all tests make. */
export const REQUEST_ID = `_${SECRETS.nonce}`

/** A time, so many seconds from now. */
export const inSeconds = (seconds: number): string =>
  new Date(Date.now() + seconds * 1000).toISOString()

const NAMES = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
}

/** The Assertion of a person. */
const assertionXml = (): string =>
  `<saml:Assertion xmlns:saml="${NAMES.assertion}" ID="_assertion" Version="2.0" IssueInstant="${inSeconds(0)}">` +
  `<saml:Issuer>${IDP}</saml:Issuer><saml:Subject>` +
  '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">ada-1</saml:NameID>' +
  '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">' +
  `<saml:SubjectConfirmationData NotOnOrAfter="${inSeconds(300)}" Recipient="${CALLBACK}" InResponseTo="${REQUEST_ID}"/>` +
  '</saml:SubjectConfirmation></saml:Subject>' +
  `<saml:Conditions NotBefore="${inSeconds(-5)}" NotOnOrAfter="${inSeconds(300)}">` +
  `<saml:AudienceRestriction><saml:Audience>${CALLBACK}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
  `<saml:AuthnStatement AuthnInstant="${inSeconds(0)}"/><saml:AttributeStatement>` +
  '<saml:Attribute Name="uid"><saml:AttributeValue>ada</saml:AttributeValue></saml:Attribute>' +
  '<saml:Attribute Name="urn:oid:0.9.2342.19200300.100.1.3" FriendlyName="mail"><saml:AttributeValue>ada@example.com</saml:AttributeValue></saml:Attribute>' +
  '<saml:Attribute Name="groups"><saml:AttributeValue>sre</saml:AttributeValue><saml:AttributeValue>dev</saml:AttributeValue></saml:Attribute>' +
  '</saml:AttributeStatement></saml:Assertion>'

/** A Response that is right, and not signed. */
export const responseXml = (): string =>
  `<samlp:Response xmlns:samlp="${NAMES.protocol}" ID="_response" Version="2.0" IssueInstant="${inSeconds(0)}"` +
  ` Destination="${CALLBACK}" InResponseTo="${REQUEST_ID}">` +
  `<saml:Issuer xmlns:saml="${NAMES.assertion}">${IDP}</saml:Issuer>` +
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>' +
  `${assertionXml()}</samlp:Response>`

/** A part of a text and what stands in its place; a change of nothing fails. */
export type Change = readonly [from: string | RegExp, to: string]

/** The text with its changes. */
export const changed = (text: string, changes: readonly Change[]): string =>
  changes.reduce((before, [from, to]) => {
    const after = before.replace(from, () => to)
    expect(after, `${from} is there`).not.toBe(before)
    return after
  }, text)

/** A changed message as one whose signatures were verified. */
export function verifiedAs(changes: readonly Change[]): {
  readonly response: XmlElement
  readonly assertion: XmlElement
} {
  const response = readXml(changed(responseXml(), changes))
  const assertion = response.children.find(({ name }) => name === 'Assertion')
  if (!assertion) throw new Error('the message has no Assertion')
  return { response, assertion }
}

/** An element that is signed. */
export type Part = 'Response' | 'Assertion'

/** How a signature is made; all has a default. */
export interface Signing {
  readonly key?: SamlKey
  readonly method?: string
  readonly digest?: string
  readonly canonicalization?: string
  readonly transforms?: readonly string[]
  /** Prefixes of namespaces that the canonical form takes over. */
  readonly prefixes?: readonly string[]
  /** Expressions for what is signed; absent = the part alone. */
  readonly references?: readonly string[]
  /** Whether the Reference has an empty URI. */
  readonly isEmptyUri?: boolean
  /** Certificate in KeyInfo, PEM; absent = that of the key. */
  readonly published?: string
}

export const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'
export const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const SHA256 = 'http://www.w3.org/2001/04/xmlenc#sha256'

/** The message with a signature in one of its parts, behind the Issuer. */
export function signedXml(xml: string, part: Part, signing: Signing = {}): string {
  const { key = sharedSamlKey('P-256'), transforms = [ENVELOPED, EXCLUSIVE] } = signing
  const element = `//*[local-name(.)='${part}']`
  const made = new SignedXml({
    privateKey: key.privateKey,
    publicCert: signing.published ?? key.certificatePem,
    signatureAlgorithm: signing.method ?? 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
    canonicalizationAlgorithm: signing.canonicalization ?? EXCLUSIVE,
  })
  Object.assign(made.SignatureAlgorithms, OTHER_METHODS)
  Object.assign(made.HashAlgorithms, OTHER_DIGESTS)
  for (const xpath of signing.references ?? [element]) {
    made.addReference({
      xpath,
      transforms,
      digestAlgorithm: signing.digest ?? SHA256,
      ...(signing.prefixes ? { inclusiveNamespacesPrefixList: signing.prefixes } : {}),
      ...(signing.isEmptyUri ? { isEmptyUri: true } : {}),
    } as Parameters<SignedXml['addReference']>[0])
  }
  const reference = `${element}/*[local-name(.)='Issuer']`
  made.computeSignature(xml, { prefix: 'ds', location: { reference, action: 'after' } })
  return signing.prefixes ? withPrefixesOnce(made, key) : made.getSignedXml()
}

/** Prefixes stand in the canonicalization alone, as other signers write them; xml-crypto has them in each transform. */
function withPrefixesOnce(made: SignedXml, key: SamlKey): string {
  const wrong = /<(\w*:?InclusiveNamespaces) [^>]*enveloped-signature"[^>]*\/>/
  const xml = changed(made.getSignedXml(), [[wrong, '']])
  const [signedInfo = ''] = /<ds:SignedInfo.*?<\/ds:SignedInfo>/s.exec(
    changed(made.getSignatureXml(), [[wrong, '']]),
  ) ?? ['']
  const declared = signedInfo.replace('<ds:SignedInfo', `<ds:SignedInfo xmlns:ds="${DSIG}"`)
  const { documentElement } = new DOMParser({ errorHandler: () => undefined }).parseFromString(
    declared,
    'text/xml',
  )
  const canonical = made.getCanonXml([EXCLUSIVE], documentElement)
  const value = ecdsa('sha256')(Buffer.from(canonical), key.privateKey).toString('base64')
  return changed(xml, [[/(?<=<ds:SignatureValue>)[^<]*/, value]])
}

/** A class of signatures that xml-crypto lacks. */
const methodClass = (name: string, signature: (data: Buffer, key: KeyObject) => Buffer) =>
  class {
    readonly getAlgorithmName = (): string => name
    readonly getSignature = (signedInfo: string, key: KeyObject): string =>
      signature(Buffer.from(signedInfo), key).toString('base64')
  }

const ecdsa = (hash: string) => (data: Buffer, key: KeyObject) =>
  sign(hash, data, { key, dsaEncoding: 'ieee-p1363' })
const rsa = (hash: string) => (data: Buffer, key: KeyObject) => sign(hash, data, key)
const pss = (hash: string, saltLength: number) => (data: Buffer, key: KeyObject) =>
  sign(hash, data, { key, padding: 6, saltLength })
/** An HMAC by what everybody knows: the public certificate. */
const hmac = (hash: string) => (data: Buffer) =>
  createHmac(hash, sharedSamlKey('P-256').certificatePem).update(data).digest()

const OTHER_METHODS = Object.fromEntries(
  (
    [
      ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha1', ecdsa('sha1')],
      ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256', ecdsa('sha256')],
      ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384', ecdsa('sha384')],
      ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512', ecdsa('sha512')],
      ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha384', rsa('sha384')],
      ['http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1', pss('sha256', 32)],
      ['http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1', pss('sha384', 48)],
      ['http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1', pss('sha512', 64)],
      ['http://www.w3.org/2000/09/xmldsig#hmac-sha1', hmac('sha1')],
      ['http://www.w3.org/2001/04/xmldsig-more#hmac-sha256', hmac('sha256')],
    ] as const
  ).map(([name, signature]) => [name, methodClass(name, signature)]),
)

const digestClass = (name: string, hash: string) =>
  class {
    readonly getAlgorithmName = (): string => name
    readonly getHash = (xml: string): string => createHash(hash).update(xml).digest('base64')
  }

const OTHER_DIGESTS = Object.fromEntries(
  (
    [
      ['http://www.w3.org/2001/04/xmldsig-more#sha384', 'sha384'],
      ['http://www.w3.org/2001/04/xmldsig-more#md5', 'md5'],
    ] as const
  ).map(([name, hash]) => [name, digestClass(name, hash)]),
)
