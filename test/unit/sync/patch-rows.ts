import { EXPRESSION_ROWS, type PatchRow } from './expression-rows.ts'

const secret = { kind: 'Secret' }

/** A reference at `data.a`. */
const refersAt = (
  name: string,
  value: unknown,
  reference: object,
  result: unknown,
  isMulti = false,
): PatchRow => ({
  name: `reference: ${name}`,
  object: { data: { a: value } },
  patches: [{ path: 'data.a', reference }],
  isMulti,
  result: { data: { a: result } },
})

const marks = { 'vcluster.platform.sh/managed-by': 'vc', 'vcluster.platform.sh/namespace': 'shop' }
const numbers = { list: [1, 2, 3, 4] }

/** All rows of the tests of patches. */
export const ROWS: readonly PatchRow[] = [
  ...EXPRESSION_ROWS,
  // Removals.
  {
    name: 'removes an element',
    object: numbers,
    patches: [{ path: 'list[1]', expression: 'undefined' }],
    result: { list: [1, 3, 4] },
  },
  {
    name: 'removes several elements',
    object: numbers,
    patches: [{ path: 'list[*]', expression: 'value % 2 ? value : undefined' }],
    result: { list: [1, 3] },
  },
  {
    name: 'removes all elements',
    object: numbers,
    patches: [{ path: 'list[*]', expression: 'null' }],
    result: { list: [] },
  },
  {
    name: 'removes and changes elements',
    object: numbers,
    patches: [{ path: 'list[*]', expression: 'value === 1 ? undefined : value * 10' }],
    result: { list: [20, 30, 40] },
  },
  {
    name: 'removes keys',
    object: { data: { a: 1, b: 2 } },
    patches: [{ path: 'data.*', expression: 'value === 1 ? null : value' }],
    result: { data: { b: 2 } },
  },
  {
    name: 'removes a map',
    object: { data: { a: 1 }, list: [] },
    patches: [{ path: 'data', expression: 'undefined' }],
    result: { list: [] },
  },
  {
    name: 'removes fields of elements',
    object: { list: [{ a: 1, b: 1 }, { a: 2 }] },
    patches: [{ path: 'list[*].a', expression: 'undefined' }],
    result: { list: [{ b: 1 }, {}] },
  },
  {
    name: 'removes nothing where nothing is',
    object: {},
    patches: [{ path: 'data', expression: 'undefined' }],
    result: {},
  },
  // Order: each entry acts on the result of the one before.
  {
    name: 'two entries on fields of each other',
    object: { data: { a: 1, b: 1 } },
    patches: [
      { path: 'data.a', expression: '2' },
      { path: 'data.b', expression: 'value + 1' },
    ],
    result: { data: { a: 2, b: 2 } },
  },
  {
    name: 'a field that the entry before has made',
    object: { data: { a: 'x' } },
    patches: [
      { path: 'data.a', expression: '{ b: value }' },
      { path: 'data.a.b', expression: 'value + "y"' },
    ],
    result: { data: { a: { b: 'xy' } } },
  },
  {
    name: 'a field that the entry before has removed',
    object: { data: { a: 'x' } },
    patches: [
      { path: 'data', expression: 'undefined' },
      { path: 'data.a', expression: '"y"' },
    ],
    result: {},
  },
  {
    name: 'elements that the entry before has moved',
    object: numbers,
    patches: [
      { path: 'list[0]', expression: 'undefined' },
      { path: 'list.0', expression: 'value' },
      { path: 'list[1]', expression: 'value * 10' },
    ].filter((_, at) => at !== 1),
    result: { list: [2, 30, 4] },
  },
  {
    name: 'the whole before its part',
    object: { data: { a: 1 } },
    patches: [
      { path: 'data.a', expression: 'value + 1' },
      { path: 'data', expression: '{ ...value, b: value.a }' },
    ],
    result: { data: { a: 2, b: 2 } },
  },
  {
    name: 'the object that expressions see stays as it was read',
    object: { data: { a: 1, b: 1 } },
    patches: [
      { path: 'data.a', expression: '2' },
      { path: 'data.b', expression: 'context.virtualObject.data.a' },
    ],
    result: { data: { a: 2, b: 1 } },
  },
  // Directions.
  {
    name: 'expression does nothing in reverse',
    object: { data: { a: 1 } },
    patches: [{ path: 'data.a', expression: '2' }],
    direction: 'reverse',
    result: { data: { a: 1 } },
  },
  {
    name: 'reverseExpression does nothing forward',
    object: { data: { a: 1 } },
    patches: [{ path: 'data.a', reverseExpression: '2' }],
    result: { data: { a: 1 } },
  },
  {
    name: 'reverseExpression in reverse',
    object: { data: { a: 'host-x' } },
    patches: [
      { path: 'data.a', expression: '"host-" + value', reverseExpression: 'value.slice(5)' },
    ],
    direction: 'reverse',
    result: { data: { a: 'x' } },
  },
  {
    name: 'both forward',
    object: { data: { a: 'x' } },
    patches: [
      { path: 'data.a', expression: '"host-" + value', reverseExpression: 'value.slice(5)' },
    ],
    result: { data: { a: 'host-x' } },
  },
  {
    name: 'reverse sees the host object',
    object: { data: { a: 1 } },
    patches: [
      { path: 'data.a', reverseExpression: '[context.hostObject.data.a, context.virtualObject]' },
    ],
    direction: 'reverse',
    result: { data: { a: [1, null] } },
  },
  {
    name: 'a name without our marks and an unknown selector stay as they are in reverse',
    object: { data: { a: 'x-x-shop-x-vc', b: { app: 'x' } } },
    patches: [
      { path: 'data.a', reference: secret },
      { path: 'data.b', labels: {} },
    ],
    direction: 'reverse',
    result: { data: { a: 'x-x-shop-x-vc', b: { app: 'x' } } },
  },
  // References.
  refersAt('a name', 'db', secret, 'db-x-shop-x-vc'),
  refersAt('an empty name', '', secret, ''),
  refersAt('a value that is not a text', { a: 1 }, secret, { a: 1 }),
  refersAt('a number', 5, secret, 5),
  refersAt(
    'a name within',
    { n: 'db', x: 1 },
    { ...secret, namePath: 'n' },
    { n: 'db-x-shop-x-vc', x: 1 },
  ),
  refersAt(
    'a name deep within',
    { s: { n: 'db' } },
    { ...secret, namePath: 's.n' },
    { s: { n: 'db-x-shop-x-vc' } },
  ),
  refersAt('no name within', { x: 1 }, { ...secret, namePath: 'n' }, { x: 1 }),
  refersAt(
    'a name and a namespace',
    { n: 'db', ns: 'other' },
    { ...secret, namePath: 'n', namespacePath: 'ns' },
    { n: 'db-x-other-x-vc', ns: 'host' },
  ),
  refersAt(
    'an empty namespace',
    { n: 'db', ns: '' },
    { ...secret, namePath: 'n', namespacePath: 'ns' },
    { n: 'db-x-shop-x-vc', ns: 'host' },
  ),
  refersAt(
    'a missing namespace',
    { n: 'db' },
    { ...secret, namePath: 'n', namespacePath: 'ns' },
    { n: 'db-x-shop-x-vc' },
  ),
  refersAt(
    'a kind beside it',
    { n: 'db', k: 'Secret' },
    { namePath: 'n', kindPath: 'k' },
    { n: 'db-x-shop-x-vc', k: 'Secret' },
  ),
  refersAt('in multi-namespace mode', 'db', secret, 'db', true),
  refersAt(
    'a namespace in multi-namespace mode',
    { n: 'db', ns: 'shop' },
    { ...secret, namePath: 'n', namespacePath: 'ns' },
    { n: 'db', ns: 'host-shop' },
    true,
  ),
  {
    name: 'references in a list',
    object: { list: [{ n: 'a' }, { n: 'b' }, {}] },
    patches: [{ path: 'list[*].n', reference: secret }],
    result: { list: [{ n: 'a-x-shop-x-vc' }, { n: 'b-x-shop-x-vc' }, {}] },
  },
  // Labels.
  {
    name: 'a selector',
    object: { spec: { selector: { app: 'web' } } },
    patches: [{ path: 'spec.selector', labels: {} }],
    result: { spec: { selector: { app: 'web', ...marks } } },
  },
  {
    name: 'a selector by a reference',
    object: { spec: { selector: { app: 'web' } } },
    patches: [{ path: 'spec.selector', reference: { labels: {} } }],
    result: { spec: { selector: { app: 'web', ...marks } } },
  },
  {
    name: 'a selector in multi-namespace mode',
    object: { spec: { selector: { app: 'web' } } },
    patches: [{ path: 'spec.selector', labels: {} }],
    isMulti: true,
    result: { spec: { selector: { app: 'web' } } },
  },
  // Protected fields.
  {
    name: 'metadata as a whole',
    object: { metadata: { uid: 'u', finalizers: ['f'], labels: { a: '1' } } },
    patches: [{ path: 'metadata', expression: '{ name: "other", uid: "x", labels: { b: "2" } }' }],
    result: { metadata: { uid: 'u', finalizers: ['f'], labels: { b: '2' } } },
  },
  {
    name: 'metadata removed',
    object: { metadata: { uid: 'u' } },
    patches: [{ path: 'metadata', expression: 'undefined' }],
    result: { metadata: { uid: 'u' } },
  },
  {
    name: 'metadata by a wildcard',
    object: { metadata: { uid: 'u', labels: { a: '1' } } },
    patches: [{ path: 'metadata.*', expression: 'undefined' }],
    result: { metadata: { uid: 'u' } },
  },
  {
    name: 'an owner',
    object: { metadata: { ownerReferences: [{ uid: 'o' }] } },
    patches: [{ path: 'metadata.ownerReferences', expression: '[]' }],
    result: { metadata: { ownerReferences: [{ uid: 'o' }] } },
  },
  {
    name: 'finalizers',
    object: { metadata: { finalizers: ['f'] } },
    patches: [{ path: 'metadata.finalizers[0]', expression: '"g"' }],
    result: { metadata: { finalizers: ['f'] } },
  },
  {
    name: 'kind and apiVersion',
    object: {},
    patches: [
      { path: 'kind', expression: '"Pod"' },
      { path: 'apiVersion', expression: 'undefined' },
    ],
    result: {},
  },
  {
    name: 'marks',
    object: { metadata: { labels: { 'vcluster.platform.sh/managed-by': 'vc', a: '1' } } },
    patches: [
      {
        path: 'metadata.labels',
        expression:
          '{ "vcluster.platform.sh/managed-by": "other", "vcluster.platform.sh/namespace": "x", a: "2" }',
      },
    ],
    result: { metadata: { labels: { 'vcluster.platform.sh/managed-by': 'vc', a: '2' } } },
  },
  {
    name: 'marks removed',
    object: { metadata: { annotations: { 'vcluster.platform.sh/object-uid': 'u' } } },
    patches: [{ path: 'metadata.annotations', expression: 'undefined' }],
    result: { metadata: { annotations: { 'vcluster.platform.sh/object-uid': 'u' } } },
  },
]
