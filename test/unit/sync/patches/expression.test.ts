import { describe, expect, test } from 'vitest'
import { checkExpression, placeInSource } from '../../../../src/sync/patches/expression.ts'
import { PLACE, countingSandbox } from '../counting-sandbox.ts'

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

describe('what an expression can read of its context', () => {
  const nothing = { config: false, hostObject: false, virtualObject: false }
  const all = { config: true, hostObject: true, virtualObject: true }

  test.each([
    { source: 'value', reads: nothing },
    { source: 'context.path', reads: nothing },
    { source: '() => context.path', reads: nothing },
    { source: 'context.virtualCluster.name + context.virtualCluster.namespace', reads: nothing },
    { source: 'context.path + value.replace("context", "")', reads: nothing },
    { source: 'delete value.a', reads: nothing },
    { source: 'context.virtualObject.metadata.name', reads: { ...nothing, virtualObject: true } },
    { source: 'context.hostObject?.metadata', reads: { ...nothing, hostObject: true } },
    { source: 'context?.hostObject', reads: { ...nothing, hostObject: true } },
    { source: 'cont\\u0065xt.hostObject', reads: { ...nothing, hostObject: true } },
    { source: 'typeof context.hostObject', reads: { ...nothing, hostObject: true } },
    { source: 'value = context.hostObject', reads: { ...nothing, hostObject: true } },
    { source: 'context.virtualCluster.config.a', reads: { ...nothing, config: true } },
    { source: 'context.virtualCluster?.config?.["a"]', reads: { ...nothing, config: true } },
    { source: '[context.hostObject, context.virtualObject]', reads: { ...all, config: false } },
    { source: 'context', reads: all },
    { source: 'context.other', reads: all },
    { source: 'context["virtualCluster"].config', reads: all },
    { source: 'context["path"]', reads: all },
    { source: 'context[path]', reads: all },
    { source: 'JSON.stringify(context)', reads: all },
    { source: '(({ virtualCluster }) => virtualCluster)(context)', reads: all },
    { source: '((context) => context.path)(value)', reads: all },
    { source: 'context.virtualCluster', reads: all },
    { source: 'context.virtualCluster["config"]', reads: all },
    { source: '((c) => c.virtualCluster.config)(context)', reads: all },
    { source: '{ context }', reads: all },
    { source: '{ ...context }', reads: all },
    { source: 'eval("cont" + "ext")', reads: all },
    { source: '(function () { return arguments })()', reads: all },
    { source: 'Function("return 1")', reads: all },
    { source: 'globalThis.a', reads: all },
    { source: '[context.path, context]', reads: all },
    { source: 'context.path = 1', reads: all },
    { source: '(context.path) += 1', reads: all },
    { source: 'context.path++', reads: all },
    { source: '[context.path] = [1]', reads: all },
    { source: '({ a: [context.path = 1] } = value)', reads: all },
    { source: '({ ...context.path } = value)', reads: all },
    { source: '(() => { for (context.path of [1]); })()', reads: all },
    { source: '(() => { for (context.path in value); })()', reads: all },
    { source: 'delete context?.path', reads: all },
  ])('$source: known by its syntax (16.1, 19.4)', ({ source, reads }) => {
    expect(checkExpression(source)).toMatchObject({ ok: true, expression: { reads } })
  })

  const given = {
    virtualCluster: { name: 'vc', namespace: 'host', config: { a: 'secret' } },
    hostObject: { a: 'secret' },
    virtualObject: { a: 'secret' },
  }
  const hidden = {
    ...given,
    virtualCluster: { ...given.virtualCluster, config: {} },
    hostObject: null,
    virtualObject: null,
  }

  test.each([
    '(context.path = function () { return this }, context.path())',
    '(context.virtualCluster.name = function () { return this }, context.virtualCluster.name())',
    '([context.path] = [function () { return this }], context.path())',
    '(() => { for (context.path of [function () { return this }]); return context.path() })()',
    '(delete context.path, Object.prototype.__defineGetter__("path", function () { return this }), context.path)',
    '(() => { const path = "virtualObject"; return context[path] })()',
    '(function () { return arguments[0] })(context)',
    'eval("cont" + "ext")',
    '(({ eval: e }) => eval("con" + "text"))({ eval: 1 })',
    '`${JSON.stringify((() => context)())}`',
    '((a = context) => a)()',
    'new (class { a = context })().a',
  ])('%s reads more than it names (16.1, 19.4)', async (source) => {
    const checked = checkExpression(source)
    expect(checked).toMatchObject({ ok: true, expression: { reads: all } })
    const results = [given, hidden].map(async (context) => {
      const request = { source, value: '"v"', context: JSON.stringify(context), path: 'data.a' }
      return countingSandbox().evaluate({ ...request, place: PLACE, object: 'a' })
    })
    const [whole, masked] = await Promise.all(results)
    expect(whole).not.toEqual(masked)
  })
})
