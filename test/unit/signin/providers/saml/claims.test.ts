import { describe, expect, test } from 'vitest'
import type { SamlProvider } from '../../../../../src/api/config.gen.ts'
import type { ProviderIdentity } from '../../../../../src/signin/providers/provider.ts'
import { identityOf } from '../../../../../src/signin/providers/saml/claims.ts'
import { type Change, verifiedAs } from '../../../../support/saml/forger.ts'

const UID = '<saml:AttributeValue>ada</saml:AttributeValue>'
const GROUPS = /<saml:AttributeValue>sre<.*dev<\/saml:AttributeValue>/s
const MAIL = 'urn:oid:0.9.2342.19200300.100.1.3'

/** Whom a message names that has passed every rule. */
const person = (settings: SamlProvider, changes: readonly Change[]): ProviderIdentity =>
  identityOf(verifiedAs(changes), settings)

const refusalOf = (settings: SamlProvider, changes: readonly Change[]): unknown => {
  try {
    return person(settings, changes)
  } catch (error) {
    return error
  }
}

const names = (...groups: readonly string[]) => groups.map((name) => ({ name, displayName: null }))
const values = (...texts: readonly string[]): string =>
  texts.map((text) => `<saml:AttributeValue>${text}</saml:AttributeValue>`).join('')

interface Row {
  readonly name: string
  readonly settings?: SamlProvider
  readonly changes?: readonly Change[]
}

