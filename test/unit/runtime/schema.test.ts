import { describe, expect, test } from 'vitest'
import { configSettingsSchema } from '../../../src/api/config.schema.gen.ts'
import { compileCheck } from '../../../src/runtime/schema.ts'

const check = compileCheck({
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', pattern: '^[a-z]+$' },
    level: { type: 'string', enum: ['low', 'high'] },
    ports: { type: 'array', items: { type: 'integer', format: 'int32' } },
    size: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    long: { type: 'integer', format: 'int64' },
    at: { type: 'string', format: 'date-time' },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
  },
})

const sound = {
  name: 'a',
  level: 'low',
  ports: [-(2 ** 31), 2 ** 31 - 1],
  size: '10Gi',
  long: 2 ** 53 - 1,
  at: '2026-11-21T10:00:00Z',
  headers: { 'X-A': 'b' },
}

describe('values from outside', () => {
  test('a sound value has no fault', () => {
    expect(check(sound)).toEqual([])
  })

  test.each([
    {
      name: 'a wrong type',
      value: { name: 7 },
      faults: [{ path: 'name', message: 'must be string' }],
    },
    {
      name: 'an entry of a list',
      value: { ports: [1, 'x'] },
      faults: [{ path: 'ports[1]', message: 'must be integer' }],
    },
    {
      name: 'below int32',
      value: { ports: [-(2 ** 31) - 1] },
      faults: [{ path: 'ports[0]', message: 'must match format "int32"' }],
    },
    {
      name: 'above int32',
      value: { ports: [2 ** 31] },
      faults: [{ path: 'ports[0]', message: 'must match format "int32"' }],
    },
    {
      name: 'an int64 that JavaScript rounds',
      value: { long: 2 ** 53 },
      faults: [{ path: 'long', message: 'must match format "int64"' }],
    },
    {
      name: 'a day without a time',
      value: { at: '2026-11-21' },
      faults: [{ path: 'at', message: 'must match format "date-time"' }],
    },
    {
      name: 'a choice says its words',
      value: { level: 'secret' },
      faults: [{ path: 'level', message: 'must be one of low, high' }],
    },
    {
      name: 'one of two types',
      value: { size: true },
      faults: [{ path: 'size', message: 'must be integer or string' }],
    },
    {
      name: 'a name that is no identifier',
      value: { headers: { 'a/b~c': 1 } },
      faults: [{ path: 'headers["a/b~c"]', message: 'must be string' }],
    },
    {
      name: 'an unknown field',
      value: { nam: 'a' },
      faults: [{ path: 'nam', message: 'is unknown' }],
    },
    {
      name: 'a missing field',
      value: { name: undefined },
      faults: [{ path: 'name', message: 'is required' }],
    },
  ])('$name', ({ value, faults }) => {
    const { name, ...rest } = { ...sound, ...value }
    expect(check(name === undefined ? rest : { name, ...rest })).toEqual(faults)
  })

  test('the value as a whole', () => {
    expect(check('secret')).toEqual([{ path: '', message: 'must be object' }])
  })

  test('all faults at once, and none quotes a value', () => {
    const secret = 'HUNTER2'
    const value = {
      name: secret,
      level: secret,
      ports: [secret],
      size: [secret],
      at: secret,
      headers: { a: [secret] },
    }
    const faults = check(value)
    expect(faults.map(({ path }) => path).sort()).toEqual([
      'at',
      'headers.a',
      'level',
      'name',
      'ports[0]',
      'size',
    ])
    expect(JSON.stringify(faults)).not.toContain(secret)
  })
})

describe('schemas', () => {
  test('that of the settings compiles, and takes empty settings', () => {
    expect(compileCheck(configSettingsSchema)({})).toEqual([])
  })

  test.each([
    { name: 'an unknown keyword', schema: { type: 'string', maxLenght: 3 } },
    { name: 'an unknown format', schema: { type: 'string', format: 'dat-time' } },
  ])('$name is refused', ({ schema }) => {
    expect(() => compileCheck(schema)).toThrow(/unknown/)
  })
})
