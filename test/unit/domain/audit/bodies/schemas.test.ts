import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseYaml } from '../../../../../src/runtime/yaml.ts'
import { recordedJson } from './recorded.ts'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
  readonly items?: Schema
}

interface Crd {
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: Schema }
      readonly additionalPrinterColumns: readonly { readonly name: string }[]
    }[]
  }
}

const CRDS = ['ownedaccesskeys', 'directclusterendpointtokens', 'configs'].map((name) => {
  const path = join(import.meta.dirname, `../../../../../crds/${name}.yaml`)
  const { names, versions } = (parseYaml(readFileSync(path, 'utf8')) as Crd).spec
  const [version] = versions
  const { spec = {}, status = {} } = version?.schema.openAPIV3Schema.properties ?? {}
  return { ...names, schema: { properties: { spec, status } }, version }
})

/** An object with every field that a schema has. */
function objectOf({ type, properties, additionalProperties, items }: Schema): unknown {
  if (properties !== undefined)
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, objectOf(schema)]),
    )
  if (items !== undefined) return [objectOf(items)]
  if (additionalProperties !== undefined) return { any: objectOf(additionalProperties) }
  if (type === 'object') return { any: 'shown' }
  return type === 'boolean' ? true : 'shown'
}

/** The paths of what is hidden. */
function hiddenPaths(value: unknown, path = ''): readonly string[] {
  if (typeof value === 'boolean') return []
  if (typeof value === 'string') return value.includes('<hidden>') ? [path.slice(1)] : []
  return Object.entries(value as object).flatMap(([name, one]) =>
    hiddenPaths(one, `${path}.${name}`),
  )
}

const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  OwnedAccessKey: [
    'spec.key',
    'spec.identity.extraClaims.any',
    'spec.identity.connectorData',
    'spec.oidcLogin',
  ],
  DirectClusterEndpointToken: ['status.token'],
  Config: [
    'spec.auth.oidc.clientSecret',
    'spec.database.extraArgs.0',
    'status.auth.oidc.clientSecret',
  ],
}

/** Whether a field is hidden by 12.4, or a setting by 6.3. */
const isSecret = (kind: string, path: string): boolean =>
  kind === 'Config' ? isSecretSetting(path) : (HIDDEN[kind]?.includes(path) ?? false)

const isSecretSetting = (path: string): boolean =>
  /\.(?:clientSecret|password|token|bindPW|extraArgs\.0|any)$/i.test(path) ||
  /dataSource|dataStoreEndpoint/.test(path)

describe.each(CRDS)('$kind', ({ kind, plural, schema, version }) => {
  test('every field of the CRD is recorded, but for those that are hidden (21.4)', () => {
    const body = JSON.stringify(objectOf(schema))
    const text = recordedJson(body, { path: `management.platform.sh/${plural}` })
    const hidden = hiddenPaths(JSON.parse(text))
    expect(hidden.filter((path) => !isSecret(kind, path))).toEqual([])
    expect(hidden).toEqual(expect.arrayContaining([...(HIDDEN[kind] ?? [])]))
  })

  test('its printed columns are recorded (21.4)', () => {
    const columnDefinitions = version?.additionalPrinterColumns ?? []
    const rows = [{ cells: columnDefinitions.map(({ name }) => name) }]
    const table = { apiVersion: 'meta.k8s.io/v1', kind: 'Table', columnDefinitions, rows }
    const path = `management.platform.sh/${plural}` as const
    expect(JSON.parse(recordedJson(JSON.stringify(table), { path, code: 200 }))).toMatchObject({
      rows,
    })
    expect(columnDefinitions.length).toBeGreaterThan(1)
  })
})
