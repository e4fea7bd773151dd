import { describe, expect, test } from 'vitest'
import { checkSettingsSchema } from '../../../../src/domain/settings/schema.ts'
import { renderSettingsCheck } from '../../../../tools/generate/check.ts'

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

describe('the generator of the check', () => {
  test.each([
    {
      name: 'an unknown keyword',
      schema: { type: 'string', maxLenght: 3 },
      error: /unknown keyword/,
    },
    { name: 'an unknown type', schema: { type: 'text' }, error: /schema is invalid/ },
    { name: 'a format', schema: { type: 'string', format: 'date-time' }, error: /unknown format/ },
    { name: 'a length', schema: { type: 'string', maxLength: 3 }, error: /more than its own code/ },
  ])('refuses $name', ({ schema, error }) => {
    const settings = { type: 'object', properties: { a: schema } }
    expect(() => renderSettingsCheck(settings)).toThrow(error)
  })
})
