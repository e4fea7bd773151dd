import { describe, expect, test } from 'vitest'
import { checkExpression, placeInSource } from '../../../src/sync/rules/expression.ts'

describe('one expression (19.1, 19.4)', () => {
  test.each([
    'value',
    '"constant"',
    '{ a: 1 }',
    'value ? value + 1 : undefined',
    'value?.a ?? null',
    '(value, 1)',
    'value, 1',
    'value // a comment',
    'value /* a comment */',
    '\n  value\n    .map((one) => one * 2)\n',
    '((a) => { const b = a; return b })(value)',
    '`a${value}`',
    '/^a+$/u.test(value)',
    'value ||= 1',
    'async () => 1',
    'function () { return 1 }',
    '({ ...value, b: 1 })',
    '1_000n',
    'value-->0',
    '(value)',
    '((value))',
  ])('%s', (source) => {
    expect(checkExpression(source)).toMatchObject({ ok: true, expression: { source } })
  })

  test.each<{ source: string; at: number; says: string | RegExp }>([
    { source: '', at: 0, says: 'it is empty' },
    { source: ' \n ', at: 0, says: 'it is empty' },
    { source: 'value +', at: 7, says: 'the expression is incomplete' },
    { source: '(value', at: 6, says: 'the expression is incomplete' },
    { source: 'value;', at: 5, says: 'remove the semicolon' },
    { source: 'value ; // why', at: 6, says: 'remove the semicolon' },
    { source: 'a = 1; a', at: 5, says: /join the parts with commas, \(a = 1, a\)$/ },
    { source: 'value)(1', at: 5, says: 'unexpected token, the expression has ended before it' },
    { source: 'value value', at: 6, says: 'unexpected token, the expression has ended before it' },
    { source: 'value }', at: 6, says: 'unexpected token, the expression has ended before it' },
    { source: '"open', at: 0, says: 'unterminated string constant' },
    { source: 'value @', at: 6, says: /./ },
    { source: '/[/.test(value)', at: 1, says: /unterminated regular expression/ },
    { source: '/(/.test(value)', at: 1, says: /regular expression/ },
    { source: 'if (value) 1', at: 0, says: /^if is a statement.*condition \? a : b$/ },
    { source: '  return value', at: 2, says: /^return is a statement/ },
    { source: 'let a = 1', at: 0, says: /^let is a statement/ },
    { source: 'const a = 1; a', at: 0, says: /^const is a statement/ },
    { source: 'for (;;) {}', at: 0, says: /^for is a statement/ },
    { source: 'while (true) 1', at: 0, says: /^while is a statement/ },
    { source: 'throw 1', at: 0, says: /^throw is a statement/ },
    { source: 'try { 1 } catch {}', at: 0, says: /^try is a statement/ },
    { source: 'import x from "y"', at: 0, says: /^import is a statement/ },
    { source: 'export default 1', at: 0, says: /^export is a statement/ },
    { source: 'import("fs")', at: 0, says: 'a dynamic import is not available' },
    { source: '[value, import("fs")]', at: 8, says: 'a dynamic import is not available' },
    { source: 'import.meta', at: 0, says: 'import.meta is not available' },
    { source: 'await value', at: 0, says: /await/ },
    { source: 'value <!-- x', at: 6, says: 'comments are written as // or /* */' },
    { source: 'with (value) 1', at: 0, says: /./ },
    { source: 'new.target', at: 0, says: /new.target/ },
    { source: '010', at: 0, says: /./ },
    { source: 'delete value', at: 0, says: /./ },
  ])('$source is refused', ({ source, at, says }) => {
    const checked = checkExpression(source)
    expect(checked.ok).toBe(false)
    if (checked.ok) return
    expect(checked.fault.because).toMatch(says)
    expect(checked.fault.at).toBe(at)
  })

  test('a fault is shown in its line', () => {
    expect(placeInSource('value +\n  1 2', 12)).toEqual({ place: '2:5', excerpt: '  1 2\n    ^' })
  })
})

describe('whether an expression can read the configuration (16.1)', () => {
  test.each([
    { source: 'value', reads: false },
    { source: 'context.path', reads: false },
    { source: 'context.virtualCluster.name + context.virtualCluster.namespace', reads: false },
    { source: 'context.virtualObject.metadata.name', reads: false },
    { source: 'context.hostObject?.metadata', reads: false },
    { source: 'context.virtualCluster.config.a', reads: true },
    { source: 'context["virtualCluster"].config', reads: true },
    { source: 'JSON.stringify(context)', reads: true },
    { source: '(({ virtualCluster }) => virtualCluster)(context)', reads: true },
    { source: 'context.virtualCluster', reads: true },
    { source: '((c) => c.virtualCluster.config)(context)', reads: true },
    { source: 'eval("cont" + "ext")', reads: true },
    { source: '(function () { return arguments })()', reads: true },
    { source: '[context.path, context]', reads: true },
  ])('$source: $reads', ({ source, reads }) => {
    expect(checkExpression(source)).toMatchObject({ ok: true, expression: { readsConfig: reads } })
  })
})
