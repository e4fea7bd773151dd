// Each field of the synced kinds with values of all types: the syncer's type table agrees with the API server.
import { expect, test } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, SECRETS, SERVICES } from '../../src/api/names.ts'
import type { FieldPath } from '../../src/domain/json/field-path.ts'
import { nestedField } from '../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap, ownValue } from '../../src/domain/json/json.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { objectType } from '../../src/sync/patches/field-types.ts'
import { typeFault } from '../../src/sync/patches/type-fault.ts'
import { syncPlanes } from '../support/sync-world.ts'

const { host } = await syncPlanes()

// biome-ignore format: a table
const VALUES: readonly Json[] = [
  'x', '', 'eA==', 'eA', 'e\nA==', '5', '2026-01-31T00:00:00Z', '2026-01-31T00:00:00.5+01:00', '2026-01-31', 'eHh4',
  0, 5, -1, 1.5, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 53, 2 ** 63, 1e21, true, false, null,
  [], ['x'], [5], [[]], {}, { a: 'x' }, { a: 5 },
]

/** Metadata that no patch moves. */
const PROTECTED =
  /^metadata\.(?:name|namespace|uid|ownerReferences|finalizers|resourceVersion|generation|managedFields)\b/

/**
 * Values that the API server accepts and the syncer does not: null in a map or a list, which becomes an empty text there,
 * and a list of bytes in place of base64.
 */
function isNarrower(value: Json, path: FieldPath): boolean {
  const holdsNull = value === null && (typeof path.at(-1) === 'number' || isInMap(path))
  return holdsNull || (isList(value) && isInMap(path) && /data|binaryData/i.test(String(path[0])))
}
const isInMap = (path: FieldPath): boolean => path.at(-1) === 'k'

test.each([ENDPOINTS, SERVICES, SECRETS, CONFIG_MAPS])(
  'each field of $kind takes the values that the API server decodes, and no others (19.3)',
  { timeout: 5 * 60_000 },
  async (resource) => {
    const { body } = await host.raw<JsonMap>('GET', '/openapi/v3/api/v1')
    const schemas = nestedField(body, ['components', 'schemas']) ?? {}
    if (!isMap(schemas)) throw new Error('it has no schemas')
    const paths = fieldsIn(schemas[`io.k8s.api.core.v1.${resource.kind}`] ?? null, [], schemas)
      .filter((path) => path.length > 0 && !/^(?:kind|apiVersion)$/.test(path.join('.')))
      .filter((path) => !PROTECTED.test(path.join('.')))
    expect(paths.length).toBeGreaterThan(10)
    const url = `${pathOf(resource, { namespace: 'default' })}?dryRun=All`
    const different: unknown[] = []
    let refused = 0
    for (const path of paths)
      for (const value of VALUES) {
        const object = { ...holding(path, value), apiVersion: 'v1', kind: resource.kind }
        const answer = await host.raw<{ readonly message?: string }>('POST', url, object)
        const isDecoded =
          answer.code !== 400 ||
          !/^.* in version "v1" cannot be handled/.test(answer.body.message ?? '')
        const fault = typeFault(object, undefined, objectType(resource.kind))
        if (!isDecoded) refused += 1
        if (isDecoded !== (fault === null) && !(isDecoded && isNarrower(value, path)))
          different.push({ path, value, code: answer.code, message: answer.body.message, fault })
      }
    expect(different).toEqual([])
    expect(refused).toBeGreaterThan(paths.length * 10)
  },
)

/** An object with nothing but this value. */
const holding = (path: FieldPath, value: Json): JsonMap =>
  path.reduceRight<Json>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  ) as JsonMap

/** The paths of all fields below a schema, with `k` as each key of a map, and 0 as each index. */
function fieldsIn(schema: Json, at: FieldPath, schemas: JsonMap): readonly FieldPath[] {
  if (!isMap(schema)) return []
  const all = ownValue(schema, 'allOf') ?? null
  const whole = isList(all) ? (all[0] ?? null) : schema
  const reference = isMap(whole) ? ownValue(whole, '$ref') : undefined
  if (typeof reference === 'string')
    return fieldsIn(schemas[reference.split('/').at(-1) ?? ''] ?? null, at, schemas)
  const items = ownValue(schema, 'items')
  if (items !== undefined) return [at, ...fieldsIn(items, [...at, 0], schemas)]
  const more = ownValue(schema, 'additionalProperties')
  if (more !== undefined) return [at, ...fieldsIn(more, [...at, 'k'], schemas)]
  const properties = ownValue(schema, 'properties') ?? null
  if (!isMap(properties)) return [at]
  return [
    at,
    ...Object.entries(properties).flatMap(([name, one]) => fieldsIn(one, [...at, name], schemas)),
  ]
}
