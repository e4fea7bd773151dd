import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION } from '../../../../src/api/names.ts'
import { replacementIn } from '../../../../src/delivery/claims/state.ts'
import { keyIdOf } from '../../../../src/domain/accesskey/access-key.ts'
import { keyDueMs, replaceableMs, tokenDueMs } from '../../../../src/domain/claim/replacement.ts'
import { jitterOf } from '../../../../src/domain/claim/rotation.ts'
import {
  CLAIM_UID,
  type FactsParts,
  KEY,
  REST,
  atRest,
  claimFacts,
  claimKey,
  claimToken,
  publishedOf,
} from '../../../support/delivery/claim-facts.ts'
import { after } from '../../../support/key-builder.ts'

/** What is to be made, in words: a cause, and what of it. */
function replacementWith(parts: FactsParts): string | null {
  const replacement = replacementIn(atRest(parts))
  if (replacement === null) return null
  return replacement.isTokenOnly ? `token: ${replacement.cause}` : replacement.cause
}

const spec = (fields: object): FactsParts => ({ claim: { spec: fields } })
const asked = { metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } }
const disabled = claimKey('key', { spec: { disabled: true } })
/** 20 days, less what the jitter of the claim brings it forward. */
const DUE_SECONDS = Math.floor(20 * 86_400 * (1 - jitterOf(CLAIM_UID) / 10))

describe('what is replaced at once (28.5)', () => {
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly made: string | null }>([
    { name: 'nothing at rest', made: null },
    { name: 'what was asked for by annotation', claim: asked, made: 'requested' },
    { name: 'nothing that status says was asked for before', claim: asked, published: { ...REST, lastRotate: 'now' }, made: null },
    { name: 'nothing that the key in the Secret answers', claim: asked, keys: [claimKey('key', { annotations: { [ROTATE_ANNOTATION]: 'now' } })], made: null },
    { name: 'what was asked for once more with another value', claim: asked, published: { ...REST, lastRotate: 'before' }, made: 'requested' },
    { name: 'a key for another user', ...spec({ key: { user: 'ada' } }), made: 'identity_changed' },
    { name: 'a key for a team', ...spec({ key: { team: 'core' } }), made: 'identity_changed' },
    { name: 'a key for another subject', ...spec({ key: { subject: 'ci' } }), made: 'identity_changed' },
    { name: 'a key with groups', ...spec({ key: { groups: ['dev'] } }), made: 'identity_changed' },
    { name: 'no key whose groups have another order', ...spec({ key: { groups: ['b', 'a'] } }), keys: [claimKey('key', { spec: { groups: ['a', 'b'] } })], made: null },
    { name: 'a key where a token is asked for now', ...spec({ token: {} }), made: 'token_changed' },
    { name: 'a token where the key is asked for now', keys: [claimKey('key', { delivers: 'Token' })], tokens: [claimToken('token')], secret: { token: 'token' }, made: 'token_changed' },
    { name: 'a Secret that is rendered from something else', secret: { template: 'other' }, made: 'data_changed' },
    { name: 'a key object that was deleted', keys: [], made: 'key_deleted' },
    { name: 'a key that is being deleted', keys: [claimKey('key', { deletedAt: 5 })], made: 'key_deleted' },
    { name: 'a Secret that was deleted', secret: 'missing', made: 'secret_changed' },
    { name: 'a Secret whose data others have changed', secret: { dataDigest: 'other' }, made: 'secret_changed' },
    { name: 'a Secret whose annotation key-id is gone', secret: { keyID: '' }, made: 'key_deleted' },
    { name: 'nothing while the Secret is not read', secret: 'unknown', made: null },
    { name: 'no key that a person disabled', keys: [disabled], made: null },
    { name: 'no disabled key that is due', keys: [disabled], nowMs: after(29 * 86_400), made: null },
    { name: 'no disabled key whose Secret others have changed', keys: [disabled], secret: { dataDigest: 'other' }, made: null },
    { name: 'no disabled key although another user is asked for', keys: [disabled], ...spec({ key: { user: 'ada' } }), made: null },
    { name: 'a disabled key by annotation', keys: [disabled], claim: asked, made: 'requested' },
    { name: 'nothing of a suspended claim', claim: { ...asked, spec: { suspend: true } }, keys: [], secret: 'missing', made: null },
    { name: 'no limits', ...spec({ key: { ttl: 600, displayName: 'CI', description: 'x', scope: {} } }), made: null },
    { name: 'no labels', ...spec({ secret: { labels: { a: 'b' }, annotations: { c: 'd' } } }), made: null },
    { name: 'a key that is due', nowMs: after(DUE_SECONDS), made: 'due' },
    { name: 'no key a second before it is due', nowMs: after(DUE_SECONDS - 1), made: null },
    { name: 'a key that a lower cap has made due', caps: { maxTtlSeconds: 600, loginTtlSeconds: null }, nowMs: after(500), made: 'due' },
  ])('$name', ({ made, ...parts }) => {
    expect(replacementWith(parts)).toBe(made)
  })

  test('a claim that has nothing yet gets its first', () => {
    expect(replacementIn(claimFacts({ keys: [], secret: 'missing' }))).toEqual({
      cause: 'first',
      isTokenOnly: false,
    })
  })

  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly made: string }>([
    { name: 'asked for and deleted', claim: asked, secret: 'missing', made: 'requested' },
    { name: 'deleted, and another user is asked for', ...spec({ key: { user: 'ada' } }), keys: [], made: 'key_deleted' },
    { name: 'changed by others, and from something else', secret: { dataDigest: 'other', template: 'other' }, made: 'secret_changed' },
    { name: 'another user, as a token', ...spec({ key: { user: 'ada' }, token: {} }), made: 'identity_changed' },
    { name: 'another template, and due', secret: { template: 'other' }, nowMs: after(DUE_SECONDS), made: 'data_changed' },
  ])('the first cause is named of two: $name', ({ made, ...parts }) => {
    expect(replacementWith(parts)).toBe(made)
  })
})

