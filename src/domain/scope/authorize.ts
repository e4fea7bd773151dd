// The authorizer of scopes: whether a scope grants a request (contract 11.1, 11.3).
import type { Scope } from '../../api/scope.gen.ts'
import { parseJsonMap, quoteForMessage } from '../json/json.ts'
import { strictJsonError } from '../json/strict-json.ts'
import { ruleAllows, ruleAppliesTo, targetAllows, targetAppliesTo } from './grant-allows.ts'
import { type ScopeGrant, scopeEntriesOf } from './parse.ts'
import {
  type ScopeDecision,
  type RequestInfo,
  type RequestTarget,
  isResourceRequest,
  resourceWithSubresource,
  targetText,
} from './request-info.ts'
import { type RoleRules, roleAllows, roleAppliesTo } from './roles.ts'
import { isSensitiveRequest } from './sensitive.ts'

/** Settings and roles that a decision needs in addition to the scope. */
export interface ScopeContext {
  /** Prefix of the namespaces of projects in the management cluster (`projectNamespacePrefix`). */
  readonly projectNamespacePrefix: string
  readonly roleRules: RoleRules
}

/** A scope parsed once for many decisions; null = unrestricted, all rights of the key's user. */
export type ParsedScope = readonly ScopeGrant[] | null

/** Parses a scope. A malformed entry grants nothing (contract 11.2). */
export const parseScope = (scope: Scope | null): ParsedScope =>
  scope && scopeEntriesOf(scope).flatMap(({ grant }) => (grant.kind === 'malformed' ? [] : [grant]))

/**
 * Parses the scope in a token or an extra: `*` when unrestricted, else JSON (contract 7.1).
 *
 * @returns null when the text is neither `*` nor a JSON object that all parsers read alike
 */
export function parseScopeText(text: string): { readonly grants: ParsedScope } | null {
  if (text === '*') return { grants: null }
  const scope = strictJsonError(text) === null ? parseJsonMap(text) : null
  return scope && { grants: parseScope(scope) }
}

/**
 * Whether a scope grants a request (contract 11.1): it does if one of its entries does. A scope only narrows; RBAC
 * upstream still decides. On a target where a scope grants anything, it also grants discovery (11.3).
 */
export function authorize(
  grants: ParsedScope,
  request: RequestInfo,
  context: ScopeContext,
): ScopeDecision {
  if (grants === null) return ALLOWED
  // "All verbs" and "all resources" include sensitive ones, which no entry grants together with the others.
  if (asksForAll(request)) return { allowed: false, because: denialMessage(request) }
  const isGranted = isDiscovery(request)
    ? grants.some((grant) => grantAppliesTo(grant, request.target, context))
    : grants.some((grant) => grantAllows(grant, request, context))
  return isGranted ? ALLOWED : { allowed: false, because: denialMessage(request) }
}

const ALLOWED: ScopeDecision = { allowed: true }

/** Whether the request is for more than one right: no API has such a request, but an access review may (`can-i '*' '*'`). */
const asksForAll = (request: RequestInfo): boolean =>
  request.verb === '*' ||
  (isResourceRequest(request) &&
    [request.group, request.resource, request.subresource].includes('*'))

function grantAllows(grant: ScopeGrant, request: RequestInfo, context: ScopeContext): boolean {
  const { projectNamespacePrefix: prefix, roleRules } = context
  switch (grant.kind) {
    case 'rule':
      return ruleAllows(grant, request, prefix)
    case 'role':
      return roleAllows(grant, request, prefix, roleRules)
    case 'target':
      return targetAllows(grant, request, prefix)
    default:
      return grant satisfies never
  }
}

/** Whether the grant grants anything on the target. */
function grantAppliesTo(grant: ScopeGrant, target: RequestTarget, context: ScopeContext): boolean {
  const { projectNamespacePrefix: prefix, roleRules } = context
  switch (grant.kind) {
    case 'rule':
      return ruleAppliesTo(grant, target, prefix)
    case 'role':
      return roleAppliesTo(grant, target, roleRules)
    case 'target':
      return targetAppliesTo(grant, target)
    default:
      return grant satisfies never
  }
}

/**
 * Whether a scope grants anything on the target, so that the caller may learn whether it exists (contract 9.5, 11.3).
 */
export const grantsAnything = (
  grants: ParsedScope,
  target: RequestTarget,
  context: ScopeContext,
): boolean => grants === null || grants.some((grant) => grantAppliesTo(grant, target, context))

/**
 * Whether a request passes on the path of a space, whatever the scope: objects in its namespace, `get` of its Namespace,
 * discovery and self reviews (contract 11.9).
 */
export function authorizeInSpace(namespace: string, request: RequestInfo): ScopeDecision {
  if (isDiscovery(request)) return ALLOWED
  if (!isResourceRequest(request)) return outsideSpace(request)
  const { verb, group, resource, subresource } = request
  // The API server reads the name of any resource called `namespaces` as a namespace, whatever its group.
  const isAllowed = resource !== 'namespaces' || (verb === 'get' && `${group}${subresource}` === '')
  return isAllowed && request.namespace === namespace ? ALLOWED : outsideSpace(request)
}

const outsideSpace = (request: RequestInfo): ScopeDecision => ({
  allowed: false,
  because: `${requestText(request)} is outside the space`,
})

/** Describes the request but not the scope: the holder of the key may not know its scope. */
function denialMessage(request: RequestInfo): string {
  const sensitiveHint = isSensitiveRequest(request)
    ? ', which only a rule that names it grants'
    : ''
  return `the scope does not grant ${requestText(request)} of ${targetText(request.target)}${sensitiveHint}`
}

function requestText(request: RequestInfo): string {
  const { verb } = request
  if (!isResourceRequest(request))
    return `${quoteForMessage(verb)} on path ${quoteForMessage(request.path)}`
  const { group, namespace, name } = request
  const resource = quoteForMessage(
    group === ''
      ? resourceWithSubresource(request)
      : `${resourceWithSubresource(request)}.${group}`,
  )
  const instance = name === '' ? '' : ` ${quoteForMessage(name)}`
  const where = namespace === '' ? '' : ` in namespace ${quoteForMessage(namespace)}`
  return `${quoteForMessage(verb)} on ${resource}${instance}${where}`
}

/** Paths of discovery, OpenAPI and `/version` (contract 11.3). */
const DISCOVERY_ROOTS = ['/api', '/apis', '/openapi', '/version']

/** Resources for self reviews, by API group. */
const SELF_REVIEWS: ReadonlyMap<string, readonly string[]> = new Map([
  ['authentication.k8s.io', ['selfsubjectreviews']],
  ['authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']],
])

/** Whether the request is discovery, OpenAPI, `/version` or a self review. */
function isDiscovery(request: RequestInfo): boolean {
  const { verb } = request
  if (!isResourceRequest(request)) {
    const { path } = request
    const isRead = verb === 'get' || verb === 'head'
    return isRead && DISCOVERY_ROOTS.some((root) => path === root || path.startsWith(`${root}/`))
  }
  const { group, resource, subresource } = request
  const isReview = SELF_REVIEWS.get(group)?.includes(resource) ?? false
  return isReview && verb === 'create' && subresource === ''
}
