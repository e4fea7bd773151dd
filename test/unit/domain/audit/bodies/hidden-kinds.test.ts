import { describe, expect, test } from 'vitest'
import { randomFrom } from '../../../../support/random.ts'
import {
  CANARIES,
  KEY,
  LAST_APPLIED,
  OBJECTS,
  OURS,
  PLAIN,
  secret,
} from './objects-with-secrets.ts'
import { type RecordedParts, recordedAgain, recordedJson } from './recorded.ts'

/** What is recorded of a value; no canary may be in it. */
function hidden(value: unknown, parts: RecordedParts): unknown {
  const json = recordedJson(JSON.stringify(value), parts)
  expect(CANARIES.filter((one) => json.includes(one))).toEqual([])
  // The centre records again what agents have recorded (23.2).
  expect(recordedAgain(json, parts)).toBe(json)
  return JSON.parse(json)
}

const listOf = (apiVersion: string, kind: string, items: readonly unknown[]) => ({
  apiVersion,
  kind,
  metadata: { resourceVersion: '7' },
  items,
})

describe.each(OBJECTS)('$name', ({ path, object, shown }) => {
  test('its secrets are hidden, by the kind of the path and by its own (21.4)', () => {
    expect(hidden(object, { path })).toEqual(shown)
    expect(hidden(object, { path, verb: 'update' })).toEqual(shown)
    expect(hidden(object, { path: '/configmaps' })).toEqual(shown)
    expect(hidden(object, { path: 'example.com/widgets', code: 201 })).toEqual(shown)
  })

  test('its secrets are hidden too where the body names no kind, or another one (21.4)', () => {
    const { apiVersion: _, kind: __, ...bare } = object
    const { apiVersion: ___, kind: ____, ...shownBare } = shown
    expect(hidden(bare, { path })).toEqual(shownBare)
    const other = { apiVersion: 'v1', kind: 'ConfigMap' }
    expect(hidden({ ...bare, ...other }, { path })).toEqual({ ...shownBare, ...other })
  })

  test('its secrets are hidden in Lists, item by item (21.4)', () => {
    const { apiVersion, kind } = object as { apiVersion: string; kind: string }
    const { apiVersion: _, kind: __, ...bare } = object
    const { apiVersion: ___, kind: ____, ...shownBare } = shown
    const ofKind = listOf(apiVersion, `${kind}List`, [bare, object])
    const shownList = { ...ofKind, items: [shownBare, shown] }
    expect(hidden(ofKind, { path, code: 200 })).toEqual(shownList)
    expect(hidden(ofKind, { code: 200 })).toEqual(shownList)
    const map = { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } }
    const mixed = listOf('v1', 'List', [map, object])
    expect(hidden(mixed, {})).toEqual({ ...mixed, items: [map, shown] })
  })

  test('its secrets are hidden in the rows of a Table, with unknown cells (21.4)', () => {
    const table = (one: object, cells: readonly unknown[]) => ({
      apiVersion: 'meta.k8s.io/v1',
      kind: 'Table',
      columnDefinitions: [{ name: 'Name', type: 'string' }, { name: 'Data' }, { name: 'Value' }],
      rows: [{ cells, object: one }],
    })
    const shownTable = table(shown, ['a', 2, '<hidden>'])
    expect(hidden(table(object, ['a', 2, PLAIN]), { path, code: 200 })).toEqual(shownTable)
    expect(hidden(table(object, ['a', 2, PLAIN]), { code: 200 })).toEqual(shownTable)
  })

  test('its secrets are hidden within an object of another kind (21.4)', () => {
    const widget = (template: object) => ({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', password: 'p' },
      spec: { templates: [{ inner: template }] },
    })
    expect(hidden(widget(object), { path: 'example.com/widgets' })).toEqual(widget(withMark(shown)))
  })
})

test.each(OBJECTS.filter(({ name }) => name !== 'another kind of our group'))(
  'the kind decides without an apiVersion: $name (21.4)',
  ({ object, shown }) => {
    const { apiVersion: _, ...bare } = object
    const { apiVersion: __, ...shownBare } = shown
    expect(hidden(bare, {})).toEqual(shownBare)
  },
)

