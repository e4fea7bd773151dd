import { type Json, type JsonMap, isEmpty, isList, isMap, mapOf } from '../json/json.ts'
import type { SettingPath } from '../json/pointer.ts'
import { type FieldRule, PLAIN, type Rule, SECRET, SECRET_NAMES, SETTINGS } from './field-rules.ts'
import { treatments } from './redaction.ts'
import { isReference } from './references.ts'
import type { FormatCheck } from './validation/formats.ts'

/** One single value in the settings, with the rule of its field. */
export interface Leaf {
  readonly path: SettingPath
  readonly value: string | number | boolean | null
  readonly rule: FieldRule
}

/** Whether the value is what hiding leaves behind: no value at all (contract 6.3). */
export const isHidden = ({ value, rule }: Leaf): boolean =>
  typeof value === 'string' && treatments[rule.secrecy].isHidden(value)

/** What becomes of a leaf; undefined: it is left out. */
export type Change = (leaf: Leaf) => Json | undefined

/**
 * The settings with every leaf changed. Maps that hold nothing afterwards are left out, be it that
 * they held nothing before. An entry of a list can't be left out alone, since that would move the
 * others: a list goes when all of its entries go, else those stay as they were.
 */
export const mapLeaves = (settings: JsonMap, change: Change): JsonMap =>
  changedMap(settings, SETTINGS, [], change)

/** Every leaf of the settings, in order. */
export function leavesOf(settings: JsonMap): readonly Leaf[] {
  const leaves: Leaf[] = []
  mapLeaves(settings, (leaf) => {
    leaves.push(leaf)
    return leaf.value
  })
  return leaves
}

/** A name in a map of free names, and the check of such names. */
export interface FreeName {
  readonly path: SettingPath
  readonly name: string
  readonly check: FormatCheck
}

/** The free names in the settings that have a format of their own. */
export function freeNamesOf(
  value: Json,
  rule: Rule | undefined,
  path: SettingPath,
): readonly FreeName[] {
  if (!isMap(value) || rule === undefined) return []
  return Object.entries(value).flatMap(([name, entry]) => {
    const inner = [...path, name]
    if (rule.kind !== 'map') return freeNamesOf(entry, ruleIn(rule, name), inner)
    return rule.nameCheck ? [{ path: inner, name, check: rule.nameCheck }] : []
  })
}

function changed(
  value: Json,
  rule: Rule | undefined,
  path: SettingPath,
  change: Change,
): Json | undefined {
  if (isList(value)) return changedList(value, rule, path, change)
  if (!isMap(value)) return change({ path, value, rule: fieldRule(value, rule, path) })
  const map = changedMap(value, rule, path, change)
  return isEmpty(map) && typeof path.at(-1) === 'string' ? undefined : map
}

function changedMap(
  map: JsonMap,
  rule: Rule | undefined,
  path: SettingPath,
  change: Change,
): JsonMap {
  return mapOf(
    Object.entries(map).map(([name, value]) => [
      name,
      changed(value, ruleIn(rule, name), [...path, name], change),
    ]),
  )
}

function changedList(
  list: readonly Json[],
  rule: Rule | undefined,
  path: SettingPath,
  change: Change,
) {
  const entryRule = rule?.kind === 'list' ? rule.entry : undefined
  const entries = list.map((entry, at) => changed(entry, entryRule, [...path, at], change))
  if (list.length > 0 && entries.every((entry) => entry === undefined)) return undefined
  return entries.map((entry, at) => entry ?? list[at] ?? null)
}

function ruleIn(rule: Rule | undefined, name: string): Rule | undefined {
  if (rule?.kind === 'group') return rule.fields.get(name)
  return rule?.kind === 'map' ? rule.entry : undefined
}

// By name, not by place: a secret is hidden also where nobody thought of listing it. Switches are
// left alone, as auth.password.disabled.
function fieldRule(value: Leaf['value'], rule: Rule | undefined, path: SettingPath): FieldRule {
  if (rule?.kind === 'field') return rule
  const named = path.some((step) => SECRET_NAMES.has(step))
  return named && typeof value !== 'boolean' ? SECRET : PLAIN
}

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
export const hiddenPlacesOf = (settings: JsonMap): readonly SettingPath[] =>
  leavesOf(settings)
    .filter(
      ({ value, rule }) => typeof value === 'string' && treatments[rule.secrecy].isHidden(value),
    )
    .map(({ path }) => path)
