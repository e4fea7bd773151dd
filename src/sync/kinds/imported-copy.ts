// How a copy of an imported host object is marked and recognized (contract 19.5). The host object's owner allows the
// import by a label; a tenant can forge the annotation of a copy, so that it proves nothing by itself.
import { createHash } from 'node:crypto'
import { nestedMap, nestedString, setNestedField } from '../../domain/json/field-path.ts'
import { canonicalJson, type JsonMap } from '../../domain/json/json.ts'
import type { VirtualName } from '../objects/host-name.ts'
import { MARK_PREFIX } from '../objects/mark-keys.ts'
import type { SyncedKind } from '../objects/synced-kinds.ts'
import { importedData, withImportedData } from './imported-data.ts'

/** The label by which the owner of a host object lets one virtual cluster import it; its value is the name of that virtual cluster. */
const IMPORT_LABEL = `${MARK_PREFIX}import`

/** On the copy: the uid of the host object, and a digest of the copy's place and data: `<uid>/<hexadecimal SHA-256>`. */
const IMPORTED_FROM = `${MARK_PREFIX}imported-from`

/** Whether the virtual cluster may import the host object: by its label, and without marks of any virtual cluster. */
export function isImportable(host: JsonMap, virtualCluster: string): boolean {
  const metadata = nestedMap(host, ['metadata'])
  const marks = [
    ...Object.keys(nestedMap(metadata, ['labels'])).filter((key) => key !== IMPORT_LABEL),
    ...Object.keys(nestedMap(metadata, ['annotations'])),
  ].filter((key) => key.startsWith(MARK_PREFIX))
  const label = nestedString(metadata, ['labels', IMPORT_LABEL])
  return label === virtualCluster && marks.length === 0 && !isEnding(host)
}

/** Whether a virtual object has the annotation of a copy, which proves nothing by itself. */
export const isMarkedAsImport = (virtual: JsonMap): boolean => importedFrom(virtual) !== null

/** Whether a virtual object is an unchanged import. A copy of an import under another name is not one. */
export function isUnchangedImport(kind: SyncedKind, virtual: JsonMap): boolean {
  const from = importedFrom(virtual)
  const digest = from && digestOf(kind, nameOf(virtual), from.uid, importedData(kind, virtual))
  return from !== null && digest === from.digest
}

/** Whether a virtual object is the copy of this host object, changed or not, or is about to become it again. */
export const isImportOf = (kind: SyncedKind, virtual: JsonMap, host: JsonMap): boolean =>
  importedFrom(virtual)?.uid === uidOf(host) || isUnchangedImport(kind, virtual)

/** The virtual object with the data of the host object, and with the annotation that says so. */
export function importedCopy(kind: SyncedKind, virtual: JsonMap, host: JsonMap): JsonMap {
  const data = importedData(kind, host)
  const digest = digestOf(kind, nameOf(virtual), uidOf(host), data)
  const copy = withImportedData(kind, virtual, data)
  return setNestedField(
    copy,
    ['metadata', 'annotations', IMPORTED_FROM],
    `${uidOf(host)}/${digest}`,
  )
}

function importedFrom(virtual: JsonMap): { readonly uid: string; readonly digest: string } | null {
  const annotation = nestedString(virtual, ['metadata', 'annotations', IMPORTED_FROM])
  const [uid = '', digest = '', ...more] = annotation.split('/')
  return uid === '' || digest === '' || more.length > 0 ? null : { uid, digest }
}

const digestOf = (kind: SyncedKind, name: VirtualName, uid: string, data: JsonMap): string =>
  createHash('sha256')
    .update(canonicalJson([kind, name.namespace, name.name, uid, data]))
    .digest('hex')

const nameOf = (object: JsonMap): VirtualName => ({
  name: nestedString(object, ['metadata', 'name']),
  namespace: nestedString(object, ['metadata', 'namespace']),
})

const uidOf = (object: JsonMap): string => nestedString(object, ['metadata', 'uid'])

/** Whether the object is being deleted. */
export const isEnding = (object: JsonMap): boolean =>
  nestedString(object, ['metadata', 'deletionTimestamp']) !== ''
