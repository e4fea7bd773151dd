// The allow-list against the CRDs: a field that a kind gains is closed to self-service until it is listed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ACCESS_KEYS, TOKENS } from '../../../../src/api/names.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { fieldRule, fieldRules } from '../../../../src/gateway/selfservice/spec-fields.ts'
import { type callers, key, newKey, token } from './key-objects.ts'
import { MINE, validateWrite } from './self-service-request.ts'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
}

const CRDS = join(import.meta.dirname, '../../../../crds')

const specOf = (plural: string): Readonly<Record<string, Schema>> => {
  const crd = parse(readFileSync(join(CRDS, `${plural}.yaml`), 'utf8'))
  return crd.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties
}

/** A non-empty value of the type in the schema. */
const VALUES = { string: 'x', boolean: true, integer: 1, array: ['x'], object: { x: 'y' } } as const
const valueFor = ({ type = '' }: Schema) => VALUES[type as keyof typeof VALUES]

const KEY_SPEC = specOf(ACCESS_KEYS.plural)
const TOKEN_SPEC = specOf(TOKENS.plural)

test.each([
  { resource: ACCESS_KEYS, schema: KEY_SPEC },
  { resource: TOKENS, schema: TOKEN_SPEC },
])('every spec field in the CRD of $resource.plural has a rule (12.1)', ({ resource, schema }) => {
  expect(Object.keys(fieldRules(resource)).toSorted()).toEqual(Object.keys(schema).toSorted())
})

describe('a field of an access key that self-service may not set (12.1)', () => {
  const closed = Object.entries(KEY_SPEC)
    .filter(([name]) => fieldRule(ACCESS_KEYS, name).create === 'closed')
    .map(([name, schema]) => ({ name, spec: { [name]: valueFor(schema) } as JsonMap }))

  test('is each field with another identity or with sign-in data', () => {
    expect(closed.map(({ name }) => name).toSorted()).toEqual([
      'identity',
      'identityRefresh',
      'oidcLogin',
      'oidcProvider',
      'parent',
      'subject',
      'team',
    ])
  })

  test.each(closed)('$name is refused on create, and when an update sets it', ({ name, spec }) => {
    expect(validateWrite({ by: 'person', after: newKey({ spec }) })?.field).toBe(`spec.${name}`)
    expect(validateWrite({ by: 'person', before: key(), after: key({ spec }) })?.field).toBe(
      `spec.${name}`,
    )
  })

  test.each(closed)('$name is refused when an update removes it', ({ name, spec }) => {
    expect(validateWrite({ by: 'person', before: key({ spec }), after: key() })?.field).toBe(
      `spec.${name}`,
    )
  })

  test.each(closed)('$name may stay unchanged', ({ spec }) => {
    expect(validateWrite({ by: 'person', before: key({ spec }), after: key({ spec }) })).toBeNull()
  })
})

describe('a spec field that no rule names is refused (12.1)', () => {
  const BY = ['person', 'plain', 'scoped'] as const satisfies readonly (keyof typeof callers)[]
  const rows = BY.flatMap((by) => ['futureField', 'constructor'].map((name) => ({ by, name })))
  const field = (name: string): string => `spec.${name}`
  const kept = { type: 'User', scope: { projects: [{ project: 'shop' }] } }

  test.each(rows)('on create of a key by $by: $name', ({ by, name }) => {
    const metadata = by === 'person' ? {} : MINE
    expect(validateWrite({ by, after: newKey({ metadata, spec: kept }) })).toBeNull()
    const after = newKey({ metadata, spec: { ...kept, [name]: { open: true } } })
    expect(validateWrite({ by, after })?.field).toBe(field(name))
  })

  test.each(rows)('on update of a key by $by: $name', ({ by, name }) => {
    const after = key({ spec: { [name]: 'x' } })
    expect(validateWrite({ by, before: key(), after })?.field).toBe(field(name))
    expect(validateWrite({ by, before: after, after: key() })?.field).toBe(field(name))
    expect(validateWrite({ by, before: after, after })).toBeNull()
  })

  test.each(rows)('on create and update of a token by $by: $name', ({ by, name }) => {
    const after = token({ spec: { [name]: 'x' } })
    expect(validateWrite({ by, resource: TOKENS, after })).toEqual({
      field: field(name),
      because: 'it cannot be set on your own tokens: leave it as it is',
    })
    expect(validateWrite({ by, resource: TOKENS, before: token(), after })?.field).toBe(field(name))
  })
})
