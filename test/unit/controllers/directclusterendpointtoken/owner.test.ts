import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { namesUnder, ownerOf } from '../../../../src/controllers/indexes/tokens.ts'
import { keysIn } from '../../../../src/controllers/indexes/access-keys.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import { keysAffectedBy } from '../../../../src/domain/accesskey/owner-chain.ts'
import { DAY_MS, after, t0, textAfter, viewOf } from '../../../support/key-builder.ts'
import { type Parts, keyObject, userObject } from '../../../support/object-builder.ts'
import {
  UNDER_CI,
  issuedObject,
  keyStore,
  owner,
  referenceTo,
  token,
  tokenObject,
  tokenStore,
  withMetadata,
} from '../../../support/token-builder.ts'
import { IDENTITY_GONE_ANNOTATION } from '../../../../src/api/names.ts'
import { peopleOf } from '../../people/people-builder.ts'

const NOBODY = peopleOf([], [])

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }
const KEY = 'k'.repeat(32)

const key = ({ metadata, spec }: Parts<OwnedAccessKeyObject> = {}) =>
  keyObject({ ...(metadata ? { metadata } : {}), spec: { user: 'ada', key: KEY, ...spec } })
const olderKey = { metadata: { name: 'old', creationTimestamp: textAfter(-9) } }

describe('the state of the access key that the owner reference names (5.4)', () => {
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly keys: readonly OwnedAccessKeyObject[]
    readonly cap?: number
    readonly state: string
    readonly expires?: number
  }[] = [
    { name: 'active', keys: [key()], state: 'Active' },
    { name: 'active, with an end', keys: [key({ spec: { ttl: 90 } })], state: 'Active', expires: 90 },
    { name: 'active, with an end by the cap', keys: [key()], cap: 80, state: 'Active', expires: 80 },
    { name: 'expired', keys: [key({ spec: { ttl: 60 } })], state: 'Expired', expires: 60 },
    { name: 'disabled', keys: [key({ spec: { disabled: true } })], state: 'Disabled' },
    { name: 'being deleted', keys: [key({ metadata: { deletionTimestamp: textAfter(9) } })], state: 'Terminating' },
    { name: 'without an identity', keys: [key({ spec: { user: '' } })], state: 'NoIdentity' },
    { name: 'without a secret yet', keys: [key({ spec: { key: '' } })], state: 'Active' },
    { name: 'two keys without a secret yet', keys: [key({ spec: { key: '' } }), key({ ...olderKey, spec: { key: '' } })], state: 'Active' },
    { name: 'an older key has the same secret', keys: [key(), key(olderKey)], state: 'KeyConflict' },
    { name: 'a younger key has the same secret', keys: [key(), key({ metadata: { name: 'new', creationTimestamp: textAfter(9) } })], state: 'Active' },
  ]
  test.each(rows)('$name: $state', ({ keys, cap = null, state, expires }) => {
    const found = ownerOf(
      token({ metadata: UNDER_CI }),
      keysIn(keyStore(...keys), NOBODY),
      { maxTtlSeconds: cap, loginTtlSeconds: null },
      after(60),
    )
    expect(found).toMatchObject({ key: { name: 'ci', uid: 'uid-ci' }, state })
    expect(found?.expiresMs).toBe(expires === undefined ? null : after(expires))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'without an owner reference', metadata: {} },
    { name: 'with a reference to a missing key', metadata: { ownerReferences: [referenceTo({ name: 'x', uid: 'uid-ci' })] } },
    { name: 'with a reference to another uid', metadata: { ownerReferences: [referenceTo({ name: 'ci', uid: 'uid-old' })] } },
  ])('a token $name has no owner', ({ metadata }) => {
    expect(ownerOf(token({ metadata }), keysIn(keyStore(key()), NOBODY), NO_CAPS, t0)).toBeNull()
  })
})

