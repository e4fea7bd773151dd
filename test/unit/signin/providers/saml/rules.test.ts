/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { issuers, NAME_ID, nameId, type RuleRow } from '../../../../support/saml/changes.ts'
import { CALLBACK, IDP, REQUEST_ID } from '../../../../support/saml/forger.ts'
import { samlProvider, samlSignIn, usualProvider } from '../../../../support/saml/sign-in.ts'

const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'
const REQUEST = 'must be the request of this attempt'
const RULES: readonly RuleRow[] = [
  {
    name: 'another Version of the Response',
    changes: [['ID="_response" Version="2.0"', 'ID="_response" Version="1.1"']],
    because: 'Version of Response and Assertion must be 2.0',
  },
  {
    name: 'another Version of the Assertion',
    changes: [['ID="_assertion" Version="2.0"', 'ID="_assertion" Version="2.1"']],
    because: 'Version of Response and Assertion must be 2.0',
  },
  {
    name: 'another Destination',
    changes: [
      [`Destination="${CALLBACK}"`, 'Destination="https://evil.example.com/auth/saml/callback"'],
    ],
    because: 'Destination of the Response must be redirectURI',
  },
  {
    name: 'a Destination with a slash more',
    changes: [[`Destination="${CALLBACK}"`, `Destination="${CALLBACK}/"`]],
    because: 'Destination of the Response must be redirectURI',
  },
  {
    name: 'an empty Destination',
    changes: [[`Destination="${CALLBACK}"`, 'Destination=""']],
    because: 'Destination of the Response must be redirectURI',
  },
  {
    name: 'InResponseTo of another request',
    changes: [[` InResponseTo="${REQUEST_ID}">`, ' InResponseTo="_other">']],
    because: `InResponseTo of the Response ${REQUEST}`,
  },
  {
    name: 'no InResponseTo',
    changes: [[` InResponseTo="${REQUEST_ID}">`, '>']],
    because: `InResponseTo of the Response ${REQUEST}`,
  },
  {
    name: 'no Issuer of the Assertion',
    changes: [[`<saml:Issuer>${IDP}</saml:Issuer><saml:Subject>`, '<saml:Subject>']],
    because: 'Issuer of the Assertion must be there, and have no #',
    parts: ['Response'],
  },
  {
    name: 'an empty Issuer',
    changes: issuers(' '),
    because: 'Issuer of the Assertion must be there, and have no #',
  },
  {
    name: 'an Issuer with a #',
    changes: issuers('https://idp.example.com/saml#ada'),
    because: 'Issuer of the Assertion must be there, and have no #',
  },
  {
    name: 'an Issuer of 1,024 characters',
    changes: issuers('i'.repeat(1024)),
    because: 'Issuer of the Assertion must be there, and have no #',
  },
  {
    name: 'an Issuer with an element',
    changes: issuers(`${IDP}<x/>`),
    because: 'Issuer of the Assertion must be there, and have no #',
  },
  {
    name: 'another Issuer than ssoIssuer',
    changes: [],
    settings: { ssoIssuer: 'https://other.example.com' },
    because: 'Issuer of the Assertion must be ssoIssuer',
  },
  {
    name: 'another Issuer of the Response',
    changes: [
      [
        `>${IDP}</saml:Issuer><samlp:Status>`,
        '>https://other.example.com</saml:Issuer><samlp:Status>',
      ],
    ],
    because: 'Issuer of the Response, where there is one, must equal the Issuer of the Assertion',
  },
  {
    name: 'no Subject',
    changes: [[/<saml:Subject>.*<\/saml:Subject>/s, '']],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'no NameID',
    changes: [[NAME_ID, '']],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'an encrypted NameID',
    changes: [[NAME_ID, '<saml:EncryptedID/>']],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'two NameIDs',
    changes: [['<saml:NameID ', '<saml:NameID>grace-1</saml:NameID><saml:NameID ']],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'an empty NameID',
    changes: [nameId('')],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'a NameID of white space',
    changes: [nameId(' \n')],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'a NameID with an element',
    changes: [nameId('ada<x/>-1')],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'a NameID of 1,024 characters',
    changes: [nameId('a'.repeat(1024))],
    because: 'the Subject must have one NameID, which is not empty',
  },
  {
    name: 'a transient NameID',
    changes: [nameId('ada-1', 'transient')],
    because: 'NameID must not be transient: have the provider send a persistent one',
  },
  {
    name: 'a transient NameID with white space around its format, which XML Schema takes away',
    changes: [[/ Format="[^"]*persistent"/, ` Format="${TRANSIENT}\n"`]],
    because: 'NameID must not be transient: have the provider send a persistent one',
  },
  {
    name: 'a NameID of another name space',
    changes: [['<saml:NameID ', '<saml:NameID NameQualifier="https://other.example.com" ']],
    because: 'NameQualifier of NameID, where there is one, must be the Issuer',
  },
  {
    name: 'a NameID for another service',
    changes: [['<saml:NameID ', '<saml:NameID SPNameQualifier="https://other.example.com" ']],
    because:
      'SPNameQualifier of NameID, where there is one, must be entityIssuer, else redirectURI',
  },
]

describe('a signed message', () => {
  test.each(RULES)(
    'with $name is refused (25.6, SI)',
    async ({ changes, because, settings, parts = ['Assertion'] }) => {
      const provider = settings ? samlProvider(settings) : usualProvider()
      await expect(samlSignIn({ changes, parts }, provider)).rejects.toMatchObject({
        reason: 'provider_answer',
        because,
      })
    },
  )

  test.each<Omit<RuleRow, 'because'>>([
    { name: 'no Destination', changes: [[` Destination="${CALLBACK}"`, '']] },
    { name: 'no Issuer of the Response', changes: [[/<saml:Issuer xmlns.*?<\/saml:Issuer>/, '']] },
    {
      name: 'a NameID of the name space of Issuer and audience, as Shibboleth writes it',
      changes: [
        ['<saml:NameID ', `<saml:NameID NameQualifier="${IDP}" SPNameQualifier="${CALLBACK}" `],
      ],
    },
    {
      name: 'a NameID of name spaces without a name',
      changes: [['<saml:NameID ', '<saml:NameID NameQualifier="" SPNameQualifier="" ']],
    },
    { name: 'ssoIssuer', changes: [], settings: { ssoIssuer: IDP } },
    {
      name: 'an Issuer and a NameID of 1,023 characters',
      changes: [...issuers('i'.repeat(1023)), nameId('n'.repeat(1023))],
    },
  ])('with $name signs in (25.6)', async ({ changes, settings }) => {
    const provider = settings ? samlProvider(settings) : usualProvider()
    expect(await samlSignIn({ changes }, provider)).toMatchObject({ username: expect.any(String) })
  })

  test('is for one redirect URI, that of its connector (25.6, SA)', async () => {
    const other = samlProvider({}, { id: 'staff' })
    await expect(samlSignIn({}, other)).rejects.toMatchObject({
      because: 'Destination of the Response must be redirectURI',
    })
    const own = samlProvider({ redirectURI: CALLBACK }, { id: 'staff' })
    expect(await samlSignIn({}, own)).toMatchObject({ userId: 'ada-1' })
  })
})

describe('the Response around a signed Assertion', () => {
  const rows = RULES.filter(({ because }) =>
    /Destination|InResponseTo of the Response/.test(because),
  )
  test.each(rows)(
    'with $name is refused, though no signature covers it (25.6, SI)',
    async ({ changes, because }) => {
      await expect(samlSignIn({ changes, parts: ['Assertion'] })).rejects.toMatchObject({ because })
      await expect(samlSignIn({ changes, parts: ['Response'] })).rejects.toMatchObject({ because })
    },
  )
})
