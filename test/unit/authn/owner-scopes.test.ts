// A key never grants more than the keys that own it, also when the scope of an owner was narrowed later
// (contract 10.3, 11.8, 12.3; threats B8).
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { checkKey } from '../../../src/authn/key-validity.ts'
import { after } from '../../support/key-builder.ts'
import { indexOf, key, ownedBy } from './test-authenticator.ts'

const NO_CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

const may = (...verbs: readonly string[]): Scope => ({
  rules: [{ verbs: [...verbs], resources: [{ resources: ['pods'] }] }],
})
const READS = may('get', 'list')
const GETS = may('get')
const WRITES = may('create')

/** Keys with these scopes: each is owned by the next. */
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

describe('the effective scope of a key', () => {
  test.each<{ name: string; scopes: readonly (Scope | null)[]; is: Scope | null | string }>([
    { name: 'unlimited, without a scope and owners', scopes: [null], is: null },
    { name: 'its own', scopes: [READS], is: READS },
    { name: 'its own, under an owner without a scope', scopes: [READS, null], is: READS },
    {
      name: 'unlimited, when neither it nor its owner has a scope',
      scopes: [null, null],
      is: null,
    },
    { name: 'its owner’s, when it has none', scopes: [null, READS], is: READS },
    { name: 'the nearest owner’s that has one', scopes: [null, null, GETS, READS], is: GETS },
    { name: 'its own, when the scope of its owner covers it', scopes: [GETS, READS], is: GETS },
    {
      name: 'invalid, when its own is wider than its owner’s',
      scopes: [READS, GETS],
      is: 'owner',
    },
    {
      name: "invalid, when its owner's scope does not cover it",
      scopes: [WRITES, READS],
      is: 'owner',
    },
    {
      name: 'invalid, when an owner further up has a narrower scope',
      scopes: [READS, READS, GETS],
      is: 'owner',
    },
    {
      name: 'invalid, when the inherited scope is wider than the scope of an owner further up',
      scopes: [null, READS, GETS],
      is: 'owner',
    },
  ])('is $name', ({ scopes, is }) => {
    expect(verdictOf(scopes)).toEqual(is)
  })
})
