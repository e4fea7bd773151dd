import type { RequestInfo, RequestTarget } from '../../../../src/domain/scope/request-info.ts'

// Two names of each kind are those that scopes use. The third is one that no scope names: only a
// wildcard, or leaving a field out, grants it.

const TARGETS: readonly RequestTarget[] = [
  { kind: 'Management' },
  ...['c1', 'c2', 'c-other'].map((cluster) => ({ kind: 'Cluster', cluster }) as const),
  ...[
    ['a', 'v1'],
    ['a', 'v2'],
    ['a', 'v-other'],
    ['b', 'v1'],
    ['b', 'v2'],
    ['other', 'v1'],
    ['other', 'v2'],
    ['other', 'v-other'],
  ].flatMap(([project = '', name = '']) => [
    { kind: 'ProjectVirtualCluster', project, virtualCluster: name } as const,
    { kind: 'ProjectSpace', project, space: name.replace('v', 's') } as const,
  ]),
]

const VERBS = ['get', 'delete', 'impersonate', 'watch']

const RESOURCES: readonly (readonly [group: string, resource: string, subresource: string])[] = [
  ['', 'pods', ''],
  ['', 'pods', 'log'],
  ['', 'pods', 'exec'],
  ['', 'jobs', ''],
  ['', 'jobs', 'log'],
  ['', 'services', 'proxy'],
  ['', 'nodes', 'proxy'],
  ['', 'serviceaccounts', 'token'],
  ['', 'namespaces', ''],
  ['apps', 'pods', 'exec'],
  ['apps', 'deployments', ''],
  ['apps', 'deployments', 'scale'],
  ['apps', 'machines', 'vnc'],
  ['other', 'jobs', ''],
  ['other', 'pods', 'log'],
  ['other', 'pods', 'exec'],
]

/** Namespace and name: in a namespace or not, of an instance or of none. */
const PLACES: readonly (readonly [namespace: string, name: string])[] = [
  ['', 'm'],
  ['p-a', ''],
  ['p-a', 'm'],
  ['p-a', 'n'],
  ['p-a', 'other'],
  ['p-b', 'm'],
  ['p-other', 'n'],
  ['out', 'm'],
]

const PATHS = ['/', '/healthz', '/healthz/', '/healthz/a', '/healthz/a/b', '/other']

/** Every request that there is. */
export const UNIVERSE: readonly RequestInfo[] = TARGETS.flatMap((target) =>
  VERBS.flatMap((verb) => [
    ...PATHS.map((path) => ({ target, verb, path })),
    ...RESOURCES.flatMap(([group, resource, subresource]) =>
      PLACES.map(([namespace, name]) => {
        return { target, verb, group, version: 'v1', resource, subresource, namespace, name }
      }),
    ),
  ]),
)
