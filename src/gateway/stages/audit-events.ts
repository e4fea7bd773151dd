// Answers questions to the audit log at `/audit/events` of the management cluster (contract 22.4), once the scope of the key grants
// that path.
import { keyCaller } from '../../authn/caller.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import type { Answer } from '../../serving/http/answer.ts'
import { refuse } from '../../serving/http/answer.ts'
import { AUDIT_ERRORS } from '../audit/errors.ts'
import type { EventQueries } from '../audit/event-queries.ts'
import { ERRORS } from '../errors.ts'
import { mayChange } from '../proxy/forward.ts'
import { type RequestContext, type Stage, known } from '../request-context.ts'
import { isAllowed } from '../selfservice/access-review.ts'
import { answerToFailure } from '../selfservice/handler.ts'

/** Behind the path of the management cluster. */
const EVENTS_PATH = '/audit/events'

/** The dependencies of the stage. */
export interface AuditEventsDeps {
  readonly eventQueries: Pick<EventQueries, 'answer'>
}

const ONLY_READS = refuse(ERRORS.onlyReads)

/** Answers whom RBAC grants the path too. */
export const auditEvents: Stage<AuditEventsDeps> = (context, { eventQueries }) => {
  const { attributes } = known(context, 'request')
  const isAsked =
    attributes.target.kind === 'Management' &&
    !isResourceRequest(attributes) &&
    attributes.path === EVENTS_PATH
  if (!isAsked) return null
  if (mayChange(context.http)) return ONLY_READS
  return answer(context, eventQueries).catch(answerToFailure)
}

async function answer(
  context: RequestContext,
  eventQueries: AuditEventsDeps['eventQueries'],
): Promise<Answer> {
  const { attributes, query } = known(context, 'request')
  const asked = { path: EVENTS_PATH, verb: attributes.verb }
  const client = {
    upstream: known(context, 'resolved').upstream,
    call: context.http,
    caller: keyCaller(known(context, 'caller')),
    signal: known(context, 'admitted').lease.signal,
  }
  const isGranted = await isAllowed(client, { nonResourceAttributes: asked })
  return isGranted ? eventQueries.answer(query) : refuse(AUDIT_ERRORS.eventsNotGranted, asked)
}
