// Walks over the single values of settings, each with the rule of its field.
import { type Json, type JsonMap, isEmptyMap, isList, isMap, mapFromEntries } from '../json/json.ts'
import { type FieldPath, pathText } from '../json/field-path.ts'
import {
  type FieldRule,
  PLAIN,
  SECRET,
  SECRET_NAMES,
  SETTING_RULES,
  type SettingRule,
} from './field-rules.ts'
import type { FormatCheck } from './formats.ts'

/** A single value in the settings: neither a map nor a list. */
export interface SettingLeaf {
  readonly path: FieldPath
  readonly value: string | number | boolean | null
  /** The rule of the value's field; PLAIN or SECRET for a field without a rule of its own. */
  readonly rule: FieldRule
}

/** The new value of a leaf; undefined removes it. */
type LeafChange = (leaf: SettingLeaf) => Json | undefined

/**
 * A copy of the settings with every leaf changed. Maps that are empty afterwards are left out, even if they were empty
 * before. A list is left out if all its entries are removed; if only some are, they stay unchanged, because their
 * removal would move the others.
 */
export const mapLeaves = (settings: JsonMap, change: LeafChange): JsonMap =>
  changeMap(settings, SETTING_RULES, [], change)

/** All leaves of the settings, in order. */
export function leavesOf(settings: JsonMap): readonly SettingLeaf[] {
  const leaves: SettingLeaf[] = []
  mapLeaves(settings, (leaf) => {
    leaves.push(leaf)
    return leaf.value
  })
  return leaves
}

/** The paths of all settings as text, sorted; a list counts as one setting, because lists replace each other whole. */
export const pathsOfSettings = (settings: JsonMap): readonly string[] =>
  [...new Set(leavesOf(settings).map(({ path }) => pathText(upToList(path))))].toSorted()

function upToList(path: FieldPath): FieldPath {
  const at = path.findIndex((step) => typeof step === 'number')
  return at === -1 ? path : path.slice(0, at)
}

/** A key of a map whose keys users choose, such as a header name, with the check of its format. */
interface MapKey {
  readonly path: FieldPath
  readonly name: string
  readonly check: FormatCheck
}

/** The map keys in the settings whose format must be checked. */
export const checkedMapKeys = (settings: JsonMap): readonly MapKey[] =>
  keysIn(settings, SETTING_RULES, [])

function keysIn(value: Json, rule: SettingRule | undefined, path: FieldPath): readonly MapKey[] {
  if (!isMap(value) || rule === undefined) return []
  return Object.entries(value).flatMap(([name, entry]) => {
    const keyPath = [...path, name]
    if (rule.kind !== 'map') return keysIn(entry, ruleOf(rule, name), keyPath)
    return rule.nameCheck ? [{ path: keyPath, name, check: rule.nameCheck }] : []
  })
}

function changeValue(
  value: Json,
  rule: SettingRule | undefined,
  path: FieldPath,
  change: LeafChange,
): Json | undefined {
  if (isList(value)) return changeList(value, rule, path, change)
  if (!isMap(value)) return change({ path, value, rule: leafRule(value, rule, path) })
  const map = changeMap(value, rule, path, change)
  return isEmptyMap(map) && typeof path.at(-1) === 'string' ? undefined : map
}

function changeMap(
  map: JsonMap,
  rule: SettingRule | undefined,
  path: FieldPath,
  change: LeafChange,
): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]) => [
      name,
      changeValue(value, ruleOf(rule, name), [...path, name], change),
    ]),
  )
}

function changeList(
  list: readonly Json[],
  rule: SettingRule | undefined,
  path: FieldPath,
  change: LeafChange,
) {
  const entryRule = rule?.kind === 'list' ? rule.entry : undefined
  const entries = list.map((entry, at) => changeValue(entry, entryRule, [...path, at], change))
  if (list.length > 0 && entries.every((entry) => entry === undefined)) return undefined
  return entries.map((entry, at) => entry ?? list[at] ?? null)
}

function ruleOf(rule: SettingRule | undefined, name: string): SettingRule | undefined {
  if (rule?.kind === 'group') return rule.fields.get(name)
  return rule?.kind === 'map' ? rule.entry : undefined
}

// A field with a secret's name is redacted even if no rule lists its path. Booleans such as auth.password.disabled
// stay.
function leafRule(
  value: SettingLeaf['value'],
  rule: SettingRule | undefined,
  path: FieldPath,
): FieldRule {
  if (rule?.kind === 'field') return rule
  const isNamedSecret = path.some((step) => SECRET_NAMES.has(step))
  return isNamedSecret && typeof value !== 'boolean' ? SECRET : PLAIN
}
