import { describe, expect, test } from 'vitest'
import type { ScopeRule } from '../../../../src/api/scope.gen.ts'
import { firstUncoveredEntry } from '../../../../src/domain/scope/covers.ts'
import { TARGET_KINDS } from '../../../../src/domain/scope/request-info.ts'
import {
  type Sent,
  entries,
  inNamespaces,
  inVirtual,
  named,
  of,
  ofApps,
  ofEvery,
  onPaths,
  onTargets,
  pods,
  scopeOf,
  verbs,
} from './scope-builder.ts'

/** A rule of the child and one of the parent; whether the child's is covered. */
type Row = readonly [name: string, child: Sent, parent: Sent, isCovered: boolean]

// biome-ignore format: a table
const VERBS: readonly Row[] = [
  ['the same verb', verbs('get'), verbs('get'), true],
  ['one of two verbs', verbs('list'), verbs('get', 'list'), true],
  ['two verbs of one', verbs('get', 'list'), verbs('get'), false],
  ['a verb of every verb', { ...of('pods'), ...verbs('get') }, of('pods'), true],
  ['every verb of one', of('pods'), { ...of('pods'), ...verbs('get') }, false],
  ['an empty list is every verb', { ...of('pods'), verbs: [] }, { ...of('pods'), ...verbs('get') }, false],
  ['every verb of an empty list', of('pods'), { ...of('pods'), verbs: [] }, true],
  ['another case of letters', verbs('Get'), verbs('get'), false],
]

// biome-ignore format: a table
const RESOURCES: readonly Row[] = [
  ['the same resource', of('pods'), of('pods'), true],
  ['another resource', of('pods'), of('services'), false],
  ['one of two', of('services'), of('pods', 'services'), true],
  ['two of one', of('pods', 'services'), of('pods'), false],
  ['of two entries of the parent', of('pods', 'services'), entries({ resources: ['pods'] }, { resources: ['services'] }), true],
  ['the second entry goes beyond', entries({ resources: ['pods'] }, { group: 'apps', resources: ['deployments'] }), of('*'), false],
  ['another group', ofApps('pods'), of('pods'), false],
  ['the core group in two spellings', entries({ group: '', resources: ['pods'] }), of('pods'), true],
  ['a resource of all', of('pods'), of('*'), true],
  ['a subresource of all', of('pods/log'), of('*'), true],
  ['all subresources of all', of('pods/*'), of('*'), true],
  ['one subresource of all resources, of all', of('*/scale'), of('*'), true],
  ['all of all', of('*'), of('*'), true],
  ['all of one', of('*'), of('pods'), false],
  ['all of all subresources', of('*'), of('pods/*', 'pods'), false],
  ['an empty list is all of the group', entries({ group: 'apps' }), ofApps('*'), true],
  ['all of an empty list', ofApps('*'), entries({ group: 'apps', resources: [] }), true],
  ['all of one group of another', entries({ group: 'apps' }), of('*'), false],
  ['no entries are all groups', verbs('get'), { ...of('*'), ...verbs('get') }, false],
  ['a resource of no entries', { ...of('pods'), ...verbs('get') }, verbs('get'), true],
  ['a subresource of its resource (B6)', of('pods/log'), of('pods'), false],
  ['a resource of its subresources', of('pods'), of('pods/*'), false],
  ['a subresource of all of its resource', of('pods/log'), of('pods/*'), true],
  ['a subresource of all of another resource', of('pods/log'), of('services/*'), false],
  ['all subresources of one', of('pods/*'), of('pods/log'), false],
  ['all subresources of one of all resources', of('pods/*'), of('*/log'), false],
  ['a subresource, by its name for all resources', ofApps('deployments/scale'), ofApps('*/scale'), true],
  ['another subresource, by a name for all resources', ofApps('deployments/status'), ofApps('*/scale'), false],
  ['the resource of a subresource of all', of('scale'), of('*/scale'), false],
  ['a subresource of all resources of one resource', of('*/log'), of('pods/*'), false],
  ['a resource whose name begins alike', of('pods'), of('pod'), false],
]

