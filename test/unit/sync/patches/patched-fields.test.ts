import { describe, expect, test } from 'vitest'
import type { FieldPath } from '../../../../src/domain/json/field-path.ts'
import type { Json } from '../../../../src/domain/json/json.ts'
import { checkPatches } from '../../../../src/sync/patches/parse.ts'
import { forwardPatchKinds } from '../../../../src/sync/patches/patched-fields.ts'
import { virtual } from '../translation.ts'

describe('fields that patches act on (19.5)', () => {
  const object = virtual({
    spec: {
      clusterIP: '10.96.0.7',
      selector: { app: 'web' },
      ports: [{ port: 80, nodePort: 30080 }, { port: 81 }],
      refs: [{ to: { name: 'a', namespace: 'shop' } }, { to: { name: 'b' } }, { to: 'c' }],
    },
  })
  const REFERENCE = { apiVersion: 'v1', kind: 'Pod' }
  const TO = { ...REFERENCE, namePath: 'name', namespacePath: 'namespace' }
  const to = (at: number, field: string): FieldPath => ['spec', 'refs', at, 'to', field]

  test.each<{ name: string; entries: Json; path: FieldPath; kind: string | null }>([
    {
      name: 'an expression',
      entries: [{ path: 'spec.clusterIP', expression: 'value' }],
      path: ['spec', 'clusterIP'],
      kind: 'expression',
    },
    {
      name: 'an expression of the other direction',
      entries: [{ path: 'spec.ports[*].nodePort', reverseExpression: 'value' }],
      path: ['spec', 'ports', 0, 'nodePort'],
      kind: null,
    },
    {
      name: 'one of several fields',
      entries: [{ path: 'spec.ports[*].nodePort', expression: 'value' }],
      path: ['spec', 'ports', 0, 'nodePort'],
      kind: 'expression',
    },
    {
      name: 'a missing field',
      entries: [{ path: 'spec.ports[*].nodePort', expression: 'value' }],
      path: ['spec', 'ports', 1, 'nodePort'],
      kind: null,
    },
    {
      name: 'a field around it',
      entries: [{ path: 'spec.ports', expression: 'value' }],
      path: ['spec', 'ports', 0, 'nodePort'],
      kind: null,
    },
    {
      name: 'a field within',
      entries: [{ path: 'spec.selector.app', expression: 'value' }],
      path: ['spec', 'selector'],
      kind: null,
    },
    {
      name: 'labels',
      entries: [{ path: 'spec.selector', labels: {} }],
      path: ['spec', 'selector'],
      kind: 'labels',
    },
    {
      name: 'a reference',
      entries: [{ path: 'spec.refs[0].to.name', reference: REFERENCE }],
      path: to(0, 'name'),
      kind: 'reference',
    },
    {
      name: 'the name in a reference',
      entries: [{ path: 'spec.refs[*].to', reference: TO }],
      path: to(1, 'name'),
      kind: 'reference',
    },
    {
      name: 'the namespace in a reference',
      entries: [{ path: 'spec.refs[*].to', reference: TO }],
      path: to(0, 'namespace'),
      kind: 'reference',
    },
    {
      name: 'a namespace that is missing',
      entries: [{ path: 'spec.refs[*].to', reference: TO }],
      path: to(1, 'namespace'),
      kind: null,
    },
    {
      name: 'a namespace that the patch does not name',
      entries: [{ path: 'spec.refs[*].to', reference: { ...REFERENCE, namePath: 'name' } }],
      path: to(0, 'namespace'),
      kind: null,
    },
    {
      name: 'the value around a reference',
      entries: [{ path: 'spec.refs[*].to', reference: TO }],
      path: ['spec', 'refs', 0, 'to'],
      kind: null,
    },
    {
      name: 'the first of several',
      entries: [
        { path: 'spec.refs[*].to', reference: TO },
        { path: 'spec.refs[*].to.name', expression: 'value' },
      ],
      path: to(0, 'name'),
      kind: 'reference',
    },
  ])('$name: $kind', ({ entries, path, kind }) => {
    const { patches, faults } = checkPatches(entries, 'p', ['spec'])
    expect(faults).toEqual([])
    expect(forwardPatchKinds(object, patches)(path)).toBe(kind)
  })
})
