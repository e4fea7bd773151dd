// The schema of the entries of a scope, checked again: an entry that the schema refuses grants nothing, also when it
// was stored without the schema (contract 11.2). Bounds on lengths are not checked.
import type {
  ScopeCluster,
  ScopeProject,
  ScopeRole,
  ScopeRule,
  ScopeRuleResources,
  ScopeRuleVirtualCluster,
  ScopeSpace,
  ScopeVirtualCluster,
} from '../../api/scope.gen.ts'
import { isMap, own } from '../config/json.ts'
import { isResourcePattern } from '../config/resource-pattern.ts'
import { TARGET_KINDS } from './request.ts'
import { quoted } from './text.ts'

type Check = (value: unknown) => boolean

/** A check for every field; an absent field is undefined. */
export type Shape<Entry> = { readonly [Field in keyof Required<Entry>]: Check }

const text =
  (isSound: (text: string) => boolean): Check =>
  (value) =>
    typeof value === 'string' && isSound(value)

const anyText = text(() => true)
const someText = text((value) => value !== '')
/** A name, or `*` for all. */
const nameOrAll = text((value) => value === '*' || (value !== '' && !value.includes('*')))
/** A single name: to mean all, the field is left out. */
const noWildcard = text((value) => value !== '' && value !== '*')

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const listOf = (check: Check): Check =>
  optional((value) => Array.isArray(value) && value.every(check))

/** A list that limits: an empty one could be read as no limit. */
const filledListOf = (check: Check): Check =>
  optional((value) => Array.isArray(value) && value.length > 0 && value.every(check))

/** An entry of roles. */
export const ROLE: Shape<ScopeRole> = {
  role: someText,
  projects: filledListOf(nameOrAll),
  virtualClusters: filledListOf(nameOrAll),
}

/** An entry of projects. */
export const PROJECT: Shape<ScopeProject> = { project: nameOrAll }

/** An entry of spaces. */
export const SPACE: Shape<ScopeSpace> = { project: nameOrAll, space: nameOrAll }

/** An entry of virtualClusters. */
export const VIRTUAL_CLUSTER: Shape<ScopeVirtualCluster> = {
  project: nameOrAll,
  virtualCluster: nameOrAll,
}

/** An entry of clusters. */
export const CLUSTER: Shape<ScopeCluster> = { cluster: nameOrAll }

const RESOURCES: Shape<ScopeRuleResources> = {
  group: optional(anyText),
  resources: listOf(text(isResourcePattern)),
  resourceNames: listOf(noWildcard),
}

const RULE_VIRTUAL_CLUSTER: Shape<ScopeRuleVirtualCluster> = {
  name: optional(anyText),
  namespace: optional(anyText),
}

const URL_PATH = /^(?:\*|\/[^*]*|(?:\/[^*]*)?\/\*)$/

/** An entry of rules; `ruleFault` checks it across fields. */
export const RULE: Shape<ScopeRule> = {
  verbs: listOf(noWildcard),
  resources: listOf((value) => isResources(value)),
  resourceNames: listOf(noWildcard),
  namespaces: listOf(text((value) => value !== '*')),
  nonResourceURLs: listOf(text((value) => URL_PATH.test(value))),
  requestTargets: listOf((value) => (TARGET_KINDS as readonly unknown[]).includes(value)),
  cluster: optional(anyText),
  virtualClusters: listOf(
    (value) => shapeFault(RULE_VIRTUAL_CLUSTER, value) === null && !isEmptyMap(value),
  ),
}

/** Why a value does not have this shape, as a clause; null when it does. */
export function shapeFault<Entry>(shape: Shape<Entry>, value: unknown): string | null {
  if (!isMap(value)) return 'it is not an object'
  const unknown = Object.keys(value).find((field) => !Object.hasOwn(shape, field))
  if (unknown !== undefined) return `its field ${quoted(unknown)} is unknown`
  const checks: readonly [string, Check][] = Object.entries(shape)
  const odd = checks.find(([field, check]) => !check(own(value, field)))
  return odd ? `its field ${odd[0]} is missing or not as the schema demands` : null
}

/** Why the fields of a well-formed rule contradict each other, as a clause; null when they do not. */
export function ruleFault({
  resources = [],
  resourceNames = [],
  ...rest
}: ScopeRule): string | null {
  const others = Object.values(rest).some((field) => field.length > 0)
  if (resourceNames.length > 0 && resources.length === 0)
    return 'its resourceNames stand without resources'
  return others || resources.length > 0 ? null : 'it sets nothing'
}

function isResources(value: unknown): boolean {
  if (shapeFault(RESOURCES, value) !== null || isEmptyMap(value)) return false
  const { group, resources = [], resourceNames = [] } = value as ScopeRuleResources
  return resources.length > 0 || (group !== undefined && resourceNames.length === 0)
}

const isEmptyMap = (value: unknown): boolean => isMap(value) && Object.keys(value).length === 0