// biome-ignore format: a table
const GROUPS: readonly Row[] = [
  ['a resource, by its name in every group', ofApps('pods'), ofEvery('pods'), true],
  ['a resource of the core group, by its name in every group', of('pods'), ofEvery('pods'), true],
  ['the same in every group', ofEvery('pods'), ofEvery('pods'), true],
  ['a resource in every group, by one group', ofEvery('pods'), ofApps('pods'), false],
  ['a resource in every group, by two groups', ofEvery('pods'), entries({ resources: ['pods'] }, { group: 'apps', resources: ['pods'] }), false],
  ['another resource, by a name in every group', ofApps('pods'), ofEvery('services'), false],
  ['all of a group of all of every one', entries({ group: 'apps' }), entries({ group: '*' }), true],
  ['a resource in every group of all of every one', ofEvery('pods'), ofEvery('*'), true],
  ['all of every group of all of one', entries({ group: '*' }), entries({ group: '' }), false],
  ['all of every group of a resource', ofEvery('*'), ofEvery('pods'), false],
  ['a subresource, by every resource of every group', ofApps('deployments/scale'), ofEvery('*/scale'), true],
  ['a subresource of all of its resource, in every group', ofApps('deployments/scale'), ofEvery('deployments/*'), true],
  ['a resource of all its subresources, in every group', ofApps('deployments'), ofEvery('deployments/*'), false],
  ['all of every group of no entries', { ...ofEvery('*'), ...verbs('get') }, verbs('get'), true],
  ['no entries of all of every group', verbs('get'), { ...ofEvery('*'), ...verbs('get') }, false],
  ['an instance of every one, in every group', named(['a'], ofApps('pods')), ofEvery('pods'), true],
  ['every instance of one, in every group', ofApps('pods'), named(['a'], ofEvery('pods')), false],
  ['one entry of every group, one of its own', entries({ group: 'apps', resources: ['pods'] }, { group: 'b', resources: ['jobs'] }), entries({ group: '*', resources: ['jobs'] }, { group: 'apps' }), true],
  ['part of a group as wildcard', entries({ group: 'b.apps', resources: ['pods'] }), entries({ group: '*.apps', resources: ['pods'] }), false],
]

// biome-ignore format: a table
const NAMED: readonly Row[] = [
  ['claims by name', of('accesskeyclaims'), of('accesskeyclaims'), true],
  ['claims of all', of('accesskeyclaims'), of('*'), false],
  ['claims, by those in every group', of('accesskeyclaims'), ofEvery('accesskeyclaims'), false],
  ['tokens of service accounts by name', of('serviceaccounts/token'), of('serviceaccounts/token'), true],
  ['tokens of service accounts of all', of('serviceaccounts/token'), of('*'), false],
  ['tokens of service accounts of all subresources', of('serviceaccounts/token'), of('serviceaccounts/*'), false],
  ['tokens of service accounts, by the tokens of all resources', of('serviceaccounts/token'), of('*/token'), false],
  ['tokens of service accounts of an empty list', of('serviceaccounts/token'), entries({ group: '' }), false],
  ['tokens of service accounts of no entries', { ...of('serviceaccounts/token'), ...verbs('create') }, verbs('create'), false],
  ['approval of certificates of all', of('certificatesigningrequests/approval'), of('*'), false],
  ['nodes/proxy of all', of('nodes/proxy'), of('*'), false],
  ['nodes/proxy of proxies of all resources', of('nodes/proxy'), of('*/proxy'), false],
  ['services/proxy of all', of('services/proxy'), of('*'), false],
  ['any proxy of all subresources', of('things/proxy'), of('things/*'), false],
  ['services/proxy by name', of('services/proxy'), of('services/proxy', 'pods'), true],
  ...['exec', 'attach', 'portforward', 'ephemeralcontainers'].flatMap((sub): readonly Row[] => [
    [`pods/${sub} of all`, of(`pods/${sub}`), of('*'), false],
    [`pods/${sub} of pods/*`, of(`pods/${sub}`), of('pods/*'), false],
  ]),
  ['pods/exec by name', of('pods/exec'), of('pods/exec'), true],
  ['pods/exec by name in another group', ofApps('pods/exec'), of('pods/exec'), false],
  ...['exec', 'attach', 'portforward', 'console', 'vnc', 'usbredir'].flatMap((sub): readonly Row[] => [
    [`${sub} of anything, of all of its group`, ofApps(`machines/${sub}`), ofApps('*'), false],
    [`${sub} of anything, of its subresources`, ofApps(`machines/${sub}`), ofApps('machines/*'), false],
    [`${sub} of anything, by its name for all`, ofApps(`machines/${sub}`), ofApps(`*/${sub}`), false],
    [`${sub} of anything by name`, ofApps(`machines/${sub}`), ofApps(`machines/${sub}`), true],
  ]),
  ['pods/exec of that in every group', of('pods/exec'), ofEvery('pods/exec'), false],
  ['pods/exec in another group of that in every one', ofApps('pods/exec'), ofEvery('pods/exec'), false],
  ['pods/exec of all of every group', of('pods/exec'), ofEvery('*'), false],
  ['pods/exec in every group of that in one', ofEvery('pods/exec'), of('pods/exec'), false],
  ['pods/exec in every group of itself', ofEvery('pods/exec'), ofEvery('pods/exec'), true],
  ['pods/exec beside every group', of('pods/exec'), entries({ group: '*' }, { resources: ['pods/exec'] }), true],
  ['tokens of service accounts of those in every group', of('serviceaccounts/token'), ofEvery('serviceaccounts/token'), false],
  ['what is no session, of all', of('pods/log', 'pods/eviction', 'exec', 'things/ephemeralcontainers', 'things/consoles'), of('*'), true],
  ['a wildcard names none of them', of('pods/*'), of('pods/*'), true],
  ...['escalate', 'bind', 'impersonate', 'approve', 'impersonate:uid', 'impersonate-on:uid:get'].flatMap((verb): readonly Row[] => [
    [`${verb} of every verb`, { ...of('users'), ...verbs(verb) }, of('users'), false],
    [`${verb} by name`, { ...of('users'), ...verbs(verb) }, { ...of('*'), ...verbs('get', verb) }, true],
  ]),
  ['every verb names none of them', of('users'), of('users'), true],
]

