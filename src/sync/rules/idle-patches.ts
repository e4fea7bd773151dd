// Patches that find nothing on the way to the host, as the label that they name has another key there (contract 17.3).
import { isTakenKey } from './labels.ts'
import type { Patch } from './patch.ts'
import { type PatchPath, canBeWithin, patchPath } from './patch-path.ts'

/** Maps of labels whose keys are translated before the patches apply, in single-namespace mode. */
const LABELS = patchPath('metadata.labels')
const SELECTOR = patchPath('spec.selector')

/** A sentence for each patch of a kind that names the old key of a translated label. @param kind as in SyncedKind */
export function idlePatches(kind: string, patches: readonly Patch[]): readonly string[] {
  const isSelectorPatched = patches.some(
    (patch) => patch.kind === 'labels' && canBeWithin(SELECTOR, patch.path),
  )
  const maps = kind === 'services' && !isSelectorPatched ? [LABELS, SELECTOR] : [LABELS]
  return patches.flatMap((patch) => {
    if (patch.kind === 'expression' && patch.forward === null) return []
    const key = maps.map((map) => keyWithin(patch.path, map)).find((name) => name !== null)
    return key !== undefined && key !== null && isTakenKey(key)
      ? [`${patch.entry} has no effect on the way to the host: label ${key} has another key there`]
      : []
  })
}

/** The key that the path names in the map; null = it names none, or all. */
function keyWithin(path: PatchPath, map: PatchPath): string | null {
  const segment = canBeWithin(path, map) ? path[map.length] : undefined
  return segment?.kind === 'name' ? segment.name : null
}
