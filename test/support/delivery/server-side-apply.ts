// What writes do to an object and to the field managers of its labels, annotations and data, as far as claims need it.
import type { KubeObject, ManagedFieldsEntry, OwnerReference } from '../../../src/api/objects.ts'
import type { PatchOperation } from '../../../src/kube/client/client.ts'

/** An object, which may be a Secret. */
export type SecretObject = KubeObject & {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
}

type Texts = Readonly<Record<string, string>>
const MAPS = ['data', 'labels', 'annotations'] as const
type MapName = (typeof MAPS)[number]

const mapOf = (object: SecretObject, map: MapName): Texts =>
  (map === 'data' ? object.data : object.metadata[map]) ?? {}

/** The names in each map. */
type Names = Readonly<Record<MapName, readonly string[]>>

const namesIn = (object: SecretObject): Names => ({
  data: Object.keys(mapOf(object, 'data')),
  labels: Object.keys(mapOf(object, 'labels')),
  annotations: Object.keys(mapOf(object, 'annotations')),
})

const tree = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [`f:${name}`, {}]))

const entryOf = (
  manager: string,
  operation: 'Apply' | 'Update',
  names: Names,
): ManagedFieldsEntry => ({
  manager,
  operation,
  fieldsV1: {
    'f:data': tree(names.data),
    'f:metadata': { 'f:labels': tree(names.labels), 'f:annotations': tree(names.annotations) },
  },
})

function namesOf({ fieldsV1 = {} }: ManagedFieldsEntry): Names {
  const { 'f:data': data, 'f:metadata': metadata } = fieldsV1 as Record<
    string,
    Record<string, object>
  >
  const names = (fields: object | undefined) =>
    Object.keys(fields ?? {}).map((name) => name.slice(2))
  return {
    data: names(data),
    labels: names(metadata?.['f:labels']),
    annotations: names(metadata?.['f:annotations']),
  }
}

/** The entry of a main resource, not of its status. */
const isOf = (manager: string, operation: string) => (entry: ManagedFieldsEntry) =>
  entry.manager === manager && entry.operation === operation && entry.subresource === undefined

/** A new object: its fields belong to who creates it. */
export function created({ stringData, ...object }: SecretObject, manager: string): SecretObject {
  const encoded = Object.entries(stringData ?? {}).map(([name, text]) => [
    name,
    Buffer.from(text).toString('base64'),
  ])
  const whole = stringData
    ? { ...object, data: { ...object.data, ...Object.fromEntries(encoded) } }
    : object
  const managedFields = [entryOf(manager, 'Update', namesIn(whole))]
  return { ...whole, metadata: { ...whole.metadata, managedFields } }
}

/** The object after an apply with force: what the manager has applied before and names no more is removed. */
export function applied(found: SecretObject, sent: SecretObject, manager: string): SecretObject {
  const { managedFields = [] } = found.metadata
  const mine = managedFields.find(isOf(manager, 'Apply'))
  const before = mine
    ? namesOf(mine)
    : namesIn({ ...found, data: {}, metadata: { ...found.metadata, labels: {}, annotations: {} } })
  const others = managedFields.filter((entry) => entry !== mine)
  const kept = (map: MapName): Texts => {
    const owned = new Set(others.flatMap((entry) => namesOf(entry)[map]))
    const isDropped = (name: string) => before[map].includes(name) && !owned.has(name)
    return Object.fromEntries(
      Object.entries(mapOf(found, map)).filter(([name]) => !isDropped(name)),
    )
  }
  const isTaken = (map: MapName, name: string) =>
    Object.hasOwn(mapOf(sent, map), name) && mapOf(sent, map)[name] !== mapOf(found, map)[name]
  const left = others.map((entry) => withoutNames(entry, isTaken))
  const entry = entryOf(manager, 'Apply', namesIn(sent))
  return assembled(
    { ...found, ...(sent.type === undefined ? {} : { type: sent.type }) },
    sent,
    (map) => ({ ...kept(map), ...mapOf(sent, map) }),
    [entry, ...left],
  )
}

/** The object after an edit: the fields belong to who has set them. */
export function merged(
  found: SecretObject,
  edit: Partial<SecretObject>,
  manager: string,
): SecretObject {
  const sent = {
    ...found,
    data: {},
    ...edit,
    metadata: { ...found.metadata, labels: {}, annotations: {}, ...edit.metadata },
  }
  const isTaken = (map: MapName, name: string) => Object.hasOwn(mapOf(sent, map), name)
  const left = (found.metadata.managedFields ?? []).map((entry) => withoutNames(entry, isTaken))
  return assembled(found, sent, (map) => ({ ...mapOf(found, map), ...mapOf(sent, map) }), [
    ...left,
    entryOf(manager, 'Update', namesIn(sent)),
  ])
}

function withoutNames(
  entry: ManagedFieldsEntry,
  isTaken: (map: MapName, name: string) => boolean,
): ManagedFieldsEntry {
  if (entry.subresource !== undefined) return entry
  const names = namesOf(entry)
  const left = (map: MapName) => names[map].filter((name) => !isTaken(map, name))
  return entryOf(entry.manager ?? '', entry.operation ?? 'Update', {
    data: left('data'),
    labels: left('labels'),
    annotations: left('annotations'),
  })
}

function assembled(
  found: SecretObject,
  sent: SecretObject,
  mapAfter: (map: MapName) => Texts,
  managedFields: readonly ManagedFieldsEntry[],
): SecretObject {
  const owners = new Map<string, OwnerReference>()
  for (const owner of [
    ...(found.metadata.ownerReferences ?? []),
    ...(sent.metadata.ownerReferences ?? []),
  ])
    owners.set(owner.uid, owner)
  const finalizers = [
    ...new Set([...(found.metadata.finalizers ?? []), ...(sent.metadata.finalizers ?? [])]),
  ]
  return {
    ...found,
    ...(found.data === undefined && sent.data === undefined ? {} : { data: mapAfter('data') }),
    metadata: {
      ...found.metadata,
      labels: mapAfter('labels'),
      annotations: mapAfter('annotations'),
      ...(owners.size === 0 ? {} : { ownerReferences: [...owners.values()] }),
      ...(finalizers.length === 0 ? {} : { finalizers }),
      managedFields,
    },
  }
}

/** The object after a JSON patch; null = a `test` has failed. */
export function patched(
  object: SecretObject,
  operations: readonly PatchOperation[],
): SecretObject | null {
  const copy = structuredClone(object)
  for (const { op, path, value } of operations) {
    const names = path
      .split('/')
      .slice(1)
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop() ?? ''
    const parent = names.reduce<Record<string, unknown>>(
      (one, name) => (one[name] ?? {}) as Record<string, unknown>,
      copy as never,
    )
    if (op === 'test' && JSON.stringify(parent[last]) !== JSON.stringify(value)) return null
    if (op === 'remove' && Array.isArray(parent)) parent.splice(Number(last), 1)
    else if (op === 'remove') delete parent[last]
    else if (op !== 'test') parent[last] = structuredClone(value)
  }
  return copy
}
