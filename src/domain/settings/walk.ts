// A walk over the single values of settings, each with the rule of its field.
import { type Json, type JsonMap, isEmptyMap, isList, isMap, mapFromEntries } from '../json/json.ts'
import type { FieldPath } from '../json/field-path.ts'
import {
  type FieldRule,
  PLAIN,
  SECRET,
  SECRET_NAMES,
  SETTING_RULES,
  type SettingRule,
} from './field-rules.ts'
import type { FormatCheck } from './validation/formats.ts'

/** One single value in the settings. */
export interface SettingLeaf {
  readonly path: FieldPath
  readonly value: string | number | boolean | null
  /** The rule of its field; the plain or the secret one for a field without a rule. */
  readonly rule: FieldRule
}

/** The new value of a leaf; undefined removes it. */
type LeafChange = (leaf: SettingLeaf) => Json | undefined

/**
 * A copy of the settings with every leaf changed. Maps that are empty afterwards are left out, also those that were
 * empty before. A list is left out when every entry is removed; otherwise an entry that would be removed stays as it
 * was, because its removal would move the others.
 */
export const mapLeaves = (settings: JsonMap, change: LeafChange): JsonMap =>
  changedMap(settings, SETTING_RULES, [], change)

/** Every leaf of the settings, in order. */
export function leavesOf(settings: JsonMap): readonly SettingLeaf[] {
  const leaves: SettingLeaf[] = []
  mapLeaves(settings, (leaf) => {
    leaves.push(leaf)
    return leaf.value
  })
  return leaves
}

/** A key of a map whose keys users choose, such as a header name, and the check of its format. */
interface MapKey {
  readonly path: FieldPath
  readonly name: string
  readonly check: FormatCheck
}

/** The keys in the settings that have a format of their own. */
export const checkedMapKeys = (settings: JsonMap): readonly MapKey[] =>
  keysIn(settings, SETTING_RULES, [])

function keysIn(value: Json, rule: SettingRule | undefined, path: FieldPath): readonly MapKey[] {
  if (!isMap(value) || rule === undefined) return []
  return Object.entries(value).flatMap(([name, entry]) => {
    const inner = [...path, name]
    if (rule.kind !== 'map') return keysIn(entry, ruleOf(rule, name), inner)
    return rule.nameCheck ? [{ path: inner, name, check: rule.nameCheck }] : []
  })
}

function changed(
  value: Json,
  rule: SettingRule | undefined,
  path: FieldPath,
  change: LeafChange,
): Json | undefined {
  if (isList(value)) return changedList(value, rule, path, change)
  if (!isMap(value)) return change({ path, value, rule: leafRule(value, rule, path) })
  const map = changedMap(value, rule, path, change)
  return isEmptyMap(map) && typeof path.at(-1) === 'string' ? undefined : map
}

function changedMap(
  map: JsonMap,
  rule: SettingRule | undefined,
  path: FieldPath,
  change: LeafChange,
): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]) => [
      name,
      changed(value, ruleOf(rule, name), [...path, name], change),
    ]),
  )
}

function changedList(
  list: readonly Json[],
  rule: SettingRule | undefined,
  path: FieldPath,
  change: LeafChange,
) {
  const entryRule = rule?.kind === 'list' ? rule.entry : undefined
  const entries = list.map((entry, at) => changed(entry, entryRule, [...path, at], change))
  if (list.length > 0 && entries.every((entry) => entry === undefined)) return undefined
  return entries.map((entry, at) => entry ?? list[at] ?? null)
}

function ruleOf(rule: SettingRule | undefined, name: string): SettingRule | undefined {
  if (rule?.kind === 'group') return rule.fields.get(name)
  return rule?.kind === 'map' ? rule.entry : undefined
}

// By name, not by place: a secret is redacted also in a field that no rule lists. Booleans stay, such as
// auth.password.disabled.
function leafRule(
  value: SettingLeaf['value'],
  rule: SettingRule | undefined,
  path: FieldPath,
): FieldRule {
  if (rule?.kind === 'field') return rule
  const isNamedSecret = path.some((step) => SECRET_NAMES.has(step))
  return isNamedSecret && typeof value !== 'boolean' ? SECRET : PLAIN
}
