// Whether a rule, or an entry of clusters, covers a rule (contract 11.5, 11.7, 11.8).
import {
  type CoverageCheck,
  type CoverageGap,
  uncoveredValue,
  firstCoverageGap,
  valueClause,
  coversAllValues,
  quoteForMessage,
  noLimitClause,
} from '../json/json.ts'
import type { RoleGrant, TargetGrant } from './parse.ts'
import { isSensitiveResource, isEscalatingResource, isEscalatingVerb } from './request-info.ts'
import type { AllowedValues, RuleResources, RuleGrant, RuleVirtualClusters } from './rule.ts'

/** Why a rule does not cover a rule; null when it does. */
export const ruleCoverageGap = (child: RuleGrant, parent: RuleGrant): CoverageGap | null =>
  firstCoverageGap(AGAINST_RULE, child, parent)

/** Why an entry of clusters does not cover a rule; null when it does. */
export const clusterCoverageGap = (child: RuleGrant, parent: TargetGrant): CoverageGap | null =>
  firstCoverageGap(AGAINST_CLUSTER, child, parent)

// The fields limit a rule independently, so the parent covers the child when each field does.
const AGAINST_RULE: readonly CoverageCheck<RuleGrant, RuleGrant>[] = [
  (child, parent) => uncoveredValue('targets', child.targets, parent.targets),
  ({ cluster }, parent) =>
    parent.cluster === null || cluster === parent.cluster ? null : clusterText(cluster),
  virtualClustersBeyond,
  requestsBeyond,
  verbsBeyond,
  (child, parent) => uncoveredValue('namespaces', child.namespaces, parent.namespaces),
  resourcesBeyond,
  pathsBeyond,
]

// A list of targets grants everything there, except what outlives the key.
const AGAINST_CLUSTER: readonly CoverageCheck<RuleGrant, TargetGrant>[] = [
  ({ targets }) => uncoveredValue('targets', targets, new Set(['Cluster'])),
  ({ cluster }, { names: [name] }) =>
    name === '*' || cluster === name ? null : clusterText(cluster),
  ({ verbs }) => unnamed('verbs', [...(verbs ?? [])].find(isEscalatingVerb)),
  ({ resources }) => unnamed('resources', patternsOf(resources).find(isEscalatingResource)),
]

const clusterText = (cluster: string | null): string =>
  cluster === null ? 'its cluster sets no limit' : `its cluster is ${quoteForMessage(cluster)}`

const NAMED_ONLY = ', which only a rule that names it covers'

const unnamed = (field: string, value: string | undefined): string | null =>
  value === undefined ? null : valueClause(field, value) + NAMED_ONLY

function virtualClustersBeyond(child: RuleGrant, parent: RuleGrant): string | null {
  const parents = parent.virtualClusters
  if (parents === null) return null
  if (child.virtualClusters === null) return noLimitClause('virtualClusters')
  const beyondAll = child.virtualClusters.find((one) => !parents.some((other) => fits(one, other)))
  if (!beyondAll) return null
  const { name, namespace } = beyondAll
  const [which, where] = [name, namespace].map((text) =>
    text === null ? 'any' : quoteForMessage(text),
  )
  return `its virtualClusters have name ${which}, namespace ${where}`
}

const fits = (child: RuleVirtualClusters, parent: RuleVirtualClusters): boolean =>
  (parent.name === null || child.name === parent.name) &&
  (parent.namespace === null || child.namespace === parent.namespace)

function requestsBeyond(child: RuleGrant, parent: RuleGrant): string | null {
  const kind = [...child.requests].find((one) => !parent.requests.has(one))
  return kind === undefined ? null : `it matches ${kind}`
}

function verbsBeyond({ verbs }: RuleGrant, parent: RuleGrant): string | null {
  if (parent.verbs !== null) return uncoveredValue('verbs', verbs, parent.verbs)
  return unnamed('verbs', [...(verbs ?? [])].find(isEscalatingVerb))
}

function resourcesBeyond({ resources }: RuleGrant, parent: RuleGrant): string | null {
  const parents = parent.resources
  if (parents === null) return unnamed('resources', patternsOf(resources).find(isSensitiveResource))
  if (resources === null) return noLimitClause('resources')
  for (const one of resources) {
    const because = entryBeyond(one, parents)
    if (because !== null) return because
  }
  return null
}

