import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isDnsSubdomain } from '../../../../src/domain/dns-name.ts'
import { objectNameOf } from '../../../../src/domain/people/object-name.ts'

const sha256 = (text: string): string => hash('sha256', text)
const digestOf = (name: string): string => sha256(name).slice(0, 10)
const long = (length: number): string => 'A'.repeat(length)

describe('the name of an object (24.3)', () => {
  test.each([
    { of: 'a DNS name', name: 'ada', form: 'ada' },
    { of: 'a DNS name with dots', name: 'ada.lovelace', form: 'ada.lovelace' },
    { of: 'the longest DNS name', name: 'a'.repeat(253), form: 'a'.repeat(253) },
    { of: 'an e-mail address', name: 'Ada@Example.com', form: 'ada-example-com-1aa1bf07b5' },
    { of: 'capital letters', name: 'Ada', form: `ada-${digestOf('Ada')}` },
    { of: 'a run of other characters', name: 'a@!_b', form: `a-b-${digestOf('a@!_b')}` },
    { of: 'other characters at the ends', name: '_ada_', form: `ada-${digestOf('_ada_')}` },
    { of: 'nothing but other characters', name: '@@@', form: `x-${digestOf('@@@')}` },
    { of: 'a group of a provider', name: 'oidc:dev', form: `oidc-dev-${digestOf('oidc:dev')}` },
    {
      of: 'more than 50 characters',
      name: long(60),
      form: `${'a'.repeat(50)}-${digestOf(long(60))}`,
    },
    {
      of: 'another character at the cut',
      name: `${long(49)}@b`,
      form: `${'a'.repeat(49)}-${digestOf(`${long(49)}@b`)}`,
    },
    {
      of: 'a DNS name that is too long',
      name: 'a'.repeat(254),
      form: `${'a'.repeat(50)}-${digestOf('a'.repeat(254))}`,
    },
  ])('is right for $of', ({ name, form }) => {
    expect(objectNameOf(name, sha256)).toBe(form)
    expect(isDnsSubdomain(form)).toBe(true)
  })

  test('differs for names whose other characters are equal', () => {
    const forms = ['Ada', 'aDa', 'ada', '_ada', 'ada_'].map((name) => objectNameOf(name, sha256))
    expect(new Set(forms).size).toBe(forms.length)
  })

  test('may be the name of another person: then one object counts for one of them', () => {
    const form = objectNameOf('Ada@Example.com', sha256)
    expect(objectNameOf(form, sha256)).toBe(form)
  })
})
