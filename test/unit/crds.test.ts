// Properties of the CRDs that need no API server (contract 1.1, 1.2, 1.4, 1.6).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configSettingsSchema } from '../../src/api/config.schema.gen.ts'
import { generate, staleFiles } from '../../tools/generate.ts'
import type { Schema as TypedSchema } from '../../tools/generate/crd.ts'
import { collectInterfaces, renderInterface } from '../../tools/generate/interfaces.ts'
import { refusedKeys } from '../cluster/manifests/access-key-cases.ts'
import { refusedKeyChanges, refusedTokenChanges } from '../cluster/manifests/object-cases.ts'
import { refusedClaimChanges, refusedClaims } from '../cluster/manifests/claim-cases.ts'
import {
  refusedTeamChanges,
  refusedTeams,
  refusedUserChanges,
  refusedUsers,
} from '../cluster/manifests/people-cases.ts'
import { refusedScopes } from '../cluster/manifests/scope-cases.ts'
import { SPECIFIED, pathsIn } from './specified-fields.ts'

/** A node of a schema with all its keywords. */
interface Schema extends Omit<TypedSchema, 'properties' | 'items' | 'additionalProperties'> {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly [keyword: string]: unknown
}

interface Crd {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly scope: string
    readonly names: { readonly categories: readonly string[] }
    readonly versions: readonly [
      {
        readonly schema: { readonly openAPIV3Schema: Schema }
        readonly subresources: object
        readonly additionalPrinterColumns: readonly { readonly jsonPath: string }[]
      },
    ]
  }
}

const PLURALS = [
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'configs',
  'users',
  'teams',
  'accesskeyclaims',
] as const

const textOf = (plural: string): string =>
  readFileSync(join(import.meta.dirname, `../../crds/${plural}.yaml`), 'utf8')

const crdOf = (plural: string): Crd => parse(textOf(plural))

const schemaOf = (plural: string): Schema => crdOf(plural).spec.versions[0].schema.openAPIV3Schema

/** Every node of a schema by its path; elements of lists and maps are under `[]` and `{}`. */
function* nodesOf(schema: Schema, path = ''): Generator<readonly [string, Schema]> {
  yield [path, schema]
  const { properties = {}, items, additionalProperties } = schema
  for (const [name, field] of Object.entries(properties))
    yield* nodesOf(field, path ? `${path}.${name}` : name)
  if (items) yield* nodesOf(items, `${path}[]`)
  if (additionalProperties) yield* nodesOf(additionalProperties, `${path}{}`)
}

/** The fields of a kind, without elements. */
const fieldsOf = (plural: string): readonly (readonly [string, Schema])[] =>
  [...nodesOf(schemaOf(plural))].filter(([path]) => /\w$/.test(path))

const RULES = 'x-kubernetes-validations'

/** The rules on any node of a kind. */
const rulesOf = (plural: string) =>
  [...nodesOf(schemaOf(plural))].flatMap(
    ([, node]) => (node[RULES] ?? []) as readonly { readonly message: string }[],
  )

