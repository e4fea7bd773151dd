import { describe, expect, test } from 'vitest'
import { checkPatches } from '../../../../src/sync/patches/parse.ts'
import { type ObjectReference, referencesOf } from '../../../../src/sync/patches/reference.ts'

interface ReferenceRow {
  readonly name: string
  readonly data: object
  readonly patches: readonly object[]
  /** As `apiVersion/kind namespace/name`. */
  readonly named: readonly string[]
  /** The reference that fails; absent = none does. */
  readonly failed?: string
}

const text = ({ apiVersion, kind, namespace, name }: ObjectReference): string =>
  `${apiVersion}/${kind} ${namespace}/${name}`

/** The references of ConfigMap shop/web with this data. */
function namedBy(data: object, entries: readonly object[]) {
  const { patches, faults } = checkPatches(entries as never, 'p', [])
  expect(faults).toEqual([])
  const metadata = { name: 'web', namespace: 'shop', annotations: { secret: 'token' } }
  return referencesOf({ metadata, data: data as never }, patches)
}

/** A reference at `data.a`. */
const atA = (reference: object) => ({ path: 'data.a', reference })

const byPaths = atA({
  kind: 'Secret',
  namePath: 'name',
  namespacePath: 'namespace',
  kindPath: 'kind',
  apiVersionPath: 'version',
})

const NO_GROUP = 'the kind that was read needs its apiVersion with a group, such as apps/v1'

