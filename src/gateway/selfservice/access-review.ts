// Asks the API server's authorizers what a caller may do.
import { SELF_SUBJECT_ACCESS_REVIEWS } from '../../api/names.ts'
import { nestedField } from '../../domain/json/field-path.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { readReply, sendRequest, type UpstreamSender } from './upstream-client.ts'

/** A request to review, by the field of `spec` that describes it. */
type ReviewedAccess =
  | { readonly resourceAttributes: JsonMap }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } }

/** More bytes than the answer to a review has. */
const LONGEST_ANSWER = 64 * 1024

/**
 * Whether RBAC, or another authorizer of the API server, grants the caller this access.
 *
 * @throws UpstreamUnavailable also when the API server can't tell now
 */
export async function isAllowed(client: UpstreamSender, access: ReviewedAccess): Promise<boolean> {
  const { group, version, kind } = SELF_SUBJECT_ACCESS_REVIEWS
  const json = { apiVersion: `${group}/${version}`, kind, spec: { ...access } }
  const answer = await sendRequest(client, {
    as: { caller: client.caller },
    method: 'POST',
    resource: SELF_SUBJECT_ACCESS_REVIEWS,
    query: [],
    body: { type: 'application/json', json },
  })
  const reply = await readReply(answer, (bytes) => {
    if (bytes > LONGEST_ANSWER)
      throw new UpstreamUnavailable('unanswered', 'the answer to a review is too long')
  })
  if (reply.status === 429 || reply.status >= 500)
    throw new UpstreamUnavailable('unprocessed', `a review was answered ${reply.status}`)
  return nestedField(reply.json, ['status', 'allowed']) === true
}
