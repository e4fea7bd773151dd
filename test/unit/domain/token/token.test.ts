import { describe, expect, test } from 'vitest'
import { EXPIRED_ANNOTATION, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { OwnerReference } from '../../../../src/api/objects.ts'
import {
  type PublishedTokenStatus,
  issuedTokenEndMs,
  issuingKeyUidOf,
  tokenOf,
} from '../../../../src/domain/token/token.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import {
  KID,
  UNDER_CI,
  claimsIn,
  issuedObject,
  owner,
  referenceTo,
  tampered,
  token,
  tokenObject,
  tokenText,
  withMetadata,
} from '../../../support/token-builder.ts'

describe('the view of a token', () => {
  test('shows a new object', () => {
    const { apiVersion, kind, metadata } = tokenObject()
    const { name, uid, resourceVersion, creationTimestamp } = metadata
    const created = {
      apiVersion,
      kind,
      metadata: { name, uid, resourceVersion, creationTimestamp },
    }
    expect(tokenOf(created)).toEqual({
      name: 'deploy',
      uid: 'uid-deploy',
      resourceVersion: '1',
      generation: 0,
      isDeleting: false,
      finalizers: [],
      onExpiry: null,
      isTracked: false,
      creationMs: after(0),
      ttl: 0,
      scope: null,
      ownerRef: null,
      lacksController: false,
      published: {
        issued: null,
        isTokenForeign: false,
        expirationTimestamp: undefined,
        issuedTimestamp: undefined,
        keyID: undefined,
        owner: null,
        observedGeneration: undefined,
        conditions: [],
      },
    })
  })

  test('shows an object with every field', () => {
    const scope = { clusters: [{ cluster: 'a' }] }
    const metadata = {
      ...UNDER_CI,
      generation: 3,
      deletionTimestamp: textAfter(9),
      finalizers: ['a/b'],
      annotations: { [EXPIRED_ANNOTATION]: 'Keep' },
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    }
    expect(token({ metadata, spec: { ttl: 60, scope } })).toMatchObject({
      generation: 3,
      isDeleting: true,
      finalizers: ['a/b'],
      onExpiry: 'Keep',
      isTracked: true,
      ttl: 60,
      scope,
      ownerRef: { name: 'ci', uid: 'uid-ci' },
    })
  })

  test('has an empty scope, which grants nothing (11.1)', () => {
    expect(token({ spec: { scope: {} } }).scope).toEqual({})
  })

  test('of an object whose token is issued', () => {
    const object = issuedObject({ metadata: UNDER_CI, spec: { ttl: 60 } }, { owner: owner() })
    const view = tokenOf(object)
    expect(view.published).toEqual({
      issued: {
        identity: 'user:ada',
        groups: 'authenticated\nuser:ada',
        teams: [],
        scope: '*',
        isConfined: false,
        expiresMs: after(60),
      },
      isTokenForeign: false,
      expirationTimestamp: textAfter(60),
      issuedTimestamp: textAfter(0),
      keyID: KID,
      owner: { name: 'ci', uid: 'uid-ci' },
      observedGeneration: 1,
      conditions: object.status?.conditions,
    })
    expect(issuingKeyUidOf(view)).toBe('uid-ci')
    expect(view.finalizers).toEqual([REVOKE_FINALIZER])
  })

  test('does not hold the token (3.5)', () => {
    const object = issuedObject()
    const text = object.status?.token ?? ''
    expect(text).not.toBe('')
    expect(JSON.stringify(tokenOf(object))).not.toContain(text.split('.')[1])
  })
})

describe('the owner is the access key that the controller reference names (5.4)', () => {
  const ci = referenceTo({ name: 'ci', uid: 'uid-ci' })
  const { controller: _, ...uncontrolled } = ci
  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly references: readonly OwnerReference[]; readonly found: boolean }[] = [
    { name: 'none', references: [], found: false },
    { name: 'the key', references: [ci], found: true },
    { name: 'the key among other owners', references: [{ ...ci, kind: 'Secret', apiVersion: 'v1', controller: false, uid: 'x' }, ci], found: true },
    { name: 'another version of our group', references: [{ ...ci, apiVersion: 'management.platform.sh/v2' }], found: true },
    { name: 'an owner reference with controller: false', references: [{ ...ci, controller: false }], found: false },
    { name: 'an owner reference without controller', references: [uncontrolled], found: false },
    { name: 'another kind', references: [{ ...ci, kind: 'Config' }], found: false },
    { name: 'another group', references: [{ ...ci, apiVersion: 'apps/v1' }], found: false },
    { name: 'a group with the same beginning', references: [{ ...ci, apiVersion: 'management.platform.sh.example.com/v1' }], found: false },
    { name: 'the core group', references: [{ ...ci, apiVersion: 'v1' }], found: false },
  ]
  test.each(rows)('$name: $found', ({ references, found }) => {
    const view = token({ metadata: { ownerReferences: references } })
    expect(view.ownerRef).toEqual(found ? { name: 'ci', uid: 'uid-ci' } : null)
  })
})

