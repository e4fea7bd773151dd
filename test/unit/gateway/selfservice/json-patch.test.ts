import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../../src/api/names.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { jsonPatchOf, secretsOf } from '../../../../src/gateway/selfservice/patch.ts'
import { key } from './key-objects.ts'

const current = key({
  metadata: { resourceVersion: '7', annotations: { a: 'b', 'x/y': `holds ${'s'.repeat(20)}` } },
  spec: {
    key: 's'.repeat(20),
    identity: { username: 'ada', connectorData: 'connector-data' },
    oidcLogin: { idToken: 'id-token-of-ada' },
  },
})
const GUARD = { op: 'test', path: '/metadata/resourceVersion', value: '7' }

/** The forwarded patch, or the refusal as text. */
function sent(operations: readonly Json[], object: JsonMap = current): readonly Json[] | string {
  const read = jsonPatchOf(ACCESS_KEYS, operations, object)
  return read.ok
    ? read.operations
    : (JSON.parse(read.answer.body.toString()) as { readonly message: string }).message
}

describe('a JSON patch (12.4)', () => {
  test.each(['copy', 'move', 'COPY', 'Test', 'merge', ''])(
    'is refused with the operation %j',
    (op) => {
      const one = { op, from: '/metadata/name', path: '/metadata/annotations/a', value: 'x' }
      expect(sent([{ op: 'add', path: '/spec/ttl', value: 1 }, one])).toContain(
        'is not supported here',
      )
    },
  )

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
  ])('is refused with a test of %j, which contains a hidden field', (path) => {
    expect(sent([{ op: 'test', path, value: 'x' }])).toContain('it holds a hidden field')
  })

  test.each(['-1', '-', '00', '01', '+0', '0x0', ''])(
    'is refused with the list entry %j',
    (entry) => {
      const path = `/metadata/finalizers/${entry}`
      expect(sent([{ op: 'test', path, value: 'x' }])).toContain(
        'entries of lists are named by 0, 1',
      )
      expect(sent([{ op: 'remove', path }])).toContain(
        'the path does not exist at that point of the patch',
      )
    },
  )

  test.each([
    { op: 'remove', path: '/spec/ttl' },
    { op: 'remove', path: '' },
    { op: 'remove', path: '/metadata/finalizers/1' },
    { op: 'replace', path: '/metadata/finalizers/1', value: 'x' },
    { op: 'add', path: '/metadata/finalizers/2', value: 'x' },
    { op: 'add', path: '/spec/scope/projects', value: [] },
    { op: 'add', path: '/spec/user/x', value: 'x' },
    { op: 'add', path: '', value: {} },
    { op: 'replace', path: '', value: 'x' },
  ])('does not $op at $path, which does not exist', (one) => {
    expect(sent([one])).toContain(
      `${one.op} of "${one.path}": the path does not exist at that point of the patch`,
    )
  })

  test('is checked against the object after each operation', () => {
    const operations = [
      { op: 'test', path: '/metadata/finalizers/0', value: 'x' },
      { op: 'remove', path: '/metadata/finalizers/0' },
      { op: 'add', path: '/metadata/finalizers/-', value: 'y' },
      { op: 'test', path: '/metadata/finalizers/0', value: 'y' },
      { op: 'add', path: '/spec/scope', value: {} },
      { op: 'add', path: '/spec/scope/projects', value: [] },
      { op: 'add', path: '/spec/scope/projects/0', value: { project: 'a' } },
      { op: 'replace', path: '/spec/scope/projects/0/project', value: 'b' },
      { op: 'test', path: '/spec/scope', value: { projects: [{ project: 'b' }] } },
      { op: 'add', path: '/spec/__proto__', value: { ttl: 1 } },
      { op: 'remove', path: '/spec/__proto__/ttl' },
    ]
    expect(sent(operations)).toEqual([GUARD, ...operations])
    expect(sent([...operations, operations[1] as JsonMap, operations[1] as JsonMap])).toContain(
      'the path does not exist at that point of the patch',
    )
  })

  test.each([
    '/spec/user',
    '/spec/identity/username',
    '/spec/keys',
    '/metadata/name',
    '/metadata/annotations/a',
    '/metadata/finalizers/0',
    '/status',
  ])('tests %j, which every caller sees', (path) => {
    const one = { op: 'test', path, value: 'x' }
    expect(sent([one])).toEqual([GUARD, one])
  })

  test.each([null, 'spec', 5, undefined])('is refused with the path %j', (path) => {
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
  ])('is refused with too many $name (E8)', ({ bomb, says }) => {
    expect(sent(bomb)).toContain(`at most ${says}`)
  })

  test('may have hundreds of operations', () => {
    const longest = { op: 'add', path: `${'/a'.repeat(63)}/${'a'.repeat(897)}`, value: 1 }
    const around = Array.from({ length: 63 }).reduce<JsonMap>((inner) => ({ a: inner }), {})
    const tests = many(100, { op: 'test', path: '/status', value: 1 })
    const all = [
      ...tests,
      { op: 'add', path: '/a', value: around['a'] ?? null },
      ...many(899, longest),
    ]
    expect(longest.path).toHaveLength(1024)
    expect(sent(all)).toEqual([GUARD, ...all])
  })

  test('with many tests reads each part of the object as often as with one (E8)', () => {
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
  ])('sets a secret at $path', ({ path, value }) => {
    expect(secretsOf(ACCESS_KEYS, [{ op: 'add', path, value }])).toEqual(['the-key-that-is-sent'])
  })

  test.each(['/spec/user', '/spec/key/x', '/metadata', 'spec/key', `/spec${'/a'.repeat(64)}`])(
    'sets no secret at %s',
    (path) => {
      const value = { key: 'the-key-that-is-sent' }
      expect(secretsOf(ACCESS_KEYS, [{ op: 'add', path, value }])).toEqual([])
    },
  )

  test('is forwarded with only the known fields of its operations', () => {
    const odd = { op: 'remove', path: '/spec/user', from: '/spec/key', other: 1, value: 2 }
    expect(sent([odd])).toEqual([GUARD, { op: 'remove', path: '/spec/user' }])
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
      name: 'spec by an object with spec.key',
      path: '/spec',
      value: { key: 'other' },
      kept: { key: 'other', oidcLogin: { idToken: 'id-token-of-ada' } },
    },
    { name: 'metadata', path: '/metadata/labels', value: { a: 'b' }, kept: { a: 'b' } },
    { name: 'spec by null', path: '/spec', value: null, kept: null },
  ])('that replaces $name keeps its hidden fields', ({ path, value, kept }) => {
    for (const op of ['replace', 'add'])
      expect(sent([{ op, path, value }])).toEqual([GUARD, { op, path, value: kept }])
  })

  test('that replaces the whole object keeps its hidden fields', () => {
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

  test('are added to existing ones', () => {
    expect(sent([add])).toEqual([GUARD, add])
  })
})
