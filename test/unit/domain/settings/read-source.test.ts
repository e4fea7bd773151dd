import { describe, expect, test } from 'vitest'
import { type FieldPath, isInsidePath, pathText } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { readSource } from '../../../../src/domain/settings/read-source.ts'
import { splitUnknownFields, checkSettingsSchema } from '../../../../src/domain/settings/schema.ts'

const anyTypes = () => []

describe('unknown fields', () => {
  const nested = (depth: number): JsonMap => (depth === 0 ? {} : { a: nested(depth - 1) })
  test.each<{ name: string; given: unknown; known: JsonMap; unknown: readonly string[] }>([
    {
      name: 'none',
      given: { auth: { oidc: { clientId: 'c' } } },
      known: { auth: { oidc: { clientId: 'c' } } },
      unknown: [],
    },
    { name: 'a group', given: { telemetry: { enabled: true } }, known: {}, unknown: ['telemetry'] },
    {
      name: 'a field',
      given: { auth: { oidc: { clientID: 'c', clientId: 'd' } } },
      known: { auth: { oidc: { clientId: 'd' } } },
      unknown: ['auth.oidc.clientID'],
    },
    {
      name: 'in lists',
      given: { auth: { connectors: [{ id: 'a' }, { ID: 'b' }] } },
      known: { auth: { connectors: [{ id: 'a' }, {}] } },
      unknown: ['auth.connectors[1].ID'],
    },
    {
      name: 'odd names',
      given: { audit: { 'a.b': 1, 'c\n"': 2 } },
      known: { audit: {} },
      unknown: ['audit["a.b"]', 'audit["c\\n\\""]'],
    },
    {
      name: 'a long name, which may be a secret',
      given: { ['x'.repeat(80)]: 1 },
      known: {},
      unknown: [`["${'x'.repeat(64)}…"]`],
    },
    {
      name: 'free names',
      given: { auth: { customHttpHeaders: { 'X-Any': 'v' } } },
      known: { auth: { customHttpHeaders: { 'X-Any': 'v' } } },
      unknown: [],
    },
    {
      name: 'free form',
      given: { costControl: { settings: { averageCPUPricePerNode: { a: [{ b: 1 }] } } } },
      known: { costControl: { settings: { averageCPUPricePerNode: { a: [{ b: 1 }] } } } },
      unknown: [],
    },
    {
      name: 'names of object properties',
      given: JSON.parse(
        '{"__proto__":{"audit":{}},"constructor":1,"auth":{"customHttpHeaders":{"__proto__":"v","constructor":"w"}}}',
      ),
      known: { auth: { customHttpHeaders: { constructor: 'w' } as never } },
      unknown: ['__proto__', 'constructor', 'auth.customHttpHeaders.__proto__'],
    },
    {
      name: 'a map in place of a text: left to the type check',
      given: { platformHost: { a: 1 } },
      known: { platformHost: { a: 1 } },
      unknown: [],
    },
  ])('$name', ({ given, known, unknown }) => {
    const found = splitUnknownFields(given as JsonMap)
    expect(found.settings).toEqual(known)
    expect(found.unknown.map(({ path }) => pathText(path))).toEqual(unknown)
    expect(Object.getPrototypeOf(found.settings)).toBe(Object.prototype)
  })

  test('fields below 32 levels are unknown', () => {
    const deep = { costControl: { settings: { averageCPUPricePerNode: nested(5000) } } }
    const { settings, unknown } = splitUnknownFields(deep)
    expect(unknown.map(({ path }) => path.length)).toEqual([33])
    expect(JSON.stringify(settings).split('{').length - 1).toBe(33)
  })
})

