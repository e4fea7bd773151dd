// Whether a rule or an entry of clusters covers a rule, and whether a role covers a role (contract 11.4, 11.5, 11.7, 11.8).
import { quoteForMessage } from '../json/json.ts'
import type { RoleGrant, TargetGrant } from './parse.ts'
import type { AllowedValues, RuleResources, RuleGrant, RuleVirtualClusters } from './rule.ts'
import { isSensitiveResource, isEscalatingResource, isEscalatingVerb } from './sensitive.ts'

/** Why the parent's rule does not cover the child's; null when it does. */
export const ruleCoverageGap = (child: RuleGrant, parent: RuleGrant): CoverageGap | null =>
  firstCoverageGap(AGAINST_RULE, child, parent)

/** Why the parent's entry of clusters does not cover the child's rule; null when it does. */
export const clusterCoverageGap = (child: RuleGrant, parent: TargetGrant): CoverageGap | null =>
  firstCoverageGap(AGAINST_CLUSTER, child, parent)

// The fields limit a rule independently, so a parent covers a child if each of its fields covers the child's field.
const AGAINST_RULE: readonly CoverageCheck<RuleGrant, RuleGrant>[] = [
  (child, parent) => uncoveredValue('targets', child.targets, parent.targets),
  ({ cluster }, parent) =>
    parent.cluster === null || cluster === parent.cluster ? null : clusterText(cluster),
  uncoveredVirtualClusters,
  uncoveredRequestKind,
  uncoveredVerb,
  (child, parent) => uncoveredValue('namespaces', child.namespaces, parent.namespaces),
  uncoveredResource,
  uncoveredPath,
]

// An entry of clusters grants everything on its cluster, except escalating verbs and resources.
const AGAINST_CLUSTER: readonly CoverageCheck<RuleGrant, TargetGrant>[] = [
  ({ targets }) => uncoveredValue('targets', targets, new Set(['Cluster'])),
  ({ cluster }, { names: [name] }) =>
    name === '*' || cluster === name ? null : clusterText(cluster),
  ({ verbs }) => unnamedClause('verbs', [...(verbs ?? [])].find(isEscalatingVerb)),
  ({ resources }) => unnamedClause('resources', patternsOf(resources).find(isEscalatingResource)),
]

const clusterText = (cluster: string | null): string =>
  cluster === null ? 'its cluster sets no limit' : `its cluster is ${quoteForMessage(cluster)}`

const NAMED_ONLY = ', which only a rule that names it covers'

const unnamedClause = (field: string, value: string | undefined): string | null =>
  value === undefined ? null : valueClause(field, value) + NAMED_ONLY

function uncoveredVirtualClusters(child: RuleGrant, parent: RuleGrant): string | null {
  const parents = parent.virtualClusters
  if (parents === null) return null
  if (child.virtualClusters === null) return noLimitClause('virtualClusters')
  const uncovered = child.virtualClusters.find(
    (one) => !parents.some((other) => coversVirtualClusters(other, one)),
  )
  if (!uncovered) return null
  const { name, namespace } = uncovered
  const [which, where] = [name, namespace].map((text) =>
    text === null ? 'any' : quoteForMessage(text),
  )
  return `its virtualClusters have name ${which}, namespace ${where}`
}

const coversVirtualClusters = (parent: RuleVirtualClusters, child: RuleVirtualClusters): boolean =>
  (parent.name === null || child.name === parent.name) &&
  (parent.namespace === null || child.namespace === parent.namespace)

function uncoveredRequestKind(child: RuleGrant, parent: RuleGrant): string | null {
  const kind = [...child.requests].find((one) => !parent.requests.has(one))
  return kind === undefined ? null : `it matches ${kind}`
}

function uncoveredVerb({ verbs }: RuleGrant, parent: RuleGrant): string | null {
  if (parent.verbs !== null) return uncoveredValue('verbs', verbs, parent.verbs)
  return unnamedClause('verbs', [...(verbs ?? [])].find(isEscalatingVerb))
}

function uncoveredResource({ resources }: RuleGrant, parent: RuleGrant): string | null {
  const parents = parent.resources
  if (parents === null)
    return unnamedClause('resources', patternsOf(resources).find(isSensitiveResource))
  if (resources === null) return noLimitClause('resources')
  for (const one of resources) {
    const because = uncoveredPattern(one, parents)
    if (because !== null) return because
  }
  return null
}

const patternsOf = (resources: RuleGrant['resources']): readonly string[] =>
  (resources ?? []).flatMap(({ patterns }) => [...patterns])

/** A clause unless each pattern of the child's entry, with all its instances, is in one entry of the parent. */
function uncoveredPattern(child: RuleResources, parents: readonly RuleResources[]): string | null {
  const { group } = child
  const inGroup = parents.filter((one) => one.group === null || one.group === group)
  const withNames = inGroup.filter(({ names }) => coversAllValues(child.names, names))
  const pattern = [...child.patterns].find(
    (one) => !withNames.some((other) => coversPattern(other, group, one)),
  )
  if (pattern === undefined) return null
  const what = `${quoteForMessage(pattern)} ${groupText(group)}`
  return inGroup.some((other) => coversPattern(other, group, pattern))
    ? `its resourceNames for ${what} go beyond`
    : `its resources have ${what}${isSensitiveResource(pattern) ? NAMED_ONLY : ''}`
}

