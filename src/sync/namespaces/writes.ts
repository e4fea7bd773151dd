// Writes host namespaces, each conditional on the namespace that was read (contract 17.5, 18.3).
import { NAMESPACES } from '../../api/names.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { KubeClient, PatchOperation } from '../../kube/client/client.ts'
import type { HostPlace } from '../objects/host-name.ts'
import { namespaceMarks, type VirtualNamespace, withNamespaceMarks } from './marks.ts'
import type { PlannedMark } from './plan.ts'
import type { HostNamespaceObject } from './sources.ts'

/** Why host namespaces are written, for metrics. */
export const NAMESPACE_WRITE_REASONS = ['create', 'mark', 'unmark', 'delete'] as const

/** Dependencies of the writes. */
export interface NamespaceWriteDeps {
  readonly place: HostPlace
  readonly clients: { readonly host: KubeClient }
}

/** Makes the host namespace of a virtual one, with its marks. */
export async function createNamespace(
  name: string,
  virtual: VirtualNamespace,
  { clients, place }: NamespaceWriteDeps,
): Promise<void> {
  const metadata = { name, ...namespaceMarks(virtual, true, place) }
  const { version: apiVersion, kind } = NAMESPACES
  await clients.host.create(NAMESPACES, { apiVersion, kind, metadata }, 'create')
}

/** Marks a namespace as the host namespace of a virtual one. */
export const markNamespace = (
  host: HostNamespaceObject,
  { virtual, isMade }: PlannedMark,
  deps: NamespaceWriteDeps,
): Promise<void> => setMarks(host, namespaceMarks(virtual, isMade, deps.place), deps)

/** Takes our marks from a namespace. */
export const unmarkNamespace = (
  host: HostNamespaceObject,
  deps: NamespaceWriteDeps,
): Promise<void> => setMarks(host, null, deps)

/** Replaces the marks; what others have set in labels and annotations stays. @param marks null = it gets none */
async function setMarks(
  { name, resourceVersion }: HostNamespaceObject,
  marks: ReturnType<typeof namespaceMarks> | null,
  { clients }: NamespaceWriteDeps,
): Promise<void> {
  const found = await clients.host.get(NAMESPACES, { name })
  // An event of the change queues the key again.
  if (found === null || found.metadata.resourceVersion !== resourceVersion) return
  const { labels, annotations } = withNamespaceMarks(found.metadata as unknown as JsonMap, marks)
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/metadata/labels', value: labels },
    { op: 'add', path: '/metadata/annotations', value: annotations },
  ]
  await clients.host.patch(NAMESPACES, { name }, operations, marks === null ? 'unmark' : 'mark')
}

/** Deletes the namespace that was read. */
export async function deleteNamespace(
  { name, uid, resourceVersion }: HostNamespaceObject,
  { clients }: NamespaceWriteDeps,
): Promise<void> {
  await clients.host.delete(NAMESPACES, { name }, { uid, resourceVersion }, 'delete')
}
