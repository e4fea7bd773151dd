import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, GATEWAY_FIELD_MANAGER } from '../../../src/api/names.ts'
import { claimFields } from '../../../src/issuance/claim.ts'
import {
  generateKey,
  newKeyObject,
  newTokenObject,
  withCreation,
  withTtl,
} from '../../../src/issuance/new-object.ts'

const KEY = 'pak_generated'
const REVOKE = 'management.platform.sh/revoke'
const CREATED = 'management.platform.sh/created'
const MADE_WITH = 'management.platform.sh/made-with'
const CI = { name: 'ci', uid: 'u1' }
const OWNER = {
  apiVersion: API_VERSION,
  kind: 'OwnedAccessKey',
  ...CI,
  controller: true,
}

const newKey = (issuer: Parameters<typeof newKeyObject>[1]['issuer'], sent = {}) =>
  newKeyObject('ada', { sent, newKey: () => KEY, issuer })

describe('a new key', () => {
  test('of no issuer has its identity, its secret and the finalizer (12.3)', () => {
    const { object, claimed } = newKey(null)
    const fields = { spec: { user: 'ada', key: KEY }, metadata: { finalizers: [REVOKE] } }
    expect(claimed).toEqual(fields)
    expect(object).toMatchObject({ ...fields, kind: 'OwnedAccessKey' })
  })

  test('belongs to the key that makes it, within its scope (12.3)', () => {
    const { claimed } = newKey({ ref: CI, isPerson: false, scope: null })
    expect(claimed).toEqual({
      spec: { user: 'ada', key: KEY, type: 'User' },
      metadata: { labels: { [MADE_WITH]: 'u1' }, ownerReferences: [OWNER], finalizers: [REVOKE] },
    })
  })

  test('that a person makes is labelled and independent (12.3)', () => {
    const { claimed } = newKey({ ref: CI, isPerson: true, scope: null })
    expect(claimed['metadata']).toEqual({ labels: { [MADE_WITH]: 'u1' }, finalizers: [REVOKE] })
  })

  test('keeps a ttl and a creation time that it has, and else gets them (2.8)', () => {
    const at = '2026-11-21T10:00:00Z'
    const made = withTtl(withCreation(newKey(null), at), 60)
    expect(made.claimed).toMatchObject({
      metadata: { annotations: { [CREATED]: at } },
      spec: { ttl: 60 },
    })
    expect(withTtl(withCreation(made, '2027-01-01T00:00:00Z'), 5)).toEqual(made)
  })

  test('has a secret of its own (3.1)', () => {
    expect(generateKey()).toMatch(/^pak_[0-9A-Za-z]{43}_[0-9A-Za-z]+$/)
    expect(generateKey()).not.toBe(generateKey())
  })
})

test('a new token belongs to its key (12.2)', () => {
  const { object, claimed } = newTokenObject(
    { metadata: { name: 't' }, status: { token: 'x' } },
    CI,
  )
  expect(claimed).toEqual({ metadata: { ownerReferences: [OWNER] } })
  expect(object).toEqual({
    apiVersion: OWNER.apiVersion,
    kind: 'DirectClusterEndpointToken',
    metadata: { name: 't', ownerReferences: [OWNER] },
    spec: {},
  })
})

test('a claim applies the fields of the platform to the object with that uid (12.3)', () => {
  expect(claimFields(ACCESS_KEYS, CI, { spec: { user: 'ada' } })).toEqual({
    fieldManager: GATEWAY_FIELD_MANAGER,
    object: {
      apiVersion: OWNER.apiVersion,
      kind: 'OwnedAccessKey',
      metadata: CI,
      spec: { user: 'ada' },
    },
  })
})
