// Whether a rule, or an entry of clusters, covers a rule (contract 11.5, 11.7, 11.8).
import {
  type Check,
  type Gap,
  beyond,
  firstGap,
  has,
  isLimitWithin,
  quoted,
  unlimited,
} from './covers-limits.ts'
import type { RoleGrant, TargetGrant } from './parse.ts'
import type { Limit, Resources, Rule, VirtualClusters } from './rule.ts'
import { mustBeNamed, resourceOutlivesKey, verbOutlivesKey } from './sensitive.ts'

/** Why a rule does not cover a rule; null when it does. */
export const ruleGap = (child: Rule, parent: Rule): Gap | null =>
  firstGap(AGAINST_RULE, child, parent)

/** Why an entry of clusters does not cover a rule; null when it does. */
export const ruleGapOfCluster = (child: Rule, parent: TargetGrant): Gap | null =>
  firstGap(AGAINST_CLUSTER, child, parent)

// The fields limit a rule independently, so the parent covers the child when each field does.
const AGAINST_RULE: readonly Check<Rule, Rule>[] = [
  (child, parent) => beyond('targets', child.targets, parent.targets),
  ({ cluster }, parent) =>
    parent.cluster === null || cluster === parent.cluster ? null : clusterText(cluster),
  virtualClustersBeyond,
  requestsBeyond,
  verbsBeyond,
  (child, parent) => beyond('namespaces', child.namespaces, parent.namespaces),
  resourcesBeyond,
  pathsBeyond,
]

// A list of targets grants everything there, except what outlives the key.
const AGAINST_CLUSTER: readonly Check<Rule, TargetGrant>[] = [
  ({ targets }) => beyond('targets', targets, new Set(['Cluster'])),
  ({ cluster }, { names: [name] }) =>
    name === '*' || cluster === name ? null : clusterText(cluster),
  ({ verbs }) => unnamed('verbs', [...(verbs ?? [])].find(verbOutlivesKey)),
  ({ resources }) => unnamed('resources', patternsOf(resources).find(resourceOutlivesKey)),
]

const clusterText = (cluster: string | null): string =>
  cluster === null ? 'its cluster sets no limit' : `its cluster is ${quoted(cluster)}`

const NAMED_ONLY = ', which only a rule that names it covers'

const unnamed = (field: string, value: string | undefined): string | null =>
  value === undefined ? null : has(field, value) + NAMED_ONLY

function virtualClustersBeyond(child: Rule, parent: Rule): string | null {
  const parents = parent.virtualClusters
  if (parents === null) return null
  if (child.virtualClusters === null) return unlimited('virtualClusters')
  const beyondAll = child.virtualClusters.find((one) => !parents.some((other) => fits(one, other)))
  if (!beyondAll) return null
  const { name, namespace } = beyondAll
  const [which, where] = [name, namespace].map((text) => (text === null ? 'any' : quoted(text)))
  return `its virtualClusters have name ${which}, namespace ${where}`
}

const fits = (child: VirtualClusters, parent: VirtualClusters): boolean =>
  (parent.name === null || child.name === parent.name) &&
  (parent.namespace === null || child.namespace === parent.namespace)

function requestsBeyond(child: Rule, parent: Rule): string | null {
  const kind = [...child.requests].find((one) => !parent.requests.has(one))
  return kind === undefined ? null : `it matches ${kind}`
}

function verbsBeyond({ verbs }: Rule, parent: Rule): string | null {
  if (parent.verbs !== null) return beyond('verbs', verbs, parent.verbs)
  return unnamed('verbs', [...(verbs ?? [])].find(verbOutlivesKey))
}

function resourcesBeyond({ resources }: Rule, parent: Rule): string | null {
  const parents = parent.resources
  if (parents === null) return unnamed('resources', patternsOf(resources).find(mustBeNamed))
  if (resources === null) return unlimited('resources')
  for (const one of resources) {
    const because = entryBeyond(one, parents)
    if (because !== null) return because
  }
  return null
}

const patternsOf = (resources: Rule['resources']): readonly string[] =>
  (resources ?? []).flatMap(({ patterns }) => [...patterns])

/** Each resource of the child's entry must be in one of the parent's entries, with all its instances. */
function entryBeyond(child: Resources, parents: readonly Resources[]): string | null {
  const { group } = child
  const ofGroup = parents.filter((one) => one.group === null || one.group === group)
  const ofNames = ofGroup.filter(({ names }) => isLimitWithin(child.names, names))
  const pattern = [...child.patterns].find(
    (one) => !ofNames.some((other) => holds(other, group, one)),
  )
  if (pattern === undefined) return null
  const what = `${quoted(pattern)} ${groupText(group)}`
  return ofGroup.some((other) => holds(other, group, pattern))
    ? `its resourceNames for ${what} go beyond`
    : `its resources have ${what}${mustBeNamed(pattern) ? NAMED_ONLY : ''}`
}

function groupText(group: string | null): string {
  if (group === null) return 'of every group'
  return group === '' ? 'of the core group' : `of group ${quoted(group)}`
}

/** Whether the parent's entry, of this or every group, grants all that the pattern does (contract 11.5, 11.7). */
function holds(parent: Resources, group: string | null, pattern: string): boolean {
  const { patterns } = parent
  // Under group `*` it grants nothing, for child and parent alike.
  if (mustBeNamed(pattern)) return parent.group === group && patterns.has(pattern)
  const [name, sub] = pattern.split('/')
  // x/* means subresources only; a pattern without a sub is the resource itself.
  const isInWildcard = sub !== undefined && (patterns.has(`${name}/*`) || patterns.has(`*/${sub}`))
  return patterns.has(pattern) || isInWildcard || patterns.has('*')
}

function pathsBeyond(child: Rule, parent: Rule): string | null {
  const path = child.paths.find((one) => !parent.paths.some((other) => isPathWithin(one, other)))
  return path === undefined ? null : has('nonResourceURLs', path)
}

// Compared as slices: over two scopes of a megabyte, startsWith takes seconds.
const isPathWithin = (child: string, parent: string): boolean =>
  parent === '*' ||
  child === parent ||
  (parent.endsWith('/*') && child.slice(0, parent.length - 1) === parent.slice(0, -1))

// Whether a role covers a role (contract 11.4, 11.8).

/** Why a role does not cover a role; null when it does. An unknown role covers only itself. */
export const roleGap = (child: RoleGrant, parent: RoleGrant): Gap | null =>
  firstGap(AGAINST_ROLE, child, parent)

/** A role in words. */
export const roleText = ({ role }: RoleGrant): string => `role ${quoted(role)}`

// In a role with limits an absent list names nothing, but without projects there is no limit in the management
// cluster. So a role with projects and one with only virtualClusters never cover each other.
const AGAINST_ROLE: readonly Check<RoleGrant, RoleGrant>[] = [
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

const namesBeyond = (field: string, child: Limit, parent: Limit): string | null =>
  child !== null && parent?.has('*') ? null : beyond(field, child, parent ?? new Set())
