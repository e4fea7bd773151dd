// Rules over the names of the universe.
import type { ScopeRule, ScopeRuleResources } from '../../../../src/api/scope.gen.ts'
import { TARGET_KINDS } from '../../../../src/domain/scope/request-info.ts'
import type { Random } from '../../../support/random.ts'

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

/** Any rule that the schema takes, but for wildcards that overlap. */
export function randomRule(random: Random): ScopeRule {
  const fields = FIELDS.filter(() => random.pick([true, false, false]))
  return sound(Object.fromEntries(fields.map((field) => [field, RULE[field](random)])))
}

/** What the schema would refuse is mended, so that within is asked about what can come. */
function sound(one: ScopeRule): ScopeRule {
  const { resourceNames, ...rest } = one
  const named = resourceNames && one.resources?.length ? one : rest
  const isSet = Object.values(named).some((field) => field.length > 0)
  return isSet ? named : { ...named, verbs: ['get'] }
}

/** One field drawn anew, left out, made shorter or longer: mostly narrower. */
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
