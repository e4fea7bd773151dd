/** @module-tag no-retry */
// The eight forms of signature wrapping, as SAML Raider numbers them: a signed message whose signed element is moved, and another
// one that was never signed in its place.
import { describe, expect, test } from 'vitest'
import type { Part } from '../../../../support/saml/forger.ts'
import { bringBack, forged } from '../../../../support/saml/sign-in.ts'

const SIGNATURE = /<ds:Signature .*?<\/ds:Signature>/s
const RESPONSE = /<samlp:Response .*<\/samlp:Response>/s
const ASSERTION = /<saml:Assertion .*<\/saml:Assertion>/s

const found = (expression: RegExp, xml: string): string => {
  const [text] = expression.exec(xml) ?? []
  return text ?? expect.fail(`${expression} is not there`)
}

/** The element, as it was signed: without its own signature. */
const withoutSignature = (xml: string): string => xml.replace(SIGNATURE, '')

/** The element of another person, without a signature. @param id of what is evil; null = that of the original */
const evil = (element: string, id: string | null): string => {
  const other = withoutSignature(element).replaceAll('>ada', '>grace')
  return id === null ? other : other.replace(/ ID="[^"]*"/, ` ID="${id}"`)
}

/** Puts a text behind the Issuer of an element, where a signature stands. */
const behindIssuer = (element: string, text: string): string =>
  element.replace('</saml:Issuer>', () => `</saml:Issuer>${text}`)

const beforeEnd = (element: string, name: string, text: string): string =>
  element.replace(new RegExp(`</${name}>$`), () => `${text}</${name}>`)

/** Makes the attack of a signed message. @param id of what is evil; null = that of the original */
type Attack = (xml: string, id: string | null) => string

/** An attack on the Assertion of a message, with its signature, else with that of the Response. */
const onAssertion =
  (attack: (assertion: string, id: string | null, signature: string) => string): Attack =>
  (xml, id) =>
    xml.replace(ASSERTION, (assertion) => {
      const [own] = SIGNATURE.exec(assertion) ?? []
      return attack(assertion, id, own ?? found(SIGNATURE, xml))
    })

const inSignature = (signature: string, text: string): string =>
  beforeEnd(signature, 'ds:Signature', text)

const ATTACKS: Readonly<Record<string, Attack>> = {
  'XSW1: the signed Response in the signature of an evil one': (xml, id) => {
    const signature = found(SIGNATURE, xml)
    return behindIssuer(evil(xml, id), inSignature(signature, withoutSignature(xml)))
  },
  'XSW2: the signed Response before its signature in an evil one': (xml, id) =>
    behindIssuer(evil(xml, id), withoutSignature(found(RESPONSE, xml)) + found(SIGNATURE, xml)),
  'XSW3: an evil Assertion before the signed one': onAssertion(
    (assertion, id) => evil(assertion, id) + assertion,
  ),
  'XSW4: an evil Assertion around the signed one': onAssertion((assertion, id) =>
    beforeEnd(evil(assertion, id), 'saml:Assertion', assertion),
  ),
  'XSW5: the signature in an evil Assertion, the signed one at the end': onAssertion(
    (assertion, id, signature) =>
      behindIssuer(evil(assertion, id), signature) + withoutSignature(assertion),
  ),
  'XSW6: the signed Assertion in the signature of an evil one': onAssertion(
    (assertion, id, signature) =>
      behindIssuer(evil(assertion, id), inSignature(signature, withoutSignature(assertion))),
  ),
  'XSW7: an evil Assertion in Extensions': (xml, id) =>
    behindIssuer(xml, `<samlp:Extensions>${evil(found(ASSERTION, xml), id)}</samlp:Extensions>`),
  'XSW8: the signed Assertion in an Object of the signature of an evil one': onAssertion(
    (assertion, id, signature) => {
      const object = `<ds:Object>${withoutSignature(assertion)}</ds:Object>`
      return behindIssuer(evil(assertion, id), inSignature(signature, object))
    },
  ),
}

const PARTS: readonly (readonly Part[])[] = [['Assertion'], ['Response'], ['Assertion', 'Response']]

const rows = Object.entries(ATTACKS).flatMap(([name, attack]) =>
  PARTS.flatMap((parts) =>
    ['_evil', null].map((id) => ({ name, attack, parts, id, ids: id ? 'another ID' : 'one ID' })),
  ),
)

describe('signature wrapping', () => {
  test.each(rows)(
    '$name, $parts signed, with $ids, is refused (25.6, SI)',
    async ({ attack, parts, id }) => {
      const attacked = attack(forged({ parts }), id)
      expect(attacked).toContain('>grace')
      await expect(bringBack(attacked)).rejects.toMatchObject({ reason: 'provider_answer' })
    },
  )
})
