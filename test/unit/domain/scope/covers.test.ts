import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { firstUncoveredEntry } from '../../../../src/domain/scope/covers.ts'
import { type Sent, cli, cluster, project, role, space, virtualCluster } from './scope-builder.ts'

type Row = readonly [name: string, child: Sent, parent: Sent, beyond: string | null]

/** The role agent in a project and in virtual clusters. */
const inBoth = (name: string, ...virtualClusters: readonly string[]): Scope =>
  role('agent', { projects: [name], virtualClusters })

const pathBeyond = (child: unknown, parent: unknown): string | null =>
  firstUncoveredEntry(child as Scope | null, parent as Scope | null)?.path ?? null

// biome-ignore format: a table
const UNRESTRICTED: readonly Row[] = [
  ['both are unrestricted', null, null, null],
  ['the parent is unrestricted', project('web'), null, null],
  ['the parent is unrestricted, the child malformed', { projects: 'web' }, null, null],
  ['the parent is unrestricted, the child unknown', { planets: ['earth'] }, null, null],
  ['no scope inherits the parent’s', null, project('web'), null],
  ['no scope inherits what grants nothing', null, {}, null],
  ['everything by name is less than unrestricted', { ...project('*'), ...cluster('*') }, role('agent'), 'scope.projects[0]'],
]

// biome-ignore format: a table
const TARGETS: readonly Row[] = [
  ['the same project', project('web'), project('web'), null],
  ['a project of all', project('web'), project('*'), null],
  ['all projects of all', project('*'), project('*'), null],
  ['another project', project('web'), project('dev'), 'scope.projects[0]'],
  ['all projects of one', project('*'), project('web'), 'scope.projects[0]'],
  ['a project whose name begins alike', project('web'), project('we'), 'scope.projects[0]'],
  ['a project that differs in case', project('Web'), project('web'), 'scope.projects[0]'],
  ['one of two projects', project('b'), { projects: [{ project: 'a' }, { project: 'b' }] }, null],
  ['two projects of two', { projects: [{ project: 'b' }, { project: 'a' }] }, { projects: [{ project: 'a' }, { project: 'b' }] }, null],
  ['the second is not covered', { projects: [{ project: 'a' }, { project: 'x' }] }, project('a'), 'scope.projects[1]'],
  ['a space of its project', space('web', 'dev'), project('web'), null],
  ['a space of all projects', space('web', 'dev'), project('*'), null],
  ['all spaces of a project', space('web', '*'), project('web'), null],
  ['a space in all projects of one project', space('*', 'dev'), project('web'), 'scope.spaces[0]'],
  ['a space in all projects of all projects', space('*', 'dev'), project('*'), null],
  ['a space of another project', space('web', 'dev'), project('dev'), 'scope.spaces[0]'],
  ['a project of its spaces', project('web'), space('web', '*'), 'scope.projects[0]'],
  ['the same space', space('web', 'dev'), space('web', 'dev'), null],
  ['a space of all spaces of the project', space('web', 'dev'), space('web', '*'), null],
  ['a space of that name in all projects', space('web', 'dev'), space('*', 'dev'), null],
  ['another space', space('web', 'dev'), space('web', 'test'), 'scope.spaces[0]'],
  ['a space of that name in another project', space('web', 'dev'), space('shop', 'dev'), 'scope.spaces[0]'],
  ['all spaces of one', space('web', '*'), space('web', 'dev'), 'scope.spaces[0]'],
  ['names that are the same joined (B12)', space('a', 'b-c'), space('a-b', 'c'), 'scope.spaces[0]'],
  ['a space of a virtual cluster of that name', space('web', 'dev'), virtualCluster('web', 'dev'), 'scope.spaces[0]'],
  ['a virtual cluster of its project', virtualCluster('web', 'v'), project('web'), null],
  ['the same virtual cluster', virtualCluster('web', 'v'), virtualCluster('web', 'v'), null],
  ['a virtual cluster of all', virtualCluster('web', 'v'), virtualCluster('*', '*'), null],
  ['another virtual cluster', virtualCluster('web', 'v'), virtualCluster('web', 'w'), 'scope.virtualClusters[0]'],
  ['all virtual clusters of one', virtualCluster('web', '*'), virtualCluster('web', 'v'), 'scope.virtualClusters[0]'],
  ['a virtual cluster of a space of that name', virtualCluster('web', 'v'), space('web', 'v'), 'scope.virtualClusters[0]'],
  ['the same cluster', cluster('c'), cluster('c'), null],
  ['a cluster of all', cluster('c'), cluster('*'), null],
  ['another cluster', cluster('c'), cluster('d'), 'scope.clusters[0]'],
  ['all clusters of one', cluster('*'), cluster('c'), 'scope.clusters[0]'],
  ['a cluster of all projects', cluster('c'), project('*'), 'scope.clusters[0]'],
  ['a project of all clusters', project('web'), cluster('*'), 'scope.projects[0]'],
  ['all projects of two that may be all', project('*'), { projects: [{ project: 'a' }, { project: 'b' }] }, 'scope.projects[0]'],
  ['a target of a rule for every request: it opens sessions', cluster('c'), { rules: [{ cluster: 'c' }] }, 'scope.clusters[0]'],
  ['a project of a role', project('web'), role('agent', { projects: ['web'] }), 'scope.projects[0]'],
]