describe.each(PLURALS)('%s', (plural) => {
  const { metadata, spec } = crdOf(plural)
  const [version] = spec.versions

  test('has its scope, is only in category platform, and has a status subresource (1.1, 28.1)', () => {
    expect(metadata.name).toBe(`${plural}.management.platform.sh`)
    expect(spec.scope).toBe(plural === 'accesskeyclaims' ? 'Namespaced' : 'Cluster')
    expect(spec.names.categories).toEqual(['platform'])
    expect(version.subresources).toEqual({ status: {} })
  })

  test('counts as in progress until the operator has reconciled it (4.3)', () => {
    const { status } = schemaOf(plural).properties ?? {}
    expect(status?.['default']).toEqual({ observedGeneration: -1 })
    expect(status?.properties?.['observedGeneration']).not.toHaveProperty('minimum')
    const others = [...nodesOf(schemaOf(plural))].filter(
      ([, node]) => node['default'] !== undefined,
    )
    expect(others.map(([path]) => path)).toEqual(['status'])
  })

  test('requires spec, and no field in it', () => {
    const required = [...nodesOf(schemaOf(plural))].filter(([, node]) => node.required)
    const outside = required.filter(([path]) => !path.startsWith('status.conditions'))
    expect(outside.map(([path, node]) => [path, node.required])).toEqual([['', ['spec']]])
  })

  test('has the specified fields and those that the contract adds, and no others', () => {
    const names = fieldsOf(plural).map(([path]) => path.replaceAll('[]', ''))
    expect(names.toSorted()).toEqual(pathsIn(SPECIFIED[plural]).toSorted())
  })

  test('describes every field and every element in sentences', () => {
    const nodes = [...nodesOf(schemaOf(plural))]
    expect(nodes.filter(([, node]) => !node.description?.endsWith('.'))).toEqual([])
  })

  test('bounds every string and list with rules, and every rule has a message', () => {
    const ruled = [...nodesOf(schemaOf(plural))].filter(([, node]) => node[RULES])
    const unbounded = ruled.filter(
      ([, { type, maxLength, maxItems }]) =>
        (type === 'string' && !maxLength) || (type === 'array' && !maxItems),
    )
    expect(unbounded).toEqual([])
    expect(rulesOf(plural).filter(({ message }) => !message)).toEqual([])
  })

  test('prints no secret in its columns', () => {
    const paths = version.additionalPrinterColumns.map(({ jsonPath }) => jsonPath)
    expect(paths.filter((path) => /^\.spec\.(?!type$)|token|connectorData/.test(path))).toEqual([])
  })

  // Client-side apply keeps a copy of the manifest in an annotation, and annotations are limited to 256 KiB.
  test('can be applied client-side', () => {
    expect(JSON.stringify(crdOf(plural)).length).toBeLessThan(200_000)
  })
})

test.each([
  'spec.key',
  'spec.identity.connectorData',
  'spec.oidcLogin.idToken',
  'spec.oidcLogin.accessToken',
  'spec.oidcLogin.refreshToken',
])('no message of %s contains its value', (secret) => {
  const node = fieldsOf('ownedaccesskeys').find(([path]) => path === secret)?.[1]
  expect(Object.keys(node ?? {}).toSorted()).toEqual(['description', 'maxLength', 'type'])
})

test.each([
  [
    'ownedaccesskeys',
    ['spec.oidcLogin', 'spec.parent', 'spec.scope.allowPlatformCli', 'spec.scope.rules'],
  ],
  ['directclusterendpointtokens', ['spec.scope.allowPlatformCli', 'spec.scope.rules']],
  ['configs', ['spec.devPodSubDomain', 'spec.oidc', 'status.devPodSubDomain', 'status.oidc']],
])('%s describes its deprecated fields', (plural, deprecated) => {
  const fields = fieldsOf(plural).filter(([, { description }]) =>
    description?.startsWith('Deprecated: '),
  )
  expect(fields.map(([path]) => path).toSorted()).toEqual(deprecated)
})

/** Settings that are only checked and published (contract 6.7). */
const NOT_ACTED_ON = [
  'apps devPodSubDomain cloud',
  'costControl platformDB imageBuilder database',
].flatMap((line) => line.split(' '))

test('the description of an unimplemented group of settings says so (6.7)', () => {
  const saying = fieldsOf('configs').filter(([, { description }]) =>
    description?.includes('Nothing in this product acts on it.'),
  )
  const paths = ['spec', 'status'].flatMap((where) =>
    NOT_ACTED_ON.map((path) => `${where}.${path}`),
  )
  expect(saying.map(([path]) => path).toSorted()).toEqual(paths.toSorted())
})

test.each([
  { plural: 'users', unused: 'spec.displayName spec.email' },
  { plural: 'teams', unused: 'spec.displayName' },
  { plural: 'accesskeyclaims', unused: 'spec.key.displayName spec.key.description' },
])('a field of $plural that nothing acts on says so (24.1, 28.1)', ({ plural, unused }) => {
  const saying = fieldsOf(plural).filter(([, { description }]) =>
    description?.includes('Nothing in this product acts on it.'),
  )
  expect(saying.map(([path]) => path)).toEqual(unused.split(' '))
})

/** The text of field scope from its second line on: all lines with a deeper indentation, less that of the field. */
function scopeIn(plural: string): string | undefined {
  const [, indent = '', text] =
    /^( +)scope:(?: &scope)?\n((?:\1 .*\n)+)/m.exec(textOf(plural)) ?? []
  return text?.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
}

test('keys, tokens and claims have the same scope schema, byte for byte (28.1)', () => {
  expect(scopeIn('ownedaccesskeys')).toContain('allowPlatformCli:')
  expect(scopeIn('directclusterendpointtokens')).toBe(scopeIn('ownedaccesskeys'))
  expect(scopeIn('accesskeyclaims')).toBe(scopeIn('ownedaccesskeys'))
})