/** managedFields are left out of the bodies themselves; within others they are unknown fields. */
function withMark(shown: Readonly<Record<string, unknown>>): object {
  const { metadata, kind } = shown as { metadata?: { name?: unknown }; kind: string }
  if (kind !== 'Secret' || metadata?.name !== 'a') return shown
  return { ...shown, metadata: { ...metadata, managedFields: '<hidden>' } }
}

describe('other shapes', () => {
  test('the metadata of Secrets alone is recorded without what may be secret (21.4)', () => {
    const partial = (annotations: object) => ({
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadata',
      metadata: { name: 'a', annotations },
    })
    expect(hidden(partial({ [LAST_APPLIED]: PLAIN }), { path: '/secrets', code: 200 })).toEqual(
      partial({ [LAST_APPLIED]: '<hidden>' }),
    )
  })

  test.each([
    { name: 'a text', body: PLAIN, shown: '<hidden>' },
    { name: 'a list', body: [{ data: PLAIN }], shown: '<hidden>' },
    {
      name: 'a Table without rows',
      body: { apiVersion: 'meta.k8s.io/v1', kind: 'Table', rows: { a: PLAIN }, data: PLAIN },
      shown: {
        apiVersion: 'meta.k8s.io/v1',
        kind: 'Table',
        rows: '<hidden>',
        data: '<hidden>',
      },
    },
    {
      name: 'a List with more fields',
      body: { ...listOf('v1', 'SecretList', [PLAIN, [PLAIN], null]), data: PLAIN },
      shown: {
        ...listOf('v1', 'SecretList', ['<hidden>', '<hidden>', '<hidden>']),
        data: '<hidden>',
      },
    },
    {
      name: 'a row that is none',
      body: { apiVersion: 'meta.k8s.io/v1', kind: 'Table', rows: [PLAIN, { cells: PLAIN }] },
      shown: { apiVersion: 'meta.k8s.io/v1', kind: 'Table', rows: ['<hidden>', { cells: [] }] },
    },
    {
      name: '__proto__',
      body: JSON.parse(`{"__proto__":{"data":"${PLAIN}"},"kind":"Secret"}`) as unknown,
      shown: JSON.parse('{"__proto__":"<hidden>","kind":"Secret"}') as unknown,
    },
  ])('the path of Secrets lets no unknown field pass: $name (21.4)', ({ body, shown }) => {
    expect(hidden(body, { path: '/secrets' })).toEqual(shown)
  })

  test('a field that only one of two kinds knows is hidden: of the path and of the body (21.4)', () => {
    const body = { apiVersion: `${OURS}/v1`, kind: 'OwnedAccessKey', spec: { user: PLAIN } }
    expect(hidden({ ...body, type: PLAIN }, { path: '/secrets' })).toEqual({
      ...body,
      spec: '<hidden>',
      type: '<hidden>',
    })
  })

  test.each(['delete', 'deletecollection'])(
    'the options of a %s are recorded, and nothing else in them (21.4)',
    (verb) => {
      const options = { propagationPolicy: 'Foreground', preconditions: { uid: 'u' } }
      const parts = { path: '/secrets', verb } as const
      expect(hidden({ ...options, data: PLAIN }, parts)).toEqual({ ...options, data: '<hidden>' })
    },
  )

  test('a record that an agent did not hide is hidden when it is recorded again (23.2)', () => {
    const json = JSON.stringify({ kind: 'Secret', data: PLAIN, n: 1.5 })
    expect(recordedAgain(json, {})).toBe('{"kind":"Secret","data":"<hidden>","n":"<hidden>"}')
  })

  test('a duplicate name hides nothing from the rules: the last one counts (21.4)', () => {
    const text = `{"kind":"ConfigMap","data":"${PLAIN}","kind":"Secret"}`
    expect(recordedJson(text, {})).toBe('{"kind":"Secret","data":"<hidden>"}')
  })

  test('an escape in a kind hides nothing from the rules (21.4)', () => {
    const text = `{"apiVersion":"v1","\\u006bind":"\\u0053ecret","d\\u0061ta":"${PLAIN}"}`
    expect(recordedJson(text, {})).toBe('{"apiVersion":"v1","kind":"Secret","data":"<hidden>"}')
  })

  test('YAML is hidden as JSON is (21.4)', () => {
    const text = `kind: Secret\nstringdata:\n  a: ${PLAIN}\ntype: Opaque\n`
    expect(recordedJson(text, { path: '/secrets', contentType: 'application/yaml' })).toBe(
      '{"kind":"Secret","stringdata":"<hidden>","type":"Opaque"}',
    )
  })

  test('numbers of hidden kinds stay digit for digit (21.4)', () => {
    const text = '{"kind":"TokenRequest","spec":{"expirationSeconds":1.0e3,"x":1.5}}'
    expect(recordedJson(text, {})).toBe(
      '{"kind":"TokenRequest","spec":{"expirationSeconds":1.0e3,"x":"<hidden>"}}',
    )
  })
})

