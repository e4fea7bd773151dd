import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { audiencesOf, claimsOf } from '../../../../src/domain/token/token-claims.ts'
import { isSendableScope, readClaims } from '../../../../src/domain/token/verified-token.ts'
import { HOSTILE_NAMES, type Members, badClaims } from '../../../direct/forged-tokens.ts'

const ISSUER = 'https://platform.example.com/oidc'
const NOW = Date.parse('2026-11-21T10:00:00Z') / 1000
const JTI = '0e7c5f52-3a8c-4a47-9f3c-6f3c5a5f8a10'
const VERIFIER = { issuer: ISSUER, cluster: 'east' }
const HOUR = 3600

const subject = {
  identity: 'user:ada',
  groups: ['dev'],
  teams: [],
  name: 'ci',
  uid: 'uid-ci',
  scope: null,
  isOwnerScoped: false,
}
const sound = claimsOf(subject, {
  issuer: ISSUER,
  jti: JTI,
  creationMs: NOW * 1000,
  expiresMs: (NOW + HOUR) * 1000,
})
const own = sound['platform.sh']

const read = (changed: Members = {}) => {
  // As in the payload of a token: undefined removes a claim.
  const claims = JSON.parse(JSON.stringify({ ...sound, ...changed })) as JsonMap
  return readClaims(claims, VERIFIER)
}
const isAccepted = (changed: Members): boolean => read(changed).ok

test('the claims that the operator signs are read as they are (7.1, 9.2)', () => {
  expect(read()).toEqual({
    ok: true,
    token: {
      jti: JTI,
      subject: 'user:ada',
      groups: ['authenticated', 'user:ada', 'group:dev'],
      name: 'ci',
      scope: '*',
      issuedMs: NOW * 1000,
      expiresMs: (NOW + HOUR) * 1000,
    },
    scope: null,
  })
})

describe('the audiences that the operator signs (7.1, 9.2)', () => {
  const at = (cluster: string): Scope => ({ clusters: [{ cluster }] })
  test.each([
    { name: 'every cluster', scope: null, accepted: true },
    { name: 'this cluster', scope: at('east'), accepted: true },
    { name: 'another cluster', scope: at('west'), accepted: false },
    { name: 'a suffix of the name', scope: at('ast'), accepted: false },
    {
      name: 'two clusters, one of which is this',
      scope: { clusters: [{ cluster: 'west' }, { cluster: 'east' }] },
      accepted: true,
    },
  ])('for $name: accepted is $accepted, scoped or not', ({ scope, accepted }) => {
    for (const isOwnerScoped of [false, true])
      expect(isAccepted({ aud: audiencesOf(ISSUER, scope, isOwnerScoped) })).toBe(accepted)
  })
})

/** A stock API server refuses these, since it enforces no scope and has a limit of a day. */
const ACCEPTED_HERE = ['a lifetime a second too long', 'scoped', 'scoped to this cluster']
/** The time is looked at with every request. */
const TIMES = ['expired', 'iat and nbf in the future']

