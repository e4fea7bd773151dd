// The refusals of requests that must be recorded, while the audit log cannot be written (contract 22.2).
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
})