describe('what ends tokens under a key for good (5.4, 24.5)', () => {
  const stale = { type: 'Login' as const, identityRefresh: textAfter(-86_401) }
  const gone = (reason: string) => ({
    annotations: { [IDENTITY_GONE_ANNOTATION]: `${textAfter(0)} ${reason}` },
  })
  const disabled = [userObject({ spec: { disabled: true } })]
  const login = (spec: object) =>
    key({ metadata: { name: 'login', uid: 'uid-login' }, spec: { key: 'l'.repeat(32), ...spec } })
  const underLogin = { ownerReferences: [referenceTo({ name: 'login', uid: 'uid-login' })] }

  // biome-ignore format: a table
  test.each<{ name: string; keys: OwnedAccessKeyObject[]; users?: ReturnType<typeof userObject>[]; state: string; end: object | null }>([
    { name: 'an active key', keys: [key()], state: 'Active', end: null },
    { name: 'a disabled User', keys: [key()], users: disabled, state: 'UserDisabled', end: { state: 'UserDisabled', above: null } },
    { name: 'a person who is gone', keys: [key({ metadata: gone('IdentityGone') })], state: 'IdentityGone', end: { state: 'IdentityGone', above: null } },
    { name: 'a sign-in that was not confirmed for a day', keys: [key({ spec: stale })], state: 'IdentityStale', end: null },
    { name: 'a sign-in that needs another one', keys: [key({ metadata: gone('SignInAgain') })], state: 'SignInAgain', end: null },
    { name: 'a stale sign-in that is disabled', keys: [key({ spec: { ...stale, disabled: true } })], state: 'IdentityStale', end: { state: 'Disabled', above: null } },
    { name: 'a stale sign-in that has expired', keys: [key({ spec: { ...stale, ttl: 30 } })], state: 'IdentityStale', end: { state: 'Expired', above: null } },
    { name: 'a stale sign-in under a disabled key', keys: [key({ metadata: underLogin, spec: stale }), login({ disabled: true })], state: 'IdentityStale', end: { state: 'Disabled', above: 'login' } },
    { name: 'a stale sign-in under a key whose person is gone', keys: [key({ metadata: underLogin, spec: stale }), key({ metadata: { name: 'login', uid: 'uid-login', ...gone('IdentityGone') }, spec: { key: 'l'.repeat(32) } })],
      state: 'IdentityStale', end: { state: 'IdentityGone', above: 'login' } },
    { name: 'a key under a stale sign-in', keys: [key({ metadata: underLogin }), login(stale)], state: 'IdentityStale', end: null },
    { name: 'a key under a stale sign-in of a disabled User', keys: [key({ metadata: underLogin }), login(stale)], users: disabled, state: 'UserDisabled', end: { state: 'UserDisabled', above: null } },
    { name: 'a key under a stale sign-in that is gone as well', keys: [key({ metadata: underLogin }), login({ ...stale, disabled: true })], state: 'IdentityStale', end: { state: 'Disabled', above: 'login' } },
  ])('$name: $state', ({ keys, users = [], state, end }) => {
    const known = keysIn(keyStore(...keys), peopleOf(users, []))
    expect(ownerOf(token({ metadata: UNDER_CI }), known, NO_CAPS, after(60))).toMatchObject({ state, end })
  })
})