describe('unset values', () => {
  test.each<{ name: string; given: JsonMap; says: JsonMap }>([
    { name: 'null', given: { platformHost: null, auth: { oidc: null } }, says: {} },
    {
      name: 'empty texts and false',
      given: { platformHost: '', audit: { enabled: false, path: '' } },
      says: {},
    },
    { name: 'empty maps', given: { auth: { oidc: {}, password: {} }, cloud: {} }, says: {} },
    {
      name: '0 without a meaning',
      given: { audit: { level: 0, maxAge: 0, maxBackups: 0, maxSize: 0, dataStoreTTL: 0 } },
      says: {},
    },
    {
      name: '0 with a meaning stays',
      given: {
        auth: { accessKeyMaxTTLSeconds: 0, loginAccessKeyTTLSeconds: 0 },
        imageBuilder: { replicas: 0 },
      },
      says: {
        auth: { accessKeyMaxTTLSeconds: 0, loginAccessKeyTTLSeconds: 0 },
        imageBuilder: { replicas: 0 },
      },
    },
    {
      name: 'an empty storage class is a value',
      given: {
        costControl: { global: { metrics: { storage: { storageClass: '', size: '' } } } },
        platformDB: { storageClass: '' },
      },
      says: { costControl: { global: { metrics: { storage: { storageClass: '' } } } } },
    },
    {
      name: 'empty lists are values',
      given: { auth: { groupsFilters: [] } },
      says: { auth: { groupsFilters: [] } },
    },
    {
      name: 'entries of lists stay',
      given: { uiSettings: { customCss: [''], navBarButtons: [{ text: '' }] } },
      says: { uiSettings: { customCss: [''], navBarButtons: [{}] } },
    },
    {
      name: 'hidden values',
      given: {
        auth: {
          oidc: { clientSecret: 'REDACTED', clientId: 'REDACTED' },
          customHttpHeaders: { 'X-A': 'REDACTED' },
        },
      },
      says: { auth: { oidc: { clientId: 'REDACTED' } } },
    },
    {
      name: 'hidden URLs',
      given: { secretStore: { address: 'https://REDACTED@h' } },
      says: {},
    },
    {
      name: 'hidden data source names',
      given: {
        database: { dataSource: 'postgres://REDACTED@h/db' },
        audit: { dataStoreEndpoint: 'postgres://h/db?REDACTED' },
      },
      says: {},
    },
    {
      name: 'hidden texts',
      given: { uiSettings: { legalTemplate: 'see https://REDACTED@h' } },
      says: {},
    },
    {
      name: 'hidden values in a list stay, as they stand for the secret (6.3)',
      given: {
        database: { extraArgs: ['REDACTED', '--a'] },
        apps: { repositories: [{ url: 'https://REDACTED@h/', name: 'n', username: '' }] },
      },
      says: {
        database: { extraArgs: ['REDACTED', '--a'] },
        apps: { repositories: [{ url: 'https://REDACTED@h/', name: 'n' }] },
      },
    },
  ])('$name', ({ given, says }) => {
    expect(readSource('spec', given, anyTypes).settings).toEqual(says)
  })

  test('include redacted values of a record, also in lists (6.3, 6.5)', () => {
    const given = {
      platformHost: '',
      secretStore: { address: 'https://REDACTED@h' },
      apps: { repositories: [{ url: 'https://REDACTED@h/', name: 'n' }] },
      database: { extraArgs: ['REDACTED', 'REDACTED'] },
    }
    expect(readSource('ConfigMap', given, anyTypes).settings).toEqual({
      apps: { repositories: [{ name: 'n' }] },
    })
  })
})

describe('the types of a source', () => {
  test.each<{ name: string; given: unknown; paths: readonly string[] }>([
    { name: 'no source', given: null, paths: [] },
    { name: 'a list', given: [], paths: [''] },
    { name: 'a text', given: 'auth', paths: [''] },
    {
      name: 'wrong types',
      given: {
        auth: { accessKeyMaxTTLSeconds: '60', groupsFilters: ['a', 5], connectors: [{ id: 7 }] },
        platformHost: [],
      },
      paths: [
        'auth.connectors[0].id',
        'auth.accessKeyMaxTTLSeconds',
        'auth.groupsFilters[1]',
        'platformHost',
      ],
    },
    {
      name: 'a fraction and an infinity',
      given: { audit: { level: 1.5, maxAge: Number.POSITIVE_INFINITY } },
      paths: ['audit.level', 'audit.maxAge'],
    },
  ])('$name', ({ given, paths }) => {
    const { faults } = readSource('Secret', given, checkSettingsSchema)
    expect(faults.map(({ path }) => path)).toEqual(paths)
    expect(faults.every(({ source }) => source === 'Secret')).toBe(true)
  })
})

describe('the text of a path', () => {
  test.each<{ readonly path: FieldPath; readonly text: string }>([
    { path: [], text: '' },
    { path: ['auth', 'connectors', 0, 'id'], text: 'auth.connectors[0].id' },
    { path: ['auth', 'customHttpHeaders', 'X-A'], text: 'auth.customHttpHeaders.X-A' },
    { path: ['a/b', 'c~d'], text: '["a/b"]["c~d"]' },
  ])('the path $path is written as $text', ({ path, text }) => {
    expect(pathText(path)).toBe(text)
  })
  test.each([
    ['a', 'a', true],
    ['a.b', 'a', true],
    ['a[0]', 'a', true],
    ['ab', 'a', false],
    ['a', 'a.b', false],
    ['a', '', true],
  ] as const)('%s within %s: %s', (inner, outer, is) => {
    expect(isInsidePath(inner, outer)).toBe(is)
  })
})

