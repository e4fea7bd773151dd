/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { type Change, type Part, responseXml } from '../../../../support/saml/forger.ts'
import { bringBack, forged, samlSignIn } from '../../../../support/saml/sign-in.ts'

describe('a document', () => {
  const second = (changes: readonly Change[]): string =>
    changes.reduce(
      (text, [from, to]) => text.replace(from, to),
      /<saml:Assertion .*<\/saml:Assertion>/s.exec(responseXml())?.[0] ?? '',
    )

  test.each<{ name: string; changes: readonly Change[]; because: RegExp; parts?: readonly Part[] }>(
    [
      {
        name: 'two Assertions',
        changes: [['</samlp:Response>', `${second([['_assertion', '_second']])}</samlp:Response>`]],
        because: /exactly one Assertion/,
        parts: ['Response'],
      },
      {
        name: 'an Assertion in another one',
        changes: [
          [
            '</saml:Assertion>',
            `<saml:Advice>${second([['_assertion', '_second']])}</saml:Advice></saml:Assertion>`,
          ],
        ],
        because: /exactly one Assertion/,
        parts: ['Response'],
      },
      {
        name: 'no Assertion',
        changes: [[/<saml:Assertion .*<\/saml:Assertion>/s, '']],
        because: /exactly one Assertion/,
        parts: ['Response'],
      },
      {
        name: 'an Assertion deeper inside alone',
        changes: [
          ['<saml:Assertion ', '<x><saml:Assertion '],
          ['</saml:Assertion>', '</saml:Assertion></x>'],
        ],
        because: /exactly one Assertion/,
        parts: ['Response'],
      },
      {
        name: 'an EncryptedAssertion',
        changes: [
          [
            '</samlp:Response>',
            '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/></samlp:Response>',
          ],
        ],
        because: /encrypted assertions are not accepted/,
        parts: ['Response'],
      },
      {
        name: 'an ID twice',
        changes: [['<saml:Subject>', '<saml:Subject ID="_response">']],
        because: /every ID must be unique/,
      },
      {
        name: 'an ID twice in other letters',
        changes: [['<saml:Subject>', '<saml:Subject id="_response">']],
        because: /every ID must be unique/,
      },
      {
        name: 'an ID twice in a namespace',
        changes: [['<saml:Subject>', '<saml:Subject xml:id="_response">']],
        because: /every ID must be unique/,
      },
      {
        name: 'another outermost element',
        changes: [
          ['<samlp:Response', '<samlp:ArtifactResponse'],
          ['</samlp:Response', '</samlp:ArtifactResponse'],
        ],
        because: /must be a Response/,
      },
      {
        name: 'a Response of SAML 1.1',
        changes: [['urn:oasis:names:tc:SAML:2.0:protocol', 'urn:oasis:names:tc:SAML:1.0:protocol']],
        because: /provider_answer: the message must be a Response/,
      },
    ],
  )('with $name is refused (25.6, SI)', async ({ changes, because, parts = ['Assertion'] }) => {
    await expect(samlSignIn({ changes, parts })).rejects.toThrow(because)
  })

  const binary = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')
  test.each<{ name: string; bytes: Buffer; because: string }>([
    { name: 'no field', bytes: Buffer.from(''), because: 'SAMLResponse is absent' },
    {
      name: 'a byte that is not UTF-8',
      bytes: Buffer.from(binary('<a>\xff</a>'), 'latin1'),
      because: 'SAMLResponse must be UTF-8',
    },
    {
      name: 'UTF-16',
      bytes: Buffer.from('<a/>', 'utf16le'),
      because: 'the XML has a character that XML does not allow',
    },
    {
      name: '128 KiB and a byte',
      bytes: Buffer.alloc(131_073, 0x20),
      because: 'SAMLResponse has more than 128 KiB',
    },
    {
      name: '128 KiB of spaces',
      bytes: Buffer.alloc(131_072, 0x20),
      because: 'the XML ends too early',
    },
  ])('of $name is refused (25.6, SI)', async ({ bytes, because }) => {
    await expect(bringBack(bytes)).rejects.toMatchObject({ reason: 'provider_answer', because })
  })

  test('of 128 KiB signs in (25.6)', async () => {
    const room = 131_072 - Buffer.byteLength(forged())
    const changes: readonly Change[] = [['</saml:Subject>', `</saml:Subject>${' '.repeat(room)}`]]
    const xml = forged({ changes })
    // A signature on P-256 has the same length each time.
    expect(Buffer.byteLength(xml)).toBe(131_072)
    expect(await bringBack(xml)).toMatchObject({ userId: 'ada-1' })
    await expect(bringBack(`${xml} `)).rejects.toThrow('more than 128 KiB')
  })
})