describe('the keys that own the owner count too (5.4, 10.3, 12.3)', () => {
  const CLUSTER = { clusters: [{ cluster: 'a' }] }
  const ci = (spec: OwnedAccessKeyObject['spec'] = {}) =>
    key({
      metadata: { ownerReferences: [referenceTo({ name: 'login', uid: 'uid-login' })] },
      spec,
    })
  const login = (parts: Parts<OwnedAccessKeyObject> = {}) =>
    key({
      ...parts,
      metadata: { name: 'login', uid: 'uid-login', ...parts.metadata },
      spec: { key: 'l'.repeat(32), ...parts.spec },
    })
  const top = { ownerReferences: [referenceTo({ name: 'top', uid: 'uid-top' })] }

  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly keys: readonly OwnedAccessKeyObject[]
    readonly state: string
    readonly above: string | null
    readonly expires?: number
    readonly scope?: Scope
  }[] = [
    { name: 'all active', keys: [ci(), login()], state: 'Active', above: null },
    { name: 'the owner and its own owner are disabled', keys: [ci({ disabled: true }), login({ spec: { disabled: true } })], state: 'Disabled', above: null },
    { name: 'its owner is disabled', keys: [ci(), login({ spec: { disabled: true } })], state: 'Disabled', above: 'login' },
    { name: 'its owner is being deleted', keys: [ci(), login({ metadata: { deletionTimestamp: textAfter(9) } })], state: 'Terminating', above: 'login' },
    { name: 'its owner has expired', keys: [ci(), login({ spec: { ttl: 60 } })], state: 'Expired', above: 'login', expires: 60 },
    { name: 'its owner ends earlier', keys: [ci({ ttl: 600 }), login({ spec: { ttl: 90 } })], state: 'Active', above: null, expires: 90 },
    { name: 'its owner has no identity', keys: [ci(), login({ spec: { user: '' } })], state: 'NoIdentity', above: 'login' },
    { name: 'its owner has the secret of an older key', keys: [ci(), login(), key({ ...olderKey, spec: { key: 'l'.repeat(32) } })], state: 'KeyConflict', above: 'login' },
    { name: 'its owner is deleted', keys: [ci()], state: 'Gone', above: 'login' },
    { name: 'the owner of its owner is disabled', keys: [ci(), login({ metadata: top }), key({ metadata: { name: 'top', uid: 'uid-top' }, spec: { key: 't'.repeat(32), disabled: true } })], state: 'Disabled', above: 'top' },
    { name: 'its owner was narrowed below it', keys: [ci({ scope: { clusters: [{ cluster: 'a' }, { cluster: 'b' }] } }), login({ spec: { scope: CLUSTER } })], state: 'Exceeded', above: 'login', scope: { clusters: [{ cluster: 'a' }, { cluster: 'b' }] } },
    { name: 'its owner has a scope, and it inherits that', keys: [ci(), login({ spec: { scope: CLUSTER } })], state: 'Active', above: null, scope: CLUSTER },
  ]
  test.each(rows)('$name: $state', ({ keys, state, above, expires, scope = null }) => {
    const known = keysIn(keyStore(...keys), NOBODY)
    const found = ownerOf(token({ metadata: UNDER_CI }), known, NO_CAPS, after(60))
    expect(found).toMatchObject({ key: { name: 'ci', scope }, state, above })
    expect(found?.expiresMs).toBe(expires === undefined ? null : after(expires))
  })

  test('a change of a key concerns the tokens of all keys that it owns', () => {
    const tokens = tokenStore(tokenObject({ metadata: UNDER_CI }))
    const keys = keyStore(ci(), login())
    const now = keys.get('login')
    expect(
      namesUnder(keysAffectedBy({ before: now, after: now }, keysIn(keys, NOBODY)), tokens),
    ).toEqual(['deploy'])
  })
})

describe('a change of a key requeues its tokens (5.4)', () => {
  const under = (name: string, uid: string) => ({
    name,
    uid: `uid-${name}`,
    ownerReferences: [referenceTo({ name: 'ci', uid })],
  })
  const out = (name: string) =>
    issuedObject({ metadata: under(name, 'uid-ci') }, { owner: owner() })
  const tokens = tokenStore(
    tokenObject({ metadata: { name: 'alone', uid: 'uid-alone' } }),
    tokenObject({ metadata: under('waits', 'uid-ci') }),
    out('out'),
    withMetadata(out('stripped'), { ownerReferences: [] }),
    tokenObject({ metadata: under('other', 'uid-new') }),
  )
  const ci = viewOf({})
  const recreated = viewOf({ metadata: { uid: 'uid-new' } })

  // biome-ignore format: a table
  test.each([
    { name: 'modified', before: ci, after: ci, touched: ['waits', 'out', 'stripped'] },
    { name: 'added', before: undefined, after: ci, touched: ['waits', 'out', 'stripped'] },
    { name: 'deleted', before: ci, after: undefined, touched: ['waits', 'out', 'stripped'] },
    { name: 'replaced by another key of that name', before: ci, after: recreated, touched: ['waits', 'out', 'stripped', 'other'] },
    { name: 'a key without tokens', before: undefined, after: viewOf({ metadata: { uid: 'x' } }), touched: [] },
  ])('$name', ({ before, after: now, touched }) => {
    expect(namesUnder(keysAffectedBy({ before, after: now }, keysIn(keyStore(), NOBODY)), tokens)).toEqual(touched)
  })
})

test('an ignored use does not extend the owner (2.9)', () => {
  const used = {
    ...key({ spec: { ttl: 60, ttlAfterLastActivity: true } }),
    status: { lastActivity: textAfter(9e5) },
  }
  const found = ownerOf(
    token({ metadata: UNDER_CI }),
    keysIn(keyStore(used), NOBODY),
    NO_CAPS,
    t0 + DAY_MS,
  )
  expect(found?.state).toBe('Expired')
})
