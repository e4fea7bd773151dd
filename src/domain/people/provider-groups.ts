import type { ProviderGroup } from '../../api/provider-group.gen.ts'
import { fieldsOf, stringOf } from '../json/json.ts'

/** One empty list for all objects without groups, to save memory. */
const NO_GROUPS: readonly string[] = []

/**
 * Groups at sign-in providers, each as one text: groups of different providers never have the same. A malformed entry
 * is left out, because a group only ever grants.
 */
export function providerGroupsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return NO_GROUPS
  const groups = value.flatMap((entry: unknown) => {
    const { connector, name }: { [Field in keyof ProviderGroup]: unknown } = fieldsOf(entry)
    const isWellFormed = Boolean(stringOf(connector)) && Boolean(stringOf(name))
    return isWellFormed ? [JSON.stringify([connector, name])] : []
  })
  return [...new Set(groups)]
}
