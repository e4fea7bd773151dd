import { describe, expect, test } from 'vitest'
import { claimsOf } from '../../../../src/domain/token/token-claims.ts'
import { issuedScopeOf, parseIssuedToken } from '../../../../src/domain/token/issued-token.ts'
import { tokenText } from '../../../support/token-builder.ts'

const UID = '0b1c2d3e-0000-4000-8000-000000000001'

const CLAIMS = {
  jti: UID,
  sub: 'user:ada',
  groups: ['authenticated', 'user:ada', 'group:ops'],
  exp: 1_795_255_200,
  'platform.sh': { scope: '*' },
}

/** The three parts of a JWS with this text as payload. */
const withPayload = (payload: string): string =>
  `e30.${Buffer.from(payload).toString('base64url')}.c2ln`

describe('the claims of an issued token (5.4, 7.1)', () => {
  test('parse to the signed claims', () => {
    const scope = { projects: [{ project: 'größe-¿?' }] }
    const bearer = {
      identity: 'team:w',
      groups: ['b', 'a'],
      teams: [],
      name: 'ci',
      uid: 'x',
      scope,
      isOwnerScoped: false,
    }
    const issue = { issuer: 'https://i', jti: UID, creationMs: 1000, expiresMs: 61_000 }
    expect(parseIssuedToken(tokenText(claimsOf(bearer, issue)), UID)).toEqual({
      identity: 'team:w',
      groups: 'authenticated\ngroup:a\ngroup:b\nteam:w',
      teams: [],
      scope: '{"projects":[{"project":"größe-¿?"}]}',
      isConfined: true,
      expiresMs: 61_000,
    })
  })

  // biome-ignore format: a table
  test.each([
    { aud: ['https://i/scoped'], isConfined: true },
    { aud: ['https://i/scoped/clusters/a', 'https://i/scoped/clusters/b'], isConfined: true },
    { aud: ['https://i'], isConfined: false },
    { aud: ['https://i/clusters/scoped'], isConfined: false },
    { aud: ['https://i/scoped', 'https://i'], isConfined: false },
    { aud: ['https://i/scopedtoo'], isConfined: false },
    { aud: ['https://j/scoped'], isConfined: false },
    { aud: [], isConfined: false },
    { aud: 'https://i/scoped', isConfined: false },
    { aud: undefined, isConfined: false },
  ])('with audiences $aud are only for verifiers that enforce scopes: $isConfined', ({ aud, isConfined }) => {
    const text = tokenText({ ...CLAIMS, iss: 'https://i', aud })
    expect(parseIssuedToken(text, UID)).toMatchObject({ isConfined })
  })

  test('are decoded from the base64url alphabet', () => {
    const sub = 'user:>>>>???? größe €'
    const text = tokenText({ ...CLAIMS, sub })
    expect(text).toMatch(/-.*_/)
    expect(parseIssuedToken(text, UID)?.identity).toBe(sub)
  })

  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly text: string }[] = [
    { name: 'the empty text', text: '' },
    { name: 'only dots', text: '..' },
    { name: 'not a JWS', text: 'x.y.z' },
    { name: 'not base64', text: 'e30.%%%.c2ln' },
    { name: 'not JSON', text: withPayload('{') },
    { name: 'null', text: withPayload('null') },
    { name: 'a text', text: withPayload('"x"') },
    { name: 'a list', text: withPayload('[]') },
    { name: 'without claims', text: withPayload('{}') },
    { name: 'of another object', text: tokenText({ ...CLAIMS, jti: 'x' }) },
    { name: 'without jti', text: tokenText({ ...CLAIMS, jti: undefined }) },
    { name: 'without sub', text: tokenText({ ...CLAIMS, sub: undefined }) },
    { name: 'sub is not a text', text: tokenText({ ...CLAIMS, sub: 1 }) },
    { name: 'without groups', text: tokenText({ ...CLAIMS, groups: undefined }) },
    { name: 'groups are a text', text: tokenText({ ...CLAIMS, groups: 'ops' }) },
    { name: 'without exp', text: tokenText({ ...CLAIMS, exp: undefined }) },
    { name: 'exp is a text', text: tokenText({ ...CLAIMS, exp: '1795255200' }) },
    { name: 'exp has a fraction', text: tokenText({ ...CLAIMS, exp: 1.5 }) },
    { name: 'exp is too large', text: tokenText({ ...CLAIMS, exp: 2 ** 53 }) },
    { name: 'exp is null', text: tokenText({ ...CLAIMS, exp: null }) },
    { name: 'without the private claim', text: tokenText({ ...CLAIMS, 'platform.sh': undefined }) },
    { name: 'the private claim is null', text: tokenText({ ...CLAIMS, 'platform.sh': null }) },
    { name: 'the private claim is a text', text: tokenText({ ...CLAIMS, 'platform.sh': '*' }) },
    { name: 'without scope', text: tokenText({ ...CLAIMS, 'platform.sh': {} }) },
    { name: 'an empty scope', text: tokenText({ ...CLAIMS, 'platform.sh': { scope: '' } }) },
    { name: 'the scope is an object', text: tokenText({ ...CLAIMS, 'platform.sh': { scope: {} } }) },
    { name: 'the scope is a list', text: tokenText({ ...CLAIMS, 'platform.sh': { scope: '[]' } }) },
    { name: 'the scope is null', text: tokenText({ ...CLAIMS, 'platform.sh': { scope: 'null' } }) },
    { name: 'the scope is not JSON', text: tokenText({ ...CLAIMS, 'platform.sh': { scope: '**' } }) },
  ]
  test.each(rows)('are null for a malformed token: $name', ({ text }) => {
    expect(parseIssuedToken(text, UID)).toBeNull()
  })
})

test.each([
  { scope: '*', gives: null },
  { scope: '{"clusters":[{"cluster":"a"}]}', gives: { clusters: [{ cluster: 'a' }] } },
])('the scope that a token was issued with is $scope', ({ scope, gives }) => {
  expect(
    issuedScopeOf({ identity: '', groups: '', teams: [], expiresMs: 0, scope, isConfined: false }),
  ).toEqual(gives)
})

// biome-ignore format: a table
test.each([
  { name: 'of a user', sub: 'user:ada', groups: ['authenticated', 'user:ada', 'team:a', 'team:a:b', 'group:team:x'],
    teams: ['a', 'a:b'], others: 'authenticated\ngroup:team:x\nuser:ada' },
  { name: 'of a team', sub: 'team:a', groups: ['authenticated', 'team:a'], teams: [], others: 'authenticated\nteam:a' },
  { name: 'of a subject', sub: 'subject:s', groups: ['authenticated', 'team:a'], teams: [], others: 'authenticated\nteam:a' },
])('the teams of an issued token $name are apart from its other groups (5.4)', ({ sub, groups, teams, others }) => {
  const issued = parseIssuedToken(tokenText({ ...CLAIMS, sub, groups }), UID)
  expect(issued).toMatchObject({ teams, groups: others })
})

test('the groups of an issued token are the same text in any order, repeated or not', () => {
  const groupsOf = (...groups: readonly string[]): string | undefined =>
    parseIssuedToken(tokenText({ ...CLAIMS, groups }), UID)?.groups
  expect(groupsOf('b', 'a', 'b')).toBe(groupsOf('a', 'b'))
  expect(groupsOf('a', 'b')).toBe('a\nb')
  expect(groupsOf('a', 'b')).not.toBe(groupsOf('a'))
  expect(groupsOf('ab')).not.toBe(groupsOf('a', 'b'))
})
