// Answers questions to the audit log at `/audit/events` of the management cluster (contract 22.4), once the scope of the key grants
// that path.
import { AUDIT_EVENTS_PATH } from '../../domain/audit/query.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import { AUDIT_ERRORS } from '../audit/errors.ts'
import type { EventQueries } from '../audit/event-queries.ts'
import { ERRORS } from '../errors.ts'
import { mayChange } from '../proxy/forward.ts'
import { type Stage, known } from '../request-context.ts'
import { answerIfGranted } from './granted-path.ts'

/** The dependencies of the stage. */
export interface AuditEventsDeps {
  readonly eventQueries: Pick<EventQueries, 'answer'>
}

const ONLY_READS = refuse(ERRORS.onlyReads)

/** Answers whom RBAC grants the path too. */
export const auditEvents: Stage<AuditEventsDeps> = (context, { eventQueries }) => {
  const { attributes, query } = known(context, 'request')
  const isAsked =
    attributes.target.kind === 'Management' &&
    !isResourceRequest(attributes) &&
    attributes.path === AUDIT_EVENTS_PATH
  if (!isAsked) return null
  if (mayChange(context.http)) return ONLY_READS
  const asked = { path: AUDIT_EVENTS_PATH, verb: attributes.verb }
  return answerIfGranted(context, asked, {
    granted: () => eventQueries.answer(query),
    refused: () => refuse(AUDIT_ERRORS.eventsNotGranted, asked),
  })
}
