// Names and help texts of the metrics (contract 8.4).

/** The help text of each metric: `# HELP` of a scrape, without the kind of metric and its labels. */
export const METRIC_HELP = {
  platform_build_info: 'Always 1. The label has the version of the program.',
  controller_runtime_reconcile_total: 'Finished reconciles, by controller and result.',
  controller_runtime_reconcile_errors_total: 'Failed reconciles, by controller. Each is retried.',
  controller_runtime_reconcile_time_seconds: 'Duration of a reconcile in seconds, by controller.',
  controller_runtime_active_workers: 'Reconciles in progress, by controller.',
  controller_runtime_max_concurrent_reconciles:
    'Maximum number of concurrent reconciles, by controller.',
  workqueue_depth: 'Objects that wait in the work queue.',
  workqueue_adds_total: 'Objects added to the work queue.',
  workqueue_retries_total: 'Objects added to the work queue again, after a failure or a conflict.',
  workqueue_queue_duration_seconds: 'Time that an object waited in the work queue, in seconds.',
  workqueue_work_duration_seconds:
    'Time that a worker spent on an object from the work queue, in seconds.',
  workqueue_unfinished_work_seconds:
    'Total time spent so far on all objects that workers have in progress, in seconds.',
  platform_queue_age_seconds:
    'Time that the longest-waiting object has been in the work queue, in seconds; 0 if the queue is empty.',
  workqueue_longest_running_processor_seconds:
    'Time that the longest-running worker has spent on its object so far, in seconds.',
  rest_client_requests_total:
    'Requests to the API server, by HTTP method and status code; code <error> if there was no response.',
  leader_election_master_status:
    '1 while this process holds the Lease and leads, 0 while it stands by.',
  platform_access_keys:
    'Access keys by current state. The state is the one that gateways act on; the status of a key can lag behind it.',
  platform_claims: 'Access key claims, by the state that their status shows.',
  platform_claim_rotations_total: 'Credentials delivered to claims, by cause.',
  platform_claim_rotation_overdue_seconds:
    'Seconds since the rotation of the most overdue claim was due; 0 if none is overdue.',
  platform_claim_delivery_seconds:
    'Time from the change that asked for a credential until it was in its Secret, in seconds.',
  platform_claim_secrets_mended_total:
    'Secrets of claims that others had changed or deleted, and that got another credential.',
  platform_secret_store_syncs_total:
    'Secrets compared with the secret store, by direction and outcome.',
  platform_secret_store_lag_seconds:
    'Time since every Secret was last in step with the secret store, in seconds; 0 if the store is off or all are.',
  platform_secret_store_token_expiry_timestamp_seconds:
    'When the token of the secret store stops working, in seconds since 1970; 0 if it does not, or none is in use.',
  platform_users: 'Users by current state.',
  platform_teams: 'Teams by current state.',
  platform_access_key_expirations_total:
    'Access keys whose status was updated to show their expiry.',
  platform_expiration_lag_seconds:
    'Time from the expiry of an access key to the status update that shows it, in seconds.',
  platform_expirations_overdue:
    'Expired objects whose status does not show the expiry yet, by kind.',
  platform_expirations_overdue_seconds:
    'Seconds since the most overdue object expired, by kind; 0 if none is overdue.',
  platform_lifetimes_capped:
    'Objects whose lifetime is shortened by a cap (condition LifetimeCapped), by kind.',
  platform_tokens: 'Direct cluster endpoint tokens, by the state that their status shows.',
  platform_tokens_issued_total: 'Tokens issued.',
  platform_token_signing_seconds: 'Time to sign a token, in seconds.',
  platform_revocations_total: 'Tokens recorded as revoked.',
  platform_revoked_tokens:
    'Tokens that are recorded as revoked and have not expired. API servers that verify tokens must deny them.',
  platform_revocation_backlog: 'Revoked tokens whose revocation record is not stored yet.',
  platform_revocation_backlog_seconds:
    'Time that the oldest revocation record has waited to be stored, in seconds; 0 if all are stored.',
  platform_signing_key_faults:
    'Secrets that hold a corrupt signing key. No token is signed with it.',
  platform_config_valid:
    '1 if the Config is valid, 0 if it has a fault and the last valid settings stay in force.',
  platform_config_last_applied_timestamp_seconds:
    'Unix time at which this process last put settings in force; 0 if it has not done so yet.',
  platform_api_writes_total: 'Successful writes to the API server, by kind and reason.',
  platform_watch_restarts_total: 'Watches that were reopened, by resource and reason.',
  platform_clock_skew_seconds:
    "Local time minus the API server's time, in seconds, at its last response.",
  platform_ready: '1 if this check of /readyz passes, 0 if it fails.',
  platform_gateway_watch_age_seconds:
    "Age of the last proof that the gateway's watches are complete, in seconds.",
  platform_gateway_certificate_not_before_timestamp_seconds:
    'Unix time from which the serving certificate is valid; 0 if there is no certificate yet.',
  platform_gateway_certificate_not_after_timestamp_seconds:
    'Unix time at which the serving certificate expires; 0 if there is no certificate yet.',
  platform_gateway_requests_total: 'Responses to clients, by target, verb and HTTP status code.',
  platform_gateway_request_duration_seconds:
    'Time from a request until the head of its response was known, in seconds, by target and verb.',
  platform_gateway_authentication_total:
    'Credentials that clients presented, by result, and by reason if refused.',
  platform_gateway_scope_denials_total:
    'Requests denied by the scope of their access key or token, by target.',
  platform_gateway_limited_total:
    'Requests answered with 429 at a limit of this process on concurrent requests or memory, by kind of limit.',
  platform_gateway_connections_dropped_total:
    'Client connections refused at the limit on open connections.',
  platform_gateway_streams: 'Responses and upgraded connections that are streaming now, by kind.',
  platform_gateway_streams_cut_total: 'Streams that this process ended early, by reason.',
  platform_gateway_activity_writes_total: 'Writes that recorded the use of an access key.',
  platform_gateway_activity_failures_total: 'Failed attempts to record the use of an access key.',
  platform_gateway_revocation_seconds:
    'Time until a change of an access key, such as its revocation, reaches this gateway, in seconds. Measured from the sending of a heartbeat write to its watch event.',
  platform_gateway_target_ready:
    '1 if the target, a cluster, virtual cluster or space, worked when this process last probed it, otherwise 0.',
  platform_direct_revocation_list_age_seconds:
    'Age of the list of revoked tokens, in seconds; without a list, time since the process started.',
  platform_direct_signing_keys_age_seconds:
    'Time since the issuer confirmed its public signing keys, in seconds; without keys, time since the process started.',
  platform_direct_max_staleness_seconds:
    'Maximum age of the list of revoked tokens and of the public signing keys, in seconds (flag --max-staleness). Above it, all tokens are refused.',
  platform_direct_revoked_tokens: 'Tokens on the list of revoked tokens.',
  platform_direct_signing_keys: 'Public signing keys of the issuer that can verify tokens.',
  platform_direct_clock_skew_seconds:
    "Local time minus the issuer's time, in seconds, at its last response.",
  platform_direct_issuer_polls_total:
    'Requests for a document of the issuer, by document and result.',
  platform_direct_revocations_refused_total:
    'Lists of revoked tokens that were rejected, because they omit a known revocation or carry an implausible date.',
  platform_direct_signing_keys_refused_total:
    'Signing keys that were rejected, because the issuer had withdrawn them and published them again.',
  platform_direct_state_saved:
    '0 if the state directory is out of date, 1 if it is up to date or no state is saved.',
  platform_direct_webhook_requests_total: 'Requests to the authorization webhook, by decision.',
  platform_direct_webhook_request_duration_seconds:
    'Time to answer a request to the authorization webhook, in seconds.',
  platform_audit_events_total:
    'Events of the audit log, by level and stage, with those that wait to be written.',
  platform_audit_omitted_total: 'Bodies that events of the audit log left out, by reason.',
  platform_audit_refused_total:
    'Requests refused because they must be recorded and the audit log could not be written.',
  platform_audit_suppressed_total:
    'Events of requests without a valid credential that were left out, above --audit-anonymous-per-second or while the audit log could not be written.',
  platform_audit_lost_total:
    'Events lost because the audit log could not be written and no memory was left to keep them.',
  platform_audit_write_seconds:
    'Time to write the waiting events to the audit log, in seconds, with the sync to the disk if it is asked for.',
  platform_audit_sink_failed: '1 while the audit log cannot be written, otherwise 0.',
  platform_audit_unwritten_bytes: 'Bytes of events that wait to be written to the audit log.',
  platform_audit_store_lag_seconds:
    'Seconds that the data store is behind the files of the audit log; 0 while it has everything, or no data store is in use.',
  platform_audit_store_events_total:
    'Events of the audit log on their way into the data store, by result; unread ones were removed with their files before.',
  platform_audit_spool_bytes:
    'Bytes of events in the audit log of a direct endpoint that are not sent to the platform yet.',
  platform_audit_agent_lag_seconds:
    'Age in seconds of the newest event in the last batch that an agent sent, when it arrived, by cluster; for 10 minutes.',
  platform_sign_in_total:
    'Attempts to sign in, by kind of provider, outcome, and reason if refused.',
  platform_sign_in_seconds:
    'Time that the sign-in process spent on the step of an attempt, in seconds, by kind of provider.',
  platform_sign_in_passwords_waiting: 'Passwords that wait to be checked.',
  platform_sign_in_teams_not_created_total:
    'Sign-ins with groups for which no Team was created, because there are too many Teams.',
  platform_identity_refresh_total:
    'Questions to sign-in providers about people who have signed in, by kind of provider and outcome.',
  platform_identity_refresh_overdue_seconds:
    'By how much the provider has missed the interval to confirm the most overdue person, in seconds; 0 if it has not.',
  platform_app_tokens_total:
    'Requests of apps for tokens, by what they sent (grant) and outcome: issued, or the error code.',
  platform_sync_config_valid:
    '1 if the configuration file is valid, 0 if it has a fault and the last valid configuration stays in force.',
  platform_sync_objects:
    'Objects of the virtual cluster that belong on the host, by kind and state.',
  platform_sync_writes_total: 'Writes of synced objects, by kind and direction.',
  platform_sync_errors_total: 'Attempts to sync an object that failed, by kind and reason.',
  platform_sync_lag_seconds:
    'Time from a change of a virtual object or its host object to the end of the resulting write, in seconds.',
  platform_patch_evaluations_total: 'Evaluated expressions of patches, by result.',
  platform_patch_seconds:
    'Time to evaluate one expression of a patch, in seconds, including its wait for earlier expressions.',
} as const

/** Name of a metric. */
export type MetricName = keyof typeof METRIC_HELP
