// A reference or labels patch of one field, with what both clusters have.
import { expect } from 'vitest'
import type { Json, JsonMap } from '../../../src/domain/json/json.ts'
import { applyPatches } from '../../../src/sync/patches/apply.ts'
import { checkPatches } from '../../../src/sync/patches/parse.ts'
import type { NamedKind, ObjectReference } from '../../../src/sync/patches/reference.ts'
import { OVERRUN } from '../../../src/sync/sandbox/protocol.ts'

/** The host objects with our marks: where they stand, and the virtual objects that they stand for. */
const OURS: Readonly<Record<string, { readonly name: string; readonly namespace: string }>> = {
  'v1/Secret host/db-x-shop-x-vc': { name: 'db', namespace: 'shop' },
  'v1/Secret host/new-x-shop-x-vc': { name: 'new', namespace: 'shop' },
  'v1/Secret host/db-x-other-x-vc': { name: 'db', namespace: 'other' },
  'v1/ConfigMap host/db-x-shop-x-vc': { name: 'of-a-config-map', namespace: 'shop' },
  'v1/Secret host-shop/db': { name: 'db', namespace: 'shop' },
  'v1/Secret host-other/db': { name: 'db', namespace: 'other' },
}

/** The virtual names that stand for the host object of that very name. */
const IMPORTED = ['v1/Secret shop/shared', 'v1/Secret other/shared']

const text = ({ apiVersion, kind, namespace, name }: ObjectReference): string =>
  `${apiVersion}/${kind} ${namespace}/${name}`

/** A field on both sides. */
export interface ReferenceCase {
  /** The value at `data.a` of the host object. */
  readonly host: Json
  /** That of the virtual object; absent = it has none. */
  readonly own?: Json
  readonly isMulti?: boolean
}

const evaluate = async () => OVERRUN

/** The value at `data.a` after one patch of it, or the failure. */
export async function patchedAt(
  entry: object,
  direction: 'forward' | 'reverse',
  { host, own, isMulti = false }: ReferenceCase,
): Promise<unknown> {
  const { patches, faults } = checkPatches([{ path: 'data.a', ...entry }] as never, 'p', [])
  expect(faults).toEqual([])
  const virtualObject: JsonMap = { data: own === undefined ? {} : { a: own } }
  const context = {
    place: {
      virtualCluster: 'vc',
      hostNamespace: 'host',
      namespaces: isMulti ? [['*', 'host-*'] as const] : null,
    },
    namespace: 'shop',
    config: {},
    virtualObject,
    hostObject: null,
    virtualNameOf: (reference: ObjectReference) =>
      reference.name === 'unread' ? ('unread' as const) : (OURS[text(reference)] ?? null),
    isImported: (reference: ObjectReference) =>
      reference.name === 'not-read' ? ('unread' as const) : IMPORTED.includes(text(reference)),
    isServed: ({ kind }: NamedKind) =>
      kind === 'Later' ? ('unread' as const) : kind !== 'Missing',
    isOpen: (namespace: string) => namespace !== 'left-out',
  }
  const patched = await applyPatches({ data: { a: host } }, patches, direction, context, evaluate)
  if (!patched.ok) return `${patched.patch.entry} at ${patched.path}: ${patched.failure.because}`
  return (patched.object['data'] as JsonMap)['a']
}
