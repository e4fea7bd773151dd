// Scopes of targets, and none, and what requests with them are answered by each of the three ways (contract 11.2 to 11.4).
import type { Scope } from '../../src/api/scope.gen.ts'
import {
  cluster,
  of,
  onTargets,
  project,
  role,
  scopeOf,
  space,
  verbs,
  virtualCluster,
} from '../unit/domain/scope/scope-builder.ts'
import {
  A,
  B,
  type Expected,
  LIST_RIGHTS,
  OWN,
  RBAC,
  type ScopeRows,
  WHOAMI,
  canI,
  rule,
  sensitive,
} from './three-ways-rows.ts'

/** Scopes of targets. */
export const TARGET_ROWS: readonly ScopeRows[] = [
  {
    name: 'no scope',
    scope: null,
    rows: [
      [`GET ${A}/configmaps`, 200],
      [`GET ${A}/configmaps/m`, 200],
      [`GET ${A}/configmaps/none`, 404],
      [`GET ${A}/configmaps?watch=1`, 200],
      [`GET ${A}/secrets/m`, 'RBAC'],
      [`GET ${B}/secrets/m`, 200],
      ['GET /apis/coordination.k8s.io/v1/leases', 'RBAC'],
      [`POST ${A}/configmaps`, 201],
      [`PUT ${A}/configmaps/m`, 200],
      [`PUT ${A}/services/none`, 201],
      [`PUT ${A}/pods/none`, 404],
      [`PATCH ${A}/configmaps/m`, 200],
      [`PATCH ${A}/configmaps/m apply`, 200],
      [`PATCH ${A}/configmaps/none apply`, 201],
      [`DELETE ${A}/configmaps/m`, 200],
      [`DELETE ${A}/configmaps`, 200],
      [`GET ${A}/pods/m/log`, 204],
      ['GET /apis/machines.example.com/v1/machines', 404],
      [`GET ${OWN}/ownedaccesskeys`, 'own kinds'],
      [`POST ${OWN}/ownedaccesskeys`, 'own kinds'],
      [`GET ${OWN}`, 404],
      ['GET /logs', 'RBAC'],
      ['HEAD /healthz', 200],
      ['HEAD /logs', 403],
      [`HEAD ${A}/configmaps/m`, 405],
      [WHOAMI, 201],
      [LIST_RIGHTS, 201],
      [canI('*', '*', { group: '*' }), 'no'],
      ...sensitive(null),
    ],
  },
  {
    name: 'this cluster',
    scope: cluster('berlin'),
    rows: [
      [`GET ${A}/configmaps/m`, 200],
      [`GET ${A}/secrets/m`, 'RBAC'],
      ['GET /metrics', 200],
      ['DELETE /api/v1/namespaces/p-a', 200],
      ['GET /api', 200],
      ['GET /apis', 200],
      ['GET /version', 200],
      ['GET /openapi/v3', 200],
      [`GET ${OWN}/configs/platform-manager-config`, 'own kinds'],
      [canI('*', '*', { group: '*' }), 'no'],
      [canI('*', 'pods'), 'no'],
      [canI('get', 'configs', { group: 'management.platform.sh' }), 'no'],
      [LIST_RIGHTS, 201],
      ...sensitive(/\/token|nodes\/none\/proxy|\/approval/),
    ],
  },
  {
    name: 'this cluster, by a token of a key without a scope',
    scope: cluster('berlin'),
    owner: 'unscoped',
    rows: [
      [`GET ${A}/configmaps/m`, 200],
      [`POST ${A}/serviceaccounts/m/token`, 'scope'],
      [canI('impersonate', 'users'), 'no'],
    ],
  },
  {
    name: 'all clusters',
    scope: cluster('*'),
    rows: [
      [`GET ${A}/configmaps`, 200],
      [`POST ${A}/serviceaccounts/m/token`, 'scope'],
      [WHOAMI, 201],
    ],
  },
  {
    name: 'another cluster',
    scope: cluster('paris'),
    rows: [
      [`GET ${A}/configmaps/m`, 'scope'],
      ['GET /version', 'scope'],
      [WHOAMI, 'scope'],
    ],
  },
  {
    name: 'a project, a space and a virtual cluster',
    scope: { ...project('a'), ...space('a', '*'), ...virtualCluster('*', '*') },
    rows: [
      [`GET ${A}/configmaps/m`, 'scope'],
      ['GET /api/v1/namespaces/p-a', 'scope'],
      ['GET /version', 'scope'],
      [canI('get', 'pods'), 'scope'],
      [LIST_RIGHTS, 'scope'],
    ],
  },
  {
    name: 'roles alone',
    scope: { roles: [{ role: 'agent' }, { role: 'platformCLI' }] },
    rows: [
      [`GET ${A}/pods`, 'scope'],
      ['GET /version', 'scope'],
    ],
  },
  {
    name: 'a role beside a rule',
    scope: { ...role('workspace'), ...rule(verbs('get'), of('pods')) },
    rows: [
      [`GET ${A}/pods/m`, 200],
      [`GET ${A}/pods`, 'scope'],
      ['GET /version', 200],
    ],
  },
  {
    name: 'all requests to clusters',
    scope: rule(onTargets('Cluster')),
    rows: [
      [`GET ${A}/configmaps`, 200],
      ['GET /metrics', 200],
      [`POST ${A}/serviceaccounts/m/token`, 'scope'],
    ],
  },
  {
    name: 'all requests elsewhere',
    scope: rule(onTargets('Management', 'ProjectSpace', 'ProjectVirtualCluster')),
    rows: [
      [`GET ${A}/configmaps`, 'scope'],
      ['GET /version', 'scope'],
    ],
  },
  {
    name: 'rules for this and for another cluster',
    scope: scopeOf(
      { ...verbs('get'), ...of('configmaps'), cluster: 'berlin' },
      { ...verbs('list'), ...of('configmaps'), cluster: 'paris' },
    ),
    rows: [
      [`GET ${A}/configmaps/m`, 200],
      [`GET ${A}/configmaps`, 'scope'],
      [canI('get', 'configmaps'), 'yes'],
      [canI('list', 'configmaps'), 'no'],
    ],
  },
]

