// How tables write scopes, requests and answers of the three ways.
import type { Scope } from '../../src/api/scope.gen.ts'
import { scopeOf } from '../unit/domain/scope/scope-builder.ts'

/** The answer: a status code, who refuses by a 403, or the answer to a self access review. */
export type Expected = number | 'scope' | 'RBAC' | 'own kinds' | 'yes' | 'no'

/** A scope, with the requests of its rows. */
export interface ScopeRows {
  readonly name: string
  readonly scope: Scope | null
  /** The token is of a key without a scope; absent = of a key with this scope. */
  readonly owner?: 'unscoped'
  readonly rows: readonly (readonly [request: string, expected: Expected])[]
}

/** Namespace p-a. */
export const A = '/api/v1/namespaces/p-a'
/** Namespace p-b. */
export const B = '/api/v1/namespaces/p-b'
/** Deployments and the like in p-a. */
export const APPS = '/apis/apps/v1/namespaces/p-a'
/** Roles. */
export const RBAC = '/apis/rbac.authorization.k8s.io/v1'
/** Our own kinds. */
export const OWN = '/apis/management.platform.sh/v1'
const AUTHORIZATION = '/apis/authorization.k8s.io/v1'

const review = (kind: string, spec: object = {}): string =>
  JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind, spec })

/** A self access review of these attributes. */
export const accessReview = (spec: object): string =>
  `POST ${AUTHORIZATION}/selfsubjectaccessreviews ${review('SelfSubjectAccessReview', spec)}`

/** `kubectl auth can-i` in p-a. */
export const canI = (verb: string, resource: string, rest: object = {}): string =>
  accessReview({ resourceAttributes: { verb, resource, namespace: 'p-a', ...rest } })

/** The same for a path. */
export const canIPath = (verb: string, path: string): string =>
  accessReview({ nonResourceAttributes: { verb, path } })

/** `kubectl auth can-i --list`. */
export const LIST_RIGHTS = `POST ${AUTHORIZATION}/selfsubjectrulesreviews ${review('SelfSubjectRulesReview', { namespace: 'p-a' })}`
/** `kubectl auth whoami`. */
export const WHOAMI = `POST /apis/authentication.k8s.io/v1/selfsubjectreviews ${JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })}`

/** A scope of one rule with these fields. */
export const rule = (...parts: readonly object[]): Scope => scopeOf(Object.assign({}, ...parts))

/** What 11.7 holds back, with what each answers where it is granted: a Pod without a node, a Node without an address. */
const SENSITIVE: readonly (readonly [request: string, granted: Expected])[] = [
  [`POST ${A}/pods/m/exec?command=id&stdout=true`, 400],
  [`GET ${A}/pods/m/exec?command=id&stdout=true websocket`, 400],
  [`POST ${A}/pods/m/portforward spdy`, 400],
  [`GET ${A}/pods/m/attach?stdout=true websocket`, 400],
  [`PATCH ${A}/pods/m/ephemeralcontainers strategic`, 200],
  [`POST ${A}/serviceaccounts/m/token`, 201],
  ['GET /api/v1/nodes/none/proxy/metrics', 404],
  ['PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval', 404],
  [canI('escalate', 'clusterroles', { group: 'rbac.authorization.k8s.io' }), 'yes'],
  [canI('bind', 'roles', { group: 'rbac.authorization.k8s.io' }), 'yes'],
  [canI('impersonate', 'users'), 'yes'],
  [canI('impersonate', 'serviceaccounts'), 'yes'],
  [canI('approve', 'signers', { group: 'certificates.k8s.io' }), 'yes'],
]

/** These requests. @param refused those that the scope refuses, beside the verbs of reviews; null = it grants all */
export const sensitive = (refused: RegExp | null): ScopeRows['rows'] =>
  SENSITIVE.map(([request, granted]) => {
    if (refused === null) return [request, granted]
    if (granted === 'yes') return [request, 'no']
    return [request, refused.test(request) ? 'scope' : granted]
  })
