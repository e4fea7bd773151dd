/** A row of the tests of patches: an object, its patches, and what they make of it; a text is the first failure. */
export interface PatchRow {
  readonly name: string
  readonly object: object
  readonly patches: readonly object[]
  readonly direction?: 'forward' | 'reverse'
  readonly isMulti?: boolean
  readonly result: object | string
}

/** One patch of `data.a`. */
const onA = (name: string, value: unknown, expression: string, result: unknown): PatchRow => ({
  name: `${JSON.stringify(value)} by ${name}`,
  object: { data: { a: value } },
  patches: [{ path: 'data.a', expression }],
  result:
    typeof result === 'string' && result.startsWith('p[0]')
      ? result
      : { data: result === undefined ? {} : { a: result } },
})

const numbers = { list: [1, 2, 3, 4] }

/** Expressions, their failures, and the fields that paths name. */
export const EXPRESSION_ROWS: readonly PatchRow[] = [
  // Expressions on one value.
  onA('a constant', 'x', '"y"', 'y'),
  onA('a prefix', 'x', '"host-" + value', 'host-x'),
  onA('a number', 1, 'value + 1', 2),
  onA('a template', 'x', '`${value}-${value}`', 'x-x'),
  onA('a ternary', '', 'value ? value : "default"', 'default'),
  onA('optional chaining', null, 'value?.b ?? "none"', 'none'),
  onA('an object', 'x', '{ b: value }', { b: 'x' }),
  onA('a list', 'x', '[value, value]', ['x', 'x']),
  onA('a function', 'a,b', 'value.split(",").map((one) => one.toUpperCase()).join()', 'A,B'),
  onA('a comma', 'x', 'value += "y", value + "z"', 'xyz'),
  onA('undefined', 'x', 'undefined', undefined),
  onA('null', 'x', 'null', undefined),
  onA('false', 'x', 'false', false),
  onA('zero', 'x', '0', 0),
  onA('an empty text', 'x', '""', ''),
  onA('members that are undefined', 'x', '{ b: undefined, c: 1 }', { c: 1 }),
  onA('a comment', 'x', 'value /* as it is */', 'x'),
  onA('base64', 'aG9zdA==', 'btoa(atob(value) + "-1")', 'aG9zdC0x'),
  onA(
    'a DNS name',
    'db.shop.svc',
    'virtualToHostDNS(value)',
    'db-x-shop-x-vc.host.svc.cluster.local',
  ),
  onA(
    'a URL',
    'http://db.shop.svc:80/x',
    'value.replace(/[a-z0-9-]+\\.[a-z0-9-]+\\.svc/, virtualToHostDNS)',
    'http://db-x-shop-x-vc.host.svc.cluster.local:80/x',
  ),
  onA('its name', 'x', 'context.virtualCluster.name', 'vc'),
  onA('its host namespace', 'x', 'context.virtualCluster.namespace', 'host'),
  onA('its configuration', 'x', 'context.virtualCluster.config.region', 'north'),
  onA(
    'defaults of the configuration',
    'x',
    'context.virtualCluster.config.sync.toHost.endpoints.enabled',
    true,
  ),
  onA('the virtual object', 'x', 'context.virtualObject.metadata.name', 'web'),
  onA('no host object', 'x', 'context.hostObject === null', true),
  onA('its path', 'x', 'context.path', 'data.a'),
  onA('valueExists', 'x', 'valueExists', true),
  onA('a class within', 'x', '((C) => new C().v)(class { v = 1 })', 1),
  onA('a regular expression', 'web-1', '/(\\d+)$/.exec(value)[1]', '1'),
  onA('JSON', '{"b":1}', 'JSON.parse(value).b', 1),
  onA('sorting', [3, 1, 2], 'value.toSorted()', [1, 2, 3]),
  onA('a value that stays', { b: [1] }, 'value', { b: [1] }),
  onA('a literal of a text that looks like code', '${1}', 'value', '${1}'),
  // Failures name the entry and the field, and leave the object as it was.
  onA('an error', 'x', 'value.a.b', 'p[0] at data.a: TypeError'),
  onA('a name that is unknown', 'x', 'other', 'p[0] at data.a: ReferenceError'),
  onA(
    'a thrown error',
    'x',
    '(() => { throw new RangeError("no") })()',
    'p[0] at data.a: RangeError',
  ),
  onA('NaN', 'x', '+value', 'p[0] at data.a: the result holds NaN, which is not a JSON value'),
  onA(
    'a function as result',
    'x',
    'value.trim',
    'p[0] at data.a: the result holds a function, which is not a JSON value',
  ),
  onA('a wrong DNS name', 'db', 'virtualToHostDNS(value)', 'p[0] at data.a: Error'),
  onA('data that is not base64', '?', 'atob(value)', 'p[0] at data.a: TypeError'),
  {
    name: 'the first failure of two entries',
    object: { data: { a: 1, b: 2 } },
    patches: [
      { path: 'data.a', expression: 'value + 1' },
      { path: 'data.b', expression: 'x' },
    ],
    result: 'p[1] at data.b: ReferenceError',
  },
  {
    name: 'a failure of one of several matches',
    object: { list: [{ a: 'x' }, { a: null }] },
    patches: [{ path: 'list[*].a', expression: 'value.length' }],
    result: 'p[0] at list[1].a: TypeError',
  },
  // Paths: missing fields, quotes, wildcards.
  {
    name: 'a missing field',
    object: { data: {} },
    patches: [{ path: 'data.a', expression: '"x"' }],
    result: { data: {} },
  },
  {
    name: 'a missing parent',
    object: {},
    patches: [{ path: 'data.a.b', expression: '"x"' }],
    result: {},
  },
  {
    name: 'a missing element',
    object: numbers,
    patches: [{ path: 'list[9]', expression: '"x"' }],
    result: numbers,
  },
  {
    name: 'a field of a text',
    object: { data: 'x' },
    patches: [{ path: 'data.length', expression: '9' }],
    result: { data: 'x' },
  },
  {
    name: 'a method of a list',
    object: numbers,
    patches: [{ path: 'list.length', expression: '0' }],
    result: numbers,
  },
  {
    name: 'a prototype',
    object: { data: {} },
    patches: [{ path: 'data.__proto__.x', expression: '1' }],
    result: { data: {} },
  },
  {
    name: 'a null field',
    object: { data: { a: null } },
    patches: [{ path: 'data.a', expression: 'value === null' }],
    result: { data: { a: true } },
  },
  {
    name: 'a quoted key',
    object: { data: { 'a.b': 1 } },
    patches: [{ path: 'data["a.b"]', expression: 'context.path' }],
    result: { data: { 'a.b': 'data["a.b"]' } },
  },
  {
    name: 'a key between quotes after a dot',
    object: { data: { 'a.b': 1 } },
    patches: [{ path: 'data."a.b"', expression: '2' }],
    result: { data: { 'a.b': 2 } },
  },
  {
    name: 'a dotted path beside a quoted key',
    object: { data: { 'a.b': 1, a: { b: 1 } } },
    patches: [{ path: 'data.a.b', expression: '2' }],
    result: { data: { 'a.b': 1, a: { b: 2 } } },
  },
  {
    name: 'a key with a slash',
    object: { data: { 'example.com/x': 1 } },
    patches: [{ path: 'data["example.com/x"]', expression: '2' }],
    result: { data: { 'example.com/x': 2 } },
  },
  {
    name: 'an index',
    object: numbers,
    patches: [{ path: 'list[1]', expression: 'value * 10' }],
    result: { list: [1, 20, 3, 4] },
  },
  {
    name: 'an index after a dot',
    object: numbers,
    patches: [{ path: 'list.1', expression: 'value * 10' }],
    result: { list: [1, 20, 3, 4] },
  },
  {
    name: 'a numeric key of a map',
    object: { data: { 1: 'x' } },
    patches: [{ path: 'data.1', expression: '"y"' }],
    result: { data: { 1: 'y' } },
  },
  {
    name: 'an index of a map',
    object: { data: { 1: 'x' } },
    patches: [{ path: 'data[1]', expression: '"y"' }],
    result: { data: { 1: 'x' } },
  },
  {
    name: 'all elements',
    object: numbers,
    patches: [{ path: 'list[*]', expression: 'value * 10' }],
    result: { list: [10, 20, 30, 40] },
  },
  {
    name: 'all elements by their paths',
    object: { list: ['', ''] },
    patches: [{ path: 'list[*]', expression: 'context.path' }],
    result: { list: ['list[0]', 'list[1]'] },
  },
  {
    name: 'all keys',
    object: { data: { b: 1, a: 2 } },
    patches: [{ path: 'data.*', expression: 'value * 10' }],
    result: { data: { b: 10, a: 20 } },
  },
  {
    name: 'all keys by their paths',
    object: { data: { 'b.c': '', a: '' } },
    patches: [{ path: 'data[*]', expression: 'context.path' }],
    result: { data: { 'b.c': 'data["b.c"]', a: 'data.a' } },
  },
  {
    name: 'two wildcards',
    object: { list: [{ m: { x: 1 } }, { m: { y: 2 } }, {}] },
    patches: [{ path: 'list[*].m.*', expression: 'value + 1' }],
    result: { list: [{ m: { x: 2 } }, { m: { y: 3 } }, {}] },
  },
  {
    name: 'elements that lack the rest',
    object: { list: [{ a: 1 }, {}, 'x', null, [1]] },
    patches: [{ path: 'list[*].a', expression: '2' }],
    result: { list: [{ a: 2 }, {}, 'x', null, [1]] },
  },
  {
    name: 'a wildcard over a text',
    object: { data: 'x' },
    patches: [{ path: 'data.*', expression: '2' }],
    result: { data: 'x' },
  },
  {
    name: 'a wildcard over nothing',
    object: { list: [] },
    patches: [{ path: 'list[*]', expression: '2' }],
    result: { list: [] },
  },
  {
    name: 'a key that is a star',
    object: { data: { '*': 1, a: 1 } },
    patches: [{ path: 'data["*"]', expression: '2' }],
    result: { data: { '*': 2, a: 1 } },
  },
  {
    name: 'lists in lists',
    object: { list: [[1, 2], [3]] },
    patches: [{ path: 'list[*][0]', expression: '0' }],
    result: { list: [[0, 2], [0]] },
  },
]
