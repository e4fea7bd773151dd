import {
  apiVersionOf,
  type Resource,
  SELF_SUBJECT_ACCESS_REVIEWS as REVIEWS,
} from '../../api/names.ts'
import { pathOf } from './client.ts'
import { type ClientDeps, send } from './request.ts'

/** A request of this process that the API server may allow. */
interface AccessQuestion {
  readonly verb: string
  readonly resource: Resource
  readonly namespace: string
  /** Empty = every object of the namespace. */
  readonly name: string
}

/**
 * Whether the API server allows a request of this process, without making it: a refused one would stand in audit logs.
 *
 * @throws StatusError for an error response, NoResponseError for none
 */
export async function isAllowed(
  deps: ClientDeps,
  { verb, resource, namespace, name }: AccessQuestion,
  signal: AbortSignal,
): Promise<boolean> {
  const { group, version, plural } = resource
  const resourceAttributes = { verb, group, version, resource: plural, namespace, name }
  const answer = (await send(deps, {
    method: 'POST',
    path: pathOf(REVIEWS, {}),
    body: {
      apiVersion: apiVersionOf(REVIEWS),
      kind: REVIEWS.kind,
      metadata: {},
      spec: { resourceAttributes },
    },
    contentType: 'application/json',
    signal,
  })) as { readonly status?: { readonly allowed?: unknown } }
  return answer.status?.allowed === true
}
