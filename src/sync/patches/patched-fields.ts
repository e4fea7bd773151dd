// Which fields of an object its patches act on, which no other rule translates then (contract 19.5).
import { type FieldPath, nestedField } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { Patch } from './parse.ts'
import { matchedFields, type PatchPath } from './path.ts'

/**
 * Looks up the patch that acts from virtual to host on this very field of the virtual object, the first of several;
 * null = none. A patch of a field around it, or within it, does not count.
 */
export function forwardPatchKinds(
  virtual: JsonMap,
  patches: readonly Patch[],
): (path: FieldPath) => Patch['kind'] | null {
  const kinds = new Map<string, Patch['kind']>()
  for (const patch of patches)
    for (const path of matchedFields(virtual, patch.path).flatMap((at) =>
      fieldsOf(virtual, at, patch),
    )) {
      const key = JSON.stringify(path)
      if (!kinds.has(key)) kinds.set(key, patch.kind)
    }
  return (path) => kinds.get(JSON.stringify(path)) ?? null
}

/** The fields that a patch acts on where its path matches: a reference may name fields within. */
function fieldsOf(virtual: JsonMap, at: FieldPath, patch: Patch): readonly FieldPath[] {
  if (patch.kind === 'expression') return patch.forward === null ? [] : [at]
  if (patch.kind === 'labels' || patch.reference.namePath === null) return [at]
  const value = nestedField(virtual, at)
  const { namePath, namespacePath } = patch.reference
  return [namePath, namespacePath]
    .filter((path): path is PatchPath => path !== null)
    .flatMap((path) => matchedFields(value ?? null, path).slice(0, 1))
    .map((inner) => [...at, ...inner])
}
