import { describe, expect, test } from 'vitest'
import type { FieldPath } from '../../../../src/domain/json/field-path.ts'
import {
  type PatchPath,
  canBeWithin,
  canTouch,
  canonicalPath,
  isWithin,
  matchedFields,
  parsePatchPath,
  patchPathText,
  withField,
} from '../../../../src/sync/patches/path.ts'

const parsed = (text: string): PatchPath => {
  const result = parsePatchPath(text)
  if (!result.ok) throw new Error(result.fault)
  return result.path
}

describe('the syntax of paths (19.1, 19.2)', () => {
  test.each<{ text: string; segments: readonly (string | number | null)[] }>([
    { text: 'a', segments: ['a'] },
    { text: 'a.b.c', segments: ['a', 'b', 'c'] },
    { text: 'subsets[*].addresses[0].ip', segments: ['subsets', null, 'addresses', 0, 'ip'] },
    { text: 'data.*', segments: ['data', null] },
    { text: 'data.*.x.*', segments: ['data', null, 'x', null] },
    { text: 'a["b.c/d"]', segments: ['a', 'b.c/d'] },
    { text: 'a."b.c/d".e', segments: ['a', 'b.c/d', 'e'] },
    { text: 'a.pre"b.c"', segments: ['a', 'preb.c'] },
    { text: '"a"', segments: ['a'] },
    { text: '["a"].b', segments: ['a', 'b'] },
    { text: 'a["*"]', segments: ['a', '*'] },
    { text: 'a."*"', segments: ['a', '*'] },
    { text: 'a["[0]"]', segments: ['a', '[0]'] },
    { text: 'a.0', segments: ['a', '0'] },
    { text: 'a[0][1]', segments: ['a', 0, 1] },
    { text: 'a.b c', segments: ['a', 'b c'] },
    { text: 'a.__proto__', segments: ['a', '__proto__'] },
    { text: 'a.ä', segments: ['a', 'ä'] },
  ])('$text', ({ text, segments }) => {
    const read = parsed(text).map((one) =>
      one.kind === 'wildcard' ? null : one.kind === 'index' ? one.index : one.name,
    )
    expect(read).toEqual(segments)
  })

  test.each([
    { text: 'a..b', fault: 'unexpected empty segment at 2' },
    { text: '.a', fault: 'unexpected empty segment at 0' },
    { text: 'a.', fault: 'unexpected empty segment at 1' },
    { text: '.', fault: 'unexpected empty segment at 0' },
    { text: 'a.[0]', fault: 'unexpected empty segment at 2' },
    { text: 'a[]', fault: 'unexpected empty segment at 2' },
    { text: 'a[""]', fault: 'unexpected empty segment at 2' },
    { text: 'a.""', fault: 'unexpected empty segment at 2' },
    { text: 'a[0', fault: 'unclosed bracket at 1' },
    { text: 'a["b"', fault: 'unclosed bracket at 1' },
    { text: 'a["b', fault: 'unclosed quote at 2' },
    { text: 'a."b.c', fault: 'unclosed quote at 2' },
    { text: 'a[[0]]', fault: 'unexpected bracket in bracket at 2' },
    { text: 'a[0[1]]', fault: 'unexpected bracket in bracket at 3' },
    { text: 'a]', fault: 'unexpected closing bracket at 1' },
    { text: 'a["b"x]', fault: 'expected a closing bracket at 5' },
    { text: 'a[0]b', fault: 'expected a dot or a bracket at 4' },
    { text: 'a[b]', fault: 'expected an index, * or a quoted key at 2' },
    { text: 'a[-1]', fault: 'expected an index, * or a quoted key at 2' },
    { text: 'a[01]', fault: 'expected an index, * or a quoted key at 2' },
    { text: '*', fault: 'unexpected wildcard at 0' },
    { text: '*.a', fault: 'unexpected wildcard at 0' },
    { text: '[*]', fault: 'unexpected wildcard at 0' },
    { text: '[0]', fault: 'unexpected index at 0' },
  ])('$text is refused: $fault', ({ text, fault }) => {
    expect(parsePatchPath(text)).toEqual({ ok: false, fault })
  })

  test.each([
    ['a.b', 'a["b"]'],
    ['a.b', 'a."b"'],
    ['a.0', 'a[0]'],
    ['a.*', 'a[*]'],
  ])('%s and %s are the same path', (one, other) => {
    expect(canonicalPath(parsed(one))).toBe(canonicalPath(parsed(other)))
  })

  test.each([
    ['a.b', 'a.B'],
    ['a.*', 'a["*"]'],
    ['a.b.c', 'a["b.c"]'],
    ['a', 'a.b'],
  ])('%s and %s are two paths', (one, other) => {
    expect(canonicalPath(parsed(one))).not.toBe(canonicalPath(parsed(other)))
  })
})