const patternsOf = (resources: RuleGrant['resources']): readonly string[] =>
  (resources ?? []).flatMap(({ patterns }) => [...patterns])

/** Each resource of the child's entry must be in one of the parent's entries, with all its instances. */
function entryBeyond(child: RuleResources, parents: readonly RuleResources[]): string | null {
  const { group } = child
  const ofGroup = parents.filter((one) => one.group === null || one.group === group)
  const ofNames = ofGroup.filter(({ names }) => coversAllValues(child.names, names))
  const pattern = [...child.patterns].find(
    (one) => !ofNames.some((other) => holds(other, group, one)),
  )
  if (pattern === undefined) return null
  const what = `${quoteForMessage(pattern)} ${groupText(group)}`
  return ofGroup.some((other) => holds(other, group, pattern))
    ? `its resourceNames for ${what} go beyond`
    : `its resources have ${what}${isSensitiveResource(pattern) ? NAMED_ONLY : ''}`
}

function groupText(group: string | null): string {
  if (group === null) return 'of every group'
  return group === '' ? 'of the core group' : `of group ${quoteForMessage(group)}`
}

/** Whether the parent's entry, of this or every group, grants all that the pattern does (contract 11.5, 11.7). */
function holds(parent: RuleResources, group: string | null, pattern: string): boolean {
  const { patterns } = parent
  // Under group `*` it grants nothing, for child and parent alike.
  if (isSensitiveResource(pattern)) return parent.group === group && patterns.has(pattern)
  const [name, sub] = pattern.split('/')
  // x/* means subresources only; a pattern without a sub is the resource itself.
  const isInWildcard = sub !== undefined && (patterns.has(`${name}/*`) || patterns.has(`*/${sub}`))
  return patterns.has(pattern) || isInWildcard || patterns.has('*')
}

function pathsBeyond(child: RuleGrant, parent: RuleGrant): string | null {
  const path = child.paths.find((one) => !parent.paths.some((other) => isPathWithin(one, other)))
  return path === undefined ? null : valueClause('nonResourceURLs', path)
}

// Compared as slices: over two scopes of a megabyte, startsWith takes seconds.
const isPathWithin = (child: string, parent: string): boolean =>
  parent === '*' ||
  child === parent ||
  (parent.endsWith('/*') && child.slice(0, parent.length - 1) === parent.slice(0, -1))

// Whether a role covers a role (contract 11.4, 11.8).

/** Why a role does not cover a role; null when it does. An unknown role covers only itself. */
export const roleCoverageGap = (child: RoleGrant, parent: RoleGrant): CoverageGap | null =>
  firstCoverageGap(AGAINST_ROLE, child, parent)

/** A role in words. */
export const roleText = ({ role }: RoleGrant): string => `role ${quoteForMessage(role)}`

// In a role with limits an absent list names nothing, but without projects there is no limit in the management
// cluster. So a role with projects and one with only virtualClusters never cover each other.
const AGAINST_ROLE: readonly CoverageCheck<RoleGrant, RoleGrant>[] = [
  (child, parent) => (isHeldBy(child.role, parent.role) ? null : roleText(child)),
  (child, parent) =>
    isUnlimited(child) && !isUnlimited(parent)
      ? 'its projects and virtualClusters set no limit'
      : null,
  (child, parent) =>
    isUnlimited(parent) || (child.projects === null && parent.projects === null)
      ? null
      : namesBeyond('projects', child.projects, parent.projects),
  (child, parent) =>
    isUnlimited(parent) || child.virtualClusters === null
      ? null
      : namesBeyond('virtualClusters', child.virtualClusters, parent.virtualClusters),
]

const isHeldBy = (role: string, holder: string): boolean =>
  role === holder || (role === 'network-peer' && (holder === 'agent' || holder === 'vcluster'))

const isUnlimited = ({ projects, virtualClusters }: RoleGrant): boolean =>
  projects === null && virtualClusters === null

const namesBeyond = (field: string, child: AllowedValues, parent: AllowedValues): string | null =>
  child !== null && parent?.has('*') ? null : uncoveredValue(field, child, parent ?? new Set())
