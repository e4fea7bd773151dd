// Parses a scope into grants. It checks each entry against the schema again, so that an entry that bypassed the schema
// grants nothing (contract 11.2). Limits on lengths are not checked.
import type {
  Scope,
  ScopeCluster,
  ScopeProject,
  ScopeRole,
  ScopeRule,
  ScopeRuleResources,
  ScopeRuleVirtualCluster,
  ScopeSpace,
  ScopeVirtualCluster,
} from '../../api/scope.gen.ts'
import { type FieldPath, pathText } from '../json/field-path.ts'
import { isMap, ownValue, quoteForMessage } from '../json/json.ts'
import { TARGET_KINDS } from './request-info.ts'
import {
  type AllowedValues,
  type RuleGrant,
  allowedValues,
  isResourcePattern,
  ruleGrantOf,
} from './rule.ts'

type ValueCheck = (value: unknown) => boolean

/** A check for each field of an entry; the value of an absent field is undefined. */
type EntryShape<Value> = { readonly [Field in keyof Required<Value>]: ValueCheck }

const stringMatching =
  (isValid: (text: string) => boolean): ValueCheck =>
  (value) =>
    typeof value === 'string' && isValid(value)

const anyString = stringMatching(() => true)
const nonEmptyString = stringMatching((value) => value !== '')
/** A name, or `*` for all. */
const nameOrAll = stringMatching((value) => value === '*' || (value !== '' && !value.includes('*')))
/** A single name; the field must be left out to mean all. */
const noWildcard = stringMatching((value) => value !== '' && value !== '*')

const optional =
  (check: ValueCheck): ValueCheck =>
  (value) =>
    value === undefined || check(value)

const listOf = (check: ValueCheck): ValueCheck =>
  optional((value) => Array.isArray(value) && value.every(check))

/** A list with entries: an empty list is refused, because a reader could mistake it for no limit. */
const nonEmptyListOf = (check: ValueCheck): ValueCheck =>
  optional((value) => Array.isArray(value) && value.length > 0 && value.every(check))

/** An entry of roles. */
const ROLE: EntryShape<ScopeRole> = {
  role: nonEmptyString,
  projects: nonEmptyListOf(nameOrAll),
  virtualClusters: nonEmptyListOf(nameOrAll),
}

/** An entry of projects. */
const PROJECT: EntryShape<ScopeProject> = { project: nameOrAll }

/** An entry of spaces. */
const SPACE: EntryShape<ScopeSpace> = { project: nameOrAll, space: nameOrAll }

/** An entry of virtualClusters. */
const VIRTUAL_CLUSTER: EntryShape<ScopeVirtualCluster> = {
  project: nameOrAll,
  virtualCluster: nameOrAll,
}

/** An entry of clusters. */
const CLUSTER: EntryShape<ScopeCluster> = { cluster: nameOrAll }

const RESOURCES: EntryShape<ScopeRuleResources> = {
  group: optional(anyString),
  resources: listOf(stringMatching(isResourcePattern)),
  resourceNames: listOf(noWildcard),
}

const RULE_VIRTUAL_CLUSTER: EntryShape<ScopeRuleVirtualCluster> = {
  name: optional(anyString),
  namespace: optional(anyString),
}

const URL_PATH = /^(?:\*|\/[^*]*|(?:\/[^*]*)?\/\*)$/

/** An entry of rules; `ruleFault` checks its fields against each other. */
const RULE: EntryShape<ScopeRule> = {
  verbs: listOf(noWildcard),
  resources: listOf((value) => isResources(value)),
  resourceNames: listOf(noWildcard),
  namespaces: listOf(stringMatching((value) => value !== '*')),
  nonResourceURLs: listOf(stringMatching((value) => URL_PATH.test(value))),
  requestTargets: listOf((value) => (TARGET_KINDS as readonly unknown[]).includes(value)),
  cluster: optional(anyString),
  virtualClusters: listOf((value) => shapeFault(RULE_VIRTUAL_CLUSTER, value) === null),
}

/** A clause saying why a value does not have this shape; null when it does. */
function shapeFault<Value>(shape: EntryShape<Value>, value: unknown): string | null {
  if (!isMap(value)) return 'it is not an object'
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(shape, field))
  if (unknown !== undefined) return `its field ${quoteForMessage(unknown)} is unknown`
  const checks: readonly [string, ValueCheck][] = Object.entries(shape)
  const invalid = checks.find(([field, check]) => !check(ownValue(value, field)))
  return invalid ? `its field ${invalid[0]} is missing or not as the schema demands` : null
}

/** A clause saying why the fields of a rule contradict each other; null when they do not. */
function ruleFault({ resources = [], resourceNames = [], ...rest }: ScopeRule): string | null {
  const hasOtherFields = Object.values(rest).some((field) => field.length > 0)
  if (resourceNames.length > 0 && resources.length === 0)
    return 'its resourceNames stand without resources'
  return hasOtherFields || resources.length > 0 ? null : 'it sets nothing'
}

