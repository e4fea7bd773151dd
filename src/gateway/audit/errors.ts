// The refusals about the audit log: of requests that must be recorded while it cannot be written (contract 22.2), and of
// questions to it (22.4).
import { refusalCatalogue } from '../../serving/http/answer.ts'

const AUDIT_FAILED =
  'the audit policy names the request, and the audit log cannot be written: see [the audit log](audit.md#when-records-cannot-be-written)'

const ASKED = 'at `/audit/events` of the management cluster: see [the audit log](audit.md#ask-it)'

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
      'there is no data store of audit events: set audit.dataStoreEndpoint in the Config, or read the files of each gateway with management-operator audit --path',
    because: ASKED,
  },
  eventsNotGranted: {
    reason: 'Forbidden',
    message: 'RBAC does not grant this user <verb> on the path <path>',
    because: ASKED,
    remedy: 'bind ClusterRole `platform-audit-viewer` to the user',
  },
  queryMalformed: {
    reason: 'BadRequest',
    message: '<fault>',
    shown: '…; the filters are since, until, …, each at most once',
    because: ASKED,
  },
  queryOfOtherReplica: {
    reason: 'BadRequest',
    message:
      'continue is of another replica, which has a data store of its own: this one is <replica>. Ask again without it',
    because: ASKED,
    remedy: 'use one database for all replicas: see [the data store](audit.md#the-data-store)',
  },
  tooManyQueries: {
    reason: 'TooManyRequests',
    message:
      'too many questions to the audit log at this gateway (limit <limit>); try again in 1 s',
    headers: { 'retry-after': '1' },
    because: ASKED,
  },
  queryTooLong: {
    reason: 'ServiceUnavailable',
    message: 'the question took longer than 10 s: narrow it, as by since and until',
    because: ASKED,
  },
  dataStoreUnavailable: {
    reason: 'ServiceUnavailable',
    message: 'the data store of audit events cannot be used now',
    headers: { 'retry-after': '5' },
    because: ASKED,
    remedy: 'see [the data store](audit.md#the-data-store); the log of the gateway has the reason',
  },
})
