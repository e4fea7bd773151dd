import { describe, expect, test } from 'vitest'
import { keyIdOf } from '../../../../src/domain/accesskey/access-key.ts'
import { holdingsOf } from '../../../../src/domain/claim/holdings.ts'
import { KEY, claimKey, claimToken, secretWith } from '../../../support/delivery/claim-facts.ts'

type Parts = Parameters<typeof holdingsOf>[0]

/** The place of each key and token, by name. */
function sorted(parts: Partial<Parts>) {
  const { key, token, ...lists } = holdingsOf({
    secret: secretWith(),
    keys: [KEY],
    tokens: [],
    published: {},
    underway: new Set(),
    ...parts,
  })
  const places = Object.entries(lists).map(
    ([place, all]) => [place, all.map(({ name }) => name)] as const,
  )
  return {
    key: key?.name ?? null,
    token: token?.name ?? null,
    ...Object.fromEntries(places.filter(([, all]) => all.length > 0)),
  }
}

const named = (name: string, fields: object = {}) => ({
  name,
  keyID: '',
  expirationTimestamp: '',
  ...fields,
})
const elder = claimKey('elder', { createdAt: -10 })
const eldest = claimKey('eldest', { createdAt: -20 })

describe('keys of a claim (28.3)', () => {
  // biome-ignore format: a table
  test.each<Partial<Parts> & { readonly name: string; readonly places: object }>([
    { name: 'the one whose id the Secret has', places: { key: 'key' } },
    { name: 'none that is being deleted', keys: [claimKey('key', { deletedAt: 1 })], places: {} },
    { name: 'none without a Secret', secret: null, published: { key: named('key') }, places: { elderKeys: ['key'] } },
    { name: 'one that has no name is a stray', secret: null, places: { strayKeys: ['key'] } },
    { name: 'one that is under way is in no place', secret: null, underway: new Set(['uid-key']), places: {} },
    { name: 'those that status names are elders, the newest first', keys: [eldest, KEY, elder], published: { key: named('elder'), previous: named('eldest') }, places: { key: 'key', elderKeys: ['elder', 'eldest'] } },
    { name: 'beside them a stray', keys: [KEY, elder, claimKey('stray')], published: { key: named('key'), previous: named('elder') }, places: { key: 'key', elderKeys: ['elder'], strayKeys: ['stray'] } },
    { name: 'an elder whose id others have put into the Secret is no more than that', keys: [KEY, elder], published: { key: named('elder'), previous: named('key') }, places: { elderKeys: ['key', 'elder'] } },
    { name: 'also when its successor is gone', published: { key: named('gone'), previous: named('key') }, places: { elderKeys: ['key'] } },
    { name: 'the last one that was delivered, when its id is back in the Secret', published: { previous: named('key') }, places: { key: 'key' } },
    { name: 'an id in the Secret of another claim finds none', secret: secretWith({ keyID: 'f'.repeat(16) }), places: { strayKeys: ['key'] } },
    { name: 'an id that is gone finds none, also not a key without one', secret: secretWith({ keyID: keyIdOf(KEY).slice(0, 8) }), published: { key: named('key') }, places: { elderKeys: ['key'] } },
  ])('$name', ({ places, ...parts }) => {
    expect(sorted(parts)).toEqual({ key: null, token: null, ...places })
  })
})

describe('tokens of a claim (28.3, 28.5)', () => {
  const secret = secretWith({ token: 'token' })
  const token = claimToken('token', { createdAt: 5 })
  // biome-ignore format: a table
  test.each<Partial<Parts> & { readonly name: string; readonly places: object }>([
    { name: 'the one that the Secret names', tokens: [token], places: { key: 'key', token: 'token' } },
    { name: 'not one under another key', keys: [KEY, elder], tokens: [claimToken('token', { owner: 'elder' })], published: { key: named('elder') }, places: { key: 'key', elderKeys: ['elder'], strayTokens: ['token'] } },
    { name: 'none that is being deleted', tokens: [claimToken('token', { deletedAt: 6 })], places: { key: 'key' } },
    { name: 'older ones of a kept key are elders', tokens: [claimToken('old'), token], places: { key: 'key', token: 'token', elderTokens: ['old'] } },
    { name: 'a newer one that has no name is a stray', tokens: [token, claimToken('new', { createdAt: 9 })], places: { key: 'key', token: 'token', strayTokens: ['new'] } },
    { name: 'an elder whose name others have put into the Secret is not delivered again', tokens: [token, claimToken('named', { createdAt: 9 })], published: { token: { name: 'named', expirationTimestamp: '' } }, places: { key: 'key', elderTokens: ['named'], strayTokens: ['token'] } },
    { name: 'one that status names is an elder', tokens: [claimToken('named', { createdAt: 9 })], published: { token: { name: 'named', expirationTimestamp: '' } }, places: { key: 'key', elderTokens: ['named'] } },
    { name: 'one under way is in no place', tokens: [token, claimToken('new', { createdAt: 9 })], underway: new Set(['uid-new']), places: { key: 'key', token: 'token' } },
    { name: 'of an elder key it is an elder', keys: [KEY, elder], tokens: [claimToken('old', { owner: 'elder' }), token], published: { key: named('elder') }, places: { key: 'key', token: 'token', elderKeys: ['elder'], elderTokens: ['old'] } },
  ])('$name', ({ places, ...parts }) => {
    expect(sorted({ secret, ...parts })).toEqual({ token: null, ...places })
  })
})
