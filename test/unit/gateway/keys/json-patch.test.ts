import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS } from '../../../../src/api/group.ts'
import type { Json, JsonMap } from '../../../../src/domain/config/json.ts'
import { jsonPatchOf, secretsOf } from '../../../../src/gateway/keys/json-patch.ts'
import { key } from './keys.ts'

const current = key({
  metadata: { resourceVersion: '7', annotations: { a: 'b', 'x/y': `holds ${'s'.repeat(20)}` } },
  spec: {
    key: 's'.repeat(20),
    identity: { username: 'ada', connectorData: 'connector-data' },
    oidcLogin: { idToken: 'id-token-of-ada' },
  },
})
const GUARD = { op: 'test', path: '/metadata/resourceVersion', value: '7' }

/** What is sent for it; the refusal as text. */
function sent(operations: readonly Json[], object: JsonMap = current): readonly Json[] | string {
  const read = jsonPatchOf(ACCESS_KEYS, operations, object)
  return read.ok ? read.operations : read.because
}

describe('a JSON patch (12.4)', () => {
  test.each(['copy', 'move', 'COPY', 'Test', 'merge', ''])('has no operation %j', (op) => {
    const one = { op, from: '/metadata/name', path: '/metadata/annotations/a', value: 'x' }
    expect(sent([{ op: 'add', path: '/spec/ttl', value: 1 }, one])).toContain('is not taken here')
  })

  test.each([
    '',
    '/spec',
    '/spec/key',
    '/spec/key/x',
    '/spec/identity',
    '/spec/identity/connectorData',
    '/spec/oidcLogin',
    '/spec/oidcLogin/idToken',
    '/metadata',
    '/metadata/annotations',
    '/metadata/annotations/x~1y',
    '/metadata/finalizers/-1',
  ])('tests nothing of %j, where something is hidden', (path) => {
    expect(sent([{ op: 'test', path, value: 'x' }])).toContain('it holds what is hidden')
  })

  test.each([
    '/spec/user',
    '/spec/identity/username',
    '/spec/keys',
    '/metadata/name',
    '/metadata/annotations/a',
    '/metadata/finalizers/0',
    '/status',
  ])('tests %j, which everybody sees', (path) => {
    const one = { op: 'test', path, value: 'x' }
    expect(sent([one])).toEqual([GUARD, one])
  })

  test.each([null, 'spec', 5, undefined])('has no path like %j', (path) => {
    expect(sent([{ op: 'remove', ...(path === undefined ? {} : { path }) }])).toContain(
      'needs a path',
    )
  })

  const many = (count: number, one: JsonMap): readonly Json[] =>
    Array.from({ length: count }, () => one)

  test.each([
    { name: 'operations', bomb: many(1001, { op: 'remove', path: '/spec/ttl' }), says: '1000' },
    {
      name: 'tests',
      bomb: many(101, { op: 'test', path: '/status', value: 1 }),
      says: '100 tests',
    },
    ...['add', 'replace', 'remove', 'test'].flatMap((op) => [
      { name: `parts to ${op}`, bomb: [{ op, path: '/a'.repeat(65), value: 1 }], says: '64 parts' },
      {
        name: `characters to ${op}`,
        bomb: [{ op, path: `/${'a'.repeat(1024)}`, value: 1 }],
        says: '64 parts and 1024 characters',
      },
    ]),
  ])('has not so many $name (E8)', ({ bomb, says }) => {
    expect(sent(bomb)).toContain(`at most ${says}`)
  })

  test('has as many as anybody needs', () => {
    const longest = { op: 'add', path: `${'/a'.repeat(63)}/${'a'.repeat(897)}`, value: 1 }
    const tests = many(100, { op: 'test', path: '/status', value: 1 })
    const all = [...tests, ...many(900, longest)]
    expect(longest.path).toHaveLength(1024)
    expect(sent(all)).toEqual([GUARD, ...all])
  })

  test('whose tests are many looks at each part of the object as often as one test does (E8)', () => {
    let looks = 0
    const annotations = new Proxy(
      { secret: 's'.repeat(20), a: 'b' },
      {
        ownKeys: (target) => {
          looks += 1
          return Reflect.ownKeys(target)
        },
      },
    )
    const object = key({ metadata: { annotations }, spec: { key: 's'.repeat(20) } })
    const looksOf = (count: number, path: string): number => {
      looks = 0
      sent(many(count, { op: 'test', path, value: 1 }), object)
      return looks
    }
    for (const path of ['/metadata', '/metadata/annotations', '/metadata/annotations/a'])
      expect(looksOf(100, path)).toBe(looksOf(1, path))
  })

  test.each([
    { path: '', value: { spec: { key: 'the-key-that-is-sent' } } },
    { path: '/spec', value: { key: 'the-key-that-is-sent', user: 'ada-of-the-example' } },
    { path: '/spec/key', value: 'the-key-that-is-sent' },
  ])('brings a secret at $path', ({ path, value }) => {
    expect(secretsOf(ACCESS_KEYS, [{ op: 'add', path, value }])).toEqual(['the-key-that-is-sent'])
  })

  test.each(['/spec/user', '/spec/key/x', '/metadata', 'spec/key', `/spec${'/a'.repeat(64)}`])(
    'brings none at %s',
    (path) => {
      const value = { key: 'the-key-that-is-sent' }
      expect(secretsOf(ACCESS_KEYS, [{ op: 'add', path, value }])).toEqual([])
    },
  )

  test('brings nothing but what is known of an operation', () => {
    const odd = { op: 'remove', path: '/spec/ttl', from: '/spec/key', other: 1 }
    expect(sent([odd])).toEqual([GUARD, { op: 'remove', path: '/spec/ttl' }])
  })

  test.each([
    {
      name: 'spec',
      path: '/spec',
      value: { user: 'ada' },
      kept: { user: 'ada', key: 's'.repeat(20), oidcLogin: { idToken: 'id-token-of-ada' } },
    },
    {
      name: 'identity',
      path: '/spec/identity',
      value: { email: 'x' },
      kept: { email: 'x', connectorData: 'connector-data' },
    },
    {
      name: 'spec by its own key',
      path: '/spec',
      value: { key: 'other' },
      kept: { key: 'other', oidcLogin: { idToken: 'id-token-of-ada' } },
    },
    { name: 'metadata', path: '/metadata/labels', value: { a: 'b' }, kept: { a: 'b' } },
    { name: 'spec by no object', path: '/spec', value: null, kept: null },
  ])('that replaces $name keeps what was not shown of it', ({ path, value, kept }) => {
    for (const op of ['replace', 'add'])
      expect(sent([{ op, path, value }])).toEqual([GUARD, { op, path, value: kept }])
  })

  test('that replaces all keeps what was not shown', () => {
    const [, whole] = sent([{ op: 'replace', path: '', value: { spec: { user: 'ada' } } }])
    expect(whole).toMatchObject({ value: { spec: { key: 's'.repeat(20) } } })
  })
})

