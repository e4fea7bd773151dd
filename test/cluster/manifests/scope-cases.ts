// Scopes of access keys and tokens: accepted and rejected ones (contract 1.4).

import { times } from './case-runner.ts'

type Scope = Readonly<Record<string, unknown>>

/** A scope that is stored as sent. */
export interface AcceptedScope {
  readonly name: string
  readonly scope: Scope
}

/** A scope that is rejected; `field` is relative to the scope, empty = the scope itself. */
export interface RefusedScope extends AcceptedScope {
  readonly field: string
  readonly says: RegExp
}

const rule = (fields: Scope): Scope => ({ rules: [fields] })
const resources = (...names: readonly string[]): Scope =>
  rule({ resources: [{ group: 'apps', resources: names }] })

const ROLES = [
  'agent',
  'vcluster',
  'network-peer',
  'platformCLI',
  'platform-cli',
  'workspace',
  'metrics-writer',
  'metrics-reader',
]
const RESOURCES = 'rules[0].resources[0].resources'
const ownersRights = /leave scope out for the owner's full rights/
const nothing =
  /sets nothing; set at least one of .* or leave scope out for the owner's full rights/

/** The most rules, with the names that are most expensive for the overlap checks of the schema. */
export const largestScope: Scope = {
  rules: times(32, () => ({
    resources: times(8, () => ({
      resources: times(16, (n) => `*/${String(n).padStart(94, 'x')}`),
    })),
  })),
}

// biome-ignore format: a table
export const acceptedScopes: readonly AcceptedScope[] = [
  { name: 'the command-line client', scope: { allowPlatformCli: true } },
  { name: 'a project', scope: { projects: [{ project: 'web' }] } },
  { name: 'all projects and all clusters by *', scope: { projects: [{ project: '*' }], clusters: [{ cluster: '*' }] } },
  {
    name: 'spaces and virtual clusters',
    scope: {
      spaces: [{ project: 'web', space: '*' }, { project: '*', space: 'dev' }],
      virtualClusters: [{ project: 'web', virtualCluster: 'test' }],
    },
  },
  {
    name: 'roles, one of them unknown',
    scope: {
      roles: [{ role: 'agent' }, { role: 'vcluster', projects: ['web'], virtualClusters: ['*'] }, { role: 'no-such' }],
    },
  },
  { name: 'every role (1.3)', scope: { roles: ROLES.map((role) => ({ role })) } },
  { name: 'a list beside allowPlatformCli: false', scope: { clusters: [{ cluster: 'a' }], allowPlatformCli: false } },
  {
    name: 'a rule for every verb',
    scope: rule({ verbs: [], resources: [{ group: 'apps', resources: ['deployments'] }] }),
  },
  { name: 'all resources of the core group', scope: rule({ verbs: ['get'], resources: [{ group: '' }] }) },
  { name: 'every group', scope: rule({ resources: [{ group: '*' }] }) },
  { name: 'a resource of every group', scope: rule({ resources: [{ group: '*', resources: ['pods'] }] }) },
  { name: 'cluster-scoped resources (namespace "")', scope: rule({ verbs: ['get'], namespaces: ['', 'web'] }) },
  {
    name: 'resourceNames of a resource and of the rule',
    scope: rule({ resources: [{ resources: ['pods'], resourceNames: ['a'] }], resourceNames: ['a'] }),
  },
  { name: 'resource *', scope: resources('*') },
  { name: 'pods and pods/*', scope: resources('pods', 'pods/*', 'deployments/scale') },
  { name: '*/scale and others', scope: resources('*/scale', '*/status', 'deployments', 'pods/log') },
  { name: 'URL paths', scope: rule({ nonResourceURLs: ['*', '/', '/*', '/healthz', '/healthz/*', '/apis/a/b/*'] }) },
  {
    name: 'every target',
    scope: rule({ requestTargets: ['Management', 'Cluster', 'ProjectSpace', 'ProjectVirtualCluster'] }),
  },
  { name: 'a cluster alone', scope: rule({ cluster: 'prod' }) },
  {
    name: 'virtual clusters of a namespace',
    scope: rule({ virtualClusters: [{ namespace: 'p-web' }, { name: 'test', namespace: '' }] }),
  },
  { name: 'all virtual clusters, by an entry that sets nothing', scope: rule({ virtualClusters: [{}, { name: '' }] }) },
  { name: 'a cluster with its target', scope: rule({ cluster: 'prod', requestTargets: ['Management', 'Cluster'] }) },
  { name: 'the largest scope, most expensive for the overlap checks', scope: largestScope },
]