/** A request that the ways answer otherwise, by the rules. */
export interface Exception {
  readonly name: string
  readonly scope: Scope
  readonly request: string
  readonly gateway: Expected
  readonly direct: Expected
  readonly stock: Expected
}

const WIDER_ROLE = JSON.stringify({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'wider' },
  rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
})
const WIDER_BINDING = JSON.stringify({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'wider' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [],
})

/** What a review does not tell, and what only the API server asks, within its handlers. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    name: 'server-side apply of an object that exists is a patch to the webhook',
    scope: rule(verbs('patch'), of('configmaps')),
    request: `PATCH ${A}/configmaps/m apply`,
    gateway: 'scope',
    direct: 'scope',
    stock: 200,
  },
  {
    name: 'a scope that lists another cluster makes a token for that one alone, whatever its rules grant',
    scope: { ...cluster('paris'), ...rule(verbs('get'), of('configmaps')) },
    request: `GET ${A}/configmaps/m`,
    gateway: 200,
    direct: 401,
    stock: 401,
  },
  {
    name: 'the API server asks for escalate where a role grants more than its author has',
    scope: cluster('berlin'),
    request: `POST ${RBAC}/clusterroles ${WIDER_ROLE}`,
    gateway: 201,
    direct: 'RBAC',
    stock: 'RBAC',
  },
  {
    name: 'the API server asks for bind where a binding grants more than its author has',
    scope: cluster('berlin'),
    request: `POST ${RBAC}/clusterrolebindings ${WIDER_BINDING}`,
    gateway: 201,
    direct: 'RBAC',
    stock: 'RBAC',
  },
]
