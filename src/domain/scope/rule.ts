import type { ScopeRule, ScopeRuleResources, ScopeRuleVirtualCluster } from '../../api/scope.gen.ts'
import { TARGET_KINDS, type TargetKind } from './request-info.ts'

/** The values that a list allows; null = no limit. */
export type AllowedValues = ReadonlySet<string> | null

/** Resources of one group or of every group, and their instances. */
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
 * The grant of a rule: a request must match every field, and each field matches independently. A field that is absent,
 * empty or without effect in the entry sets no limit: null, or all kinds.
 */
export interface RuleGrant {
  readonly kind: 'rule'
  /** Kinds that requestTargets, cluster and virtualClusters allow; empty = the rule never matches. */
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

/** The grant of a well-formed entry (contract 11.5). */
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
    // As in an audit policy, paths have no effect beside resources or namespaces.
    paths: isOfPaths ? nonResourceURLs : ['*'],
  }
}

/** The values that a list allows; null when it is absent or empty. */
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

/** Resource names of the entry and of the rule: an instance must be in both lists. */
function resourcesOf(
  { group = '', resources = [], resourceNames = [] }: ScopeRuleResources,
  namesOfRule: readonly string[],
): RuleResources {
  const [own, outer] = [allowedValues(resourceNames), allowedValues(namesOfRule)]
  const names = own && outer ? new Set([...own].filter((name) => outer.has(name))) : (own ?? outer)
  const patterns = new Set(resources.length === 0 ? ['*'] : resources)
  return { group: group === '*' ? null : group, patterns, names }
}

// Resources as scopes and audit rules name them: `pods`, `pods/log`, `*` (all and their
// subresources), `pods/*` (the subresources of pods, not pods) and `*/scale`.

const PATTERN = /^(\*|[^*/\s]+(\/(\*|[^*/\s]+))?|\*\/[^*/\s]+)$/

/** Whether the text has one of these forms. */
export const isResourcePattern = (text: string): boolean => PATTERN.test(text)

/**
 * Indexes of the first two entries that cover a common resource while at least one of them has a
 * wildcard; null when there are none. A name given twice is no overlap.
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
  return same(name, otherName) && same(sub, otherSub)
}

// undefined is the resource itself, which no wildcard among subresources covers.
function same(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a === b || a === '*' || b === '*'
}
