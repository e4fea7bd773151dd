import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import {
  namesUnder,
  ownerOf,
} from '../../../../src/controllers/directclusterendpointtoken/indexes.ts'
import { keysIn } from '../../../../src/controllers/ownedaccesskey/indexes.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import { keysAffectedBy } from '../../../../src/domain/accesskey/owner-chain.ts'
import { DAY_MS, after, t0, textAfter, viewOf } from '../../../support/key-builder.ts'
import { type Parts, keyObject } from '../../../support/object-builder.ts'
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

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }
const KEY = 'k'.repeat(32)

const key = ({ metadata, spec }: Parts<OwnedAccessKeyObject> = {}) =>
  keyObject({ ...(metadata ? { metadata } : {}), spec: { user: 'ada', key: KEY, ...spec } })
const elder = { metadata: { name: 'old', creationTimestamp: textAfter(-9) } }

describe('the access key that the reference names, as it is now (5.4)', () => {
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly keys: readonly OwnedAccessKeyObject[]
    readonly cap?: number
    readonly state: string
    readonly expires?: number
  }[] = [
    { name: 'it works', keys: [key()], state: 'Active' },
    { name: 'it ends', keys: [key({ spec: { ttl: 90 } })], state: 'Active', expires: 90 },
    { name: 'the cap ends it', keys: [key()], cap: 80, state: 'Active', expires: 80 },
    { name: 'its end came', keys: [key({ spec: { ttl: 60 } })], state: 'Expired', expires: 60 },
    { name: 'it is disabled', keys: [key({ spec: { disabled: true } })], state: 'Disabled' },
    { name: 'it is being deleted', keys: [key({ metadata: { deletionTimestamp: textAfter(9) } })], state: 'Terminating' },
    { name: 'it stands for nobody', keys: [key({ spec: { user: '' } })], state: 'NoIdentity' },
    { name: 'it has no secret yet', keys: [key({ spec: { key: '' } })], state: 'Active' },
    { name: 'two have no secret yet', keys: [key({ spec: { key: '' } }), key({ ...elder, spec: { key: '' } })], state: 'Active' },
    { name: 'an older one has its secret', keys: [key(), key(elder)], state: 'KeyConflict' },
    { name: 'a younger one has its secret', keys: [key(), key({ metadata: { name: 'new', creationTimestamp: textAfter(9) } })], state: 'Active' },
  ]
  test.each(rows)('$name: $state', ({ keys, cap = null, state, expires }) => {
    const found = ownerOf(
      token({ metadata: UNDER_CI }),
      keysIn(keyStore(...keys)),
      { maxTtlSeconds: cap, loginTtlSeconds: null },
      after(60),
    )
    expect(found).toMatchObject({ key: { name: 'ci', uid: 'uid-ci' }, state })
    expect(found?.expiresMs).toBe(expires === undefined ? null : after(expires))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'there is no reference', metadata: {} },
    { name: 'it names no key', metadata: { ownerReferences: [referenceTo({ name: 'x', uid: 'uid-ci' })] } },
    { name: 'the key of that name has another uid', metadata: { ownerReferences: [referenceTo({ name: 'ci', uid: 'uid-old' })] } },
  ])('none: $name', ({ metadata }) => {
    expect(ownerOf(token({ metadata }), keysIn(keyStore(key())), NO_CAPS, t0)).toBeNull()
  })
})

describe('what the keys that own the owner make of it (5.4, 10.3, 12.3)', () => {
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
    { name: 'all work', keys: [ci(), login()], state: 'Active', above: null },
    { name: 'it is itself disabled, and so is its owner', keys: [ci({ disabled: true }), login({ spec: { disabled: true } })], state: 'Disabled', above: null },
    { name: 'its owner is disabled', keys: [ci(), login({ spec: { disabled: true } })], state: 'Disabled', above: 'login' },
    { name: 'its owner is being deleted', keys: [ci(), login({ metadata: { deletionTimestamp: textAfter(9) } })], state: 'Terminating', above: 'login' },
    { name: 'its owner has expired', keys: [ci(), login({ spec: { ttl: 60 } })], state: 'Expired', above: 'login', expires: 60 },
    { name: 'its owner ends earlier', keys: [ci({ ttl: 600 }), login({ spec: { ttl: 90 } })], state: 'Active', above: null, expires: 90 },
    { name: 'its owner stands for nobody', keys: [ci(), login({ spec: { user: '' } })], state: 'NoIdentity', above: 'login' },
    { name: 'its owner has the secret of an older one', keys: [ci(), login(), key({ ...elder, spec: { key: 'l'.repeat(32) } })], state: 'KeyConflict', above: 'login' },
    { name: 'its owner is gone', keys: [ci()], state: 'Gone', above: 'login' },
    { name: 'the owner of its owner is disabled', keys: [ci(), login({ metadata: top }), key({ metadata: { name: 'top', uid: 'uid-top' }, spec: { key: 't'.repeat(32), disabled: true } })], state: 'Disabled', above: 'top' },
    { name: 'its owner was narrowed below it', keys: [ci({ scope: { clusters: [{ cluster: 'a' }, { cluster: 'b' }] } }), login({ spec: { scope: CLUSTER } })], state: 'Exceeded', above: 'login', scope: { clusters: [{ cluster: 'a' }, { cluster: 'b' }] } },
    { name: 'its owner has a scope, and it has none', keys: [ci(), login({ spec: { scope: CLUSTER } })], state: 'Active', above: null, scope: CLUSTER },
  ]
  test.each(rows)('$name: $state', ({ keys, state, above, expires, scope = null }) => {
    const known = keysIn(keyStore(...keys))
    const found = ownerOf(token({ metadata: UNDER_CI }), known, NO_CAPS, after(60))
    expect(found).toMatchObject({ key: { name: 'ci', scope }, state, above })
    expect(found?.expiresMs).toBe(expires === undefined ? null : after(expires))
  })

  test('a change of it is about the tokens of all that it owns', () => {
    const tokens = tokenStore(tokenObject({ metadata: UNDER_CI }))
    const keys = keyStore(ci(), login())
    const now = keys.get('login')
    expect(namesUnder(keysAffectedBy({ before: now, after: now }, keysIn(keys)), tokens)).toEqual([
      'deploy',
    ])
  })
})

describe('which tokens a change of a key is about (5.4)', () => {
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
    { name: 'it changed', before: ci, after: ci, touched: ['waits', 'out', 'stripped'] },
    { name: 'it came', before: undefined, after: ci, touched: ['waits', 'out', 'stripped'] },
    { name: 'it went', before: ci, after: undefined, touched: ['waits', 'out', 'stripped'] },
    { name: 'another took its name', before: ci, after: recreated, touched: ['waits', 'out', 'stripped', 'other'] },
    { name: 'nobody’s key', before: undefined, after: viewOf({ metadata: { uid: 'x' } }), touched: [] },
  ])('$name', ({ before, after: now, touched }) => {
    expect(namesUnder(keysAffectedBy({ before, after: now }, keysIn(keyStore())), tokens)).toEqual(touched)
  })
})

test('an ignored use does not keep the owner alive (2.9)', () => {
  const used = {
    ...key({ spec: { ttl: 60, ttlAfterLastActivity: true } }),
    status: { lastActivity: textAfter(9e5) },
  }
  const found = ownerOf(token({ metadata: UNDER_CI }), keysIn(keyStore(used)), NO_CAPS, t0 + DAY_MS)
  expect(found?.state).toBe('Expired')
})