describe('what is not hidden', () => {
  test.each([
    { apiVersion: 'v1', kind: 'ConfigMap', data: { password: PLAIN, key: KEY } },
    { apiVersion: 'example.com/v1', kind: 'Secret', data: PLAIN },
    { apiVersion: 'v1', kind: 'Event', involvedObject: { ...secret, namespace: 'n', name: 'a' } },
    { kind: 'Route', spec: { certificateRefs: [{ kind: 'Secret', name: 'a', data: 'x' }] } },
    { kind: 'Pod', metadata: { ownerReferences: [{ ...secret, name: 'a', uid: 'u' }] } },
    { apiVersion: 'v1', kind: 'Status', status: 'Success', details: { kind: 'pods', uid: 'u' } },
  ])('objects of other kinds are recorded as they are: $kind (21.4)', (object) => {
    for (const parts of [{}, { verb: 'patch' }, { verb: 'delete' }, { code: 200 }])
      expect(recordedJson(JSON.stringify(object), parts)).toBe(JSON.stringify(object))
  })

  test('managedFields are left out of objects, Lists and Tables (21.4)', () => {
    const pod = (metadata: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata })
    const [full, lean] = [pod({ name: 'a', managedFields: [{ manager: 'x' }] }), pod({ name: 'a' })]
    const bodies = (one: object) => [
      one,
      listOf('v1', 'PodList', [one, one]),
      { apiVersion: 'meta.k8s.io/v1', kind: 'Table', rows: [{ cells: ['a'], object: one }] },
    ]
    const shown = bodies(full).map((one) =>
      JSON.parse(recordedJson(JSON.stringify(one), { code: 200 })),
    )
    expect(shown).toEqual(bodies(lean))
  })
})

describe('random bodies', () => {
  const NAMES = ['data', 'stringData', 'metadata', 'name', 'annotations', 'labels', 'type', 'foo']
  const MORE = ['items', 'rows', 'object', 'spec', 'status', 'token', '__proto__', 'finalizers']
  /** Where a text of a Secret may stand, as a path of names. */
  const ALLOWED = new RegExp(
    '^(?:type|(?:items\\.\\d+\\.)?metadata\\.(?:name|(?:labels|annotations)\\.[^.]+|finalizers\\.\\d+)|items\\.\\d+\\.type)$',
  )

  const pathsOf = (value: unknown, path: string): readonly (readonly [string, unknown])[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) =>
          pathsOf(one, path === '' ? name : `${path}.${name}`),
        )
      : [[path, value]]

  test('at the path of Secrets no text passes but where their schema has one (21.4)', () => {
    const { pick, between } = randomFrom(42)
    let count = 0
    const value = (depth: number): string => {
      const kind = depth === 0 ? 'text' : pick(['text', 'list', 'map', 'map'])
      if (kind === 'text') return `"canary${(count += 1)}"`
      const inner = Array.from({ length: 1 + Math.floor(between(0, 4)) }, () => value(depth - 1))
      if (kind === 'list') return `[${inner.join(',')}]`
      const fields = inner.map((one) => `"${pick([...NAMES, ...MORE])}":${one}`)
      return `{${fields.join(',')}}`
    }
    let shownTexts = 0
    for (let round = 0; round < 3000; round += 1) {
      const recorded: unknown = JSON.parse(recordedJson(value(4), { path: '/secrets' }))
      const shown = pathsOf(recorded, '').filter(([, one]) => String(one).startsWith('canary'))
      shownTexts += shown.length
      expect(shown.filter(([path]) => !ALLOWED.test(path))).toEqual([])
    }
    expect(shownTexts).toBeGreaterThan(50)
  })
})
