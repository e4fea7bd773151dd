// The target of a path, byte by byte (contract 9.1, 9.2).
import { expect, test } from 'vitest'
import type { RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import { directRoutesOf, gatewayRouteOf } from '../../../../src/gateway/targets/routes.ts'

const MANAGEMENT: RequestTarget = { kind: 'Management' }
const EAST: RequestTarget = { kind: 'Cluster', cluster: 'east' }
const VC: RequestTarget = { kind: 'ProjectVirtualCluster', project: 'p', virtualCluster: 'v' }
const SPACE: RequestTarget = { kind: 'ProjectSpace', project: 'p', space: 's' }

test.each<{ readonly path: string; readonly target: RequestTarget; readonly rest: string }>([
  { path: '/kubernetes/management', target: MANAGEMENT, rest: '' },
  { path: '/kubernetes/management?a', target: MANAGEMENT, rest: '?a' },
  {
    path: '/kubernetes/management/api/v1/pods?watch=1',
    target: MANAGEMENT,
    rest: '/api/v1/pods?watch=1',
  },
  { path: '/kubernetes/management/%2e%2e//x', target: MANAGEMENT, rest: '/%2e%2e//x' },
  { path: '/kubernetes/cluster/east', target: EAST, rest: '' },
  { path: '/kubernetes/cluster/east/api/v1', target: EAST, rest: '/api/v1' },
  {
    path: '/kubernetes/cluster/cluster/kubernetes/cluster/east',
    target: { kind: 'Cluster', cluster: 'cluster' },
    rest: '/kubernetes/cluster/east',
  },
  {
    path: '/kubernetes/cluster/%65ast/api',
    target: { kind: 'Cluster', cluster: '%65ast' },
    rest: '/api',
  },
  { path: '/kubernetes/cluster//api', target: { kind: 'Cluster', cluster: '' }, rest: '/api' },
  { path: '/kubernetes/project/p/virtualcluster/v/api', target: VC, rest: '/api' },
  { path: '/kubernetes/project/p/space/s?x', target: SPACE, rest: '?x' },
])('$path leads to a target, with the rest as it was sent (9.1)', ({ path, target, rest }) => {
  expect(gatewayRouteOf(path)).toEqual({ target, rest })
})

test.each([
  '/',
  '/kubernetes',
  '/kubernetes/managementx',
  '/kubernetes/%6danagement/api',
  '/kubernetes/cluster',
  '/kubernetes/clusters/east/api',
  '/kubernetes//cluster/east',
  '/kubernetes/Cluster/east',
  '/kubernetes/project/p',
  '/kubernetes/project/p/virtualcluster',
  '/kubernetes/project/p/spaces/s',
  '/kubernetes/project/p/q/space/s',
])('%s leads to no API (9.1)', (path) => {
  expect(gatewayRouteOf(path)).toBeNull()
})

const directRouteOf = directRoutesOf('east')

test.each<{ readonly path: string; readonly target: RequestTarget; readonly rest: string }>([
  { path: '/kubernetes/cluster', target: EAST, rest: '' },
  { path: '/kubernetes/cluster?x', target: EAST, rest: '?x' },
  { path: '/kubernetes/cluster/api/v1', target: EAST, rest: '/api/v1' },
  { path: '/kubernetes/cluster/east/api/v1', target: EAST, rest: '/east/api/v1' },
  { path: '/kubernetes/cluster//api', target: EAST, rest: '//api' },
  { path: '/kubernetes/project/p/virtualcluster/v/api', target: VC, rest: '/api' },
  { path: '/kubernetes/project/p/space/s?x', target: SPACE, rest: '?x' },
])('$path of a direct endpoint leads to its cluster or a project (9.2)', (row) => {
  expect(directRouteOf(row.path)).toEqual({ target: row.target, rest: row.rest })
})

test.each([
  '/kubernetes/management/api',
  '/kubernetes/clusterx',
  '/kubernetes/clusters/api',
  '/kubernetes/%63luster/api',
  '/kubernetes/project/p/spaces/s',
  '/authorize',
])('%s of a direct endpoint leads to no API (9.2)', (path) => {
  expect(directRouteOf(path)).toBeNull()
})
