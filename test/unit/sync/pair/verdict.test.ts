import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { type Patch, checkPatches } from '../../../../src/sync/patches/parse.ts'
import { verdictOf } from '../../../../src/sync/pair/convergence.ts'
import { NOT_STABLE, withoutVersion } from '../../../../src/sync/objects/server-fields.ts'

function checked(...entries: readonly object[]): readonly Patch[] {
  const { patches, faults } = checkPatches(entries as never, 'p', ['metadata', 'data'])
  expect(faults).toEqual([])
  return patches
}

describe('a verdict', () => {
  const entry = { path: 'data.a', expression: 'value', reverseExpression: 'value' }
  const second = { path: 'data.b', reference: { kind: 'Secret' } }
  const host: JsonMap = {
    kind: 'Service',
    metadata: { name: 'web-x', annotations: { a: 'b' }, labels: { a: 'b' } },
    data: { a: '1' },
    status: {},
  }
  const examined = {
    patches: checked(entry, second),
    config: { a: 1 },
    virtual: { kind: 'Service', metadata: { name: 'web', uid: 'u' }, data: { a: '2' } },
    host,
  }
  const metadata = host['metadata'] as JsonMap
  const verdict = verdictOf(examined)
  const withMetadata = (object: JsonMap, fields: JsonMap): JsonMap => ({
    ...object,
    metadata: { ...(object['metadata'] as JsonMap), ...fields },
  })
  const version = { resourceVersion: '9', generation: 9, managedFields: [{ manager: 'm' }] }

  test('is 64 hexadecimal digits (19.7)', () => {
    expect(verdict).toMatch(/^[0-9a-f]{64}$/)
  })

  test.each([
    {
      name: 'a version of the virtual object',
      change: { virtual: withMetadata(examined.virtual, version) },
    },
    { name: 'a version of the host object', change: { host: withMetadata(host, version) } },
    {
      name: 'the verdict itself',
      change: { host: withMetadata(host, { annotations: { a: 'b', [NOT_STABLE]: verdict } }) },
    },
    {
      name: 'another order of names',
      change: { host: Object.fromEntries(Object.entries(host).toReversed()) },
    },
    { name: 'a configuration that no expression reads', change: { config: { a: 2 } } },
  ])('stays with $name (19.7)', ({ change }) => {
    expect(verdictOf({ ...examined, ...change })).toBe(verdict)
  })

  test('stays where it is the first annotation (19.7)', () => {
    const { annotations: _, ...rest } = metadata
    const before = { ...examined, host: { ...host, metadata: rest } }
    const after = withMetadata(before.host, { annotations: { [NOT_STABLE]: verdict } })
    expect(verdictOf({ ...before, host: after })).toBe(verdictOf(before))
  })

  test.each([
    { name: 'without a patch', change: { patches: checked(entry) } },
    {
      name: 'another expression',
      change: { patches: checked({ ...entry, expression: '1' }, second) },
    },
    {
      name: 'another reverse expression',
      change: { patches: checked({ ...entry, reverseExpression: '1' }, second) },
    },
    { name: 'another order of patches', change: { patches: checked(second, entry) } },
    { name: 'another path', change: { patches: checked({ ...entry, path: 'data.c' }, second) } },
    {
      name: 'another reference',
      change: { patches: checked(entry, { ...second, reference: { kind: 'ConfigMap' } }) },
    },
    { name: 'another virtual object', change: { virtual: { ...examined.virtual, data: {} } } },
    {
      name: 'another virtual uid',
      change: { virtual: withMetadata(examined.virtual, { uid: 'w' }) },
    },
    { name: 'another host object', change: { host: { ...host, data: {} } } },
    { name: 'another status', change: { host: { ...host, status: { a: 1 } } } },
    { name: 'another label', change: { host: withMetadata(host, { labels: {} }) } },
    {
      name: 'another annotation beside the verdict',
      change: { host: withMetadata(host, { annotations: { a: 'c', [NOT_STABLE]: verdict } }) },
    },
    { name: 'no host object', change: { host: null } },
    { name: 'both objects swapped', change: { virtual: host, host: examined.virtual } },
  ])('is another one with $name (19.7)', ({ change }) => {
    expect(verdictOf({ ...examined, ...change })).not.toBe(verdict)
  })

  test.each([
    { name: 'an expression', entry: { expression: 'context.virtualCluster.config.a' } },
    {
      name: 'a reverse expression',
      entry: { reverseExpression: 'context.virtualCluster.config.a' },
    },
  ])('follows the configuration that $name reads (19.7)', ({ entry: reads }) => {
    const patches = checked(second, { path: 'data.a', ...reads })
    const [one, other] = [1, 2].map((a) => verdictOf({ ...examined, patches, config: { a } }))
    expect(one).not.toBe(other)
  })
})

describe('an object without its version', () => {
  test.each<{ readonly name: string; readonly object: JsonMap; readonly is: JsonMap }>([
    { name: 'without metadata', object: { kind: 'A' }, is: { kind: 'A' } },
    { name: 'with other metadata', object: { metadata: 'x' }, is: { metadata: 'x' } },
    {
      name: 'with a generation elsewhere',
      object: { metadata: { generation: 1 }, spec: { generation: 1 } },
      is: { metadata: {}, spec: { generation: 1 } },
    },
    {
      name: 'with no annotations',
      object: { metadata: { annotations: {} } },
      is: { metadata: { annotations: {} } },
    },
    {
      name: 'with other annotations',
      object: { metadata: { annotations: 'x', labels: { [NOT_STABLE]: 'x' } } },
      is: { metadata: { annotations: 'x', labels: { [NOT_STABLE]: 'x' } } },
    },
    {
      name: 'with null as annotations',
      object: { metadata: { annotations: null } },
      is: { metadata: { annotations: null } },
    },
    {
      name: 'with a prototype as a key',
      object: {
        metadata: { annotations: JSON.parse(`{"__proto__":"x","${NOT_STABLE}":"y"}`) as JsonMap },
      },
      is: { metadata: { annotations: JSON.parse('{"__proto__":"x"}') as JsonMap } },
    },
  ])('$name (19.4, 19.7)', ({ object, is }) => {
    expect(JSON.stringify(withoutVersion(object))).toBe(JSON.stringify(is))
  })
})