// biome-ignore format: a table
const INSTANCES: readonly Row[] = [
  ['an instance of every one', named(['a'], of('pods')), of('pods'), true],
  ['every instance of one', of('pods'), named(['a'], of('pods')), false],
  ['one of two', named(['b'], of('pods')), named(['a', 'b'], of('pods')), true],
  ['two of one', named(['a', 'b'], of('pods')), named(['a'], of('pods')), false],
  ['an empty list is every instance', named([], of('pods')), named(['a'], of('pods')), false],
  ['named in the entry, of the rule', entries(pods('a')), named(['a'], of('pods')), true],
  ['named in the rule, of the entry', named(['a'], of('pods')), entries(pods('a')), true],
  ['both lists must match: what is in both', named(['b', 'c'], entries(pods('a', 'b'))), named(['b'], of('pods')), true],
  ['of both lists one is too short', named(['a'], of('pods')), named(['b'], entries(pods('a'))), false],
  ['of the second entry with that resource', named(['b'], of('pods')), entries(pods('a'), pods('b')), true],
  ['names of two entries together', named(['a', 'b'], of('pods')), entries(pods('a'), pods('b')), false],
]

// biome-ignore format: a table
const PLACES: readonly Row[] = [
  ['the same namespace', inNamespaces('web'), inNamespaces('web'), true],
  ['one of two namespaces', inNamespaces('web'), inNamespaces('dev', 'web'), true],
  ['another namespace', inNamespaces('web'), inNamespaces('dev'), false],
  ['a namespace of all', { ...inNamespaces('web'), ...verbs('get') }, verbs('get'), true],
  ['all namespaces of one', of('pods'), { ...of('pods'), ...inNamespaces('web') }, false],
  ['what is not namespaced', inNamespaces(''), inNamespaces('', 'web'), true],
  ['what is not namespaced of a namespace', inNamespaces(''), inNamespaces('web'), false],
  ['sessions in a namespace of all of it', { ...inNamespaces('web'), ...of('pods/exec') }, inNamespaces('web'), false],
]

