// Reviews as a kube-apiserver sends them, of a token of user ada on cluster c1.
import type { Scope } from '../../../../src/api/scope.gen.ts'
import {
  type WebhookContext,
  type WebhookDecision,
  decideReview,
} from '../../../../src/gateway/webhook/subject-access-review.ts'

/** The cluster whose API server asks. */
export const CLUSTER = 'c1'

/** The token of the reviews. */
export const TOKEN_ID = '5f0e7a52-9d0c-4c63-8a55-0d4f5f3a1b22'

/** Nothing is revoked, the settings are known, and one space of the cluster has namespace `team`. */
export const CONTEXT: WebhookContext = {
  cluster: CLUSTER,
  scopeContext: { projectNamespacePrefix: 'p-', roleRules: () => [] },
  revocation: { isRevoked: () => false, unknownSince: () => null },
  spaces: () => [{ project: 'p', space: 's', namespace: 'team' }],
}

/** The text of a scope in an extra; null = unrestricted. */
const scopeText = (scope: Scope | null): string => (scope === null ? '*' : JSON.stringify(scope))

/** The extras of a token at the API server itself. */
export const extraOf = (scope: Scope | null): Readonly<Record<string, unknown>> => ({
  'platform.sh/scope': [scopeText(scope)],
  'platform.sh/token-id': [TOKEN_ID],
  'platform.sh/name': ['ci'],
  'authentication.kubernetes.io/credential-id': [`JTI=${TOKEN_ID}`],
})

/** The extras of a token that came through the direct endpoint. */
export const forwardedExtraOf = (scope: Scope | null): Readonly<Record<string, unknown>> => ({
  'platform.sh/access-key': ['ci'],
  'platform.sh/token-id': [TOKEN_ID],
  'platform.sh/scope': [scopeText(scope)],
})

/** `get pods`, `create pods/exec x`, `list deployments.apps`, as resourceAttributes; `get /healthz` for a path. */
export function attributesOf(text: string, namespace = 'team'): object {
  const [verb = '', what = '', name] = text.split(' ')
  if (what.startsWith('/')) return { nonResourceAttributes: { verb, path: what } }
  const [resourceAndGroup = '', subresource] = what.split('/')
  const [resource = '', ...group] = resourceAndGroup.split('.')
  const attributes = {
    namespace,
    verb,
    group: group.join('.'),
    version: 'v1',
    resource,
    subresource,
    name,
  }
  // An API server omits empty attributes.
  return {
    resourceAttributes: Object.fromEntries(Object.entries(attributes).filter(([, value]) => value)),
  }
}

/** The spec of a review, with what `given` changes. */
export const specOf = (extra: object, attributes: object, given: object = {}): object => ({
  ...attributes,
  user: 'platform:user:ada',
  groups: ['platform:authenticated', 'system:authenticated'],
  uid: 'u-1',
  extra,
  ...given,
})

/** The decision on a request with this scope, sent to the API server itself. */
export const decided = (
  scope: Scope | null,
  text: string,
  namespace?: string,
  context: Partial<WebhookContext> = {},
): WebhookDecision =>
  decideReview(specOf(extraOf(scope), attributesOf(text, namespace)), { ...CONTEXT, ...context })
