// Users copy examples, so none of ours sets a deprecated field.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

const ROOT = join(import.meta.dirname, '../..')

const schemaIn = (file: string): readonly [kind: string, schema: Schema] => {
  const { names, versions } = parse(readFileSync(join(ROOT, 'crds', file), 'utf8')).spec
  return [names.kind, versions[0].schema.openAPIV3Schema]
}

const SCHEMAS: ReadonlyMap<string, Schema> = new Map(
  ['ownedaccesskeys.yaml', 'directclusterendpointtokens.yaml', 'configs.yaml'].map(schemaIn),
)

const isDeprecated = ({ description = '' }: Schema): boolean => /deprecated/i.test(description)

/** Every deprecated field of a schema, with its description. */
function* deprecatedIn(schema: Schema, path = ''): Generator<readonly [string, string]> {
  if (isDeprecated(schema)) yield [path, schema.description ?? '']
  if (schema.items) yield* deprecatedIn(schema.items, `${path}[]`)
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    yield* deprecatedIn(field, `${path}.${name}`)
}

/** The deprecated fields set in a value. */
function* deprecatedSet(schema: Schema, value: unknown, path = ''): Generator<string> {
  if (isDeprecated(schema)) yield path
  if (Array.isArray(value))
    for (const entry of value) yield* deprecatedSet(schema.items ?? {}, entry, `${path}[]`)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value))
      yield* deprecatedSet(schema.properties?.[name] ?? {}, inner, `${path}.${name}`)
}

/** The deprecated fields set in a manifest; a patch without a kind counts as one of every kind. */
function deprecatedOf(manifest: { readonly kind?: string }): readonly string[] {
  const { kind } = manifest
  const schemas = kind === undefined ? [...SCHEMAS.values()] : [SCHEMAS.get(kind) ?? {}]
  return schemas.flatMap((schema) => [...deprecatedSet(schema, manifest)])
}

const FILES = ['config/samples', 'docs/examples'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => `${folder}/${file}`),
)

const manifestsIn = (file: string): readonly { readonly kind?: string }[] =>
  parseAllDocuments(readFileSync(join(ROOT, file), 'utf8')).map((document) => document.toJS())

describe('the examples (1.2)', () => {
  test.each(FILES)('%s sets no deprecated field', (file) => {
    expect(manifestsIn(file).flatMap(deprecatedOf)).toEqual([])
  })

  test('contain objects of every kind', () => {
    const kinds = FILES.flatMap(manifestsIn).map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining([...SCHEMAS.keys()]))
  })

  test.each([
    {
      kind: 'OwnedAccessKey',
      spec: { scope: { rules: [{ verbs: ['get'] }] } },
      sets: '.spec.scope.rules',
    },
    { kind: 'OwnedAccessKey', spec: { parent: 'other' }, sets: '.spec.parent' },
    { kind: 'Config', spec: { oidc: { enabled: true } }, sets: '.spec.oidc' },
  ])('would fail with $sets', ({ sets, ...manifest }) => {
    expect(deprecatedOf(manifest)).toEqual([sets])
  })
})

describe.each([...SCHEMAS])('a deprecated field of %s', (_, schema) => {
  const deprecated = [...deprecatedIn(schema)]

  test('says so first, and then what to use instead (1.2)', () => {
    const other = deprecated.filter(
      ([, text]) => !/^Deprecated: (use|configure|leave it out; nothing replaces it)\b/.test(text),
    )
    expect(other).toEqual([])
  })

  /** Fields that act as they did. */
  const ACTS = /^\.spec\.scope\.|^\.(?:spec|status)\.oidc$/

  test('says that it has no effect, except those of a scope and of apps (1.3, 6.7, 26.1)', () => {
    const silent = deprecated.filter(
      ([path, text]) => !ACTS.test(path) && !text.includes('Nothing in this product acts on it.'),
    )
    expect(silent).toEqual([])
  })
})
