import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/domain/json/json.ts'
import { type ReferenceCase, patchedAt } from '../patched-reference.ts'

const name = { kind: 'Secret' }
const parts = { kind: 'Secret', namePath: 'name', namespacePath: 'namespace', kindPath: 'kind' }

interface ReferenceRow extends ReferenceCase {
  readonly name: string
  readonly reference: object
  readonly result: Json
}

const REFERENCES: readonly ReferenceRow[] = [
  {
    name: 'a host name with our marks is its virtual name',
    reference: name,
    host: 'new-x-shop-x-vc',
    own: 'db',
    result: 'new',
  },
  {
    name: 'a host name without our marks does not flow back: the own value stays',
    reference: name,
    host: 'foreign',
    own: 'db',
    result: 'db',
  },
  {
    name: 'a host name without our marks, and no own value',
    reference: name,
    host: 'foreign',
    result: 'foreign',
  },
  {
    name: 'the name of a host object that is imported crosses unchanged',
    reference: name,
    host: 'shared',
    own: 'db',
    result: 'shared',
  },
  {
    name: 'the name of a host object that is imported, in the namespace that the reference is in',
    reference: parts,
    host: { name: 'shared', namespace: 'host' },
    own: { name: 'db', namespace: 'other' },
    result: { name: 'shared', namespace: 'other' },
  },
  {
    name: 'a name in another namespace of the host is not imported',
    reference: parts,
    host: { name: 'shared', namespace: 'kube-system' },
    own: { name: 'db', namespace: 'other' },
    result: { name: 'db', namespace: 'other' },
  },
  {
    name: 'another kind of that name is not imported',
    reference: parts,
    host: { name: 'shared', kind: 'ConfigMap' },
    own: { name: 'db' },
    result: { name: 'db' },
  },
  {
    name: 'in multi-namespace mode the name of an imported object stays, its namespace is the virtual one',
    reference: parts,
    host: { name: 'shared', namespace: 'host-other' },
    own: { name: 'db', namespace: 'other' },
    isMulti: true,
    result: { name: 'shared', namespace: 'other' },
  },
  {
    name: "the host name of the virtual object's own value is that value, whether or not it exists",
    reference: name,
    host: 'missing-x-shop-x-vc',
    own: 'missing',
    result: 'missing',
  },
  {
    name: 'a host name of another virtual namespace cannot be named: the own value stays',
    reference: name,
    host: 'db-x-other-x-vc',
    own: 'new',
    result: 'new',
  },
  {
    name: 'a host name of another virtual namespace stays without an own value',
    reference: name,
    host: 'db-x-other-x-vc',
    result: 'db-x-other-x-vc',
  },
  { name: 'no text stays', reference: name, host: 5, own: 'db', result: 5 },
  { name: 'an empty text stays', reference: name, host: '', own: 'db', result: '' },
  {
    name: 'name and namespace are those of the virtual object',
    reference: parts,
    host: { name: 'db-x-other-x-vc', namespace: 'host', key: 'k' },
    own: { name: 'x', namespace: 'y' },
    result: { name: 'db', namespace: 'other', key: 'k' },
  },
  {
    name: 'another host namespace is not ours: the own value stays',
    reference: parts,
    host: { name: 'db-x-other-x-vc', namespace: 'kube-system' },
    own: { name: 'db', namespace: 'other' },
    result: { name: 'db', namespace: 'other' },
  },
  {
    name: "without a namespace it is the host's own one",
    reference: parts,
    host: { name: 'new-x-shop-x-vc' },
    own: { name: 'db' },
    result: { name: 'new' },
  },
  {
    name: 'an object of another kind is another one',
    reference: parts,
    host: { name: 'db-x-shop-x-vc', kind: 'ConfigMap' },
    own: { name: 'db', kind: 'Secret' },
    result: { name: 'of-a-config-map', kind: 'ConfigMap' },
  },
  {
    name: 'in multi-namespace mode only the namespace is translated',
    reference: parts,
    host: { name: 'db', namespace: 'host-other' },
    own: { name: 'new', namespace: 'shop' },
    isMulti: true,
    result: { name: 'db', namespace: 'other' },
  },
  {
    name: 'in multi-namespace mode a name without a namespace stays',
    reference: name,
    host: 'db',
    own: 'new',
    isMulti: true,
    result: 'db',
  },
]

describe('references from host to virtual', () => {
  test.each(REFERENCES)('$name (19.5)', async ({ reference, result, ...given }) => {
    expect(await patchedAt({ reference }, 'reverse', given)).toEqual(result)
  })

  test.each([
    { host: 'unread', own: 'db' },
    { host: 'not-read', own: 'db' },
    { host: 'x', own: 'not-read' },
  ])('host value $host and own value $own wait until both are read (19.5)', async (given) => {
    expect(await patchedAt({ reference: name }, 'reverse', given)).toBe(
      'p[0] at data.a: what it names has not been read yet',
    )
  })

  test.each(['forward', 'reverse'] as const)(
    'a kind that was read without its group is an error, %s (19.5)',
    async (direction) => {
      const host = { name: 'db', kind: 'Ingress' }
      expect(await patchedAt({ reference: parts }, direction, { host })).toBe(
        'p[0] at data.a: the kind that was read needs its apiVersion with a group, such as apps/v1',
      )
    },
  )
})

describe('references from virtual to host', () => {
  const rows: readonly ReferenceRow[] = [
    { name: 'a virtual name', reference: name, host: 'db', result: 'db-x-shop-x-vc' },
    {
      name: 'an imported name crosses unchanged',
      reference: name,
      host: 'shared',
      result: 'shared',
    },
    {
      name: 'an imported name in another namespace stands in the host namespace',
      reference: parts,
      host: { name: 'shared', namespace: 'other' },
      result: { name: 'shared', namespace: 'host' },
    },
    {
      name: 'a name that is imported in another namespace only',
      reference: parts,
      host: { name: 'shared', namespace: 'third' },
      result: { name: 'shared-x-third-x-vc', namespace: 'host' },
    },
    {
      name: 'an imported name in multi-namespace mode',
      reference: parts,
      host: { name: 'shared', namespace: 'other' },
      isMulti: true,
      result: { name: 'shared', namespace: 'host-other' },
    },
    {
      name: 'a name in a namespace that has none on the host',
      reference: parts,
      host: { name: 'db', namespace: 'left-out' },
      isMulti: true,
      result: 'p[0] at data.a: the namespace that it names has none on the host',
    },
    {
      name: 'a name that may be imported, and is not read yet',
      reference: name,
      host: 'not-read',
      result: 'p[0] at data.a: what it names has not been read yet',
    },
    {
      name: 'a kind that the virtual cluster serves',
      reference: { kind: 'Served', apiVersion: 'example.com/v1' },
      host: 'db',
      result: 'db-x-shop-x-vc',
    },
    {
      name: 'a kind that the virtual cluster does not serve',
      reference: { kind: 'Missing', apiVersion: 'example.com/v1' },
      host: 'db',
      result: 'p[0] at data.a: the virtual cluster does not serve the kind',
    },
    {
      name: 'a kind of which is not known whether it is served',
      reference: { kind: 'Later', apiVersion: 'example.com/v1' },
      host: 'db',
      result: 'p[0] at data.a: what it names has not been read yet',
    },
  ]
  test.each(rows)('$name (19.5)', async ({ reference, result, ...given }) => {
    expect(await patchedAt({ reference }, 'forward', given)).toEqual(result)
  })
})
