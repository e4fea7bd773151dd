import { expect, test } from 'vitest'
import type { Scope, ScopeRule } from '../../../../src/api/scope.gen.ts'
import { firstUncoveredEntry } from '../../../../src/domain/scope/covers.ts'
import {
  type Sent,
  cli,
  cluster,
  inNamespaces,
  inVirtual,
  named,
  of,
  ofApps,
  ofEvery,
  onPaths,
  onTargets,
  project,
  role,
  scopeOf,
  space,
  verbs,
  virtualCluster,
} from './scope-builder.ts'

// biome-ignore format: a table
test.each<readonly [because: string, child: Sent, parent: Scope]>([
  ['project "web"', project('web'), project('dev')],
  ['space "web/dev"', space('web', 'dev'), cluster('*')],
  ['virtual cluster "web/v"', virtualCluster('web', 'v'), project('dev')],
  ['cluster "*"', cluster('*'), cluster('c')],
  ['role "agent"', role('agent'), project('*')],
  ['its projects and virtualClusters set no limit', role('agent'), role('agent', { projects: ['a'] })],
  ['its projects have "b"', role('agent', { projects: ['a', 'b'] }), role('agent', { projects: ['a'] })],
  ['its projects set no limit', role('agent', { virtualClusters: ['v'] }), role('agent', { projects: ['a'] })],
  ['its virtualClusters have "v"', role('agent', { projects: ['a'], virtualClusters: ['v'] }), role('agent', { projects: ['a'] })],
  ['role "platformCLI"', cli, role('agent')],
  ['it sets nothing', {}, project('*')],
  ['this field is unknown', { planets: [] }, project('*')],
  ['its field "region" is unknown', { projects: [{ project: 'a', region: 'eu' }] }, project('*')],
  ['its field project is missing or not as the schema demands', { projects: [{}] }, project('*')],
  ['it is not an object', { projects: ['web'] }, project('*')],
  ['it is not a list', { projects: 'web' }, project('*')],
  ['it is not a boolean', { allowPlatformCli: 1 }, cli],
  ['no rule or cluster covers anything of it', scopeOf(verbs('get')), project('*')],
])('the message names the uncovered part: %s (11.8)', (because, child, parent) => {
  expect(firstUncoveredEntry(child as Scope, parent)?.because).toBe(because)
})

// biome-ignore format: a table
test.each<readonly [because: string, child: ScopeRule, parents: readonly ScopeRule[]]>([
  ['its verbs have "delete"', verbs('get', 'delete'), [verbs('get')]],
  ['its verbs set no limit', of('pods'), [{ ...of('pods'), ...verbs('get') }]],
  ['its verbs have "bind", which only a rule that names it covers', { ...of('a'), ...verbs('bind') }, [onTargets('Cluster'), of('a')]],
  ['its targets have "Management"', verbs('get'), [onTargets('Cluster')]],
  ['its cluster is "c"', { cluster: 'c' }, [{ cluster: 'd' }]],
  ['its cluster sets no limit', onTargets('Cluster'), [{ cluster: 'd' }]],
  ['its virtualClusters have name "v", namespace any', inVirtual('v'), [inVirtual('v', 'p-a')]],
  ['its virtualClusters set no limit', onTargets('ProjectVirtualCluster'), [inVirtual('v', 'p-a')]],
  ['it matches paths', verbs('get'), [{ ...of('pods'), ...verbs('get') }]],
  ['it matches resources', of('pods'), [onPaths('*')]],
  ['its resources have "pods/log" of the core group', of('pods', 'pods/log'), [of('pods')]],
  ['its resources have "pods" of group "apps"', ofApps('pods'), [of('pods')]],
  ['its resources have "pods/exec", which only a rule that names it covers', { ...inNamespaces('web'), ...of('pods/exec') }, [inNamespaces('web')]],
  ['its resources have "pods/exec" of the core group, which only a rule that names it covers', of('pods/exec'), [of('*')]],
  ['its resources have "pods" of every group', ofEvery('pods'), [of('pods')]],
  ['its resources have "pods/exec" of group "apps", which only a rule that names it covers', ofApps('pods/exec'), [ofEvery('pods/exec')]],
  ['its resources set no limit', inNamespaces('web'), [of('pods')]],
  ['its resourceNames for "pods" of the core group go beyond', of('pods'), [named(['a'], of('pods'))]],
  ['its resourceNames for "pods" of the core group go beyond', named(['b'], of('pods')), [named(['a'], of('pods'))]],
  ['its resourceNames for "pods" of group "apps" go beyond', ofApps('pods'), [named(['a'], ofEvery('pods'))]],
  ['its namespaces have "web"', inNamespaces('dev', 'web'), [inNamespaces('dev')]],
  ['its nonResourceURLs have "/metrics"', onPaths('/metrics'), [onPaths('/healthz')]],
  ['its resources have "pods" of the core group', of('pods'), [onTargets('Cluster'), of('services'), onPaths('*')]],
  ['its resourceNames stand without resources', { resourceNames: ['a'] }, [of('*')]],
  ['its field verbs is missing or not as the schema demands', verbs('*'), [of('*')]],
])('the message names the uncovered part compared with the nearest rule: %s (11.8)', (because, child, parents) => {
  expect(firstUncoveredEntry(scopeOf(child), scopeOf(...parents))?.because).toBe(because)
})

test('the message truncates long values and escapes unusual ones', () => {
  const long = firstUncoveredEntry(project('x'.repeat(300)), project('a'))
  expect(long?.because).toBe(`project "${'x'.repeat(64)}…"`)
  expect(firstUncoveredEntry(project('a\nb'), project('a'))?.because).toBe('project "a\\nb"')
  expect(firstUncoveredEntry({ ['y'.repeat(300)]: [] }, project('a'))?.path.length).toBeLessThan(80)
})
