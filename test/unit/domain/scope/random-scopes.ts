// Random scopes over the names of the reference matcher's requests, and pairs in which the parent often just
// covers the child, or just does not.
import type {
  Scope,
  ScopeRole,
  ScopeRule,
  ScopeRuleResources,
} from '../../../../src/api/scope.gen.ts'
import { TARGET_KINDS } from '../../../../src/domain/scope/request-info.ts'
import type { Random } from '../../../support/random.ts'

/** Two scopes: does the parent cover the child? */
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

/** A scope of one entry similar to the given one, more often narrower than wider. */
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

/** Entries that the schema would have rejected: they grant nothing. */
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

// Random rules over the same names.

/** Values for a field of a rule. */
type Draw = (random: Random) => unknown

/** Some of the values, at least one. */
export const some =
  <Value>(values: readonly Value[]) =>
  (random: Random): readonly Value[] => {
    const chosen = values.filter(() => random.pick([true, false, false]))
    return chosen.length > 0 ? chosen : [random.pick(values)]
  }

const names = some(['m', 'n'])

const GROUPS = { core: [undefined, ''], apps: ['apps'], every: ['*'] }
const PATTERNS = {
  core: [
    'pods',
    'pods/log',
    'pods/exec',
    'pods/*',
    '*/log',
    '*',
    'serviceaccounts/token',
    'nodes/proxy',
    'services/proxy',
    '*/proxy',
    'namespaces',
    'accesskeyclaims',
  ],
  apps: [
    'pods/exec',
    'deployments',
    'deployments/scale',
    'deployments/*',
    '*/scale',
    'machines/vnc',
    'machines/*',
    '*/vnc',
    '*',
  ],
  every: [
    'pods',
    'pods/log',
    'pods/exec',
    'pods/*',
    '*/log',
    '*/scale',
    'jobs',
    'deployments',
    'nodes/proxy',
    'machines/vnc',
    'accesskeyclaims',
    '*',
  ],
} as const

function resources(random: Random): ScopeRuleResources {
  const of = random.pick(['core', 'core', 'apps', 'every'] as const)
  const group = random.pick<string | undefined>(GROUPS[of])
  const listed = random.pick([true, true, true, group === undefined])
  return {
    ...(group === undefined ? {} : { group }),
    ...(listed ? { resources: some<string>(PATTERNS[of])(random) } : {}),
    ...(listed && random.pick([true, false, false]) ? { resourceNames: names(random) } : {}),
  }
}

const RULE: { readonly [Field in keyof Required<ScopeRule>]: Draw } = {
  verbs: some(['get', 'delete', 'impersonate']),
  resources: (random) => random.pick([[1], [1], [1, 2]]).map(() => resources(random)),
  resourceNames: names,
  namespaces: some(['', 'p-a', 'p-b']),
  nonResourceURLs: some(['*', '/*', '/', '/healthz', '/healthz/*', '/healthz/a', '/healthz/a/*']),
  requestTargets: (random) =>
    random.pick([['Cluster'], ['ProjectVirtualCluster'], some(TARGET_KINDS)(random)]),
  cluster: ({ pick }) => pick(['c1', 'c1', 'c2', '']),
  virtualClusters: some([
    { name: 'v1' },
    { name: 'v2', namespace: 'p-a' },
    { name: 'v1', namespace: 'p-a' },
    { namespace: 'p-b' },
    { name: '', namespace: '' },
  ]),
}

const FIELDS = Object.keys(RULE) as readonly (keyof ScopeRule)[]

/** Any rule that the schema accepts, without overlapping wildcards. */
export function randomRule(random: Random): ScopeRule {
  const fields = FIELDS.filter(() => random.pick([true, false, false]))
  return sound(Object.fromEntries(fields.map((field) => [field, RULE[field](random)])))
}

/** The rule without fields that the schema refuses together, so that `within` gets only rules that a key can have. */
function sound(one: ScopeRule): ScopeRule {
  const { resourceNames, ...rest } = one
  const named = resourceNames && one.resources?.length ? one : rest
  const isSet = Object.values(named).some((field) => field.length > 0)
  return isSet ? named : { ...named, verbs: ['get'] }
}

/** One field drawn again, left out, shortened or extended: mostly narrower. */
export function variedRule(one: ScopeRule, random: Random): ScopeRule {
  // Resources have most ways in which one entry is nearly within another.
  const field = random.pick([...FIELDS, 'resources', 'resources', 'resources'] as const)
  const { [field]: before, ...rest } = one
  if (!Array.isArray(before)) return sound({ ...one, [field]: RULE[field](random) })
  const fresh = RULE[field](random) as readonly unknown[]
  const list: readonly unknown[] = before
  const others =
    field === 'resources'
      ? [1, 2, 3].map(() => list.map((entry) => variedResources(entry as never, random)))
      : [list.slice(0, 1), fresh, null]
  const after = random.pick([list.slice(1), list.slice(0, 1), [...list, ...fresh], ...others])
  return sound(after === null ? rest : { ...one, [field]: after })
}

function variedResources(entry: ScopeRuleResources, random: Random): ScopeRuleResources {
  const { resources: patterns = [], resourceNames = [] } = entry
  const fresh = resources(random)
  const group = entry.group === undefined ? {} : { group: entry.group }
  return random.pick<ScopeRuleResources>([
    fresh,
    { ...fresh, ...group },
    ...['', 'apps', '*'].map((other) => ({ ...entry, group: other })),
    { ...entry, resources: [random.pick(['pods', 'pods/log', 'pods/exec', 'deployments/scale'])] },
    patterns.length > 0 ? { ...entry, resourceNames: names(random) } : entry,
    resourceNames.length > 0 ? { ...group, resources: patterns } : entry,
  ])
}
