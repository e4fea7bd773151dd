/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import {
  type Change,
  ENVELOPED,
  EXCLUSIVE,
  type Part,
  RSA_SHA256,
  type Signing,
} from '../../../../support/saml/forger.ts'
import { samlKey, sharedSamlKey } from '../../../../support/saml/keys.ts'
import {
  bringBack,
  caDataOf,
  forged,
  samlProvider,
  samlSignIn,
  usualProvider,
} from '../../../../support/saml/sign-in.ts'

const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const MORE = 'http://www.w3.org/2001/04/xmldsig-more#'
const NEWER = 'http://www.w3.org/2007/05/xmldsig-more#'
const PARTS: readonly (readonly Part[])[] = [['Assertion'], ['Response'], ['Assertion', 'Response']]

describe('a message', () => {
  test.each(PARTS.map((parts) => ({ parts })))(
    'signs in where $parts are signed (25.6)',
    async ({ parts }) => {
      expect(await samlSignIn({ parts })).toMatchObject({
        subject: 'https://idp.example.com/saml#ada-1',
        username: 'ada-1',
      })
    },
  )

  const rsa = { key: sharedSamlKey(2048) }
  test.each<{ name: string; signing: Signing }>([
    { name: 'RSA and SHA-256', signing: { ...rsa, method: RSA_SHA256 } },
    {
      name: 'RSA and SHA-384',
      signing: { ...rsa, method: `${MORE}rsa-sha384`, digest: `${MORE}sha384` },
    },
    {
      name: 'RSA and SHA-512',
      signing: {
        ...rsa,
        method: `${MORE}rsa-sha512`,
        digest: 'http://www.w3.org/2001/04/xmlenc#sha512',
      },
    },
    { name: 'RSA-PSS and SHA-256', signing: { ...rsa, method: `${NEWER}sha256-rsa-MGF1` } },
    { name: 'RSA-PSS and SHA-384', signing: { ...rsa, method: `${NEWER}sha384-rsa-MGF1` } },
    { name: 'RSA-PSS and SHA-512', signing: { ...rsa, method: `${NEWER}sha512-rsa-MGF1` } },
    { name: 'ECDSA on P-256', signing: { method: `${MORE}ecdsa-sha256` } },
    {
      name: 'ECDSA on P-384',
      signing: { key: sharedSamlKey('P-384'), method: `${MORE}ecdsa-sha384` },
    },
    {
      name: 'ECDSA on P-521',
      signing: { key: sharedSamlKey('P-521'), method: `${MORE}ecdsa-sha512` },
    },
  ])('signs in with $name (25.6)', async ({ signing }) => {
    expect(await samlSignIn({ signing })).toMatchObject({ userId: 'ada-1' })
  })

  test.each(PARTS.map((parts) => ({ parts })))(
    'signs in with prefixes that the canonical form of $parts takes over from around it (25.6)',
    async ({ parts }) => {
      const changes: readonly Change[] = [
        ['<samlp:Response ', '<samlp:Response xmlns:xs="http://www.w3.org/2001/XMLSchema" '],
        [
          '<saml:AttributeValue>ada<',
          '<saml:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">ada<',
        ],
      ]
      const signing = { prefixes: ['xs', 'saml', 'absent'] }
      expect(await samlSignIn({ changes, parts, signing })).toMatchObject({ userId: 'ada-1' })
    },
  )

  test('signs in with line ends of XML 1.1, which are none in XML 1.0 (25.6)', async () => {
    const text = 'a\u0085b\u2028c'
    // The forger's parser knows them as references alone.
    const written = text.replaceAll(/[^abc]/g, (character) => `&#${character.charCodeAt(0)};`)
    const xml = forged({ changes: [['>ada-1<', `>${written}<`]] })
    const raw = xml.replace(/a(?:&#133;|\u0085)b(?:&#8232;|\u2028)c/, text)
    expect(raw).toContain(text)
    expect(await bringBack(raw)).toMatchObject({ userId: text })
  })

  test('signs in with line ends of Windows, and base64 in lines (25.6)', async () => {
    const lines: readonly Change[] = [['<saml:Subject>', '<saml:Subject>\n']]
    const xml = forged({ changes: lines }).replace('<saml:Subject>\n', '<saml:Subject>\r\n')
    const encoded = Buffer.from(xml).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
    const parameters = new URLSearchParams({ SAMLResponse: encoded })
    const person = await usualProvider().finish({ parameters }, SECRETS, NO_END)
    expect(person).toMatchObject({ userId: 'ada-1' })
  })
})

describe('a signature', () => {
  const foreign = samlKey('P-256')
  const rows: readonly { name: string; signing: Signing; because: RegExp }[] = [
    {
      name: 'of a foreign certificate',
      signing: { key: foreign },
      because: /is not of a certificate in the settings/,
    },
    {
      name: 'of a foreign key under a known certificate in KeyInfo',
      signing: { key: foreign, published: sharedSamlKey('P-256').certificatePem },
      because: /is not of a certificate in the settings/,
    },
    {
      name: 'of RSA with SHA-1',
      signing: { key: sharedSamlKey(2048), method: `${DSIG}rsa-sha1` },
      because: /must be RSA or ECDSA/,
    },
    {
      name: 'of ECDSA with SHA-1',
      signing: { method: `${MORE}ecdsa-sha1` },
      because: /must be RSA or ECDSA/,
    },
    {
      name: 'by an HMAC with the public certificate',
      signing: { method: `${DSIG}hmac-sha1` },
      because: /must be RSA or ECDSA/,
    },
    {
      name: 'by an HMAC with SHA-256',
      signing: { method: `${MORE}hmac-sha256` },
      because: /must be RSA or ECDSA/,
    },
    {
      name: 'of another kind than its key',
      signing: { key: sharedSamlKey(2048), method: `${MORE}ecdsa-sha256` },
      because: /is not of a certificate/,
    },
    {
      name: 'with a digest of SHA-1',
      signing: { digest: `${DSIG}sha1` },
      because: /digest must be SHA-256/,
    },
    {
      name: 'with a digest of MD5',
      signing: { digest: `${MORE}md5` },
      because: /digest must be SHA-256/,
    },
    {
      name: 'with inclusive canonicalization of SignedInfo',
      signing: { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
      because: /canonical form of SignedInfo/,
    },
    {
      name: 'with comments in the canonical form of SignedInfo',
      signing: { canonicalization: `${EXCLUSIVE}WithComments` },
      because: /canonical form of SignedInfo/,
    },
    {
      name: 'with an inclusive transform',
      signing: { transforms: [ENVELOPED, 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'] },
      because: /transforms must be/,
    },
    {
      name: 'with a transform that keeps comments',
      signing: { transforms: [ENVELOPED, `${EXCLUSIVE}WithComments`] },
      because: /transforms must be/,
    },
    {
      name: 'with transforms in another order',
      signing: { transforms: [EXCLUSIVE, ENVELOPED] },
      because: /transforms must be/,
    },
    {
      name: 'with three transforms',
      signing: { transforms: [ENVELOPED, EXCLUSIVE, EXCLUSIVE] },
      because: /transforms must be/,
    },
    {
      name: 'without canonicalization',
      signing: { transforms: [ENVELOPED] },
      because: /transforms must be/,
    },
    {
      name: 'with two References',
      signing: { references: ["//*[local-name(.)='Assertion']", "//*[local-name(.)='Subject']"] },
      because: /exactly one Reference/,
    },
    { name: 'with an empty URI', signing: { isEmptyUri: true }, because: /must name the ID/ },
    {
      name: 'of another element',
      signing: { references: ["//*[local-name(.)='Subject']"] },
      because: /must name the ID|ID must be unique/,
    },
    {
      name: 'of the Response, in the Assertion',
      signing: { references: ["//*[local-name(.)='Response']"] },
      because: /must name the ID/,
    },
  ]
  test.each(rows)('$name is refused (25.6, SI)', async ({ signing, because }) => {
    await expect(samlSignIn({ signing })).rejects.toMatchObject({
      reason: 'provider_answer',
      because: expect.stringMatching(because),
    })
  })

  test('of the Assertion must be right even where the Response is signed (25.6, SI)', async () => {
    const wrong = forged({ signing: { key: foreign } })
    expect(wrong).toContain('<ds:Signature')
    const mixed = forged({
      parts: ['Response'],
      changes: [
        [
          /<saml:Assertion .*<\/saml:Assertion>/s,
          /<saml:Assertion .*<\/saml:Assertion>/s.exec(wrong)?.[0] ?? '',
        ],
      ],
    })
    await expect(bringBack(mixed)).rejects.toMatchObject({ because: /is not of a certificate/ })
  })

  test('is verified by each certificate of the settings (25.6)', async () => {
    const provider = samlProvider({ caData: caDataOf(foreign.certificatePem) })
    expect(await samlSignIn({ signing: { key: foreign } }, provider)).toMatchObject({
      userId: 'ada-1',
    })
    await expect(samlSignIn({}, provider)).rejects.toMatchObject({ reason: 'provider_answer' })
  })
})
