// A Response of the provider, from the field of the form to the elements that may be believed (contract 25.6 "saml").
import type { KeyObject } from 'node:crypto'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { ASSERTION, isNamed, onlyChild, PROTOCOL } from './elements.ts'
import type { SignedPart } from './signature-protocol.ts'
import { signedPartsOf } from './signature-rules.ts'
import type { VerifySignatures } from './signature-thread.ts'
import { refuseUnlessSuccess } from './status.ts'
import { readXml, type XmlElement } from './xml.ts'

/** A Response whose signatures are verified. */
export interface SamlMessage {
  /** Of the signed bytes where the Response is signed, else as it came: it can only refuse. */
  readonly response: XmlElement
  /** Of the signed bytes alone. */
  readonly assertion: XmlElement
}

/**
 * Reads and verifies a Response.
 *
 * @param encoded field `SAMLResponse`; null = absent
 * @throws SignInRefused `provider_answer`; `provider_refused` where its Status is not Success
 */
export async function verifiedMessage(
  encoded: string | null,
  keys: readonly KeyObject[],
  verify: VerifySignatures,
  signal: AbortSignal,
): Promise<SamlMessage> {
  const xml = xmlIn(encoded ?? '')
  const response = readXml(xml)
  if (!isNamed(response, PROTOCOL, 'Response'))
    throw refused('the message must be a Response of SAML 2.0')
  refuseUnlessSuccess(response)
  const parts = signedPartsOf(response)
  const bytes = await verify({ xml, parts, keys }, signal)
  const signed = new Map(parts.map((part, at) => [part, readXml(bytes[at] ?? '')]))
  const message = signedMessage(response, signed)
  refuseUnlessSuccess(message.response)
  return message
}

/** Largest Response, in bytes. */
const MOST_BYTES = 131_072
/** White space and padding included; what is longer can't be smaller. */
const LONGEST_ENCODED = 2 * MOST_BYTES

/** The XML in the field of a form, with line ends as XML has them. */
function xmlIn(encoded: string): string {
  if (encoded === '') throw refused('SAMLResponse is absent')
  if (encoded.length > LONGEST_ENCODED) throw refused(TOO_LARGE)
  const plain = encoded.replaceAll(/[ \t\r\n]/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(plain) || plain.length % 4 !== 0)
    throw refused('SAMLResponse must be base64')
  const bytes = Buffer.from(plain, 'base64')
  if (bytes.length > MOST_BYTES) throw refused(TOO_LARGE)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.replaceAll(/\r\n?/g, '\n')
  } catch {
    throw refused('SAMLResponse must be UTF-8')
  }
}

const TOO_LARGE = 'SAMLResponse has more than 128 KiB'

const refused = (because: string): SignInRefused => new SignInRefused('provider_answer', because)

/** The names of the signed elements are checked again, as xml-crypto may have read another document than readXml. */
function signedMessage(came: XmlElement, signed: ReadonlyMap<SignedPart, XmlElement>): SamlMessage {
  const response = signed.get('Response')
  const assertion =
    response === undefined ? signed.get('Assertion') : onlyChild(response, ASSERTION, 'Assertion')
  const isResponse = response === undefined || isNamed(response, PROTOCOL, 'Response')
  if (!assertion || !isNamed(assertion, ASSERTION, 'Assertion') || !isResponse)
    throw refused('what is signed must be a Response with an Assertion, or an Assertion')
  return { response: response ?? came, assertion }
}
