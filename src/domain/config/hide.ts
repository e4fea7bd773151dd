import type { Json, JsonMap } from './json.ts'
import type { Path } from './path.ts'
import { isReference } from './reference.ts'
import { treatments } from './secrecy.ts'
import { type Leaf, leavesOf, mapLeaves } from './walk.ts'

/**
 * The settings as status and the ConfigMap show them: every secret is `REDACTED`, be it a whole
 * value, the user information of a URL anywhere in a text, or a data source name that is no URL
 * (contract 6.3). Hiding twice changes nothing.
 */
export const hide = (settings: JsonMap): JsonMap => mapLeaves(settings, hiddenLeaf)

/** The settings as people declare them: `$NAME` stands for a secret and is none, so it stays. */
export const hideLiterals = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (isReference(leaf) ? leaf.value : hiddenLeaf(leaf)))

function hiddenLeaf({ value, rule }: Leaf): Json {
  if (typeof value === 'string') return treatments[rule.secrecy].hide(value)
  return rule.secrecy === 'whole' && value !== null ? treatments.whole.hide('') : value
}

/** Where the settings hold what hiding leaves in place of a secret, which is no value (contract 6.3). */
export const hiddenPlacesOf = (settings: JsonMap): readonly Path[] =>
  leavesOf(settings)
    .filter(
      ({ value, rule }) => typeof value === 'string' && treatments[rule.secrecy].isHidden(value),
    )
    .map(({ path }) => path)