// biome-ignore format: a table
const ROLES: readonly Row[] = [
  ['the same role', role('agent'), role('agent'), null],
  ['another role', role('workspace'), role('agent'), 'scope.roles[0]'],
  ['a role that agent implies', role('network-peer'), role('agent'), null],
  ['a role that vcluster implies', role('network-peer'), role('vcluster'), null],
  ['an implied role of another', role('network-peer'), role('workspace'), 'scope.roles[0]'],
  ['a role that implies it', role('agent'), role('network-peer'), 'scope.roles[0]'],
  ['two roles that imply the same', role('agent'), role('vcluster'), 'scope.roles[0]'],
  ['platformCLI in two spellings', role('platform-cli'), role('platformCLI'), null],
  ['platformCLI of the old field', role('platformCLI'), cli, null],
  ['the old field of platformCLI', cli, role('platform-cli'), null],
  ['the old field of platformCLI in a project', cli, role('platformCLI', { projects: ['web'] }), 'scope.allowPlatformCli'],
  ['the old field of another role', cli, role('agent'), 'scope.allowPlatformCli'],
  ['platformCLI in a project of the old field', role('platformCLI', { projects: ['web'] }), cli, null],
  ['an unknown role of itself', role('no-such'), role('no-such'), null],
  ['an unknown role of another', role('no-such'), role('agent'), 'scope.roles[0]'],
  ['a role by the name of a property', role('constructor'), role('agent'), 'scope.roles[0]'],
  ['a role in other letters', role('Agent'), role('agent'), 'scope.roles[0]'],
  ['a project of no limit', role('agent', { projects: ['a'] }), role('agent'), null],
  ['no limit of a project', role('agent'), role('agent', { projects: ['a'] }), 'scope.roles[0]'],
  ['no limit of all projects', role('agent'), role('agent', { projects: ['*'] }), 'scope.roles[0]'],
  ['no limit of a virtual cluster', role('agent'), role('agent', { virtualClusters: ['v'] }), 'scope.roles[0]'],
  ['one of two projects', role('agent', { projects: ['b'] }), role('agent', { projects: ['a', 'b'] }), null],
  ['two projects of one', role('agent', { projects: ['a', 'b'] }), role('agent', { projects: ['a'] }), 'scope.roles[0]'],
  ['a project of all', role('agent', { projects: ['a'] }), role('agent', { projects: ['*'] }), null],
  ['all projects of one', role('agent', { projects: ['*'] }), role('agent', { projects: ['a'] }), 'scope.roles[0]'],
  ['limits pass to the implied role', role('network-peer', { projects: ['a'] }), role('agent', { projects: ['a'] }), null],
  ['the implied role without them', role('network-peer'), role('agent', { projects: ['a'] }), 'scope.roles[0]'],
  ['a virtual cluster more', inBoth('a', 'v'), role('agent', { projects: ['a'] }), 'scope.roles[0]'],
  ['a virtual cluster less', role('agent', { projects: ['a'] }), inBoth('a', 'v'), null],
  ['both lists narrower', inBoth('a', 'v'), inBoth('*', 'v', 'w'), null],
  ['without projects Management has no limit', role('agent', { virtualClusters: ['v'] }), inBoth('a', 'v'), 'scope.roles[0]'],
  ['a project beside virtual clusters', inBoth('a', 'v'), role('agent', { virtualClusters: ['v'] }), 'scope.roles[0]'],
  ['a project of a virtual cluster', role('agent', { projects: ['a'] }), role('agent', { virtualClusters: ['*'] }), 'scope.roles[0]'],
  ['a virtual cluster of all projects', role('agent', { virtualClusters: ['v'] }), inBoth('*', 'v'), 'scope.roles[0]'],
  ['a virtual cluster of all', role('agent', { virtualClusters: ['v'] }), role('agent', { virtualClusters: ['*'] }), null],
  ['another virtual cluster', role('agent', { virtualClusters: ['v'] }), role('agent', { virtualClusters: ['w'] }), 'scope.roles[0]'],
  ['a role of all targets', role('agent'), { ...project('*'), ...cluster('*') }, 'scope.roles[0]'],
]