function groupText(group: string | null): string {
  if (group === null) return 'of every group'
  return group === '' ? 'of the core group' : `of group ${quoteForMessage(group)}`
}

/**
 * Whether the parent's entry, for the same group or for every group, grants all of the pattern (contract 11.5, 11.7).
 */
function coversPattern(parent: RuleResources, group: string | null, pattern: string): boolean {
  const { patterns } = parent
  // A sensitive pattern in group `*` grants nothing, in the child and in the parent.
  if (isSensitiveResource(pattern)) return parent.group === group && patterns.has(pattern)
  const [name, sub] = pattern.split('/')
  // x/* grants only subresources; a pattern without a subresource is the resource itself.
  const matchesWildcard =
    sub !== undefined && (patterns.has(`${name}/*`) || patterns.has(`*/${sub}`))
  return patterns.has(pattern) || matchesWildcard || patterns.has('*')
}

function uncoveredPath(child: RuleGrant, parent: RuleGrant): string | null {
  const path = child.paths.find((one) => !parent.paths.some((other) => isPathWithin(one, other)))
  return path === undefined ? null : valueClause('nonResourceURLs', path)
}

// Slices, because with two scopes of a megabyte startsWith takes seconds.
const isPathWithin = (child: string, parent: string): boolean =>
  parent === '*' ||
  child === parent ||
  (parent.endsWith('/*') && child.slice(0, parent.length - 1) === parent.slice(0, -1))

/** Why the parent's role does not cover the child's; null when it does. An unknown role covers only itself (11.8). */
export const roleCoverageGap = (child: RoleGrant, parent: RoleGrant): CoverageGap | null =>
  firstCoverageGap(AGAINST_ROLE, child, parent)

/** A role as text for messages. */
export const roleText = ({ role }: RoleGrant): string => `role ${quoteForMessage(role)}`

// If a role has only one of the two lists, the absent list names nothing. Without projects, however, the role has no
// limit in the management cluster, so roles with projects and roles with only virtualClusters never cover each other.
const AGAINST_ROLE: readonly CoverageCheck<RoleGrant, RoleGrant>[] = [
  (child, parent) => (isCoveredByRole(child.role, parent.role) ? null : roleText(child)),
  (child, parent) =>
    isUnlimited(child) && !isUnlimited(parent)
      ? 'its projects and virtualClusters set no limit'
      : null,
  (child, parent) =>
    isUnlimited(parent) || (child.projects === null && parent.projects === null)
      ? null
      : uncoveredName('projects', child.projects, parent.projects),
  (child, parent) =>
    isUnlimited(parent) || child.virtualClusters === null
      ? null
      : uncoveredName('virtualClusters', child.virtualClusters, parent.virtualClusters),
]

const isCoveredByRole = (role: string, parentRole: string): boolean =>
  role === parentRole ||
  (role === 'network-peer' && (parentRole === 'agent' || parentRole === 'vcluster'))

const isUnlimited = ({ projects, virtualClusters }: RoleGrant): boolean =>
  projects === null && virtualClusters === null

const uncoveredName = (
  field: string,
  child: AllowedValues,
  parent: AllowedValues,
): string | null =>
  child !== null && parent?.has('*') ? null : uncoveredValue(field, child, parent ?? new Set())

/** Why an entry of the parent does not cover an entry of the child. */
export interface CoverageGap {
  /** How many checks passed before this one failed: a message shows the gap with the most. */
  readonly depth: number
  /** A clause about the part of the child's entry that is not covered. */
  readonly because: string
}

/** Returns a clause about the part of the child that exceeds the parent; null = none does. */
type CoverageCheck<Child, Parent> = (child: Child, parent: Parent) => string | null

/** The gap that the first failing check finds; null when the parent covers the child. */
function firstCoverageGap<Child, Parent>(
  checks: readonly CoverageCheck<Child, Parent>[],
  child: Child,
  parent: Parent,
): CoverageGap | null {
  for (const [depth, check] of checks.entries()) {
    const because = check(child, parent)
    if (because !== null) return { depth, because }
  }
  return null
}

/** A clause about the first value in the child's list that is not in the parent's; null = there is none. */
function uncoveredValue(field: string, child: AllowedValues, parent: AllowedValues): string | null {
  if (coversAllValues(child, parent)) return null
  const value = [...(child ?? [])].find((one) => !parent?.has(one))
  return value === undefined ? noLimitClause(field) : valueClause(field, value)
}

/** Whether the parent's list allows every value that the child's list allows. */
const coversAllValues = (child: AllowedValues, parent: AllowedValues): boolean =>
  parent === null || (child !== null && [...child].every((one) => parent.has(one)))

/** Clause for a list that is absent or empty in the child but not in the parent. */
const noLimitClause = (field: string): string => `its ${field} set no limit`

/** Clause for a value that is not in the parent's list. */
const valueClause = (field: string, value: string): string =>
  `its ${field} have ${quoteForMessage(value)}`
