/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { refuseUnlessExpected } from '../../../../../src/signin/providers/saml/assertion-rules.ts'
import {
  AUDIENCE,
  BEARER,
  CONDITIONS,
  CONFIRMATION,
  conditions,
  DATA,
  data,
  HOLDER_OF_KEY,
  RESTRICTION,
  type RuleRow,
} from '../../../../support/saml/changes.ts'
import {
  CALLBACK,
  type Change,
  inSeconds,
  REQUEST_ID,
  verifiedAs,
} from '../../../../support/saml/forger.ts'
import { samlProvider, samlSignIn, usualProvider } from '../../../../support/saml/sign-in.ts'

const REQUEST = 'must be the request of this attempt'
const RULES: readonly RuleRow[] = [
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

  test.each<Omit<RuleRow, 'because'>>([
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
