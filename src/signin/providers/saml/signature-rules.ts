// The form of a Response and of its signatures, checked before a signature is verified (contract 25.6 "saml", 25.9 SI). Pure.
// These rules only refuse: what is believed comes from the bytes that were signed.
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import {
  ASSERTION,
  allElements,
  childrenOf,
  isNamed,
  onlyChild,
  SIGNATURE,
  wholeText,
} from './elements.ts'
import {
  DIGEST_METHODS,
  ENVELOPED,
  EXCLUSIVE_C14N,
  SIGNATURE_METHODS,
} from './signature-algorithms.ts'
import type { SignedPart } from './signature-protocol.ts'
import type { XmlElement } from './xml.ts'

/**
 * The parts of a Response that are signed; each of them must be verified.
 *
 * @throws SignInRefused `provider_answer`, with the rule that is broken
 */
export function signedPartsOf(response: XmlElement): readonly SignedPart[] {
  const broken = RESPONSE_RULES.find(({ holds }) => !holds(response))
  if (broken) throw refused(broken.rule)
  const signed = partsOf(response).flatMap(({ part, element }) =>
    childrenOf(element, SIGNATURE, 'Signature').map((signature) => ({ part, element, signature })),
  )
  for (const { part, element, signature } of signed) {
    const wrong = SIGNATURE_RULES.find(({ holds }) => !holds(signature, element))
    if (wrong) throw refused(`${wrong.rule} (signature of the ${part})`)
  }
  return signed.map(({ part }) => part)
}

const refused = (because: string): SignInRefused => new SignInRefused('provider_answer', because)

/** The elements that may be signed. */
function partsOf(
  response: XmlElement,
): readonly { readonly part: SignedPart; readonly element: XmlElement }[] {
  const assertion = onlyChild(response, ASSERTION, 'Assertion')
  return [
    { part: 'Response', element: response },
    ...(assertion ? [{ part: 'Assertion', element: assertion } as const] : []),
  ]
}

const countIn = (response: XmlElement, isCounted: (element: XmlElement) => boolean): number =>
  allElements(response).filter(isCounted).length

const signaturesIn = (response: XmlElement): number =>
  countIn(response, (element) => isNamed(element, SIGNATURE, 'Signature'))

/** The attributes that readers of signatures may take for an ID: in any case of letters, and in any namespace. */
const idsOf = ({ attributes }: XmlElement): readonly string[] =>
  [...attributes].flatMap(([name, id]) => (/(?:^|\})id$/i.test(name) ? [id] : []))

/** A rule for the whole document, as a sentence. */
interface ResponseRule {
  readonly rule: string
  readonly holds: (response: XmlElement) => boolean
}

const RESPONSE_RULES: readonly ResponseRule[] = [
  {
    rule: 'encrypted assertions are not accepted: have the provider send them as they are',
    holds: (response) =>
      countIn(response, (element) => isNamed(element, ASSERTION, 'EncryptedAssertion')) === 0,
  },
  {
    rule: 'the Response must have exactly one Assertion',
    holds: (response) =>
      onlyChild(response, ASSERTION, 'Assertion') !== null &&
      countIn(response, (element) => isNamed(element, ASSERTION, 'Assertion')) === 1,
  },
  {
    rule: 'every ID must be unique',
    holds: (response) => {
      const ids = allElements(response).flatMap(idsOf)
      return new Set(ids).size === ids.length
    },
  },
  {
    rule: 'the Response or its Assertion must be signed',
    holds: (response) => signaturesIn(response) > 0,
  },
  {
    rule: 'a signature must be a child of what it signs, the Response or its Assertion, and the only one there',
    holds: (response) => {
      const counts = partsOf(response).map(
        ({ element }) => childrenOf(element, SIGNATURE, 'Signature').length,
      )
      const placed = counts.reduce((sum, count) => sum + count, 0)
      return counts.every((count) => count <= 1) && placed === signaturesIn(response)
    },
  },
]

/** The names of the children, all of XML Signature; null = another namespace. */
const childNames = ({ children }: XmlElement): readonly (string | null)[] =>
  children.map(({ namespace, name }) => (namespace === SIGNATURE ? name : null))

