// Access keys and tokens have separate watches, and either may lag (contract 5.4).
import { describe, expect, test } from 'vitest'
import { keysIn } from '../../../../src/controllers/indexes/access-keys.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import { after } from '../../../support/key-builder.ts'
import type { PeopleIndex } from '../../../../src/people/people-index.ts'
import { keyObject, teamObject, userObject } from '../../../support/object-builder.ts'
import {
  UNDER_CI,
  issuedObject,
  keyStore,
  owner,
  tokenObject,
} from '../../../support/token-builder.ts'
import { type Given, reconcileToken } from './token-reconcile.ts'
import { peopleOf } from '../../people/people-builder.ts'

const NOBODY = peopleOf([], [])

const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })

/** Requeued after a second. */
const AGAIN = { result: 'later', atMs: after(61) }

describe('issue and revocation read the owner from the API server, since the watch of keys may lag (5.4)', () => {
  const known = (...keys: readonly OwnedAccessKeyObject[]) => ({
    readKeys: () => Promise.resolve(keysIn(keyStore(...keys), NOBODY)),
  })
  const ci = (spec: OwnedAccessKeyObject['spec'] = {}) =>
    keyObject({ spec: { user: 'ada', key: 'k'.repeat(32), ...spec } })
  const ONE = { clusters: [{ cluster: 'a' }] }
  const waiting = tokenObject({ metadata: UNDER_CI, spec: { ttl: 600 } })

  // biome-ignore format: a table
  test.each<Given & { readonly name: string }>([
    { name: 'the watch lacks its owner', object: underCi(), deps: known(ci()) },
    { name: 'the watch still has its owner disabled', object: underCi(), key: { disabled: true }, deps: known(ci()) },
  ])('an issued token stays issued: $name', async (given) => {
    const { outcome, records, asked } = await reconcileToken(given)
    expect(records.asked.size).toBe(0)
    expect(asked).toEqual([])
    expect(outcome).toEqual(AGAIN)
  })

  // biome-ignore format: a table
  test.each<Given & { readonly name: string }>([
    { name: 'disabled', object: waiting, key: {}, deps: known(ci({ disabled: true })) },
    { name: 'gone', object: waiting, key: {}, deps: known() },
    { name: 'narrower', object: waiting, key: {}, deps: known(ci({ scope: ONE })) },
    { name: 'unrestricted, which its cached spec is not', object: waiting, key: { scope: ONE }, deps: known(ci()) },
  ])('no token is issued when the API server has the owner $name', async (given) => {
    const { outcome, asked, observed } = await reconcileToken(given)
    expect(observed).toEqual([])
    expect(asked).toEqual([])
    expect(outcome).toEqual(AGAIN)
  })

  const disabledAda = peopleOf([userObject({ spec: { disabled: true } })], [])
  const withSre = peopleOf([], [teamObject({ spec: { users: ['ada'] } })])
  const inSre = issuedObject(
    { metadata: UNDER_CI, spec: { ttl: 600 } },
    { owner: owner(), teams: ['sre'] },
  )
  const live = (people: PeopleIndex) => () => Promise.resolve(keysIn(keyStore(ci()), people))

  // biome-ignore format: a table
  test.each<Given & { readonly name: string }>([
    { name: 'the watch still has its User disabled', object: underCi(), key: {}, deps: { people: disabledAda, readKeys: live(NOBODY) } },
    { name: 'the watch lacks its Team', object: inSre, key: {}, deps: { people: NOBODY, readKeys: live(withSre) } },
  ])('an issued token stays issued: $name (24.2)', async (given) => {
    const { outcome, records } = await reconcileToken(given)
    expect(records.asked.size).toBe(0)
    expect(outcome).toEqual(AGAIN)
  })

  test('the Teams that a token was issued in are read too (24.2)', async () => {
    const asked: (readonly string[])[] = []
    const readKeys = (names: readonly string[], teams: readonly string[]) => {
      asked.push(names, teams)
      return live(NOBODY)()
    }
    const { records } = await reconcileToken({ object: inSre, key: {}, deps: { readKeys } })
    expect(asked).toEqual([['ci'], ['sre']])
    expect(records.asked.size).toBe(1)
  })

  test('no token is issued with a Team that the API server does not have any more (24.2)', async () => {
    const { asked, observed } = await reconcileToken({
      object: waiting,
      key: {},
      deps: { people: withSre, readKeys: live(NOBODY) },
    })
    expect([asked, observed]).toEqual([[], []])
  })

  test('a failed read of keys fails the reconcile', async () => {
    const readKeys = () => Promise.reject(new Error('no answer'))
    const { outcome, records } = await reconcileToken({ object: underCi(), deps: { readKeys } })
    expect(outcome).toMatchObject({ message: 'no answer' })
    expect(records.asked.size).toBe(0)
  })

  test('a token without an owner reads no keys', async () => {
    const readKeys = () => Promise.reject(new Error('no answer'))
    const { observed } = await reconcileToken({ object: tokenObject(), deps: { readKeys } })
    expect(observed).toContain('issued')
  })
})