describe('annotations (12.5)', () => {
  const add = { op: 'add', path: '/metadata/annotations/note', value: 'x' }

  test('are added to an object that has none', () => {
    const whole = key({ metadata: { resourceVersion: '7' } })
    const { annotations: _, ...metadata } = whole['metadata'] as JsonMap
    expect(sent([add], { ...whole, metadata })).toEqual([
      GUARD,
      { op: 'add', path: '/metadata/annotations', value: {} },
      add,
    ])
  })

  test('are added to those that are there', () => {
    expect(sent([add])).toEqual([GUARD, add])
  })
})

describe('settings (6.3)', () => {
  const config = {
    kind: 'Config',
    metadata: { resourceVersion: '7' },
    spec: {
      auth: {
        connectors: [{ id: 'one', oidc: { clientSecret: 'literal-secret', clientId: 'c' } }],
      },
    },
  }
  const read = (one: Json) => jsonPatchOf(CONFIGS, [one], config)

  test.each([
    '/spec',
    '/spec/auth',
    '/spec/auth/connectors/0',
    '/spec/auth/connectors/00/oidc',
    '/spec/auth/connectors/0/oidc/clientSecret',
    '/spec/auth/connectors/-1/oidc/clientId',
  ])('are not tested at %j', (path) => {
    expect(read({ op: 'test', path, value: 'x' }).ok).toBe(false)
  })

  test('are tested where nothing is secret', () => {
    const path = '/spec/auth/connectors/0/oidc/clientId'
    expect(read({ op: 'test', path, value: 'x' }).ok).toBe(true)
  })

  test('that were shown as REDACTED and come back so are what they were', () => {
    const value = [{ id: 'two', oidc: { clientSecret: 'REDACTED', clientId: 'c' } }]
    expect(read({ op: 'replace', path: '/spec/auth/connectors', value })).toMatchObject({
      operations: [GUARD, { value: [{ id: 'two', oidc: { clientSecret: 'literal-secret' } }] }],
    })
  })
})
