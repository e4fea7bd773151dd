// The refusals about the audit log: of requests that must be recorded while it cannot be written (contract 22.2), of questions
// to it (22.4), and of events that agents send (23.2).
import { refusalCatalogue } from '../../serving/http/answer.ts'

const AUDIT_FAILED =
  'the audit policy names the request, and the audit log cannot be written: see [the audit log](audit.md#when-records-cannot-be-written)'

const ASKED = 'at `/audit/events` of the management cluster: see [the audit log](audit.md#ask-it)'

const SENT =
  'at `/agents/<cluster>/auditevents` of the management cluster, where direct endpoints send their events'

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
    remedy:
      'if narrow questions take as long, look at the database: table `audit_events` is indexed by time, user, key and object',
  },
  dataStoreUnavailable: {
    reason: 'ServiceUnavailable',
    message: 'the data store of audit events cannot be used now',
    headers: { 'retry-after': '5' },
    because: ASKED,
    remedy: 'see [the data store](audit.md#the-data-store); the log of the gateway has the reason',
  },
  agentEventsMethod: {
    reason: 'MethodNotAllowed',
    message: 'events are sent here by POST',
    headers: { allow: 'POST' },
    because: SENT,
  },
  agentEventsNotGranted: {
    reason: 'Forbidden',
    message: 'RBAC does not grant this agent <verb> on the path <path>',
    because: SENT,
    remedy: 'bind a ClusterRole with verb `post` on this path to the user of the key',
  },
  agentAuditOff: {
    reason: 'Conflict',
    message: 'audit is off here, and the events were not kept',
    because: SENT,
    remedy: 'the agent drops them; see [Switch it on](audit.md#switch-it-on)',
  },
  agentEventsNotWritten: {
    reason: 'ServiceUnavailable',
    message: 'the events cannot be recorded in the audit log; send them again',
    headers: { 'retry-after': '1' },
    because: `${SENT}, while the audit log cannot be written`,
    remedy: 'see [When records cannot be written](audit.md#when-records-cannot-be-written)',
  },
  agentEventsType: {
    reason: 'UnsupportedMediaType',
    message: 'events must be sent as application/json, without a content-encoding',
    because: SENT,
  },
  agentEventsTooLong: {
    reason: 'RequestEntityTooLarge',
    message: 'the events must have at most <limit> bytes together',
    because: SENT,
  },
  agentEventsTooMany: {
    reason: 'RequestEntityTooLarge',
    message: 'at most <limit> events may be sent at once',
    because: SENT,
  },
  agentEventsMalformed: {
    reason: 'BadRequest',
    message: 'nothing was kept: <fault>',
    shown: 'nothing was kept: items[3]: auditID is not a UUID in lower case',
    because: SENT,
    remedy: 'the agent sends the others without this event; give it the version of the gateway',
  },
  agentEventsNoRoom: {
    reason: 'TooManyRequests',
    message: 'too many events of agents are under way at this gateway; try again in 1 s',
    headers: { 'retry-after': '1' },
    because: SENT,
  },
})