describe('claims that are not sound (9.2; threats D2, D3)', () => {
  const bad = badClaims(ISSUER, 'east', NOW, { ...own })
  test.each(bad.filter(({ name }) => ![...ACCEPTED_HERE, ...TIMES].includes(name)))(
    '$name',
    ({ claims }) => expect(isAccepted(claims)).toBe(false),
  )
  test.each(bad.filter(({ name }) => ACCEPTED_HERE.includes(name)))(
    'are sound here: $name',
    ({ claims }) => expect(isAccepted(claims)).toBe(true),
  )

  const platform = (changed: Members): Members => ({ 'platform.sh': { ...own, ...changed } })
  test.each([
    { name: 'a lifetime of 120 h and a second', claims: { exp: NOW + 120 * HOUR + 1 } },
    { name: 'exp a fraction', claims: { exp: NOW + 0.5 } },
    { name: 'exp negative', claims: { exp: -1 } },
    { name: 'iat and nbf a fraction', claims: { iat: NOW + 0.5, nbf: NOW + 0.5 } },
    { name: 'nbf after iat', claims: { nbf: NOW + 1 } },
    { name: 'aud a string', claims: { aud: ISSUER } },
    { name: 'aud in a nested list', claims: { aud: [[ISSUER]] } },
    { name: 'a jti in capitals', claims: { jti: JTI.toUpperCase() } },
    { name: 'a jti with a line break', claims: { jti: `${JTI}\n` } },
    { name: 'sub of an unknown kind', claims: { sub: 'group:dev' } },
    { name: 'sub a name of Object', claims: { sub: 'constructor:ada' } },
    { name: 'groups null', claims: { groups: null } },
    { name: 'an empty group', claims: { groups: [''] } },
    { name: 'a group with a space', claims: { groups: ['group:a b'] } },
    { name: 'the platform claim a list', claims: { 'platform.sh': [own] } },
    { name: 'the platform claim null', claims: { 'platform.sh': null } },
    { name: 'a kind that is not of sub', claims: platform({ kind: 'Team' }) },
    { name: 'without a kind', claims: platform({ kind: undefined }) },
    { name: 'a name with a space', claims: platform({ name: 'c i' }) },
    { name: 'a name outside ASCII', claims: platform({ name: 'cí' }) },
    { name: 'a name that is a number', claims: platform({ name: 1 }) },
    { name: 'a uid that is a number', claims: platform({ uid: 1 }) },
    { name: 'without a uid', claims: platform({ uid: undefined }) },
    { name: 'without a scope', claims: platform({ scope: undefined }) },
    { name: 'a scope that is no JSON', claims: platform({ scope: '{' }) },
    { name: 'a scope that is a list', claims: platform({ scope: '[]' }) },
    { name: 'a scope that is null', claims: platform({ scope: 'null' }) },
    { name: 'a scope with a name twice', claims: platform({ scope: '{"rules":[],"rules":[]}' }) },
    { name: 'a scope with a space at its end', claims: platform({ scope: '{} ' }) },
    { name: 'a scope with a line break', claims: platform({ scope: '{\n}' }) },
    { name: 'a scope with DEL', claims: platform({ scope: '{"roles":[{"role":"\x7f"}]}' }) },
  ])('$name', ({ claims }) => {
    expect(isAccepted(claims)).toBe(false)
  })
})

describe('claims at their bounds (9.2)', () => {
  test.each([
    { name: 'a lifetime of 120 h', claims: { exp: NOW + 120 * HOUR } },
    { name: 'no groups', claims: { groups: undefined } },
    { name: 'a claim of no meaning', claims: { nonce: 'x' } },
    { name: 'a colon in a name', claims: { sub: 'user:a:b' } },
    { name: 'a scope that grants nothing', claims: { 'platform.sh': { ...own, scope: '{}' } } },
  ])('$name', ({ claims }) => {
    expect(isAccepted(claims)).toBe(true)
  })

  test('a scope that is not "*" never counts as unrestricted', () => {
    const scope = '{"clusters":[{"cluster":"east"}]}'
    expect(read({ 'platform.sh': { ...own, scope } })).toMatchObject({
      scope: { clusters: [{ cluster: 'east' }] },
      token: { scope },
    })
  })

  test('a claim __proto__ gives no value to others', () => {
    const text = JSON.stringify({ ...sound, sub: undefined })
    const claims = JSON.parse(`${text.slice(0, -1)},"__proto__":{"sub":"user:eve"}}`) as JsonMap
    expect(readClaims(claims, VERIFIER)).toEqual({ ok: false, claim: 'sub' })
  })
})

describe('hostile names (9.2; threats D7)', () => {
  test.each(HOSTILE_NAMES.map((name) => ({ name })))('$name', ({ name }) => {
    const kind = name.startsWith('token:') ? 'Token' : 'User'
    const result = read({ sub: name, groups: [name], 'platform.sh': { ...own, kind } })
    const isName = /^(?:user|token):[!-~]+$/.test(name)
    expect(result).toMatchObject(
      isName ? { ok: true, token: { subject: name, groups: [name] } } : { ok: false },
    )
  })
})

test('a scope with any text of JSON.stringify can be sent, apart from control characters (10.5)', () => {
  expect(isSendableScope(JSON.stringify({ roles: [{ role: 'ä \u2028 😀 "\n\t' }] }))).toBe(true)
  for (const text of ['', ' ', 'a\n', '\x7f', ' {}']) expect(isSendableScope(text)).toBe(false)
})
