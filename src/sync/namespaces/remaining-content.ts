// The content of a host namespace whose virtual namespace is gone (contract 17.5).
import type { JsonMap } from '../../domain/json/json.ts'
import { isConflict, StatusError, withoutDetail } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { NamespaceContent } from '../../kube/client/namespace-content.ts'
import { isSkipped, ownerOf } from '../objects/host-metadata.ts'
import type { HostPlace } from '../objects/host-name.ts'
import { SYNCED_KINDS, SYNCED_RESOURCES } from '../objects/synced-kinds.ts'
import { isOwnContent, type NamespaceRest } from './end-plan.ts'

/** `clearing`: some were found, and another look must show that they are gone. `unknown`: not all kinds can be listed. */
type OwnObjects =
  | { readonly kind: 'clearing' | 'none' }
  | { readonly kind: 'unknown'; readonly content: string }

interface ClearedNamespace {
  readonly hostName: string
  /** The virtual namespace that it was marked for. */
  readonly virtualName: string
}

/** Deletes the host objects that are left of the virtual namespace: their virtual objects are gone. */
export async function deleteOwnObjects(
  { hostName, virtualName }: ClearedNamespace,
  deps: {
    readonly place: HostPlace
    readonly clients: { readonly host: KubeClient }
    readonly content: NamespaceContent
  },
): Promise<OwnObjects> {
  // The virtual namespace may lead elsewhere by now: read the marks by the mapping with which they were written.
  const place: HostPlace = { ...deps.place, namespaces: [[virtualName, hostName]] }
  let isClearing = false
  const unreadable: string[] = []
  for (const kind of SYNCED_KINDS) {
    const resource = SYNCED_RESOURCES[kind]
    const found = await deps.content.list(resource, hostName)
    if (found === null) unreadable.push(resource.plural)
    for (const metadata of found ?? []) {
      const object: JsonMap = { metadata: metadata as unknown as JsonMap }
      if (isSkipped(object) || ownerOf(object, resource.kind, place)?.namespace !== virtualName)
        continue
      isClearing = true
      if (metadata.deletionTimestamp !== undefined) continue
      const { name, uid, resourceVersion } = metadata
      const ref = { name, namespace: hostName }
      await unlessChanged(`delete of ${resource.plural} in namespace ${hostName}`, () =>
        deps.clients.host.delete(resource, ref, { uid, resourceVersion }, 'delete'),
      )
    }
  }
  if (isClearing) return { kind: 'clearing' }
  return unreadable.length === 0
    ? { kind: 'none' }
    : { kind: 'unknown', content: unreadable.join(', ') }
}

/**
 * Ignores a conflict: an object that has changed or is gone is examined again by the next look.
 *
 * @throws what `remove` does, without a message: it could quote the values of a Secret
 */
async function unlessChanged(call: string, remove: () => Promise<unknown>): Promise<void> {
  try {
    await remove()
  } catch (error) {
    if (isConflict(error)) return
    throw error instanceof StatusError ? withoutDetail(error, call) : error
  }
}

/** Looks for objects of all kinds that the host serves. Objects that can't be read count as foreign. */
export async function remainingContent(
  hostName: string,
  content: NamespaceContent,
): Promise<NamespaceRest> {
  const { resources, unknown } = await content.resources()
  const unreadable = [...unknown]
  for (const resource of resources) {
    const found = await content.list(resource, hostName)
    if (found === null) unreadable.push(kindName(resource))
    const foreign = found?.find(
      (metadata) => !isOwnContent({ ...resource, metadata: metadata as unknown as JsonMap }),
    )
    if (foreign) return { kind: 'objects', content: `${kindName(resource)} ${foreign.name}` }
  }
  return unreadable.length === 0
    ? { kind: 'nothing' }
    : { kind: 'unknown', content: unreadable.join(', ') }
}

const kindName = ({
  group,
  plural,
}: {
  readonly group: string
  readonly plural: string
}): string => (group === '' ? plural : `${plural}.${group}`)
