// Keys and tokens come by two watches, and either may be late (contract 5.4).
import { describe, expect, test } from 'vitest'
import { keysIn } from '../../../../src/controllers/ownedaccesskey/indexes.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import { after } from '../../../support/key-builder.ts'
import { keyObject } from '../../../support/object-builder.ts'
import {
  UNDER_CI,
  issuedObject,
  keyStore,
  owner,
  tokenObject,
} from '../../../support/token-builder.ts'
import { type Given, run } from './reconciled.ts'

const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })

/** Looked at a second later. */
const AGAIN = { result: 'later', atMs: after(61) }

describe('what can not be taken back is decided by the keys as they are now, be their watch late (5.4)', () => {
  const known = (...keys: readonly OwnedAccessKeyObject[]) => ({
    readKeys: () => Promise.resolve(keysIn(keyStore(...keys))),
  })
  const ci = (spec: OwnedAccessKeyObject['spec'] = {}) =>
    keyObject({ spec: { user: 'ada', key: 'k'.repeat(32), ...spec } })
  const ONE = { clusters: [{ cluster: 'a' }] }
  const waiting = tokenObject({ metadata: UNDER_CI, spec: { ttl: 600 } })

  // biome-ignore format: a table
  test.each<Given & { readonly name: string }>([
    { name: 'its owner has not come by the watch yet', object: underCi(), deps: known(ci()) },
    { name: 'its owner is enabled again, says the API server', object: underCi(), key: { disabled: true }, deps: known(ci()) },
  ])('a token that is out stays so: $name', async (given) => {
    const { outcome, records, asked } = await run(given)
    expect(records.asked.size).toBe(0)
    expect(asked).toEqual([])
    expect(outcome).toEqual(AGAIN)
  })

  // biome-ignore format: a table
  test.each<Given & { readonly name: string }>([
    { name: 'disabled', object: waiting, key: {}, deps: known(ci({ disabled: true })) },
    { name: 'gone', object: waiting, key: {}, deps: known() },
    { name: 'narrower', object: waiting, key: {}, deps: known(ci({ scope: ONE })) },
    { name: 'wider than its watch does', object: waiting, key: { scope: ONE }, deps: known(ci()) },
  ])('nothing is signed for an owner that the API server says is $name', async (given) => {
    const { outcome, asked, observed } = await run(given)
    expect(observed).toEqual([])
    expect(asked).toEqual([])
    expect(outcome).toEqual(AGAIN)
  })

  test('where they can not be read it is tried again', async () => {
    const readKeys = () => Promise.reject(new Error('no answer'))
    const { outcome, records } = await run({ object: underCi(), deps: { readKeys } })
    expect(outcome).toMatchObject({ message: 'no answer' })
    expect(records.asked.size).toBe(0)
  })

  test('without an owner nothing is read', async () => {
    const readKeys = () => Promise.reject(new Error('no answer'))
    const { observed } = await run({ object: tokenObject(), deps: { readKeys } })
    expect(observed).toContain('issued')
  })
})
