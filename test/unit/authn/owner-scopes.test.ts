// A key never grants more than the keys that own it, also where one of those was given less since
// (contract 10.3, 11.8, 12.3; threats B8).
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { checkKey } from '../../../src/authn/key-validity.ts'
import { after } from '../../support/key-builder.ts'
import { indexOf, key, ownedBy } from './key-builder.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

const may = (...verbs: readonly string[]): Scope => ({
  rules: [{ verbs: [...verbs], resources: [{ resources: ['pods'] }] }],
})
const READS = may('get', 'list')
const GETS = may('get')
const WRITES = may('create')

/** The first key has that scope, and each is owned by the next. */
function verdictOf(scopes: readonly (Scope | null)[]) {
  const names = scopes.map((_, at) => `k${at}`)
  const keys = scopes.map((scope, at) => {
    const owner = names[at + 1]
    return key(
      names[at] ?? '',
      { user: 'ada', ...(scope ? { scope } : {}) },
      owner === undefined ? {} : ownedBy(owner),
    )
  })
  const index = indexOf(...keys)
  const judged = index.named('k0')
  if (!judged) throw new Error('the key is not known')
  const verdict = checkKey(judged, index, NO_CAPS, after(1))
  return verdict.ok ? verdict.scope : verdict.because
}

describe('the scope that binds a key', () => {
  test.each<{ name: string; scopes: readonly (Scope | null)[]; is: Scope | null | string }>([
    { name: 'none, of a key without owners', scopes: [null], is: null },
    { name: 'its own', scopes: [READS], is: READS },
    { name: 'its own, under a person', scopes: [READS, null], is: READS },
    { name: 'none, under a person', scopes: [null, null], is: null },
    { name: 'that of its owner, where it has none', scopes: [null, READS], is: READS },
    { name: 'that of the nearest that has one', scopes: [null, null, GETS, READS], is: GETS },
    { name: 'its own, within that of its owner', scopes: [GETS, READS], is: GETS },
    { name: 'nothing, where its own is wider', scopes: [READS, GETS], is: 'owner' },
    { name: 'nothing, where its own is another', scopes: [WRITES, READS], is: 'owner' },
    {
      name: 'nothing, where one further above has less',
      scopes: [READS, READS, GETS],
      is: 'owner',
    },
    {
      name: 'nothing, where what it inherits is wider than further above',
      scopes: [null, READS, GETS],
      is: 'owner',
    },
  ])('is $name', ({ scopes, is }) => {
    expect(verdictOf(scopes)).toEqual(is)
  })
})