// biome-ignore format: a table
const PATHS: readonly Row[] = [
  ['the same path', onPaths('/healthz'), onPaths('/healthz'), true],
  ['another path', onPaths('/metrics'), onPaths('/healthz'), false],
  ['a path that ends otherwise', onPaths('/healthy'), onPaths('/healthz'), false],
  ['two paths of one', onPaths('/healthz', '/metrics'), onPaths('/healthz'), false],
  ['a path below', onPaths('/healthz/etcd'), onPaths('/healthz/*'), true],
  ['paths further below', onPaths('/healthz/a/*'), onPaths('/healthz/*'), true],
  ['the path itself is not below', onPaths('/healthz'), onPaths('/healthz/*'), false],
  ['a path that begins alike', onPaths('/healthzz'), onPaths('/healthz/*'), false],
  ['all below of one', onPaths('/healthz/*'), onPaths('/healthz/etcd'), false],
  ['a path of all', onPaths('/healthz'), onPaths('*'), true],
  ['a path of all below the root', onPaths('/healthz/*'), onPaths('/*'), true],
  ['all of all below the root', onPaths('*'), onPaths('/*'), false],
  ['all paths of all requests', { ...onPaths('*'), ...verbs('get') }, verbs('get'), true],
  ['all requests of all paths', verbs('get'), { ...onPaths('*'), ...verbs('get') }, false],
  ['all requests of all resources', verbs('get'), { ...inNamespaces('', 'a'), ...verbs('get') }, false],
  ['resources of paths', of('pods'), onPaths('*'), false],
  ['paths of resources', onPaths('/healthz'), of('*'), false],
  ['paths say nothing beside resources', { ...of('pods'), ...onPaths('*') }, of('pods'), true],
  ['paths say nothing beside namespaces', { ...inNamespaces('web'), ...onPaths('*') }, inNamespaces('web'), true],
  ['resources beside paths of paths', { ...of('pods'), ...onPaths('*') }, onPaths('*'), false],
  ['a path of paths beside resources', onPaths('/healthz'), { ...of('pods'), ...onPaths('*') }, false],
]

// biome-ignore format: a table
const TARGETS: readonly Row[] = [
  ['the same target', onTargets('Cluster'), onTargets('Cluster'), true],
  ['one of two targets', onTargets('Cluster'), onTargets('Management', 'Cluster'), true],
  ['another target', onTargets('Management'), onTargets('Cluster'), false],
  ['every target of one', verbs('get'), { ...onTargets('Cluster'), ...verbs('get') }, false],
  ['no target named of all four', verbs('get'), { ...verbs('get'), ...onTargets(...TARGET_KINDS) }, true],
  ['all four of no target named', { ...verbs('get'), ...onTargets(...TARGET_KINDS) }, verbs('get'), true],
  ['the same cluster', { cluster: 'c' }, { cluster: 'c' }, true],
  ['another cluster', { cluster: 'c' }, { cluster: 'd' }, false],
  ['a cluster is a target', { cluster: 'c' }, onTargets('Cluster'), true],
  ['a cluster of another target', { cluster: 'c' }, onTargets('Management'), false],
  ['all clusters of one', onTargets('Cluster'), { cluster: 'c' }, false],
  ['an empty cluster is no limit', { cluster: '', ...verbs('get') }, { cluster: 'c', ...verbs('get') }, false],
  ['a cluster of an empty one', { cluster: 'c', ...verbs('get') }, { cluster: '', ...verbs('get') }, true],
  ['a cluster called * of one', { cluster: '*' }, { cluster: 'c' }, false],
  ['a cluster of one called *', { cluster: 'c' }, { cluster: '*' }, false],
  ['the same virtual cluster', inVirtual('v', 'p-a'), inVirtual('v', 'p-a'), true],
  ['a virtual cluster of that name anywhere', inVirtual('v', 'p-a'), inVirtual('v'), true],
  ['a virtual cluster of that namespace', inVirtual('v', 'p-a'), inVirtual('', 'p-a'), true],
  ['a virtual cluster of all', inVirtual('v', 'p-a'), inVirtual('', ''), true],
  ['a name anywhere of one namespace', inVirtual('v'), inVirtual('v', 'p-a'), false],
  ['another name', inVirtual('v', 'p-a'), inVirtual('w', 'p-a'), false],
  ['another namespace', inVirtual('v', 'p-a'), inVirtual('v', 'p-b'), false],
  ['a virtual cluster is a target', inVirtual('v'), onTargets('ProjectVirtualCluster'), true],
  ['all virtual clusters of one', onTargets('ProjectVirtualCluster'), inVirtual('v'), false],
  ['all virtual clusters, by an entry that sets nothing', { virtualClusters: [{}] }, { virtualClusters: [{ name: '' }] }, true],
  ['one virtual cluster of all', inVirtual('v'), { virtualClusters: [{}] }, true],
  ['all virtual clusters of one', { virtualClusters: [{}] }, inVirtual('v'), false],
  ['one of two virtual clusters', inVirtual('v'), { virtualClusters: [{ name: 'w' }, { name: 'v' }] }, true],
  ['two virtual clusters of one', { virtualClusters: [{ name: 'v' }, { name: 'w' }] }, inVirtual('v'), false],
  ['a virtual cluster of a cluster', inVirtual('v'), { cluster: 'v' }, false],
]