describe('a key whose person, team or owner is not good is not replaced (24.2, 28.5)', () => {
  const reasons = [
    'UserDisabled',
    'TeamGone',
    'IdentityGone',
    'IdentityStale',
    'SignInAgain',
    'OwnerNotReady',
  ]
  test.each(reasons)('%s', (reason) => {
    const keys = [claimKey('key', { reason })]
    expect(replacementWith({ keys, nowMs: after(29 * 86_400) })).toBeNull()
    expect(replacementWith({ keys, claim: asked })).toBeNull()
    expect(replacementWith({ keys, secret: { dataDigest: 'other' } })).toBeNull()
    expect(replacementWith({ keys, ...spec({ key: { user: 'ben' } }) })).toBe('identity_changed')
  })

  test.each(['Expired', 'KeyConflict', 'Pending', ''])(
    'a key with reason "%s" is replaced when it is due',
    (reason) => {
      const keys = [claimKey('key', { reason })]
      expect(replacementWith({ keys, nowMs: after(29 * 86_400) })).toBe('due')
    },
  )
})

describe('a token of the same key is enough (28.5)', () => {
  const withToken: FactsParts = {
    claim: { spec: { token: {} } },
    keys: [claimKey('key', { delivers: 'Token' })],
    tokens: [claimToken('token')],
    secret: { token: 'token' },
  }
  const published = publishedOf(withToken)
  // biome-ignore format: a table
  test.each<FactsParts & { readonly name: string; readonly made: string | null }>([
    { name: 'nothing at rest', made: null },
    { name: 'a token with another lifetime', claim: { spec: { token: { ttl: 3600 } } }, made: 'token: token_changed' },
    { name: 'a token with another scope', claim: { spec: { token: { scope: {} } } }, made: 'token: token_changed' },
    { name: 'a token that was deleted', tokens: [], made: 'token: key_deleted' },
    { name: 'a token that is being deleted', tokens: [claimToken('token', { deletedAt: 5 })], made: 'token: key_deleted' },
    { name: 'a token that was revoked', tokens: [claimToken('token', { reason: 'Revoked' })], made: 'token: key_deleted' },
    { name: 'a token that has expired', tokens: [claimToken('token', { reason: 'Expired' })], made: 'token: key_deleted' },
    { name: 'a token under another key', tokens: [claimToken('token', { owner: 'other' })], made: 'token: key_deleted' },
    { name: 'a token that is due', nowMs: after(57_600), made: 'token: due' },
    { name: 'with its key, which is due', tokens: [claimToken('token', { createdAt: DUE_SECONDS })], nowMs: after(DUE_SECONDS), made: 'due' },
    { name: 'with its key, which was deleted', keys: [], made: 'key_deleted' },
    { name: 'with its key, whose Secret others have changed', secret: { token: 'token', dataDigest: 'other' }, made: 'secret_changed' },
    { name: 'with its key, which acts as another now', claim: { spec: { token: { ttl: 3600 }, key: { user: 'ada' } } }, made: 'identity_changed' },
    { name: 'nothing under a disabled key', tokens: [], keys: [claimKey('key', { delivers: 'Token', spec: { disabled: true } })], made: null },
  ])('$name', ({ made, ...parts }) => {
    expect(replacementWith({ ...withToken, published, ...parts })).toBe(made)
  })
})

describe('when it is due (28.5)', () => {
  test('a key by the lifetime in force, of the key and of the cap', () => {
    const facts = atRest()
    expect(keyDueMs(KEY, facts)).toBe(after(DUE_SECONDS))
    const capped = { ...facts, caps: { maxTtlSeconds: 3600, loginTtlSeconds: null } }
    expect(keyDueMs(KEY, capped)).toBe(after(Math.floor(2400 * (1 - jitterOf(CLAIM_UID) / 10))))
    const early = atRest({ claim: { spec: { rotateAfter: 300 } } })
    expect(keyDueMs(KEY, early)).toBe(after(Math.floor(300 * (1 - jitterOf(CLAIM_UID) / 10))))
  })

  test('a token from its issue to its end', () => {
    const token = claimToken('token', { createdAt: 60 })
    const due = Math.floor(57_600 * (1 - jitterOf(CLAIM_UID) / 10))
    expect(tokenDueMs(token, atRest())).toBe(after(60 + due))
  })

  test('no claim is replaced twice within 30 s', () => {
    expect(replaceableMs(null)).toBe(Number.NEGATIVE_INFINITY)
    expect(replaceableMs(after(0))).toBe(after(30))
  })
})

test('a crash between Secret and status replaces nothing (28.3)', () => {
  const second = claimKey('second', { createdAt: 5 })
  const secret = { keyID: keyIdOf(second), dataDigest: 'of the second' }
  expect(replacementWith({ keys: [KEY, second], secret })).toBeNull()
})