// biome-ignore format: a table
export const refusedScopes: readonly RefusedScope[] = [
  { name: 'an empty scope', scope: {}, field: '', says: nothing },
  { name: 'allowPlatformCli: false alone', scope: { allowPlatformCli: false }, field: '', says: nothing },
  { name: 'null for a list, as from an empty template value', scope: { projects: null }, field: '', says: nothing },
  { name: 'null for lists, and allowPlatformCli: false', scope: { roles: null, rules: null, allowPlatformCli: false }, field: '', says: nothing },
  ...['roles', 'projects', 'spaces', 'virtualClusters', 'clusters', 'rules'].map((field) => ({
    name: `an empty list of ${field}`, scope: { [field]: [], allowPlatformCli: true }, field, says: ownersRights,
  })),
  { name: 'a null for a project', scope: { projects: [null] }, field: 'projects[0]', says: /must be of type object/ },
  {
    name: 'a project without a name', scope: { projects: [{ project: 'a' }, {}] },
    field: 'projects[1]', says: /name the project, or write \* for all/,
  },
  {
    name: 'an empty name', scope: { projects: [{ project: '' }] },
    field: 'projects[0]', says: /name the project, or write \*/,
  },
  {
    name: 'a name with a trailing *', scope: { projects: [{ project: 'web-*' }] },
    field: 'projects[0].project', says: /write \* alone, or the full name/,
  },
  {
    name: 'a space without its project', scope: { spaces: [{ space: 'dev' }] },
    field: 'spaces[0]', says: /name the project of the space/,
  },
  {
    name: 'a space without a name', scope: { spaces: [{ project: 'web' }] },
    field: 'spaces[0]', says: /name the space, or write \*/,
  },
  {
    name: 'a virtual cluster without its project', scope: { virtualClusters: [{ virtualCluster: 'v' }] },
    field: 'virtualClusters[0]', says: /name the project of the virtual cluster/,
  },
  {
    name: 'a virtual cluster without a name', scope: { virtualClusters: [{ project: 'web', virtualCluster: '' }] },
    field: 'virtualClusters[0]', says: /name the virtual cluster, or write \*/,
  },
  {
    name: 'a cluster without a name', scope: { clusters: [{ cluster: null }] },
    field: 'clusters[0]', says: /name the cluster, or write \*/,
  },
  {
    name: 'a role without a name', scope: { roles: [{ projects: ['web'] }] },
    field: 'roles[0]', says: /name the role, for example platformCLI/,
  },
  {
    name: 'a role with an empty list of projects', scope: { roles: [{ role: 'agent', projects: [] }] },
    field: 'roles[0].projects', says: /or leave projects out/,
  },
  {
    name: 'a role with an empty list of virtual clusters', scope: { roles: [{ role: 'agent', virtualClusters: [] }] },
    field: 'roles[0].virtualClusters', says: /or leave virtualClusters out/,
  },
  {
    name: 'a role with an empty project name', scope: { roles: [{ role: 'agent', projects: [''] }] },
    field: 'roles[0].projects[0]', says: /write the name, or leave the entry out/,
  },
  { name: 'an empty rule', scope: rule({}), field: 'rules[0]', says: nothing },
  { name: 'a rule with null values', scope: rule({ verbs: null, cluster: null }), field: 'rules[0]', says: nothing },
  {
    name: 'a rule with empty lists',
    scope: rule({
      verbs: [], resources: [], resourceNames: [], namespaces: [], nonResourceURLs: [], requestTargets: [],
      virtualClusters: [], cluster: '',
    }),
    field: 'rules[0]',
    says: nothing,
  },
  {
    name: 'resourceNames alone', scope: rule({ resourceNames: ['a'] }),
    field: 'rules[0].resourceNames', says: /needs resources; name the resources/,
  },
  {
    name: 'resourceNames of a group without resources', scope: rule({ resources: [{ group: 'apps', resourceNames: ['a'] }] }),
    field: 'rules[0].resources[0].resourceNames', says: /needs resources; name the resources/,
  },
  {
    name: '* in verbs', scope: rule({ verbs: ['*'] }),
    field: 'rules[0].verbs[0]', says: /\* is refused, leave verbs out for all/,
  },
  { name: 'an empty verb', scope: rule({ verbs: ['get', ''] }), field: 'rules[0].verbs[1]', says: /write a verb/ },
  {
    name: '* in namespaces', scope: rule({ namespaces: ['*'] }),
    field: 'rules[0].namespaces[0]', says: /\* is refused, leave namespaces out for all/,
  },
  {
    name: '* in resourceNames', scope: rule({ resources: [{ resources: ['pods'] }], resourceNames: ['*'] }),
    field: 'rules[0].resourceNames[0]', says: /\* is refused, leave resourceNames out for all/,
  },
  {
    name: '* in resourceNames of resources',
    scope: rule({ resources: [{ resources: ['pods'], resourceNames: ['*'] }] }),
    field: 'rules[0].resources[0].resourceNames[0]', says: /leave resourceNames out for all/,
  },
  {
    name: 'an empty resourceName',
    scope: rule({ resources: [{ resources: ['pods'] }], resourceNames: [''] }),
    field: 'rules[0].resourceNames[0]', says: /write the name of an instance/,
  },
  {
    name: '* in requestTargets', scope: rule({ requestTargets: ['*'] }),
    field: 'rules[0].requestTargets[0]', says: /\* is refused, leave requestTargets out for all/,
  },
  {
    name: '* for a cluster of a rule', scope: rule({ cluster: '*' }),
    field: 'rules[0].cluster', says: /\* is refused, leave cluster out for all/,
  },
  {
    name: '* for a virtual cluster of a rule', scope: rule({ virtualClusters: [{ name: '*', namespace: 'p-web' }] }),
    field: 'rules[0].virtualClusters[0].name', says: /\* is refused, leave name out for all/,
  },
  ...[{ resources: [{ resources: ['pods'] }] }, { namespaces: ['web'] }].map((beside) => ({
    name: `URL paths beside ${JSON.stringify(beside)}`, scope: rule({ nonResourceURLs: ['/healthz'], ...beside }),
    field: 'rules[0].nonResourceURLs', says: /write two rules, one with nonResourceURLs/,
  })),
  {
    name: 'a cluster whose target is left out', scope: rule({ cluster: 'prod', requestTargets: ['Management'] }),
    field: 'rules[0].requestTargets', says: /leave requestTargets out, or write Cluster in it/,
  },
  {
    name: 'virtual clusters whose target is left out',
    scope: rule({ virtualClusters: [{ name: 'test' }], requestTargets: ['Cluster'] }),
    field: 'rules[0].requestTargets', says: /leave requestTargets out, or write ProjectVirtualCluster in it/,
  },
  {
    name: 'a cluster and virtual clusters', scope: rule({ cluster: 'prod', virtualClusters: [{ name: 'test' }] }),
    field: 'rules[0].virtualClusters', says: /no request is to a cluster and to a virtual cluster; write two rules/,
  },
  {
    name: 'an unknown target', scope: rule({ requestTargets: ['management'] }),
    field: 'rules[0].requestTargets[0]', says: /write Management, Cluster, ProjectSpace or ProjectVirtualCluster/,
  },
  ...['healthz', '', '/a*', '/a/*/b', '*/b', '/**', 'https://example.com/'].map((url) => ({
    name: `URL path "${url}"`, scope: rule({ nonResourceURLs: [url] }), field: 'rules[0].nonResourceURLs[0]',
    says: /write \* alone or a path that starts with \/, in which \* may only be the whole last step/,
  })),
  ...['', 'po*', '*ods', 'pods/l*', '*/*', '/', 'pods/', '/log', 'a/b/c'].map((resource) => ({
    name: `resource "${resource}"`, scope: resources(resource), field: `${RESOURCES}[0]`,
    says: /write one of pods, pods\/log, pods\/\*, \*\/scale and \*/,
  })),
  { name: '* and pods', scope: resources('*', 'pods'), field: RESOURCES, says: /write \* alone, or leave it out/ },
  { name: '* twice', scope: resources('*', '*'), field: RESOURCES, says: /write \* alone/ },
  {
    name: '*/status and pods/status', scope: resources('*/status', 'pods/status'),
    field: RESOURCES, says: /overlap with a wildcard such as \*\/scale/,
  },
  {
    name: '*/status and pods/*', scope: resources('*/status', 'pods/*'),
    field: RESOURCES, says: /overlap with a wildcard/,
  },
  {
    name: '*/status twice', scope: resources('*/status', '*/status'),
    field: RESOURCES, says: /overlap with a wildcard such as \*\/scale/,
  },
  {
    name: 'pods/* and pods/log', scope: resources('pods/log', 'pods/*'),
    field: RESOURCES, says: /overlap with a wildcard such as pods\/\*/,
  },
  {
    name: 'pods/* twice', scope: resources('pods/*', 'pods/*'),
    field: RESOURCES, says: /overlap with a wildcard such as pods\/\*/,
  },
  {
    name: 'an empty entry in resources', scope: rule({ verbs: ['get'], resources: [{}] }),
    field: 'rules[0].resources[0]', says: /write resources: \["\*"\] for all of the core group/,
  },
  { name: '33 rules', scope: { rules: times(33, () => ({ verbs: ['get'] })) }, field: 'rules', says: /at most 32/ },
  {
    name: '1,000 rules', scope: { rules: times(1000, () => ({ verbs: ['get'] })) },
    field: 'rules', says: /at most 32/,
  },
  { name: '17 resources', scope: resources(...times(17, (n) => `r${n}`)), field: RESOURCES, says: /at most 16/ },
  {
    name: '9 groups of resources', scope: rule({ resources: times(9, () => ({ resources: ['pods'] })) }),
    field: 'rules[0].resources', says: /at most 8/,
  },
  {
    name: 'a resource of 97 characters', scope: resources('r'.repeat(97)),
    field: `${RESOURCES}[0]`, says: /may not be more than 96/,
  },
  {
    name: 'a list of names for projects', scope: { projects: ['web'] },
    field: 'projects[0]', says: /must be of type object/,
  },
]