// biome-ignore format: a table
const MALFORMED: readonly Row[] = [
  ['a rule that sets nothing', {}, verbs('get'), false],
  ['of a rule that sets nothing', verbs('get'), {}, false],
  ['a rule of empty values', { verbs: [], cluster: '' }, verbs('get'), false],
  ['of a rule of empty values', verbs('get'), { verbs: [], cluster: '' }, false],
  ['a rule with an unknown field', { ...verbs('get'), users: ['bob'] }, verbs('get'), false],
  ['of a rule with an unknown field', verbs('get'), { ...verbs('get'), users: ['bob'] }, false],
  ['a rule with a text for verbs', { verbs: 'get' }, verbs('get'), false],
  ['of a rule with a text for verbs', { ...verbs('get'), ...of('pods') }, { verbs: 'get', ...of('pods') }, false],
  ['of a rule with null for verbs', verbs('get'), { ...onTargets('Cluster'), verbs: null }, false],
  ['* for a verb', verbs('*'), verbs('*'), false],
  ['* for a namespace', inNamespaces('*'), inNamespaces('*'), false],
  ['* for an instance', named(['*'], of('pods')), named(['*'], of('pods')), false],
  ['instances without resources', { ...verbs('get'), resourceNames: ['a'] }, verbs('get'), false],
  ['instances of no resource of a group', entries({ group: 'apps', resourceNames: ['a'] }), ofApps('*'), false],
  ['resources that are texts', { resources: ['pods'] }, of('*'), false],
  ['an entry of resources that sets nothing', entries({}), of('*'), false],
  ['of an entry of resources that sets nothing', of('pods'), entries({ resources: [] }), false],
  ['an unknown field in resources', { resources: [{ resources: ['pods'], kinds: ['Pod'] }] }, of('*'), false],
  ['a resource that is no resource', of('pods/l*'), of('pods/l*'), false],
  ['* in both places of a resource', of('*/*'), of('*/*'), false],
  ['a path that is no path', onPaths('/a*'), onPaths('/a*'), false],
  ['of an unknown target', onTargets('Cluster'), onTargets('Cluster', 'Moon'), false],
  ['an unknown target', onTargets('Moon'), onTargets('Moon'), false],
  ['an unknown field of a virtual cluster', { virtualClusters: [{ name: 'v', project: 'a' }] }, inVirtual('v'), false],
  ['a cluster that is null', { ...verbs('get'), cluster: null }, verbs('get'), false],
  ['of a cluster that is null', verbs('get'), { ...verbs('get'), cluster: null }, false],
  ['a cluster that is a list', { cluster: ['c'] }, { cluster: ['c'] }, false],
  ['a rule that is a list', ['get'], verbs('get'), false],
]