describe('the person of a message', () => {
  test('is known by Issuer and NameID, which is the name where nothing else is (24.3, 25.6)', () => {
    expect(person({}, [])).toEqual({
      subject: 'https://idp.example.com/saml#ada-1',
      username: 'ada-1',
      displayName: null,
      email: null,
      emailVerified: false,
      userId: 'ada-1',
      preferredUsername: 'ada-1',
      extraClaims: {},
      groups: [],
      groupsPrefix: '',
      tokens: { refreshToken: null, accessToken: null, idToken: null },
    })
  })

  test.each<Row & { readonly identity: Partial<ProviderIdentity> }>([
    {
      name: 'usernameAttr names the user name',
      settings: { usernameAttr: 'uid' },
      identity: { username: 'ada', preferredUsername: 'ada', userId: 'ada-1' },
    },
    {
      name: 'no user name is there without the attribute of usernameAttr',
      settings: { usernameAttr: 'upn' },
      identity: { username: null },
    },
    {
      name: 'an empty attribute gives no user name',
      settings: { usernameAttr: 'uid' },
      changes: [[UID, '<saml:AttributeValue/>']],
      identity: { username: null },
    },
    {
      name: 'an empty usernameAttr is none',
      settings: { usernameAttr: '' },
      identity: { username: 'ada-1' },
    },
    {
      name: 'an entity in a value is a character',
      settings: { usernameAttr: 'uid' },
      changes: [[UID, values('a&amp;b')]],
      identity: { username: 'a&b' },
    },
    {
      name: 'emailAttr names the e-mail by FriendlyName, and it is never verified',
      settings: { emailAttr: 'mail' },
      identity: { email: 'ada@example.com', emailVerified: false },
    },
    {
      name: 'emailAttr names the e-mail by Name',
      settings: { emailAttr: MAIL },
      identity: { email: 'ada@example.com' },
    },
    {
      name: 'Name goes before FriendlyName',
      settings: { emailAttr: 'uid' },
      changes: [['FriendlyName="mail"', 'FriendlyName="uid"']],
      identity: { email: 'ada' },
    },
    {
      name: 'no e-mail is there without its attribute',
      settings: { emailAttr: 'email' },
      identity: { email: null },
    },
    {
      name: 'groupsAttr names the groups',
      settings: { groupsAttr: 'groups' },
      identity: { groups: names('sre', 'dev') },
    },
    {
      name: 'attributes of one name add up',
      settings: { groupsAttr: 'groups' },
      changes: [['Name="uid"', 'Name="groups"']],
      identity: { groups: names('ada', 'sre', 'dev') },
    },
    {
      name: 'statements add up',
      settings: { groupsAttr: 'groups' },
      changes: [
        [
          '<saml:Attribute Name="uid"',
          '</saml:AttributeStatement><saml:AttributeStatement><saml:Attribute Name="groups"',
        ],
      ],
      identity: { groups: names('ada', 'sre', 'dev') },
    },
    {
      name: 'a group twice is one',
      settings: { groupsAttr: 'groups' },
      changes: [[GROUPS, values('sre', 'sre', '')]],
      identity: { groups: names('sre') },
    },
    {
      name: 'no groups are there without their attribute',
      settings: { groupsAttr: 'roles' },
      identity: { groups: [] },
    },
    {
      name: 'groupsDelim splits one value',
      settings: { groupsAttr: 'groups', groupsDelim: ';' },
      changes: [[GROUPS, values('sre;dev;;sre')]],
      identity: { groups: names('sre', 'dev') },
    },
    {
      name: 'groupsDelim may have several characters',
      settings: { groupsAttr: 'groups', groupsDelim: ', ' },
      changes: [[GROUPS, values('sre, dev')]],
      identity: { groups: names('sre', 'dev') },
    },
    {
      name: 'groupsDelim splits nothing where nothing is',
      settings: { groupsAttr: 'roles', groupsDelim: ';' },
      identity: { groups: [] },
    },
    {
      name: 'an empty groupsDelim is none',
      settings: { groupsAttr: 'groups', groupsDelim: '' },
      identity: { groups: names('sre', 'dev') },
    },
    {
      name: 'one of allowedGroups is enough, and filters nothing',
      settings: { groupsAttr: 'groups', allowedGroups: ['dev', 'x'] },
      identity: { groups: names('sre', 'dev') },
    },
    {
      name: 'filterGroups keeps allowedGroups alone',
      settings: { groupsAttr: 'groups', allowedGroups: ['dev', 'x'], filterGroups: true },
      identity: { groups: names('dev') },
    },
    {
      name: 'filterGroups without allowedGroups filters nothing',
      settings: { groupsAttr: 'groups', filterGroups: true },
      identity: { groups: names('sre', 'dev') },
    },
  ])('$name (25.6)', ({ settings = {}, changes = [], identity }) => {
    expect(person(settings, changes)).toMatchObject(identity)
  })

  const groups = (count: number): Change => [
    GROUPS,
    values(Array.from({ length: count }, (_, at) => `g${at}`).join(',')),
  ]
  const delimited = { groupsAttr: 'groups', groupsDelim: ',' }
  test.each<Row & { readonly refusal: object }>([
    {
      name: 'of several user names',
      settings: { usernameAttr: 'uid' },
      changes: [[UID, values('ada', 'root')]],
      refusal: { reason: 'provider_answer', because: /usernameAttr must have one value/ },
    },
    {
      name: 'of a user name in an element',
      settings: { usernameAttr: 'uid' },
      changes: [[UID, values('root<x>-ada</x>')]],
      refusal: { reason: 'provider_answer', because: /usernameAttr must be a text/ },
    },
    {
      name: 'of a user name of 1,025 characters',
      settings: { usernameAttr: 'uid' },
      changes: [[UID, values('a'.repeat(1025))]],
      refusal: {
        reason: 'provider_answer',
        because: /usernameAttr must have one value of at most 1024/,
      },
    },
    {
      name: 'of several e-mails',
      settings: { emailAttr: 'mail' },
      changes: [['>ada@example.com<', '>a@b</saml:AttributeValue><saml:AttributeValue>c@d<']],
      refusal: { reason: 'provider_answer', because: /emailAttr must have one value/ },
    },
    {
      name: 'of groups in elements',
      settings: { groupsAttr: 'groups' },
      changes: [[GROUPS, values('<x>sre</x>')]],
      refusal: { reason: 'provider_answer', because: /groupsAttr must be a text/ },
    },
    {
      name: 'of several values to split',
      settings: delimited,
      refusal: { reason: 'provider_answer', because: /one value where groupsDelim/ },
    },
    {
      name: 'of more than 5,000 groups',
      settings: delimited,
      changes: [groups(5001)],
      refusal: { reason: 'groups_unreadable', because: /more than 5000/ },
    },
    {
      name: 'of a group of 1,025 characters',
      settings: { groupsAttr: 'groups' },
      changes: [[GROUPS, values('g'.repeat(1025))]],
      refusal: { reason: 'provider_answer', because: /more than 1024 characters/ },
    },
    {
      name: 'in none of allowedGroups',
      settings: { groupsAttr: 'groups', allowedGroups: ['SRE', 'sr', 'sre '] },
      refusal: {
        reason: 'groups_required',
        detail: 'allowedGroups',
        because: /none of allowedGroups/,
      },
    },
    {
      name: 'without groups where one is required',
      settings: { allowedGroups: ['sre'] },
      refusal: { reason: 'groups_required', because: /none of allowedGroups/ },
    },
  ])('$name is refused (25.5, 25.6, SC, SD)', ({ settings = {}, changes = [], refusal }) => {
    const refused = refusalOf(settings, changes)
    const { because, ...others } = refusal as { because: RegExp }
    expect(refused).toMatchObject({ ...others, because: expect.stringMatching(because) })
    expect(String(refused)).not.toMatch(/\bada|root|sre|ggg|a@b/)
  })

  test('may have 5,000 groups, and texts of 1,024 characters (25.6)', () => {
    expect(person(delimited, [groups(5000)]).groups).toHaveLength(5000)
    const long = 'a'.repeat(1024)
    const settings = { usernameAttr: 'uid', groupsAttr: 'groups' }
    const found = person(settings, [
      [UID, values(long)],
      [GROUPS, values(long)],
    ])
    expect(found).toMatchObject({ username: long, groups: names(long) })
  })
})