// biome-ignore format: a table
const MALFORMED: readonly Row[] = [
  ['a scope that sets nothing', {}, project('*'), 'scope'],
  ['a scope that sets false only', { allowPlatformCli: false }, project('*'), 'scope'],
  ['a scope of empty lists', { projects: [], rules: [] }, project('*'), 'scope'],
  ['nothing of nothing', {}, {}, 'scope'],
  ['false beside a list', { ...project('web'), allowPlatformCli: false }, project('web'), null],
  ['an unknown field, also in the parent', { ...project('web'), planets: [] }, { ...project('web'), planets: [] }, 'scope.planets'],
  ['an unknown field in the parent only', project('web'), { ...project('web'), planets: [] }, null],
  ['a field by the name of a property', JSON.parse('{"projects":[{"project":"web"}],"__proto__":[]}'), project('web'), 'scope.__proto__'],
  ['a list that is an object', { projects: { project: 'web' } }, project('*'), 'scope.projects'],
  ['a list that is null', { projects: null }, project('*'), 'scope.projects'],
  ['a list that is a text', { projects: '*' }, project('*'), 'scope.projects'],
  ['an entry that is a text', { projects: ['web'] }, project('*'), 'scope.projects[0]'],
  ['an entry that is null', { projects: [null] }, project('*'), 'scope.projects[0]'],
  ['an entry that is a list', { projects: [['web']] }, project('*'), 'scope.projects[0]'],
  ['an entry without its name', { projects: [{}] }, project('*'), 'scope.projects[0]'],
  ['an empty name', project(''), project('*'), 'scope.projects[0]'],
  ['part of a name', project('web-*'), project('*'), 'scope.projects[0]'],
  ['part of a name, in the parent too', project('web-*'), project('web-*'), 'scope.projects[0]'],
  ['a name that is a number', { projects: [{ project: 1 }] }, project('*'), 'scope.projects[0]'],
  ['an unknown field in an entry', { projects: [{ project: 'web', region: 'eu' }] }, project('*'), 'scope.projects[0]'],
  ['an unknown field in the parent’s entry', project('web'), { projects: [{ project: 'web', region: 'eu' }] }, 'scope.projects[0]'],
  ['an unknown field by the name of a property', { projects: [{ project: 'web', constructor: 'x' }] }, project('web'), 'scope.projects[0]'],
  ['a space without its project', { spaces: [{ space: 'dev' }] }, project('*'), 'scope.spaces[0]'],
  ['a space with a cluster', { spaces: [{ project: 'a', space: 'dev', cluster: 'c' }] }, project('*'), 'scope.spaces[0]'],
  ['a role in no project, once stored', role('agent', { projects: [] }), role('agent'), 'scope.roles[0]'],
  ['a role of a role in no project', role('agent'), role('agent', { projects: [] }), 'scope.roles[0]'],
  ['a role in no virtual cluster', role('agent', { virtualClusters: [] }), role('agent'), 'scope.roles[0]'],
  ['a role of a role in no virtual cluster', role('agent'), role('agent', { virtualClusters: [] }), 'scope.roles[0]'],
  ['a role with a text for projects', role('agent', { projects: 'web' }), role('agent'), 'scope.roles[0]'],
  ['a role of a role with a text for projects', role('agent', { projects: ['web'] }), role('agent', { projects: 'web' }), 'scope.roles[0]'],
  ['allowPlatformCli that is a text', { allowPlatformCli: 'true' }, cli, 'scope.allowPlatformCli'],
  ['allowPlatformCli of a text', cli, { allowPlatformCli: 'true' }, 'scope.allowPlatformCli'],
  ['a parent that sets nothing', project('web'), {}, 'scope.projects[0]'],
  ['a parent that is a list', project('web'), [], 'scope.projects[0]'],
  ['a parent that is left out', project('web'), undefined, 'scope.projects[0]'],
  ['a child that is left out', undefined, project('web'), 'scope'],
  ['a child that is a list', [], project('web'), 'scope'],
]

describe.each([
  ['with an unrestricted side', UNRESTRICTED],
  ['of targets (11.3)', TARGETS],
  ['of roles (11.4)', ROLES],
  ['of what the schema refuses (11.2)', MALFORMED],
] as const)('within %s (11.8)', (_, rows) => {
  test.each(rows)('%s', (_name, child, parent, beyond) => {
    expect(pathBeyond(child, parent)).toBe(beyond)
  })
})

test('reports the first uncovered entry, in the order of the lists', () => {
  const child = {
    rules: [{ verbs: ['get'] }],
    clusters: [{ cluster: 'c' }],
    roles: [{ role: 'agent' }],
  }
  expect(pathBeyond(child, role('agent'))).toBe('scope.clusters[0]')
  expect(pathBeyond({ ...child, planets: [] }, project('a'))).toBe('scope.planets')
})