describe.each([
  ['verbs (11.5)', VERBS],
  ['resources (11.5)', RESOURCES],
  ['groups (11.5)', GROUPS],
  ['what a rule must name (11.7)', NAMED],
  ['instances (11.5)', INSTANCES],
  ['namespaces (11.5)', PLACES],
  ['paths (11.5)', PATHS],
  ['targets (11.5)', TARGETS],
  ['what the schema refuses (11.2)', MALFORMED],
] as const)('a rule within a rule: %s (11.8)', (_, rows) => {
  test.each(rows)('%s', (_name, child, parent, isCovered) => {
    expect(firstUncoveredEntry(scopeOf(child), scopeOf(parent))?.path ?? null).toBe(
      isCovered ? null : 'scope.rules[0]',
    )
  })
})

// biome-ignore format: a table
describe('a rule that an entry of clusters covers (11.3, 11.7, 11.8)', () => {
  test.each<readonly [name: string, child: ScopeRule, cluster: string, isCovered: boolean]>([
    ['all of the cluster', { cluster: 'c' }, 'c', true],
    ['all of a cluster of all', { cluster: 'c' }, '*', true],
    ['all of another cluster', { cluster: 'd' }, 'c', false],
    ['all clusters of all', onTargets('Cluster'), '*', true],
    ['all clusters of one', onTargets('Cluster'), 'c', false],
    ['a cluster that is no cluster request', { cluster: 'c', ...onTargets('Cluster') }, 'c', true],
    ['more than clusters', onTargets('Cluster', 'Management'), '*', false],
    ['every target', verbs('get'), '*', false],
    ['virtual clusters', inVirtual('v'), '*', false],
    ['a cluster called * of one', { cluster: '*' }, 'c', false],
    ['reading there', { cluster: 'c', ...verbs('get', 'list'), ...of('pods'), ...inNamespaces('web') }, 'c', true],
    ['paths there', { cluster: 'c', ...onPaths('/healthz') }, 'c', true],
    ['sessions there', { cluster: 'c', ...of('pods/exec', 'pods/attach', 'pods/portforward', 'services/proxy') }, 'c', true],
    ['tokens of service accounts there', { cluster: 'c', ...of('serviceaccounts/token') }, 'c', false],
    ['approval of certificates there', { cluster: 'c', ...of('certificatesigningrequests/approval') }, 'c', false],
    ['every group there', { cluster: 'c', ...ofEvery('*') }, 'c', true],
    ['nodes/proxy in every group there', { cluster: 'c', ...ofEvery('nodes/proxy') }, 'c', false],
    ['nodes/proxy there', { cluster: 'c', ...of('nodes/proxy') }, 'c', false],
    ['impersonation there', { cluster: 'c', ...verbs('impersonate') }, 'c', false],
    ['escalation there', { cluster: 'c', ...verbs('get', 'escalate') }, '*', false],
  ])('%s', (_, child, cluster, isCovered) => {
    expect(firstUncoveredEntry(scopeOf(child), { clusters: [{ cluster }] })?.path).toBe(isCovered ? undefined : 'scope.rules[0]')
  })

  test('no other list of targets covers a rule', () => {
    const all = {
      projects: [{ project: '*' }],
      spaces: [{ project: '*', space: '*' }],
      virtualClusters: [{ project: '*', virtualCluster: '*' }],
      roles: [{ role: 'agent' }],
    }
    expect(firstUncoveredEntry(scopeOf(onTargets('ProjectSpace')), all)?.path).toBe('scope.rules[0]')
    expect(firstUncoveredEntry(scopeOf(inVirtual('v', 'p-a')), all)?.path).toBe('scope.rules[0]')
  })
})

describe('rules of the same scope (11.8)', () => {
  test('each may be covered by any rule of the parent; the first uncovered rule is reported', () => {
    const parent = scopeOf(verbs('get'), of('pods'), { cluster: 'c' })
    expect(
      firstUncoveredEntry(scopeOf({ ...of('pods'), ...verbs('delete') }, verbs('get')), parent),
    ).toBeNull()
    const child = scopeOf(verbs('get'), of('pods'), of('secrets'), verbs('delete'))
    expect(firstUncoveredEntry(child, parent)?.path).toBe('scope.rules[2]')
  })

  test('two rules that cover a rule only together do not cover it', () => {
    expect(
      firstUncoveredEntry(scopeOf(verbs('get', 'list')), scopeOf(verbs('get'), verbs('list')))
        ?.path,
    ).toBe('scope.rules[0]')
  })
})