function isResources(value: unknown): boolean {
  if (shapeFault(RESOURCES, value) !== null || isEmptyMap(value)) return false
  const { group, resources = [], resourceNames = [] } = value as ScopeRuleResources
  return resources.length > 0 || (group !== undefined && resourceNames.length === 0)
}

const isEmptyMap = (value: unknown): boolean => isMap(value) && Object.keys(value).length === 0

/** A role, and where it applies (contract 11.4). */
export interface RoleGrant {
  readonly kind: 'role'
  /** Name of the role; `platformCLI` also if the scope has `platform-cli`. */
  readonly role: string
  readonly projects: AllowedValues
  readonly virtualClusters: AllowedValues
}

/** The fields that list targets by name. */
export type TargetList = 'projects' | 'spaces' | 'virtualClusters' | 'clusters'

/** A whole target, or all targets of a kind (contract 11.3). */
export interface TargetGrant {
  readonly kind: 'target'
  readonly list: TargetList
  /** Name of the project or cluster, then of the target inside the project; `*` means all. */
  readonly names: readonly string[]
}

/** The grant of one entry of a scope. */
export type ScopeGrant = RoleGrant | TargetGrant | RuleGrant

/** An entry that grants nothing, with its fault as a clause. */
interface MalformedEntry {
  readonly kind: 'malformed'
  readonly fault: string
}

/** An entry of a scope and its path, such as `scope.rules[2]`. */
export interface ScopeEntry {
  readonly path: string
  readonly grant: ScopeGrant | MalformedEntry
}

type EntryReader = (value: unknown) => ScopeGrant | MalformedEntry

const entry =
  <Value>(
    shape: EntryShape<Value>,
    grantOf: (value: Value) => ScopeGrant | MalformedEntry,
  ): EntryReader =>
  (value) => {
    const fault = shapeFault(shape, value)
    return fault === null ? grantOf(value as Value) : malformed(fault)
  }

const LISTS: Readonly<Record<Exclude<keyof Scope, 'allowPlatformCli'>, EntryReader>> = {
  roles: entry(ROLE, ({ role = '', projects, virtualClusters }) =>
    roleGrant(role, allowedValues(projects), allowedValues(virtualClusters)),
  ),
  projects: entry(PROJECT, ({ project = '' }) => targetGrant('projects', project)),
  spaces: entry(SPACE, ({ project = '', space = '' }) => targetGrant('spaces', project, space)),
  virtualClusters: entry(VIRTUAL_CLUSTER, ({ project = '', virtualCluster = '' }) =>
    targetGrant('virtualClusters', project, virtualCluster),
  ),
  clusters: entry(CLUSTER, ({ cluster = '' }) => targetGrant('clusters', cluster)),
  rules: entry(RULE, (rule) => {
    const fault = ruleFault(rule)
    return fault === null ? ruleGrantOf(rule) : malformed(fault)
  }),
}

/**
 * The entries of a scope, list by list, including malformed entries and unknown fields. Never empty: a scope that sets
 * nothing gives one malformed entry, so that no other scope covers it.
 */
export function scopeEntriesOf(scope: Scope): readonly ScopeEntry[] {
  if (!isMap(scope)) return [at([], malformed('it is not an object'))]
  const lists = Object.entries(LISTS).flatMap(([field, read]) =>
    listEntries(field, ownValue(scope, field), read),
  )
  const entries = [
    ...unknownFields(scope),
    ...lists,
    ...allowPlatformCliEntry(ownValue(scope, 'allowPlatformCli')),
  ]
  return entries.length > 0 ? entries : [at([], malformed('it sets nothing'))]
}

function unknownFields(scope: object): readonly ScopeEntry[] {
  return Object.keys(scope)
    .filter((field) => field !== 'allowPlatformCli' && !Object.hasOwn(LISTS, field))
    .map((field) => at([field], malformed('this field is unknown')))
}

function listEntries(field: string, list: unknown, read: EntryReader): readonly ScopeEntry[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) return [at([field], malformed('it is not a list'))]
  return list.map((value: unknown, index) => at([field, index], read(value)))
}

function allowPlatformCliEntry(value: unknown): readonly ScopeEntry[] {
  if (value === undefined || value === false) return []
  const grant =
    value === true ? roleGrant('platformCLI', null, null) : malformed('it is not a boolean')
  return [at(['allowPlatformCli'], grant)]
}

const at = (path: FieldPath, grant: ScopeGrant | MalformedEntry): ScopeEntry => ({
  path: pathText(['scope', ...path]),
  grant,
})

const malformed = (fault: string): MalformedEntry => ({ kind: 'malformed', fault })

const roleGrant = (
  role: string,
  projects: AllowedValues,
  virtualClusters: AllowedValues,
): RoleGrant => ({
  kind: 'role',
  role: role === 'platform-cli' ? 'platformCLI' : role,
  projects,
  virtualClusters,
})

const targetGrant = (list: TargetList, ...names: readonly string[]): TargetGrant => ({
  kind: 'target',
  list,
  names,
})
