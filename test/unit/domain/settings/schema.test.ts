import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { type SettingsSchema, configSettingsSchema } from '../../../../src/api/config.schema.gen.ts'
import { pathText, pointerSegments } from '../../../../src/domain/json/field-path.ts'
import { type Json, mapFromEntries } from '../../../../src/domain/json/json.ts'
import { checkSettingsSchema } from '../../../../src/domain/settings/schema.ts'
import { type Random, randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'

const SECRET = 'HUNTER2'

describe('the check of types against the schema (6.2, 6.5)', () => {
  test.each([
    { name: 'nothing', value: {} },
    {
      name: 'every type',
      value: {
        auth: {
          accessKeyMaxTTLSeconds: 3600,
          oidc: { issuerUrl: 'https://a.example', insecureCa: true, scopes: ['a'] },
        },
        costControl: {
          global: { metrics: { resources: { limits: { cpu: 1, memory: '10Gi' } } } },
        },
      },
    },
    { name: 'unknown fields', value: { nonsense: { a: [1] } } },
  ])('accepts $name', ({ value }) => {
    expect(checkSettingsSchema(value)).toEqual([])
  })

  test.each([
    { name: 'the settings as a whole', value: SECRET, path: '', right: 'object' },
    { name: 'a list where a map belongs', value: { auth: [] }, path: 'auth', right: 'object' },
    { name: 'a text', value: { platformHost: 7 }, path: 'platformHost', right: 'string' },
    {
      name: 'a number as a text',
      value: { auth: { accessKeyMaxTTLSeconds: SECRET } },
      path: 'auth.accessKeyMaxTTLSeconds',
      right: 'integer',
    },
    {
      name: 'a fraction',
      value: { auth: { accessKeyMaxTTLSeconds: 1.5 } },
      path: 'auth.accessKeyMaxTTLSeconds',
      right: 'integer',
    },
    {
      name: 'booleans as texts',
      value: { auth: { oidc: { insecureCa: 'yes' } } },
      path: 'auth.oidc.insecureCa',
      right: 'boolean',
    },
    {
      name: 'an entry of a list',
      value: { auth: { oidc: { scopes: ['a', { b: SECRET }] } } },
      path: 'auth.oidc.scopes[1]',
      right: 'string',
    },
    {
      name: 'neither of two types, under a name that is no identifier',
      value: { costControl: { global: { metrics: { resources: { limits: { 'a/b~c': true } } } } } },
      path: 'costControl.global.metrics.resources.limits["a/b~c"]',
      right: 'integer or string',
    },
  ])('$name', ({ value, path, right }) => {
    expect(checkSettingsSchema(value)).toEqual([{ path, message: `must be ${right}` }])
  })

  test('reports all faults at once, and quotes no value', () => {
    const limits = { cpu: [SECRET], memory: { a: SECRET } }
    const faults = checkSettingsSchema({
      auth: { oidc: { insecureCa: SECRET, scopes: SECRET } },
      costControl: { global: { metrics: { resources: { limits } } } },
    })
    expect(faults.map(({ path }) => path).sort()).toEqual([
      'auth.oidc.insecureCa',
      'auth.oidc.scopes',
      'costControl.global.metrics.resources.limits.cpu',
      'costControl.global.metrics.resources.limits.memory',
    ])
    expect(JSON.stringify(faults)).not.toContain(SECRET)
  })
})

/** Ajv with the shipped schema: the oracle. */
const isValid = new Ajv({ allErrors: true, strict: true }).compile(
  JSON.parse(JSON.stringify(configSettingsSchema)) as object,
)

/** What ajv says of the settings, in our words: the errors of the branches of an anyOf are one fault. */
function oracleFaults(settings: Json): readonly { path: string; message: string }[] {
  if (isValid(settings)) return []
  const errors = isValid.errors ?? []
  const isBranch = ({ schemaPath }: { schemaPath: string }) => /\/anyOf\/\d+\//.test(schemaPath)
  return errors
    .filter((error) => !isBranch(error))
    .map(({ instancePath, keyword, params }) => ({
      path: pathText(
        pointerSegments(instancePath).map((name) => (/^\d+$/.test(name) ? Number(name) : name)),
      ),
      message: `must be ${keyword === 'anyOf' ? 'integer or string' : String(params['type'])}`,
    }))
}

/** Values of every type, some as numbers in texts and texts as numbers would be. */
const ANY_VALUE: readonly Json[] = [
  null,
  true,
  false,
  0,
  7,
  -1.5,
  1e300,
  '',
  'no',
  '7',
  [],
  [1, 'a'],
  [{ a: 1 }],
  {},
  { a: [null] },
]

/** Settings as the schema has them, with now and then a field that is unknown or of any type. */
function randomValue(schema: SettingsSchema, random: Random, faultiness: number): Json {
  if (random.between(0, 1) < faultiness) return random.pick(ANY_VALUE)
  const { type, properties, additionalProperties, items, anyOf } = schema
  if (anyOf) return random.pick<Json>([3, '3Gi'])
  if (type === 'array')
    return random.pick([[], [1], [1, 2]]).map(() => randomValue(items ?? {}, random, faultiness))
  if (type === 'object') {
    const known = Object.entries(properties ?? {}).filter(() => random.between(0, 1) < 0.4)
    const free = additionalProperties ? ['a', 'b~/c', 'constructor', '__proto__'] : []
    return mapFromEntries([
      ...known.map(([name, field]) => [name, randomValue(field, random, faultiness)] as const),
      ...free.map(
        (name) => [name, randomValue(additionalProperties ?? {}, random, faultiness)] as const,
      ),
      ...(random.between(0, 1) < 0.1 ? [['nonsense', random.pick(ANY_VALUE)] as const] : []),
    ])
  }
  return type === 'integer' ? 60 : type === 'boolean' ? true : 'text'
}

const seeds = Array.from({ length: repeated(20, 200) }, (_, at) => at + 1)

test.each(seeds)(
  'the faults of random settings are those that ajv finds (6.5): seed %i',
  (seed) => {
    const random = randomFrom(seed)
    let faults = 0
    for (let round = 0; round < 100; round += 1) {
      const settings = randomValue(configSettingsSchema, random, round / 400)
      const found = checkSettingsSchema(settings)
      expect(found).toEqual(oracleFaults(settings))
      faults += found.length
    }
    expect(faults).toBeGreaterThan(100)
  },
)
