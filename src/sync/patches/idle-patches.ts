// Patches of a label or annotation that has another key on the host or does not cross, so that they find nothing (17.3).
import type { HostPlace } from '../objects/host-name.ts'
import type { MetadataField } from '../objects/mark-keys.ts'
import { hostKeyOf, hostLabelKey } from '../objects/selectors.ts'
import { SYNCED_RESOURCES, type SyncedKind } from '../objects/synced-kinds.ts'
import type { Patch } from './parse.ts'
import { canBeWithin, type PatchPath, patchPath } from './path.ts'

const FIELDS: readonly MetadataField[] = ['labels', 'annotations']
const SELECTOR = patchPath('spec.selector')

/**
 * A sentence for each patch that names a label or an annotation that has another key on the host, or none.
 */
export function idlePatches(
  kind: SyncedKind,
  patches: readonly Patch[],
  namespaces: HostPlace['namespaces'],
): readonly string[] {
  const isSelectorPatched = patches.some(
    (patch) => patch.kind === 'labels' && canBeWithin(SELECTOR, patch.path),
  )
  const hasSelector = kind === 'services' && namespaces === null && !isSelectorPatched
  return patches.flatMap((patch) => {
    if (patch.kind === 'expression' && patch.forward === null) return []
    const because = [
      ...FIELDS.map((field) =>
        metadataFault(patch.path, field, SYNCED_RESOURCES[kind].kind, namespaces),
      ),
      hasSelector ? selectorFault(patch.path) : null,
    ].find((one) => one !== null)
    return because ? [`${patch.entry} has no effect on the way to the host: ${because}`] : []
  })
}

/** Of any virtual cluster: its name is part of keys only. */
const PLACE = { virtualCluster: 'vc', hostNamespace: '' }

function metadataFault(
  path: PatchPath,
  field: MetadataField,
  kind: string,
  namespaces: HostPlace['namespaces'],
): string | null {
  const key = keyWithin(path, patchPath(`metadata.${field}`))
  const crossed = key === null ? null : hostKeyOf(field, key, kind, { ...PLACE, namespaces })
  if (key === null || crossed === key) return null
  const what = `${field === 'labels' ? 'label' : 'annotation'} ${key}`
  return crossed === null ? `${what} does not cross` : `${what} has another key there`
}

function selectorFault(path: PatchPath): string | null {
  const key = keyWithin(path, SELECTOR)
  const isSame = key === null || hostLabelKey(key, PLACE.virtualCluster) === key
  return isSame ? null : `label ${key} has another key there`
}

/** The key that the path names in the map; null = it names none, or all. */
function keyWithin(path: PatchPath, map: PatchPath): string | null {
  const segment = canBeWithin(path, map) ? path[map.length] : undefined
  return segment?.kind === 'name' ? segment.name : null
}