describe('issuedTokenEndMs, the expiry of an issued token (5.1, 7.4)', () => {
  const out = issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
  const FIVE_DAYS = 5 * 86_400
  // biome-ignore format: a table
  test.each([
    { name: 'never issued', object: tokenObject(), until: null },
    { name: 'issued', object: out, until: 600 },
    { name: 'issued earlier: status has the expiry', object: tampered(out, { token: undefined }), until: 600 },
    { name: 'a malformed token', object: tampered(out, { token: 'x.y.z' }), until: 600 },
    { name: 'a token of another writer with an earlier exp', object: tampered(out, { token: tokenText({ ...claimsIn(out.status?.token ?? ''), exp: 1 }) }), until: 600 },
    { name: 'a malformed token without an expiry in status: the longest life of a token', object: tampered(out, { token: 'x.y.z', expirationTimestamp: undefined }), until: FIVE_DAYS },
    { name: 'a valid token, and an expiry of another writer', object: tampered(out, { expirationTimestamp: textAfter(1) }), until: FIVE_DAYS },
    { name: 'a valid token, and a malformed expiry in status', object: withStatusText(out, 'soon'), until: FIVE_DAYS },
    { name: 'a token of another writer where none was issued', object: tampered(tokenObject(), { token: 'x.y.z' }), until: FIVE_DAYS },
    { name: 'an expiry of another writer where nothing was issued', object: tampered(tokenObject(), { expirationTimestamp: textAfter(60) }), until: null },
    { name: 'an empty token', object: tampered(tokenObject(), { token: '' }), until: null },
  ])('$name: $until', ({ object, until }) => {
    expect(issuedTokenEndMs(tokenOf(object))).toBe(until === null ? null : after(until))
  })

  function withStatusText(object: typeof out, expirationTimestamp: string) {
    return { ...object, status: { ...object.status, expirationTimestamp } }
  }
})

describe('the published status has only fields that our manager owns (5.4)', () => {
  const out = issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
  const alone = issuedObject({ spec: { ttl: 600 } })
  const forged = tokenText({ ...claimsIn(out.status?.token ?? ''), sub: 'user:eve' })
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: typeof out
    readonly published: Partial<PublishedTokenStatus>
  }[] = [
    { name: 'another token', object: tampered(out, { token: forged }), published: { issued: 'damaged', isTokenForeign: true } },
    { name: 'no token', object: tampered(out, { token: undefined }), published: { issued: null, isTokenForeign: false } },
    { name: 'an empty token', object: tampered(out, { token: '' }), published: { issued: null, isTokenForeign: false } },
    { name: 'another expiry', object: tampered(out, { expirationTimestamp: textAfter(9e6) }), published: { issued: 'damaged', expirationTimestamp: undefined, isTokenForeign: false } },
    { name: 'another key', object: tampered(out, { keyID: 'kid-2' }), published: { issued: 'damaged', keyID: undefined } },
    { name: 'another owner', object: tampered(out, { owner: { name: 'ci', uid: 'uid-x' } }), published: { issued: 'damaged', owner: null } },
    { name: 'an incomplete owner', object: tampered(out, { owner: { name: 'ci' } }), published: { issued: 'damaged', owner: null } },
    { name: 'an owner that was absent', object: tampered(alone, { owner: { name: 'ci', uid: 'uid-ci' } }), published: { owner: null } },
    { name: 'another issue time', object: tampered(out, { issuedTimestamp: textAfter(1) }), published: { issuedTimestamp: undefined } },
    { name: 'another generation', object: tampered(out, { observedGeneration: 7 }), published: { observedGeneration: undefined } },
    { name: 'conditions', object: tampered(out, { conditions: out.status?.conditions }), published: { conditions: [] } },
    { name: 'everything', object: withMetadata(out, { managedFields: [] }), published: { issued: 'damaged', isTokenForeign: true, owner: null, keyID: undefined, conditions: [] } },
  ]
  test.each(rows)('another manager wrote $name', ({ object, published }) => {
    expect(tokenOf(object).published).toMatchObject(published)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'owner', object: { ...out, status: { ...out.status, owner: { uid: 'uid-ci' } } } },
    { name: 'owner’s uid', object: { ...out, status: { ...out.status, owner: { name: 'ci' } } } },
  ])('a partial $name is left out', ({ object }) => {
    expect(tokenOf(object).published).toMatchObject({ owner: null, issued: 'damaged' })
  })

  test('the status of a token without an owner is complete', () => {
    expect(tokenOf(alone).published).toMatchObject({
      owner: null,
      issued: { identity: 'token:deploy' },
    })
    expect(issuingKeyUidOf(tokenOf(alone))).toBeNull()
  })
})