describe('values of another type are faults, never absence (6.5)', () => {
  test.each<{ name: string; given: unknown; path: string }>([
    { name: 'a group that is no', given: { auth: false }, path: 'auth' },
    { name: 'a cap that is no', given: cap(false), path: 'auth.accessKeyMaxTTLSeconds' },
    { name: 'a cap that is an empty text', given: cap(''), path: 'auth.accessKeyMaxTTLSeconds' },
    { name: 'a cap that is an empty map', given: cap({}), path: 'auth.accessKeyMaxTTLSeconds' },
    { name: 'a cap that is an empty list', given: cap([]), path: 'auth.accessKeyMaxTTLSeconds' },
    { name: 'a group that is 0', given: { audit: 0 }, path: 'audit' },
    { name: 'a group that is empty text', given: { oidc: '' }, path: 'oidc' },
    {
      name: 'a list that is an empty map',
      given: { auth: { groupsFilters: {} } },
      path: 'auth.groupsFilters',
    },
    {
      name: 'a switch that is empty text',
      given: { audit: { enabled: '' } },
      path: 'audit.enabled',
    },
    { name: 'a text that is no', given: { platformHost: false }, path: 'platformHost' },
  ])('$name', ({ given, path }) => {
    for (const source of ['spec', 'Secret', 'status'] as const) {
      const { faults } = readSource(source, given, checkSettingsSchema)
      expect(faults).toEqual([{ path, source, message: expect.stringMatching(/^must be /) }])
    }
  })

  test('null is absence', () => {
    const given = { auth: { accessKeyMaxTTLSeconds: null, groupsFilters: null }, audit: null }
    expect(readSource('Secret', given, checkSettingsSchema)).toMatchObject({
      faults: [],
      settings: {},
    })
  })
})

describe('an unknown field of the Secret that is spelt almost like a known one is a fault (6.5)', () => {
  test.each<{ name: string; given: unknown; path: string; meant: string }>([
    {
      name: 'one letter less',
      given: { auth: { accessKeyMaxTTLSecond: 60 } },
      path: 'auth.accessKeyMaxTTLSecond',
      meant: 'accessKeyMaxTTLSeconds',
    },
    {
      name: 'one letter more',
      given: { auth: { accessKeysMaxTTLSeconds: 60 } },
      path: 'auth.accessKeysMaxTTLSeconds',
      meant: 'accessKeyMaxTTLSeconds',
    },
    {
      name: 'another letter',
      given: { auth: { accessKeyMoxTTLSeconds: 60 } },
      path: 'auth.accessKeyMoxTTLSeconds',
      meant: 'accessKeyMaxTTLSeconds',
    },
    {
      name: 'two letters in the other order',
      given: { auth: { accessKeyMaxTTLSecodns: 60 } },
      path: 'auth.accessKeyMaxTTLSecodns',
      meant: 'accessKeyMaxTTLSeconds',
    },
    {
      name: 'another case',
      given: { auth: { accessKeyMaxTtlSeconds: 60 } },
      path: 'auth.accessKeyMaxTtlSeconds',
      meant: 'accessKeyMaxTTLSeconds',
    },
    {
      name: 'a group in another case',
      given: { Auth: { accessKeyMaxTTLSeconds: 60 } },
      path: 'Auth',
      meant: 'auth',
    },
    {
      name: 'in an entry of a list',
      given: { auth: { connectors: [{ ids: 'a' }] } },
      path: 'auth.connectors[0].ids',
      meant: 'id',
    },
  ])('$name', ({ given, path, meant }) => {
    const { faults, unknown } = readSource('Secret', given, checkSettingsSchema)
    const message = expect.stringContaining(`write ${meant},`)
    expect(faults).toEqual([{ path, source: 'Secret', message }])
    expect(unknown.map((field) => field.path)).not.toContain(path)
  })

  test('others stay a warning, in every source', () => {
    for (const source of ['spec', 'Secret', 'status'] as const)
      expect(
        readSource(source, { auth: { cap: 60 }, future: {} }, checkSettingsSchema),
      ).toMatchObject({
        faults: [],
        unknown: [{ path: 'auth.cap' }, { path: 'future' }],
      })
  })
})

function cap(value: unknown) {
  return { auth: { accessKeyMaxTTLSeconds: value } }
}
