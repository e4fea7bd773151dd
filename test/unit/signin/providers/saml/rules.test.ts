/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { SamlProvider } from '../../../../../src/api/config.gen.ts'
import { refuseUnlessExpected } from '../../../../../src/signin/providers/saml/assertion-rules.ts'
import {
  CALLBACK,
  type Change,
  IDP,
  inSeconds,
  type Part,
  REQUEST_ID,
  verifiedAs,
} from '../../../../support/saml/forger.ts'
import { samlProvider, samlSignIn, usualProvider } from '../../../../support/saml/sign-in.ts'

/** A message that is signed, and right but for this. */
interface Row {
  readonly name: string
  readonly changes: readonly Change[]
  /** Of the refusal. */
  readonly because: string
  readonly settings?: SamlProvider
  readonly parts?: readonly Part[]
}

const CONFIRMATION = /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/s
const CONDITIONS = /<saml:Conditions .*<\/saml:Conditions>/s
const DATA = /<saml:SubjectConfirmationData [^>]*>/
const NAME_ID = /<saml:NameID .*<\/saml:NameID>/s
const AUDIENCE = `<saml:Audience>${CALLBACK}</saml:Audience>`
const RESTRICTION = `<saml:AudienceRestriction>${AUDIENCE}</saml:AudienceRestriction>`
const HOLDER_OF_KEY = 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key'
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** SubjectConfirmationData that is right but for these attributes; a text of '' takes one away. */
const data = (attributes: Readonly<Record<string, string>>): Change => {
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
const conditions = (attributes: string, content = RESTRICTION): Change => [
  CONDITIONS,
  `<saml:Conditions${attributes}>${content}</saml:Conditions>`,
]
const nameId = (content: string, format = 'persistent'): Change => [
  NAME_ID,
  `<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:${format}">${content}</saml:NameID>`,
]
const issuers = (content: string): readonly Change[] => [
  [`>${IDP}</saml:Issuer><samlp:Status>`, `>${content}</saml:Issuer><samlp:Status>`],
  [
    `<saml:Issuer>${IDP}</saml:Issuer><saml:Subject>`,
    `<saml:Issuer>${content}</saml:Issuer><saml:Subject>`,
  ],
]

const REQUEST = 'must be the request of this attempt'
const RULES: readonly Row[] = [
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
    name: 'no SubjectConfirmation',
    changes: [[CONFIRMATION, '']],
    because: 'SubjectConfirmation must be there, and its Method must be bearer',
  },
  {
    name: 'a holder of a key',
    changes: [[BEARER, HOLDER_OF_KEY]],
    because: 'SubjectConfirmation must be there, and its Method must be bearer',
  },
  {
    name: 'a sender that vouches',
    changes: [[BEARER, 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches']],
    because: 'SubjectConfirmation must be there, and its Method must be bearer',
  },
  {
    name: 'a holder of a key beside the bearer',
    changes: [
      ['</saml:Subject>', `<saml:SubjectConfirmation Method="${HOLDER_OF_KEY}"/></saml:Subject>`],
    ],
    because: 'SubjectConfirmation must be there, and its Method must be bearer',
  },
  {
    name: 'no SubjectConfirmationData',
    changes: [[DATA, '']],
    because: 'Recipient of SubjectConfirmationData must be redirectURI',
  },
  {
    name: 'another Recipient',
    changes: [data({ Recipient: 'https://evil.example.com/callback' })],
    because: 'Recipient of SubjectConfirmationData must be redirectURI',
  },
  {
    name: 'no Recipient',
    changes: [data({ Recipient: '' })],
    because: 'Recipient of SubjectConfirmationData must be redirectURI',
  },
  {
    name: 'a second confirmation for another Recipient',
    changes: [
      [
        '</saml:Subject>',
        `<saml:SubjectConfirmation Method="${BEARER}"><saml:SubjectConfirmationData NotOnOrAfter="${inSeconds(300)}" Recipient="https://a" InResponseTo="${REQUEST_ID}"/></saml:SubjectConfirmation></saml:Subject>`,
      ],
    ],
    because: 'Recipient of SubjectConfirmationData must be redirectURI',
  },
  {
    name: 'a confirmation of another request',
    changes: [data({ InResponseTo: '_other' })],
    because: `InResponseTo of SubjectConfirmationData ${REQUEST}`,
  },
  {
    name: 'a confirmation of no request',
    changes: [data({ InResponseTo: '' })],
    because: `InResponseTo of SubjectConfirmationData ${REQUEST}`,
  },
  {
    name: 'a confirmation that is not yet good',
    changes: [data({ NotBefore: inSeconds(60) })],
    because: 'NotBefore of SubjectConfirmationData must be past, where it is there',
  },
  {
    name: 'a confirmation that has ended',
    changes: [data({ NotOnOrAfter: inSeconds(-31) })],
    because: 'NotOnOrAfter of SubjectConfirmationData must be there and to come',
  },
  {
    name: 'a confirmation without an end',
    changes: [data({ NotOnOrAfter: '' })],
    because: 'NotOnOrAfter of SubjectConfirmationData must be there and to come',
  },
  {
    name: 'a confirmation whose end is no time',
    changes: [data({ NotOnOrAfter: 'tomorrow' })],
    because: 'NotOnOrAfter of SubjectConfirmationData must be there and to come',
  },
  {
    name: 'a confirmation whose end has no time zone',
    changes: [data({ NotOnOrAfter: inSeconds(90_000).replace('Z', '') })],
    because: 'NotOnOrAfter of SubjectConfirmationData must be there and to come',
  },
  {
    name: 'no Conditions',
    changes: [[CONDITIONS, '']],
    because: 'Conditions must be there, and none but audience, one-time use and proxy restriction',
  },
  {
    name: 'two Conditions',
    changes: [
      ['<saml:Conditions ', `<saml:Conditions>${RESTRICTION}</saml:Conditions><saml:Conditions `],
    ],
    because: 'Conditions must be there, and none but audience, one-time use and proxy restriction',
  },
  {
    name: 'a condition that is not known',
    changes: [conditions('', `${RESTRICTION}<saml:Condition/>`)],
    because: 'Conditions must be there, and none but audience, one-time use and proxy restriction',
  },
  {
    name: 'a condition of another namespace',
    changes: [conditions('', `${RESTRICTION}<OneTimeUse/>`)],
    because: 'Conditions must be there, and none but audience, one-time use and proxy restriction',
  },
  {
    name: 'Conditions that are not yet good',
    changes: [conditions(` NotBefore="${inSeconds(60)}"`)],
    because: 'NotBefore of Conditions must be past, where it is there',
  },
  {
    name: 'Conditions whose beginning is no time',
    changes: [conditions(' NotBefore=""')],
    because: 'NotBefore of Conditions must be past, where it is there',
  },
  {
    name: 'Conditions that have ended',
    changes: [conditions(` NotOnOrAfter="${inSeconds(-31)}"`)],
    because: 'NotOnOrAfter of Conditions must be to come, where it is there',
  },
  {
    name: 'Conditions whose end is no time',
    changes: [conditions(' NotOnOrAfter="2126-01-01"')],
    because: 'NotOnOrAfter of Conditions must be to come, where it is there',
  },
  ...[
    { name: 'no audience', content: '' },
    {
      name: 'another audience',
      content: RESTRICTION.replace(CALLBACK, 'https://other.example.com'),
    },
    {
      name: 'an audience of other letters',
      content: RESTRICTION.replace(CALLBACK, CALLBACK.toUpperCase()),
    },
    { name: 'an empty restriction of the audience', content: '<saml:AudienceRestriction/>' },
    {
      name: 'a second restriction for another audience',
      content: RESTRICTION + RESTRICTION.replace(CALLBACK, 'https://other.example.com'),
    },
  ].map(({ name, content }) => ({
    name,
    changes: [conditions('', content)],
    because: 'AudienceRestriction must be there, with entityIssuer, else redirectURI, in each',
  })),
  {
    name: 'redirectURI as the audience where entityIssuer is set',
    changes: [],
    settings: { entityIssuer: 'urn:platform' },
    because: 'AudienceRestriction must be there, with entityIssuer, else redirectURI, in each',
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

  test.each<Omit<Row, 'because'>>([
    { name: 'no Destination', changes: [[` Destination="${CALLBACK}"`, '']] },
    { name: 'no Issuer of the Response', changes: [[/<saml:Issuer xmlns.*?<\/saml:Issuer>/, '']] },
    { name: 'ssoIssuer', changes: [], settings: { ssoIssuer: IDP } },
    {
      name: 'an Issuer and a NameID of 1,023 characters',
      changes: [...issuers('i'.repeat(1023)), nameId('n'.repeat(1023))],
    },
    {
      name: 'two confirmations that are right',
      changes: [
        [
          '</saml:Subject>',
          `<saml:SubjectConfirmation Method="${BEARER}"><saml:SubjectConfirmationData NotOnOrAfter="${inSeconds(300)}" Recipient="${CALLBACK}" InResponseTo="${REQUEST_ID}"/></saml:SubjectConfirmation></saml:Subject>`,
        ],
      ],
    },
    {
      name: 'one-time use and a proxy restriction',
      changes: [
        conditions('', `${RESTRICTION}<saml:OneTimeUse/><saml:ProxyRestriction Count="0"/>`),
      ],
    },
    { name: 'Conditions without times', changes: [conditions('')] },
    {
      name: 'several audiences',
      changes: [
        conditions(
          '',
          `<saml:AudienceRestriction><saml:Audience>https://a</saml:Audience>${AUDIENCE}</saml:AudienceRestriction>`,
        ),
      ],
    },
    {
      name: 'entityIssuer as the audience',
      settings: { entityIssuer: 'urn:platform' },
      changes: [[AUDIENCE, '<saml:Audience>urn:platform</saml:Audience>']],
    },
    {
      name: 'times of .NET and of another zone',
      changes: [
        conditions(
          ` NotBefore="${inSeconds(-9).replace('Z', '1234Z')}" NotOnOrAfter="${inSeconds(7500).replace('Z', '+02:00')}"`,
        ),
      ],
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

describe('a time', () => {
  const atMs = Date.parse('2026-03-01T12:00:00Z')
  const at = '2026-03-01T12:00:00Z'
  const later = '2026-03-02T12:00:00Z'
  const readAt = (changes: readonly Change[], nowMs: number) => () => {
    const expected = { requestId: REQUEST_ID, redirectURI: CALLBACK, audience: CALLBACK }
    refuseUnlessExpected(verifiedAs(changes), { ...expected, ssoIssuer: null, nowMs })
  }

  test.each<{ name: string; changes: readonly Change[]; goodMs: number; badMs: number }>([
    {
      name: 'NotBefore of Conditions',
      changes: [conditions(` NotBefore="${at}"`), data({ NotOnOrAfter: later })],
      goodMs: -30_000,
      badMs: -30_001,
    },
    {
      name: 'NotOnOrAfter of Conditions',
      changes: [conditions(` NotOnOrAfter="${at}"`), data({ NotOnOrAfter: later })],
      goodMs: 29_999,
      badMs: 30_000,
    },
    {
      name: 'NotBefore of SubjectConfirmationData',
      changes: [conditions(''), data({ NotBefore: at, NotOnOrAfter: later })],
      goodMs: -30_000,
      badMs: -30_001,
    },
    {
      name: 'NotOnOrAfter of SubjectConfirmationData',
      changes: [conditions(''), data({ NotOnOrAfter: at })],
      goodMs: 29_999,
      badMs: 30_000,
    },
  ])('$name has 30 s of tolerance (25.6)', ({ name, changes, goodMs, badMs }) => {
    expect(readAt(changes, atMs + goodMs)).not.toThrow()
    expect(readAt(changes, atMs + badMs)).toThrow(name)
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

describe('a Status', () => {
  const SUCCESS = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>'
  const code = (name: string, inner = ''): string =>
    `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${inner}</samlp:StatusCode>`
  test.each<{ name: string; status: string; detail: string | null }>([
    {
      name: 'of the person',
      status: code('Responder', code('AuthnFailed')),
      detail: 'authn_failed',
    },
    {
      name: 'of the request',
      status: code('Requester', code('InvalidNameIDPolicy')),
      detail: 'invalid_name_id_policy',
    },
    { name: 'of one code', status: code('Requester'), detail: 'requester' },
    {
      name: 'of an unknown inner code',
      status: code('Responder', code('secret')),
      detail: 'responder',
    },
    { name: 'of an unknown code', status: code('secret'), detail: null },
    { name: 'without a code', status: '', detail: null },
    { name: 'with two codes', status: SUCCESS + SUCCESS, detail: null },
    {
      name: 'whose inner code alone is Success',
      status: code('Responder', SUCCESS),
      detail: 'responder',
    },
  ])('$name refuses, and quotes nothing (25.5, 25.6, SF)', async ({ status, detail }) => {
    for (const parts of [[], ['Assertion'], ['Response']] as const) {
      const refused = samlSignIn({ changes: [[SUCCESS, status]], parts })
      await expect(refused).rejects.toMatchObject({ reason: 'provider_refused', detail })
      await expect(refused).rejects.not.toThrow('secret')
    }
  })

  test('that is absent refuses (25.6)', async () => {
    const changes: readonly Change[] = [[/<samlp:Status>.*<\/samlp:Status>/s, '']]
    await expect(samlSignIn({ changes })).rejects.toMatchObject({ reason: 'provider_refused' })
  })
})
