import { describe, expect, test } from 'vitest'
import type { OidcProvider } from '../../../../../src/api/config.gen.ts'
import type { JsonMap } from '../../../../../src/domain/json/json.ts'
import { identityOf } from '../../../../../src/signin/providers/oidc/claims.ts'

const USUAL = {
  iss: 'https://idp.example.com',
  sub: '7',
  preferred_username: 'ada',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  email_verified: true,
  groups: ['sre', 'dev'],
}

/** Claims besides the usual ones; undefined takes one away. */
const claimsOf = (changed: object): JsonMap => JSON.parse(JSON.stringify({ ...USUAL, ...changed }))

interface Row {
  readonly name: string
  readonly settings?: OidcProvider
  readonly claims?: object
}

/** What a call throws; undefined = nothing. */
function refusalOf(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}

const rows = (list: readonly (Row & { readonly identity: object })[]) => list
const refusals = (list: readonly (Row & { readonly refusal: object })[]) => list

describe('the claims of a provider', () => {
  test('name a person without any setting (24.3, 25.6)', () => {
    expect(identityOf(claimsOf({}), {})).toEqual({
      subject: 'https://idp.example.com#7',
      username: 'ada',
      displayName: 'Ada Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      userId: '7',
      preferredUsername: 'ada',
      extraClaims: {},
      groups: [
        { name: 'sre', displayName: null },
        { name: 'dev', displayName: null },
      ],
      groupsPrefix: '',
    })
  })

  test.each(
    rows([
      {
        name: 'usernameClaim names the user id',
        settings: { usernameClaim: 'oid' },
        claims: { oid: 'o-1' },
        identity: { userId: 'o-1', subject: 'https://idp.example.com#7' },
      },
      {
        name: 'platformUsernameClaim names the user',
        settings: { platformUsernameClaim: 'upn' },
        claims: { upn: 'a.l' },
        identity: { username: 'a.l', preferredUsername: 'ada' },
      },
      {
        name: 'no name is there without the claim of platformUsernameClaim',
        settings: { platformUsernameClaim: 'upn' },
        identity: { username: null },
      },
      {
        name: 'usernamePrefix stands before the name',
        settings: { usernamePrefix: 'idp:' },
        identity: { username: 'idp:ada' },
      },
      {
        name: 'a prefix alone gives no name',
        settings: { usernamePrefix: 'idp:' },
        claims: { preferred_username: '', email: undefined },
        identity: { username: null },
      },
      {
        name: 'preferredUsername names its claim',
        settings: { preferredUsername: 'nick' },
        claims: { nick: 'lady' },
        identity: { username: 'lady', preferredUsername: 'lady' },
      },
      {
        name: 'a verified e-mail is the name where there is no other',
        claims: { preferred_username: undefined },
        identity: { username: 'ada@example.com', preferredUsername: null },
      },
      {
        name: 'an e-mail without a verdict gives no name',
        claims: { preferred_username: undefined, email_verified: undefined },
        identity: { username: null, emailVerified: false },
      },
      {
        name: 'an e-mail that is not verified gives no name',
        claims: { preferred_username: undefined, email_verified: false },
        identity: { username: null },
      },
      {
        name: 'the text "true" verifies no e-mail',
        claims: { email_verified: 'true' },
        identity: { username: 'ada', emailVerified: false },
      },
      {
        name: 'the e-mail is the name by platformUsernameClaim',
        settings: { platformUsernameClaim: 'email' },
        identity: { username: 'ada@example.com' },
      },
      {
        name: 'the e-mail without a verdict is the name by platformUsernameClaim',
        settings: { platformUsernameClaim: 'email' },
        claims: { email_verified: undefined },
        identity: { username: 'ada@example.com', emailVerified: false },
      },
      {
        name: 'emailClaim names the e-mail',
        settings: { emailClaim: 'mail' },
        claims: { mail: 'a@b.c' },
        identity: { email: 'a@b.c', emailVerified: true },
      },
      {
        name: 'no e-mail is verified where there is none',
        claims: { email: undefined },
        identity: { email: null, emailVerified: false },
      },
      {
        name: 'groupsClaim names the groups',
        settings: { groupsClaim: 'roles' },
        claims: { roles: ['ops'] },
        identity: { groups: [{ name: 'ops', displayName: null }] },
      },
      {
        name: 'a text is one group',
        claims: { groups: 'ops' },
        identity: { groups: [{ name: 'ops', displayName: null }] },
      },
      {
        name: 'a group twice is one',
        claims: { groups: ['ops', 'ops', ''] },
        identity: { groups: [{ name: 'ops', displayName: null }] },
      },
      { name: 'no claim means no groups', claims: { groups: undefined }, identity: { groups: [] } },
      { name: 'null means no groups', claims: { groups: null }, identity: { groups: [] } },
      {
        name: 'groups count where they are there and elsewhere, too',
        claims: { groups: ['ops'], _claim_names: { groups: 'src1' } },
        identity: { groups: [{ name: 'ops', displayName: null }] },
      },
      {
        name: 'groupsPrefix is added later',
        settings: { groupsPrefix: 'idp-' },
        identity: {
          groupsPrefix: 'idp-',
          groups: [
            { name: 'sre', displayName: null },
            { name: 'dev', displayName: null },
          ],
        },
      },
      {
        name: 'one of groups is enough, and filters nothing',
        settings: { groups: ['x', 'dev'], groupsPrefix: 'idp-' },
        identity: {
          groups: [
            { name: 'sre', displayName: null },
            { name: 'dev', displayName: null },
          ],
        },
      },
      {
        name: 'allowedExtraClaims are taken over, and no others',
        settings: { allowedExtraClaims: ['dept', 'absent', 'constructor', '__proto__'] },
        claims: { dept: { id: [1] }, other: 1 },
        identity: { extraClaims: { dept: { id: [1] } } },
      },
      {
        name: 'a long display name is cut',
        claims: { name: 'x'.repeat(300) },
        identity: { displayName: 'x'.repeat(256) },
      },
      {
        name: 'a display name of another type is none',
        claims: { name: ['Ada'] },
        identity: { displayName: null },
      },
      {
        name: 'an empty setting is none',
        settings: {
          usernameClaim: '',
          platformUsernameClaim: '',
          preferredUsername: '',
          emailClaim: '',
          groupsClaim: '',
          groups: [],
        },
        identity: { username: 'ada', userId: '7' },
      },
    ]),
  )('$name (25.6)', ({ settings = {}, claims = {}, identity }) => {
    expect(identityOf(claimsOf(claims), settings)).toMatchObject(identity)
  })

  test.each(
    refusals([
      {
        name: 'an e-mail as the name whose email_verified is false',
        settings: { platformUsernameClaim: 'email' },
        claims: { email_verified: false },
        refusal: { reason: 'name_refused' },
      },
      {
        name: 'an e-mail as the name whose email_verified is a text',
        settings: { platformUsernameClaim: 'email' },
        claims: { email_verified: 'false' },
        refusal: { reason: 'name_refused' },
      },
      {
        name: 'an e-mail as preferredUsername that is not verified',
        settings: { preferredUsername: 'email' },
        claims: { email_verified: false },
        refusal: { reason: 'name_refused' },
      },
      {
        name: 'another emailClaim as the name that is not verified',
        settings: { emailClaim: 'mail', platformUsernameClaim: 'mail' },
        claims: { mail: 'a@b.c', email_verified: false },
        refusal: { reason: 'name_refused' },
      },
      {
        name: 'a person of none of the required groups',
        settings: { groups: ['SRE', 'sr'] },
        refusal: { reason: 'groups_required', detail: 'groups' },
      },
      {
        name: 'a person without groups where one is required',
        settings: { groups: ['sre'] },
        claims: { groups: undefined },
        refusal: { reason: 'groups_required' },
      },
      {
        name: 'required groups after the prefix',
        settings: { groups: ['idp-sre'], groupsPrefix: 'idp-' },
        refusal: { reason: 'groups_required' },
      },
      {
        name: 'groups that are a map',
        claims: { groups: { sre: true } },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'groups that are numbers',
        claims: { groups: [1] },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'groups that are a number',
        claims: { groups: 7 },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'a group of 1,025 characters',
        claims: { groups: ['x'.repeat(1025)] },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'more than 5,000 groups',
        claims: { groups: Array.from({ length: 5001 }, (_, at) => `g${at}`) },
        refusal: { reason: 'groups_unreadable' },
      },
      {
        name: 'groups that are elsewhere',
        claims: { groups: undefined, _claim_names: { groups: 'src1' } },
        refusal: { reason: 'groups_unreadable' },
      },
      {
        name: 'a user id that is absent',
        settings: { usernameClaim: 'oid' },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'a user id of 1,025 characters',
        settings: { usernameClaim: 'oid' },
        claims: { oid: 'x'.repeat(1025) },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'a user name that is a list',
        claims: { preferred_username: ['ada'] },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'an e-mail that is a map',
        claims: { email: {} },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'extra claims of more than 16 KiB',
        settings: { allowedExtraClaims: ['dept'] },
        claims: { dept: 'ä'.repeat(8200) },
        refusal: { reason: 'provider_answer' },
      },
      {
        name: 'a subject of the prototype',
        claims: { sub: undefined },
        settings: { usernameClaim: 'constructor' },
        refusal: { reason: 'provider_answer' },
      },
    ]),
  )('$name is refused (25.5, 25.6, SC, SD)', ({ settings = {}, claims = {}, refusal }) => {
    const refused = refusalOf(() => identityOf(claimsOf(claims), settings))
    expect(refused).toMatchObject(refusal)
    expect(String(refused)).not.toMatch(/ada@|sre|xxx/)
  })

  test('5,000 groups, and extra claims of 16 KiB, are within the bounds (25.6)', () => {
    const groups = Array.from({ length: 5000 }, (_, at) => `g${at}`)
    const dept = 'x'.repeat(16_384 - '{"dept":""}'.length)
    const settings = { allowedExtraClaims: ['dept'] }
    expect(identityOf(claimsOf({ groups, dept }), settings)).toMatchObject({ userId: '7' })
    const larger = refusalOf(() => identityOf(claimsOf({ dept: `${dept}x` }), settings))
    expect(larger).toMatchObject({ reason: 'provider_answer' })
  })
})
