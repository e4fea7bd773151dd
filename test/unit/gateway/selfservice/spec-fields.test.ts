// The allow-list against the CRDs: what self-service may set is what is listed, whatever fields a kind gets.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ACCESS_KEYS, TOKENS } from '../../../../src/api/names.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { fieldRule, fieldRules } from '../../../../src/gateway/selfservice/spec-fields.ts'
import { type callers, key, newKey, token } from './key-objects.ts'
import { MINE, judge } from './validated-write.ts'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
}

const CRDS = join(import.meta.dirname, '../../../../crds')

const specOf = (plural: string): Readonly<Record<string, Schema>> => {
  const crd = parse(readFileSync(join(CRDS, `${plural}.yaml`), 'utf8'))
  return crd.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties
}

/** A value that is not empty, of the type that the schema demands. */
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

describe('a closed field of an access key (12.1)', () => {
  const closed = Object.entries(KEY_SPEC)
    .filter(([name]) => fieldRule(ACCESS_KEYS, name).create === 'closed')
    .map(([name, schema]) => ({ name, spec: { [name]: valueFor(schema) } as JsonMap }))

  test('is any field that carries another identity or data of a sign-on', () => {
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
    expect(judge({ by: 'person', after: newKey({ spec }) })?.field).toBe(`spec.${name}`)
    expect(judge({ by: 'person', before: key(), after: key({ spec }) })?.field).toBe(`spec.${name}`)
  })

  test.each(closed)('$name is refused when an update takes it away', ({ name, spec }) => {
    expect(judge({ by: 'person', before: key({ spec }), after: key() })?.field).toBe(`spec.${name}`)
  })

  test.each(closed)('$name may stay as it is', ({ spec }) => {
    expect(judge({ by: 'person', before: key({ spec }), after: key({ spec }) })).toBeNull()
  })
})

describe('a spec field that no rule names is refused (12.1)', () => {
  const BY = ['person', 'plain', 'scoped'] as const satisfies readonly (keyof typeof callers)[]
  const rows = BY.flatMap((by) => ['futureField', 'constructor'].map((name) => ({ by, name })))
  const field = (name: string): string => `spec.${name}`
  const kept = { type: 'User', scope: { projects: [{ project: 'shop' }] } }

  test.each(rows)('on create of a key by $by: $name', ({ by, name }) => {
    const metadata = by === 'person' ? {} : MINE
    expect(judge({ by, after: newKey({ metadata, spec: kept }) })).toBeNull()
    const after = newKey({ metadata, spec: { ...kept, [name]: { open: true } } })
    expect(judge({ by, after })?.field).toBe(field(name))
  })

  test.each(rows)('on update of a key by $by: $name', ({ by, name }) => {
    const after = key({ spec: { [name]: 'x' } })
    expect(judge({ by, before: key(), after })?.field).toBe(field(name))
    expect(judge({ by, before: after, after: key() })?.field).toBe(field(name))
    expect(judge({ by, before: after, after })).toBeNull()
  })

  test.each(rows)('on create and update of a token by $by: $name', ({ by, name }) => {
    const after = token({ spec: { [name]: 'x' } })
    expect(judge({ by, resource: TOKENS, after })).toEqual({
      field: field(name),
      because: 'it can not be set on your own tokens: leave it as it is',
    })
    expect(judge({ by, resource: TOKENS, before: token(), after })?.field).toBe(field(name))
  })
})