const hasChildren = (element: XmlElement | null, names: readonly string[]): boolean =>
  element !== null && childNames(element).join(' ') === names.join(' ')

const inSignedInfo = (signature: XmlElement, name: string): XmlElement | null => {
  const signedInfo = onlyChild(signature, SIGNATURE, 'SignedInfo')
  return signedInfo && onlyChild(signedInfo, SIGNATURE, name)
}

const inReference = (signature: XmlElement, name: string): XmlElement | null => {
  const reference = inSignedInfo(signature, 'Reference')
  return reference && onlyChild(reference, SIGNATURE, name)
}

const algorithmOf = (element: XmlElement | null): string =>
  element?.attributes.get('Algorithm') ?? ''

/** Each prefix is looked for at each attribute; signers name ten. */
const LONGEST_PREFIX_LIST = 512

/** Exclusive canonicalization, with or without a list of prefixes that it takes over. */
function isExclusive(element: XmlElement | null): boolean {
  if (algorithmOf(element) !== EXCLUSIVE_C14N) return false
  const [list, ...others] = element?.children ?? []
  if (list === undefined) return true
  const isList = isNamed(list, EXCLUSIVE_C14N, 'InclusiveNamespaces') && list.children.length === 0
  const { length } = list.attributes.get('PrefixList') ?? ''
  return others.length === 0 && isList && length <= LONGEST_PREFIX_LIST
}

/** A rule for one signature and the element that it must sign, as a sentence. */
interface SignatureRule {
  readonly rule: string
  readonly holds: (signature: XmlElement, signed: XmlElement) => boolean
}

const SIGNATURE_RULES: readonly SignatureRule[] = [
  {
    rule: 'a signature must consist of SignedInfo, SignatureValue and perhaps KeyInfo',
    holds: (signature) =>
      hasChildren(signature, ['SignedInfo', 'SignatureValue']) ||
      hasChildren(signature, ['SignedInfo', 'SignatureValue', 'KeyInfo']),
  },
  {
    rule: 'SignedInfo must have exactly one Reference',
    holds: (signature) =>
      hasChildren(onlyChild(signature, SIGNATURE, 'SignedInfo'), [
        'CanonicalizationMethod',
        'SignatureMethod',
        'Reference',
      ]) &&
      hasChildren(inSignedInfo(signature, 'Reference'), [
        'Transforms',
        'DigestMethod',
        'DigestValue',
      ]),
  },
  {
    rule: 'the Reference must name the ID of the element that it stands in',
    holds: (signature, { attributes }) => {
      const id = attributes.get('ID') ?? ''
      return id !== '' && inSignedInfo(signature, 'Reference')?.attributes.get('URI') === `#${id}`
    },
  },
  {
    rule: 'the canonical form of SignedInfo must be exclusive',
    holds: (signature) => isExclusive(inSignedInfo(signature, 'CanonicalizationMethod')),
  },
  {
    rule: 'the transforms must be the enveloped signature, then exclusive canonicalization',
    holds: (signature) => {
      const transforms = inReference(signature, 'Transforms')
      const [enveloped = null, exclusive = null] = transforms?.children ?? []
      return (
        hasChildren(transforms, ['Transform', 'Transform']) &&
        algorithmOf(enveloped) === ENVELOPED &&
        enveloped?.children.length === 0 &&
        isExclusive(exclusive)
      )
    },
  },
  {
    rule: 'the signature must be RSA or ECDSA with SHA-256 or better',
    holds: (signature) => {
      const found = inSignedInfo(signature, 'SignatureMethod')
      return SIGNATURE_METHODS.has(algorithmOf(found)) && found?.children.length === 0
    },
  },
  {
    rule: 'the digest must be SHA-256 or better',
    holds: (signature) => {
      const found = inReference(signature, 'DigestMethod')
      return DIGEST_METHODS.has(algorithmOf(found)) && found?.children.length === 0
    },
  },
  {
    rule: 'SignatureValue and DigestValue must be base64',
    holds: (signature) =>
      [onlyChild(signature, SIGNATURE, 'SignatureValue'), inReference(signature, 'DigestValue')]
        .map((element) => element && wholeText(element))
        .every((text) => text !== null && /^[A-Za-z0-9+/=\s]+$/.test(text)),
  },
]
