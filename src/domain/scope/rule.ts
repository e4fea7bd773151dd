import type { ScopeRule, ScopeRuleResources, ScopeRuleVirtualCluster } from '../../api/scope.gen.ts'
import { TARGET_KINDS, type TargetKind } from './request-info.ts'

/** The values that a list allows; null = no limit. */
export type AllowedValues = ReadonlySet<string> | null

/** Resources of one API group, or of every group, with their instances. */
export interface RuleResources {
  /** Empty = the core group; null = every group, written `*`. */
  readonly group: string | null
  /** `x`, `x/sub`, `x/*`, `*\/sub` or `*`. */
  readonly patterns: ReadonlySet<string>
  readonly names: AllowedValues
}

/** Virtual clusters by name, by namespace or both; null = any. */
export interface RuleVirtualClusters {
  readonly name: string | null
  readonly namespace: string | null
}

/**
 * The grant of a rule: a request must match every field, and each field matches independently. A field that sets no
 * limit, because it is absent, empty or without effect in the entry, is null or has all kinds.
 */
export interface RuleGrant {
  readonly kind: 'rule'
  /** Kinds of targets that requestTargets, cluster and virtualClusters allow; empty = the rule never matches. */
  readonly targets: ReadonlySet<TargetKind>
  readonly cluster: string | null
  readonly virtualClusters: readonly RuleVirtualClusters[] | null
  /** Kinds of requests that can match. */
  readonly requests: ReadonlySet<'resources' | 'paths'>
  readonly verbs: AllowedValues
  readonly resources: readonly RuleResources[] | null
  readonly namespaces: AllowedValues
  readonly paths: readonly string[]
}

/** The grant of a rule that passed the checks of parse.ts (contract 11.5). */
export function ruleGrantOf(entry: ScopeRule): RuleGrant {
  const { resources = [], resourceNames = [], namespaces = [], nonResourceURLs = [] } = entry
  const isOfResources = resources.length > 0 || namespaces.length > 0
  const isOfPaths = !isOfResources && nonResourceURLs.length > 0
  const { cluster = '', virtualClusters = [] } = entry
  return {
    kind: 'rule',
    targets: targetsOf(entry),
    cluster: cluster || null,
    virtualClusters: virtualClusters.length === 0 ? null : virtualClusters.map(virtualClustersOf),
    requests: new Set([
      ...(isOfPaths ? [] : (['resources'] as const)),
      ...(isOfResources ? [] : (['paths'] as const)),
    ]),
    verbs: allowedValues(entry.verbs),
    resources:
      resources.length === 0 ? null : resources.map((one) => resourcesOf(one, resourceNames)),
    namespaces: allowedValues(namespaces),
    // As in an audit policy, paths have no effect in a rule with resources or namespaces.
    paths: isOfPaths ? nonResourceURLs : ['*'],
  }
}

/** The values that a list allows; null, no limit, when the list is absent or empty. */
export const allowedValues = (list: readonly string[] | undefined): AllowedValues =>
  list && list.length > 0 ? new Set(list) : null

function targetsOf(entry: ScopeRule): ReadonlySet<TargetKind> {
  const { requestTargets = [], cluster = '', virtualClusters = [] } = entry
  const kinds = TARGET_KINDS.filter(
    (kind) =>
      (requestTargets.length === 0 || requestTargets.includes(kind)) &&
      (cluster === '' || kind === 'Cluster') &&
      (virtualClusters.length === 0 || kind === 'ProjectVirtualCluster'),
  )
  return new Set(kinds)
}

const virtualClustersOf = ({ name, namespace }: ScopeRuleVirtualCluster): RuleVirtualClusters => ({
  name: name || null,
  namespace: namespace || null,
})

/** The resources of an entry; an instance must be in the resourceNames of both the entry and the rule. */
function resourcesOf(
  { group = '', resources = [], resourceNames = [] }: ScopeRuleResources,
  ruleResourceNames: readonly string[],
): RuleResources {
  const [fromEntry, fromRule] = [allowedValues(resourceNames), allowedValues(ruleResourceNames)]
  const names =
    fromEntry && fromRule
      ? new Set([...fromEntry].filter((name) => fromRule.has(name)))
      : (fromEntry ?? fromRule)
  const patterns = new Set(resources.length === 0 ? ['*'] : resources)
  return { group: group === '*' ? null : group, patterns, names }
}

/** `pods`, `pods/log`, `*` (all with their subresources), `pods/*` (subresources of pods, not pods) or `*\/scale`. */
const PATTERN = /^(\*|[^*/\s]+(\/(\*|[^*/\s]+))?|\*\/[^*/\s]+)$/

/** Whether the text names resources in a form that scopes and audit rules accept, such as `pods` or `pods/*`. */
export const isResourcePattern = (text: string): boolean => PATTERN.test(text)

/**
 * Indexes of the first two entries that cover a common resource while at least one of them has a wildcard; null when
 * there are none. A repeated name is not an overlap.
 */
export function firstOverlappingPatterns(
  patterns: readonly string[],
): readonly [number, number] | null {
  for (const [later, pattern] of patterns.entries()) {
    const earlier = patterns.findIndex((other, at) => at < later && overlaps(other, pattern))
    if (earlier !== -1) return [earlier, later]
  }
  return null
}

function overlaps(a: string, b: string): boolean {
  if (!a.includes('*') && !b.includes('*')) return false
  if (a === '*' || b === '*') return true
  const [name, sub] = a.split('/')
  const [otherName, otherSub] = b.split('/')
  return partsOverlap(name, otherName) && partsOverlap(sub, otherSub)
}

// A part that is undefined means the resource itself, which a wildcard of subresources does not cover.
function partsOverlap(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a === b || a === '*' || b === '*'
}