test('each rule has a test manifest that it rejects', () => {
  const refusals = [
    refusedKeys,
    refusedKeyChanges,
    refusedTokenChanges,
    refusedScopes,
    refusedUsers,
    refusedUserChanges,
    refusedTeams,
    refusedTeamChanges,
    refusedClaims,
    refusedClaimChanges,
    [{ says: /metadata.name is part of longer names/ }],
  ].flat()
  const messages = PLURALS.flatMap((plural) => rulesOf(plural).map(({ message }) => message))
  expect(messages.filter((message) => !refusals.some(({ says }) => says.test(message)))).toEqual([])
})

describe('Config', () => {
  const { spec, status } = schemaOf('configs').properties ?? {}

  test('has the same settings in spec and status', () => {
    const { observedGeneration: _, conditions: __, ...settings } = status?.properties ?? {}
    expect(settings).toEqual(spec?.properties)
  })

  test('has only types on settings, as the operator reports other faults', () => {
    const keywords = new Set([...nodesOf(spec ?? {})].flatMap(([, node]) => Object.keys(node)))
    expect([...keywords].toSorted()).toEqual([
      'additionalProperties',
      'description',
      'format',
      'items',
      'properties',
      'title',
      'type',
      'x-kubernetes-int-or-string',
      'x-kubernetes-preserve-unknown-fields',
    ])
  })

  test('describes for every group which component acts on it', () => {
    const groups = Object.entries(spec?.properties ?? {})
    const silent = groups.filter(
      ([, { description = '' }]) =>
        !/Nothing in this product acts|product acts|gateway (derive|finds|answers)/.test(
          description,
        ),
    )
    expect(silent).toEqual([])
  })
})

describe('the schema of settings outside the API server', () => {
  const isSettings = new Ajv({ strict: true, allErrors: true }).compile(configSettingsSchema)

  test.each([
    { name: 'nothing', settings: {}, valid: true },
    { name: 'an unknown field', settings: { auth: { unknown: 1 } }, valid: true },
    {
      name: 'a quantity of either form',
      settings: { imageBuilder: { resources: { limits: { cpu: 2, memory: '1Gi' } } } },
      valid: true,
    },
    {
      name: 'a price of any form',
      settings: { costControl: { settings: { averageCPUPricePerNode: { a: [1] } } } },
      valid: true,
    },
    {
      name: 'a number in quotes',
      settings: { auth: { accessKeyMaxTTLSeconds: '60' } },
      valid: false,
    },
    { name: 'a list in place of a group', settings: { auth: [] }, valid: false },
    {
      name: 'a header that is not a text',
      settings: { auth: { customHttpHeaders: { a: 1 } } },
      valid: false,
    },
  ])('$name: $valid', ({ settings, valid }) => {
    expect(isSettings(settings)).toBe(valid)
  })
})

describe('the generated types', () => {
  test('are up to date', () => {
    const generated = generate()
    expect([...staleFiles(generated).keys()]).toEqual([])
    expect([...generated.keys()]).toHaveLength(12)
  })

  const text = { type: 'string', description: 'A text.' } as const
  const object = { title: 'A', description: 'An A.', type: 'object', properties: { text } } as const

  test('require a title for each object with fields', () => {
    const { title: _, ...untitled } = object
    expect(() => collectInterfaces([untitled], [])).toThrow(/needs a title.*: An A\./)
  })

  test('reject a title that two schemas have', () => {
    const other = { ...object, properties: { text: { ...text, description: 'Another text.' } } }
    expect(() => collectInterfaces([object, other], [])).toThrow(
      /two different schemas have the title A/,
    )
  })

  test('require a type for each field', () => {
    const untyped = { ...object, properties: { text: { description: 'A text.' } } }
    expect(() => renderInterface(untyped)).toThrow(/a field needs a type: A text\./)
  })

  test('document each field, also when its text would end the comment', () => {
    const scale = { type: 'string', enum: ['*/scale', ''], description: 'As */scale.' } as const
    const schema = { ...object, required: ['scale'], properties: { scale } }
    expect(renderInterface(schema)).toBe(
      "/** An A. */\nexport interface A {\n  /** As *\\/scale. */\n  readonly scale: '*/scale' | ''\n}\n",
    )
  })
})
