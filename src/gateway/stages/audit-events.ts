// Answers questions to the audit log at `/audit/events` of the management cluster (contract 22.4), once the scope of the key grants
// that path.
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import { AUDIT_ERRORS } from '../audit/errors.ts'
import { type Stage, known } from '../request-context.ts'

/** Behind the path of the management cluster. */
const EVENTS_PATH = '/audit/events'

const NO_DATA_STORE = refuse(AUDIT_ERRORS.noDataStore)

/** Says where the events are: this process has no data store to ask. */
export const auditEvents: Stage = (context) => {
  const { attributes } = known(context, 'request')
  const isAsked =
    attributes.target.kind === 'Management' &&
    !isResourceRequest(attributes) &&
    attributes.path === EVENTS_PATH
  return isAsked ? NO_DATA_STORE : null
}
