// The refusals about the audit log: of requests that must be recorded while it cannot be written (contract 22.2), and of
// questions to it (22.4).
import { refusalCatalogue } from '../../serving/http/answer.ts'

const AUDIT_FAILED =
  'the audit policy names the request, and the audit log cannot be written: see [the audit log](audit.md#when-records-cannot-be-written)'

/** The catalogue, in the order of the documentation. */
export const AUDIT_ERRORS = refusalCatalogue({
  notRecordable: {
    reason: 'ServiceUnavailable',
    message: "the request can't be recorded in the audit log",
    headers: { 'retry-after': '1' },
    because: AUDIT_FAILED,
    remedy: 'see [When records cannot be written](audit.md#when-records-cannot-be-written)',
  },
  recordPending: {
    reason: 'InternalError',
    message: 'the request was carried out, but its record could not be written yet',
    because: AUDIT_FAILED,
    remedy: 'the same; see whether a write was done before it is repeated',
  },
  noDataStore: {
    reason: 'NotFound',
    message:
      'audit events cannot be asked for here, as there is no data store: management-operator audit --path reads the files of each gateway',
    because: 'at `/audit/events` of the management cluster: see [the audit log](audit.md#ask-it)',
  },
})
