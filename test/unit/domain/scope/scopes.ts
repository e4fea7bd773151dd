// Scopes over the names of the universe, and pairs in which the child is often, but not always,
// within the parent: most of them by a hair.
import type { Scope, ScopeRole } from '../../../../src/api/scope.gen.ts'
import type { Random } from '../../../support/random.ts'
import { randomRule, some, variedRule } from './random-rule.ts'

/** Two scopes of which within is asked. */
export interface Pair {
  readonly child: Scope
  readonly parent: Scope
}

const ROLE_NAMES = ['platformCLI', 'platform-cli', 'agent', 'vcluster', 'network-peer', 'no-such']
const PROJECTS = ['a', 'a', 'b', '*']
const VIRTUAL_CLUSTERS = ['v1', 'v1', 'v2', '*']

const role = (random: Random): ScopeRole => ({
  role: random.pick(ROLE_NAMES),
  ...(random.pick([true, false]) ? { projects: some(PROJECTS)(random) } : {}),
  ...(random.pick([true, false]) ? { virtualClusters: some(VIRTUAL_CLUSTERS)(random) } : {}),
})

function variedRole(one: ScopeRole, random: Random): ScopeRole {
  const fresh = role(random)
  const { projects: _, ...withoutProjects } = one
  const { virtualClusters: __, ...withoutVirtualClusters } = one
  return random.pick<ScopeRole>([
    { ...one, role: 'network-peer' },
    { ...fresh, role: one.role ?? '' },
    { ...one, projects: some(PROJECTS)(random) },
    { ...one, virtualClusters: some(VIRTUAL_CLUSTERS)(random) },
    withoutProjects,
    withoutVirtualClusters,
  ])
}

/** A scope of one entry. */
export function oneEntry(random: Random): Scope {
  const project = random.pick(PROJECTS)
  const space = random.pick(['s1', 's1', 's2', '*'])
  const virtualCluster = random.pick(VIRTUAL_CLUSTERS)
  const cluster = random.pick(['c1', 'c1', 'c2', '*'])
  return random.pick<() => Scope>([
    () => ({ roles: [role(random)] }),
    () => ({ roles: [role(random)] }),
    () => ({ projects: [{ project }] }),
    () => ({ spaces: [{ project, space }] }),
    () => ({ virtualClusters: [{ project, virtualCluster }] }),
    () => ({ clusters: [{ cluster }] }),
    () => platformCli(random),
    ...[1, 2, 3, 4, 5].map(() => () => ({ rules: [randomRule(random)] })),
  ])()
}

/** A scope of one entry that is near to that of the one given, more often narrower than wider. */
export function nearTo(scope: Scope, random: Random): Scope {
  const { roles = [], projects = [], clusters = [], rules = [] } = scope
  const [firstRole] = roles
  const [firstRule] = rules
  const project = projects[0]?.project
  const cluster = clusters[0]?.cluster
  if (firstRule) return { rules: [variedRule(firstRule, random)] }
  const isCli = scope.allowPlatformCli || firstRole?.role?.startsWith('platform')
  if (isCli && random.pick([true, false])) return platformCli(random)
  if (firstRole) return { roles: [variedRole(firstRole, random)] }
  if (cluster !== undefined)
    return random.pick([true, false]) ? oneEntry(random) : ofCluster(random)
  if (project === undefined) return random.pick([scope, oneEntry(random)])
  return random.pick<Scope>([
    { projects: [{ project: random.pick(PROJECTS) }] },
    { spaces: [{ project, space: random.pick(['s1', '*']) }] },
    { virtualClusters: [{ project, virtualCluster: random.pick(['v1', '*']) }] },
  ])
}

/** The same role in any spelling. */
const platformCli = (random: Random): Scope =>
  random.pick([
    { allowPlatformCli: true },
    { roles: [{ role: 'platformCLI' }] },
    { roles: [{ role: 'platform-cli' }] },
  ])

const ofCluster = (random: Random): Scope => ({
  rules: [
    random.pick([
      { ...randomRule(random), cluster: random.pick(['c1', 'c2']) },
      { ...randomRule(random), requestTargets: ['Cluster'] },
    ]),
  ],
})

/** The entries of both. */
export const union = (one: Scope, other: Scope): Scope => {
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof Scope>
  const both = [...fields].map((field) => {
    const [left, right] = [one[field], other[field]]
    return [
      field,
      Array.isArray(left) && Array.isArray(right) ? [...left, ...right] : (left ?? right),
    ]
  })
  return Object.fromEntries(both)
}

/** What came past the schema: entries that grant nothing. */
const spoilt = (scope: Scope, random: Random): Scope => {
  const { roles } = scope
  if (roles && random.pick([true, false]))
    return { roles: roles.map((one) => ({ ...one, projects: [] })) }
  return Object.fromEntries(
    Object.entries(scope).map(([field, list]) => [
      field,
      Array.isArray(list) ? list.map((entry: object) => ({ ...entry, unknown: 'x' })) : list,
    ]),
  )
}

/** Pairs of one or two entries each. */
export function pair(random: Random): Pair {
  const entry = oneEntry(random)
  const parent = random.pick([entry, entry, union(entry, oneEntry(random))])
  let near = entry
  for (const _ of random.pick([[], [1], [1], [1, 2]])) near = nearTo(near, random)
  return {
    child: random.pick([near, near, near, oneEntry(random)]),
    parent: random.pick([...Array.from({ length: 15 }, () => parent), spoilt(parent, random)]),
  }
}