describe('the fields that a path names (19.2)', () => {
  const object = {
    list: [{ ip: '1' }, { name: 'x' }, { ip: '3', tags: ['t'] }],
    map: { 'b.c': { v: 1 }, a: { v: 2 }, z: 'text' },
    numbers: { 0: 'zero' },
    nothing: null,
  }
  test.each<{ path: string; fields: readonly string[] }>([
    { path: 'list[*].ip', fields: ['list[0].ip', 'list[2].ip'] },
    { path: 'list.*.ip', fields: ['list[0].ip', 'list[2].ip'] },
    { path: 'list[2].tags[*]', fields: ['list[2].tags[0]'] },
    { path: 'list.1.name', fields: ['list[1].name'] },
    { path: 'list[7]', fields: [] },
    { path: 'list.length', fields: [] },
    { path: 'map.*.v', fields: ['map.a.v', 'map["b.c"].v'] },
    { path: 'map[*]', fields: ['map.a', 'map["b.c"]', 'map.z'] },
    { path: 'map["b.c"].v', fields: ['map["b.c"].v'] },
    { path: 'map.b.c', fields: [] },
    { path: 'map.z.*', fields: [] },
    { path: 'numbers.0', fields: ['numbers.0'] },
    { path: 'numbers[0]', fields: [] },
    { path: 'nothing', fields: ['nothing'] },
    { path: 'nothing.x', fields: [] },
    { path: 'constructor', fields: [] },
    { path: 'map.toString', fields: [] },
    { path: '__proto__.polluted', fields: [] },
  ])('$path', ({ path, fields }) => {
    expect(matchedFields(object, parsed(path)).map(patchPathText)).toEqual(fields)
  })
})

describe('withField', () => {
  test('replaces and removes, and leaves the given object as it was', () => {
    const object = { a: [{ b: 1 }, { b: 2 }], c: { d: 'x' } }
    expect(withField(object, ['a', 1, 'b'], 'new')).toEqual({
      a: [{ b: 1 }, { b: 'new' }],
      c: { d: 'x' },
    })
    expect(withField(object, ['a', 0], undefined)).toEqual({ a: [{ b: 2 }], c: { d: 'x' } })
    expect(withField(object, ['c', 'd'], undefined)).toEqual({ a: [{ b: 1 }, { b: 2 }], c: {} })
    expect(object).toEqual({ a: [{ b: 1 }, { b: 2 }], c: { d: 'x' } })
  })

  test.each([[['x']], [['c', 'x']], [['a', 5]], [['c', 'd', 'e']], [['a', 'b']]])(
    'creates nothing at %j',
    (path) => {
      const object = { a: [1], c: { d: 'x' } }
      expect(withField(object, path, 'new')).toEqual(object)
    },
  )

  test('a key named __proto__ is a key', () => {
    const object = JSON.parse('{"a":{"__proto__":1}}') as { a: object }
    const changed = withField(object as never, ['a', '__proto__'], { polluted: true })
    expect(JSON.stringify(changed)).toBe('{"a":{"__proto__":{"polluted":true}}}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('canBeWithin (18.5)', () => {
  test.each([
    { path: 'metadata.labels', outer: 'metadata.labels', is: true },
    { path: 'metadata.labels.x', outer: 'metadata.labels', is: true },
    { path: 'metadata', outer: 'metadata.labels', is: false },
    { path: 'metadata.*', outer: 'metadata.labels', is: true },
    { path: 'spec.ports[0].nodePort', outer: 'spec.ports[*].nodePort', is: true },
    { path: 'spec.ports[*].port', outer: 'spec.ports[*].nodePort', is: false },
    { path: 'status.loadBalancer.ingress[*].ip', outer: 'status.loadBalancer', is: true },
  ])('$path within $outer: $is', ({ path, outer, is }) => {
    expect(canBeWithin(parsed(path), parsed(outer))).toBe(is)
  })
})

describe('whether a path can touch a field, and whether the field is within it (18.5)', () => {
  test.each<{ path: string; field: FieldPath; touches: boolean; within: boolean }>([
    { path: 'a.b', field: ['a', 'b'], touches: true, within: true },
    { path: 'a', field: ['a', 'b'], touches: true, within: true },
    { path: 'a.b.c', field: ['a', 'b'], touches: true, within: false },
    { path: 'a.c', field: ['a', 'b'], touches: false, within: false },
    { path: 'b', field: ['a', 'b'], touches: false, within: false },
    { path: 'a.*', field: ['a', 'b'], touches: true, within: true },
    { path: 'a.*.c', field: ['a', 'b'], touches: true, within: false },
    { path: 'a[*].b', field: ['a', 0, 'b'], touches: true, within: true },
    { path: 'a[*].b', field: ['a', 0, 'c'], touches: false, within: false },
    { path: 'a[0]', field: ['a', 0, 'b'], touches: true, within: true },
    { path: 'a[1]', field: ['a', 0, 'b'], touches: false, within: false },
    { path: 'a.0', field: ['a', 0], touches: true, within: true },
    { path: 'a["x.y"]', field: ['a', 'x.y'], touches: true, within: true },
    { path: 'a.x.y', field: ['a', 'x.y'], touches: false, within: false },
    // A key that is a star is no wildcard; a path may still name all keys.
    { path: 'a.b', field: ['a', '*'], touches: false, within: false },
    { path: 'a.b.c', field: [], touches: true, within: false },
  ])('$path and $field', ({ path, field, touches, within }) => {
    expect(canTouch(parsed(path), field)).toBe(touches)
    expect(isWithin(field, parsed(path))).toBe(within)
  })
})
