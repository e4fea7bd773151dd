// What is secret in a value, and how it is hidden (contract 6.3).

import type { FieldPath } from '../json/field-path.ts'
import { type Json, type JsonMap, isEmptyMap, isList, isMap, mapFromEntries } from '../json/json.ts'
import {
  type FieldRule,
  PLAIN,
  type SettingRule,
  SECRET,
  SECRET_NAMES,
  SETTING_RULES,
  type Secrecy,
} from './field-rules.ts'
import { isReferenceLeaf } from './secret-values.ts'
import type { FormatCheck } from './validation/formats.ts'

/** What status shows in place of a secret. It is never read as a value. */
export const REDACTED = 'REDACTED'

// Browsers take any number of slashes of either kind after the colon. A scheme has a bound so that
// a search through a megabyte of text stays linear.
const USERINFO_OF_WHOLE = /^([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#]*)@/i
const USERINFO_IN_TEXT = /([a-z][a-z0-9+.-]{0,31}:[\\/]+)([^\s\\/?#"'<>`]*)@/gi
const DSN = /^([a-z][a-z0-9+.-]{0,31}:\/\/)(.*)$/is
const SECRET_PARAMETER = /[?&;][^=&;]*(?:pass|pwd|secret|token|key)[^=&;]*=/i

interface Treatment {
  /** Whether the value lets a secret be seen. */
  readonly shows: (value: string) => boolean
  readonly hide: (value: string) => string
  /** Whether the value is what hiding leaves behind: no value at all. */
  readonly isHidden: (value: string) => boolean
}

const urls: Treatment = {
  shows: (value) => hideUserinfo(value) !== value,
  hide: hideUserinfo,
  isHidden: (value) => value.search(/:[\\/]+REDACTED@/) !== -1,
}

/** How values of each secrecy are treated. A URL is treated the same in a text and alone. */
export const REDACTORS: Readonly<Record<Secrecy, Treatment>> = {
  whole: {
    shows: (value) => value !== '',
    hide: () => REDACTED,
    isHidden: (value) => value === REDACTED,
  },
  dsn: {
    shows: dsnShowsSecret,
    hide: hideDsn,
    isHidden: (value) => value === REDACTED || /:\/\/REDACTED@|\?REDACTED$/.test(value),
  },
  url: urls,
  text: urls,
}

function hideUserinfo(text: string): string {
  const hidden = `$1${REDACTED}@`
  return text.replace(USERINFO_OF_WHOLE, hidden).replace(USERINFO_IN_TEXT, hidden)
}

// No URL: nobody can tell where its password stands. A URL: drivers also read parameters.
function dsnShowsSecret(dsn: string): boolean {
  const [, , rest] = DSN.exec(dsn) ?? []
  return rest === undefined || rest.includes('@') || SECRET_PARAMETER.test(rest)
}

// A password in a DSN is often not escaped, so everything up to the last `@` goes; all parameters
// go together, whatever their names.
function hideDsn(dsn: string): string {
  const [, scheme, rest] = DSN.exec(dsn) ?? []
  if (scheme === undefined || rest === undefined) return REDACTED
  const at = rest.lastIndexOf('@')
  const host = at === -1 ? rest : `${REDACTED}@${rest.slice(at + 1)}`
  return scheme + host.replace(/\?.*$/s, `?${REDACTED}`)
}

/** One single value in the settings, with the rule of its field. */
export interface SettingLeaf {
  readonly path: FieldPath
  readonly value: string | number | boolean | null
  readonly rule: FieldRule
}

/** Whether the value is what hiding leaves behind: no value at all (contract 6.3). */
export const isRedactedLeaf = ({ value, rule }: SettingLeaf): boolean =>
  typeof value === 'string' && REDACTORS[rule.secrecy].isHidden(value)

/** What becomes of a leaf; undefined: it is left out. */
export type LeafChange = (leaf: SettingLeaf) => Json | undefined

/**
 * The settings with every leaf changed. Maps that hold nothing afterwards are left out, be it that
 * they held nothing before. An entry of a list can't be left out alone, since that would move the
 * others: a list goes when all of its entries go, else those stay as they were.
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

/** A name in a map of free names, and the check of such names. */
export interface MapKey {
  readonly path: FieldPath
  readonly name: string
  readonly check: FormatCheck
}

/** The free names in the settings that have a format of their own. */
export function checkedMapKeys(
  value: Json,
  rule: SettingRule | undefined,
  path: FieldPath,
): readonly MapKey[] {
  if (!isMap(value) || rule === undefined) return []
  return Object.entries(value).flatMap(([name, entry]) => {
    const inner = [...path, name]
    if (rule.kind !== 'map') return checkedMapKeys(entry, ruleIn(rule, name), inner)
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
  if (!isMap(value)) return change({ path, value, rule: fieldRule(value, rule, path) })
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
      changed(value, ruleIn(rule, name), [...path, name], change),
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

function ruleIn(rule: SettingRule | undefined, name: string): SettingRule | undefined {
  if (rule?.kind === 'group') return rule.fields.get(name)
  return rule?.kind === 'map' ? rule.entry : undefined
}

// By name, not by place: a secret is hidden also where nobody thought of listing it. Switches are
// left alone, as auth.password.disabled.
function fieldRule(
  value: SettingLeaf['value'],
  rule: SettingRule | undefined,
  path: FieldPath,
): FieldRule {
  if (rule?.kind === 'field') return rule
  const named = path.some((step) => SECRET_NAMES.has(step))
  return named && typeof value !== 'boolean' ? SECRET : PLAIN
}

/**
 * The settings as status and the ConfigMap show them: every secret is `REDACTED`, be it a whole
 * value, the user information of a URL anywhere in a text, or a data source name that is no URL
 * (contract 6.3). Hiding twice changes nothing.
 */
export const redactSettings = (settings: JsonMap): JsonMap => mapLeaves(settings, hiddenLeaf)

/** The settings as people declare them: `$NAME` stands for a secret and is none, so it stays. */
export const redactLiterals = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, (leaf) => (isReferenceLeaf(leaf) ? leaf.value : hiddenLeaf(leaf)))

function hiddenLeaf({ value, rule }: SettingLeaf): Json {
  if (typeof value === 'string') return REDACTORS[rule.secrecy].hide(value)
  return rule.secrecy === 'whole' && value !== null ? REDACTORS.whole.hide('') : value
}

/** Where the settings hold what hiding leaves in place of a secret, which is no value (contract 6.3). */
export const redactedPathsOf = (settings: JsonMap): readonly FieldPath[] =>
  leavesOf(settings)
    .filter(
      ({ value, rule }) => typeof value === 'string' && REDACTORS[rule.secrecy].isHidden(value),
    )
    .map(({ path }) => path)
