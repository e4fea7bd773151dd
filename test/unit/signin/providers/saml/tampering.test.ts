/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { EXCLUSIVE } from '../../../../support/saml/forger.ts'
import { bringBack, forged } from '../../../../support/saml/sign-in.ts'

describe('a signature', () => {
  const withPrefixLists = (xml: string, lists: readonly string[]): string => {
    const elements = lists.map(
      (list) => `<InclusiveNamespaces xmlns="${EXCLUSIVE}" PrefixList="${list}"/>`,
    )
    const transform = `<ds:Transform Algorithm="${EXCLUSIVE}"`
    return xml.replace(`${transform}/>`, `${transform}>${elements.join('')}</ds:Transform>`)
  }
  const inSignedInfo = '</ds:SignedInfo>'
  const tampering: readonly { name: string; tampered: (xml: string) => string; because: RegExp }[] =
    [
      {
        name: 'that is not there',
        tampered: (xml) => xml.replace(/<ds:Signature .*<\/ds:Signature>/s, ''),
        because: /must be signed/,
      },
      {
        name: 'without a value',
        tampered: (xml) => xml.replace(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>'),
        because: /must be base64/,
      },
      {
        name: 'with an element in its digest',
        tampered: (xml) => xml.replace('<ds:DigestValue>', '<ds:DigestValue><x/>'),
        because: /must be base64/,
      },
      {
        name: 'with a comment in its digest',
        tampered: (xml) => xml.replace('<ds:DigestValue>', '<ds:DigestValue><!---->'),
        because: /has a comment/,
      },
      {
        name: 'with two digests',
        tampered: (xml) =>
          xml.replace('<ds:DigestValue>', '<ds:DigestValue>AAAA</ds:DigestValue><ds:DigestValue>'),
        because: /exactly one Reference/,
      },
      {
        name: 'with two SignedInfo',
        tampered: (xml) => xml.replace(/(<ds:SignedInfo>.*<\/ds:SignedInfo>)/s, '$1$1'),
        because: /must consist of/,
      },
      {
        name: 'with another element in SignedInfo',
        tampered: (xml) => xml.replace(inSignedInfo, `<x/>${inSignedInfo}`),
        because: /exactly one Reference/,
      },
      {
        name: 'with an Object',
        tampered: (xml) => xml.replace('</ds:Signature>', '<ds:Object/></ds:Signature>'),
        because: /must consist of/,
      },
      {
        name: 'that is there twice',
        tampered: (xml) => xml.replace(/(<ds:Signature .*<\/ds:Signature>)/s, '$1$1'),
        because: /only one there/,
      },
      {
        name: 'in the Subject',
        tampered: (xml) => {
          const [signature = ''] = /<ds:Signature .*<\/ds:Signature>/s.exec(xml) ?? []
          return xml
            .replace(signature, '')
            .replace('</saml:Subject>', `${signature}</saml:Subject>`)
        },
        because: /must be a child of what it signs/,
      },
      {
        name: 'with an output length',
        tampered: (xml) =>
          xml.replace(
            /(<ds:SignatureMethod [^>]*)\/>/,
            '$1><ds:HMACOutputLength>0</ds:HMACOutputLength></ds:SignatureMethod>',
          ),
        because: /must be RSA or ECDSA/,
      },
      {
        name: 'with a long list of prefixes',
        tampered: (xml) => withPrefixLists(xml, [`xs ${'p '.repeat(255)}`]),
        because: /transforms must be/,
      },
      {
        name: 'with two lists of prefixes',
        tampered: (xml) => withPrefixLists(xml, ['xs', 'xs']),
        because: /transforms must be/,
      },
      // Canonical forms leave comments out: these signatures verify.
      {
        name: 'of a NameID with a comment',
        tampered: (xml) => xml.replace('>ada-1<', '>ada<!-- -->-1<'),
        because: /has a comment/,
      },
      {
        name: 'of an attribute with a comment',
        tampered: (xml) => xml.replace('>ada<', '>a<!-- -->da<'),
        because: /has a comment/,
      },
      {
        name: 'of a document with a comment outside of what is signed',
        tampered: (xml) => xml.replace('<samlp:Status>', '<!-- --><samlp:Status>'),
        because: /has a comment/,
      },
      {
        name: 'of a NameID in a CDATA section',
        tampered: (xml) => xml.replace('>ada-1<', '><![CDATA[ada-1]]><'),
        because: /has a CDATA section/,
      },
      {
        name: 'of a document with entities',
        tampered: (xml) => `<!DOCTYPE x [<!ENTITY e "ada-1">]>${xml.replace('>ada-1<', '>&e;<')}`,
        because: /has a DOCTYPE/,
      },
      {
        name: 'of another content',
        tampered: (xml) => xml.replace('>ada-1<', '>grace-1<'),
        because: /or of another content/,
      },
      {
        name: 'of an attribute less',
        tampered: (xml) => xml.replace(/<saml:Attribute Name="uid">.*?<\/saml:Attribute>/, ''),
        because: /or of another content/,
      },
    ]
  test.each(tampering)('$name is refused (25.6, SI)', async ({ tampered, because }) => {
    const xml = forged()
    expect(tampered(xml)).not.toBe(xml)
    await expect(bringBack(tampered(xml))).rejects.toMatchObject({
      reason: 'provider_answer',
      because: expect.stringMatching(because),
    })
  })
})
