import { describe, expect, test } from 'vitest'
import {
  namesOwnedBy,
  ownerOf,
} from '../../../../src/controllers/directclusterendpointtoken/owner.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/access-key.ts'
import { after, DAY_MS, t0, textAfter, viewOf } from '../../../support/access-key.ts'
import { keyObject, type Parts } from '../../../support/objects.ts'
import {
  issuedObject,
  keyStore,
  owner,
  referenceTo,
  token,
  tokenObject,
  tokenStore,
  UNDER_CI,
  withMetadata,
} from '../../../support/token.ts'

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
      keyStore(...keys),
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
    expect(ownerOf(token({ metadata }), keyStore(key()), NO_CAPS, t0)).toBeNull()
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
    expect(namesOwnedBy({ name: 'ci', before, after: now, listed: false }, tokens)).toEqual(touched)
  })
})

test('an ignored use does not keep the owner alive (2.9)', () => {
  const used = {
    ...key({ spec: { ttl: 60, ttlAfterLastActivity: true } }),
    status: { lastActivity: textAfter(9e5) },
  }
  const found = ownerOf(token({ metadata: UNDER_CI }), keyStore(used), NO_CAPS, t0 + DAY_MS)
  expect(found?.state).toBe('Expired')
})
