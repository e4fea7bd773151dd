import { describe, expect, test } from 'vitest'
import { CLAIM_LABEL } from '../../../../src/api/names.ts'
import {
  isTokenAsked,
  keyOfClaim,
  sameIdentity,
  sameLimits,
  tokenOfClaim,
} from '../../../../src/domain/claim/claimed-key.ts'
import { KEY, claimKey, claimToken } from '../../../support/delivery/claim-facts.ts'
import { keyObject } from '../../../support/object-builder.ts'
import { after } from '../../../support/key-builder.ts'
import { tokenObject } from '../../../support/token-builder.ts'

const withSpec = (spec: object) => claimKey('key', { spec }).spec

describe('a key of a claim (28.3)', () => {
  test('says whose it is, what of it is delivered, and nothing of the key itself', () => {
    expect(KEY).toMatchObject({
      claimUid: 'uid-deploy',
      claimKey: 'shop/deploy',
      delivers: 'Key',
      rotateRequest: null,
      isOfClaim: true,
    })
    expect(claimKey('key', { delivers: 'Token' }).delivers).toBe('Token')
    const clear = keyOfClaim(keyObject({ spec: { key: 'pak_canary' } }), () => 'digest')
    expect(JSON.stringify(clear)).not.toContain('canary')
    expect(clear).toMatchObject({ claimUid: '', claimKey: '' })
  })

  test('whose spec the schema refuses equals no claim, so that it is written again', () => {
    const odd = withSpec({ user: 1, groups: 'dev', displayName: {}, ttl: -1, scope: 'all' })
    expect(odd).toMatchObject({ user: '', groups: [], displayName: '', ttlSeconds: 0, scope: {} })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'nothing', a: {}, identity: true, limits: true },
    { name: 'the user', a: { subject: '', user: 'ada' }, identity: false, limits: true },
    { name: 'the team', a: { subject: '', team: 'core' }, identity: false, limits: true },
    { name: 'the subject', a: { subject: 'ci' }, identity: false, limits: true },
    { name: 'a group', a: { groups: ['dev'] }, identity: false, limits: true },
    { name: 'a repeated group', a: { groups: ['dev', 'dev'] }, b: { groups: ['dev'] }, identity: true, limits: true },
    { name: 'the order of groups', a: { groups: ['a', 'b'] }, b: { groups: ['b', 'a'] }, identity: true, limits: true },
    { name: 'the lifetime', a: { ttl: 600 }, identity: true, limits: false },
    { name: 'the scope', a: { scope: {} }, identity: true, limits: false },
    { name: 'the names', a: { displayName: 'a' }, b: { description: 'a' }, identity: true, limits: false },
  ])('two that differ in $name: same identity $identity, same limits $limits', ({ a, b = {}, identity, limits }) => {
    expect(sameIdentity(withSpec(a), withSpec(b))).toBe(identity)
    expect(sameLimits(withSpec(a), withSpec(b))).toBe(limits)
  })
})

describe('a token of a claim (28.3)', () => {
  test('ends when it was issued to end, and never before it is issued', () => {
    expect(claimToken('token').endMs).toBe(after(86_400))
    expect(claimToken('token', { reason: 'Pending' }).endMs).toBeNull()
    expect(
      tokenOfClaim(tokenObject({ metadata: { labels: { [CLAIM_LABEL]: 'uid' } } })),
    ).toMatchObject({ claimUid: 'uid', claimKey: '' })
  })

  // biome-ignore format: a table
  test.each([
    { asked: { ttlSeconds: 86_400, scope: null }, is: true },
    { asked: { ttlSeconds: 3600, scope: null }, is: false },
    { asked: { ttlSeconds: 86_400, scope: {} }, is: false },
  ])('is as asked for: $is', ({ asked, is }) => {
    expect(isTokenAsked(claimToken('token'), asked)).toBe(is)
  })
})