const ROWS: readonly ReferenceRow[] = [
  {
    name: 'the value itself',
    data: { a: 'db' },
    patches: [atA({ kind: 'Secret' })],
    named: ['v1/Secret shop/db'],
  },
  {
    name: 'an annotation',
    data: {},
    patches: [{ path: 'metadata.annotations["secret"]', reference: { kind: 'Secret' } }],
    named: ['v1/Secret shop/token'],
  },
  {
    name: 'a kind of the core group with its apiVersion',
    data: { a: 'db' },
    patches: [atA({ apiVersion: 'v1', kind: 'ConfigMap' })],
    named: ['v1/ConfigMap shop/db'],
  },
  {
    name: 'a kind of another group',
    data: { a: 'db' },
    patches: [atA({ apiVersion: 'apps/v1', kind: 'Deployment' })],
    named: ['apps/v1/Deployment shop/db'],
  },
  ...[1, null, '', ['db'], { name: 'db' }].map((value) => ({
    name: `nothing by ${JSON.stringify(value)}`,
    data: { a: value },
    patches: [atA({ kind: 'Secret' })],
    named: [],
  })),
  { name: 'nothing by a missing field', data: {}, patches: [atA({ kind: 'Secret' })], named: [] },
  {
    name: 'name and namespace beside each other',
    data: { a: { name: 'db', namespace: 'other' } },
    patches: [byPaths],
    named: ['v1/Secret other/db'],
  },
  {
    name: "the object's namespace where none is given",
    data: { a: { name: 'db' } },
    patches: [byPaths],
    named: ['v1/Secret shop/db'],
  },
  {
    name: "the object's namespace where no text is given",
    data: { a: { name: 'db', namespace: 1, kind: 2, version: null } },
    patches: [byPaths],
    named: ['v1/Secret shop/db'],
  },
  {
    name: 'the kind that was read',
    data: { a: { name: 'db', kind: 'ConfigMap' } },
    patches: [byPaths],
    named: ['v1/ConfigMap shop/db'],
  },
  {
    name: 'the kind and apiVersion that were read',
    data: { a: { name: 'db', kind: 'Ingress', version: 'networking.k8s.io/v1' } },
    patches: [byPaths],
    named: ['networking.k8s.io/v1/Ingress shop/db'],
  },
  {
    name: 'a kind of another group with the name of one that is built in',
    data: { a: { name: 'db', version: 'example.com/v1' } },
    patches: [byPaths],
    named: ['example.com/v1/Secret shop/db'],
  },
  ...[{ namespace: 'other' }, { name: 1 }, { name: '' }, 'db', ['db'], null].map((value) => ({
    name: `nothing without a name in ${JSON.stringify(value)}`,
    data: { a: value },
    patches: [byPaths],
    named: [],
  })),
  {
    name: 'nothing without a name, whatever the kind',
    data: { a: { kind: 'Ingress' } },
    patches: [byPaths],
    named: [],
  },
  {
    name: 'a name deeper in the value',
    data: { a: { ref: [{ name: 'db' }] } },
    patches: [atA({ kind: 'Secret', namePath: 'ref[0].name' })],
    named: ['v1/Secret shop/db'],
  },
  {
    name: 'a name that prototypes have is no field',
    data: { a: { name: 'db' } },
    patches: [
      atA({ kind: 'Secret', namePath: 'name', namespacePath: 'constructor.name', kindPath: 'k' }),
    ],
    named: ['v1/Secret shop/db'],
  },
  {
    name: 'each match of a wildcard, and each object once',
    data: { list: ['db', 'api', 'db'], a: 'api' },
    patches: [{ path: 'data.list[*]', reference: { kind: 'Secret' } }, atA({ kind: 'Secret' })],
    named: ['v1/Secret shop/db', 'v1/Secret shop/api'],
  },
  {
    name: 'objects of two kinds by one name',
    data: { a: 'db', b: 'db' },
    patches: [
      atA({ kind: 'Secret' }),
      { path: 'data.b', reference: { kind: 'ConfigMap' } },
      { path: 'data.*', reference: { kind: 'ConfigMap' } },
    ],
    named: ['v1/Secret shop/db', 'v1/ConfigMap shop/db'],
  },
  {
    name: 'nothing by other patches',
    data: { a: 'db', b: { app: 'x' } },
    patches: [
      { path: 'data.a', expression: '"other"' },
      { path: 'data.b', labels: {} },
    ],
    named: [],
  },
  {
    name: 'an error: another kind without apiVersion',
    data: { a: { name: 'db', kind: 'Ingress' } },
    patches: [byPaths],
    named: [],
    failed: `p[0] at data.a: ${NO_GROUP}: kind "Ingress", apiVersion ""`,
  },
  ...['v1', 'apps/', '/v1', 'a/b/c'].map((version) => ({
    name: `an error: another kind with apiVersion ${version}`,
    data: { a: { name: 'db', kind: 'Ingress', version } },
    patches: [byPaths],
    named: [],
    failed: `p[0] at data.a: ${NO_GROUP}: kind "Ingress", apiVersion ${JSON.stringify(version)}`,
  })),
  {
    name: 'an error: a built-in kind with an apiVersion that it does not have',
    data: { a: { name: 'db', version: 'v2' } },
    patches: [byPaths],
    named: [],
    failed: `p[0] at data.a: ${NO_GROUP}: kind "Secret", apiVersion "v2"`,
  },
  {
    name: 'an error: no kind at all',
    data: { a: { name: 'db', version: 'apps/v1' } },
    patches: [atA({ namePath: 'name', kindPath: 'kind', apiVersionPath: 'version' })],
    named: [],
    failed: 'p[0] at data.a: the reference has no kind: kindPath finds none, kind is not set',
  },
  {
    name: 'the first error, and the references without one',
    data: { list: [{ name: 'db' }, { name: 'x', kind: 'X' }, { name: 'y', kind: 'Y' }], a: 'api' },
    patches: [
      atA({ kind: 'Secret' }),
      {
        path: 'data.list[*]',
        reference: { kind: 'Secret', namePath: 'name', kindPath: 'kind' },
      },
    ],
    named: ['v1/Secret shop/api', 'v1/Secret shop/db'],
    failed: `p[1] at data.list[1]: ${NO_GROUP}: kind "X", apiVersion ""`,
  },
]

describe('the objects that references name', () => {
  test.each(ROWS)('$name (19.5)', ({ data, patches, named, failed }) => {
    const found = namedBy(data, patches)
    expect(found.references.map(text)).toEqual(named)
    const { patch, path, failure } = found.failed ?? {}
    const [because, detail] = [failure?.because, failure?.detail]
    const shown = detail ? `${because}: ${detail}` : because
    expect(found.failed ? `${patch?.entry} at ${path}: ${shown}` : undefined).toBe(failed)
  })
})
