// Names of the metrics, and the help text of each, which the docs quote (contract 8.4).

/** Help text by name; `# HELP` of a scrape. */
export const METRIC_HELP = {
  platform_build_info:
    'A metric with a constant value of 1, labeled by the version of the program.',
  controller_runtime_reconcile_total: 'Total number of reconciliations per controller',
  controller_runtime_reconcile_errors_total: 'Total number of reconciliation errors per controller',
  controller_runtime_reconcile_time_seconds: 'Length of time per reconciliation per controller',
  controller_runtime_active_workers: 'Number of currently used workers per controller',
  controller_runtime_max_concurrent_reconciles:
    'Maximum number of concurrent reconciles per controller',
  workqueue_depth: 'Current depth of workqueue',
  workqueue_adds_total: 'Total number of adds handled by workqueue',
  workqueue_retries_total: 'Total number of retries handled by workqueue',
  workqueue_queue_duration_seconds:
    'How long in seconds an item stays in workqueue before being requested',
  workqueue_work_duration_seconds: 'How long in seconds processing an item from workqueue takes.',
  workqueue_unfinished_work_seconds:
    'How many seconds of work that is in progress has been done, and is not yet in work_duration.',
  platform_queue_age_seconds:
    'How many seconds the item that waits longest in workqueue has waited; 0 = none waits.',
  workqueue_longest_running_processor_seconds:
    'How many seconds has the longest running processor for workqueue been running.',
  rest_client_requests_total: 'Number of HTTP requests, partitioned by status code and method.',
  leader_election_master_status:
    'Whether this process holds the Lease in name: 1 = it leads, 0 = it stands by.',
  platform_access_keys:
    'Number of access keys by what they are now, as gateways see them; status says so when it is next written.',
  platform_access_key_expirations_total: 'Number of access keys whose expiry was published.',
  platform_expiration_lag_seconds: 'How long after the expiry of an access key its status says so.',
  platform_expirations_overdue:
    'Number of objects past their end whose status does not say so yet, by kind.',
  platform_expirations_overdue_seconds:
    'How long ago the one of them that is late the longest ended, by kind; 0 = none is late.',
  platform_lifetimes_capped: 'Number of objects whose lifetime is shortened by the cap, by kind.',
  platform_tokens: 'Number of direct cluster endpoint tokens by state.',
  platform_tokens_issued_total: 'Number of tokens that were issued.',
  platform_token_signing_seconds: 'How long signing a token took.',
  platform_revocations_total: 'Number of tokens that were recorded as revoked.',
  platform_revoked_tokens:
    'Number of tokens that are recorded as revoked and have not ended yet: what is to be denied.',
  platform_revocation_backlog: 'Number of revoked tokens whose record is not stored yet.',
  platform_revocation_backlog_seconds:
    'How long ago the oldest record that is not stored yet was asked for; 0 = all are stored.',
  platform_signing_key_faults:
    'Number of Secrets with a signing key that nothing is signed with, because they are corrupt.',
  platform_config_valid:
    '0 while Config has a fault and the last good settings stay in force, else 1.',
  platform_config_last_applied_timestamp_seconds:
    'When this process last put settings in force, in seconds since 1970; 0 = not yet.',
  platform_api_writes_total: 'Number of successful writes to the API server by kind and reason.',
  platform_watch_restarts_total: 'Number of times a watch had to be opened anew.',
  platform_clock_skew_seconds: "Local time minus the API server's, at its last answer.",
  platform_ready: 'Whether each check of /readyz passes: 1 = it does, 0 = it does not.',
  platform_gateway_watch_age_seconds:
    'How long ago what the gateway decides or serves by was last known to be complete.',
  platform_gateway_certificate_not_before_timestamp_seconds:
    'When the life of the certificate in use began, in seconds since 1970; 0 = there is none yet.',
  platform_gateway_certificate_not_after_timestamp_seconds:
    'When the certificate in use ends, in seconds since 1970; 0 = there is none yet.',
  platform_gateway_requests_total: 'Number of requests answered by target, verb and code.',
  platform_gateway_request_duration_seconds:
    'How long it took until the head of an answer was known, by target and verb.',
  platform_gateway_authentication_total:
    'Number of credentials presented by result, and by the reason where they were refused.',
  platform_gateway_scope_denials_total: 'Number of requests refused by the scope of a key.',
  platform_gateway_limited_total:
    'Number of requests refused because of what is under way at this gateway, by kind.',
  platform_gateway_connections_dropped_total:
    'Number of connections that were turned away because all places were taken.',
  platform_gateway_streams: 'Number of answers that are streaming by kind.',
  platform_gateway_streams_cut_total: 'Number of streams that were cut by the reason.',
  platform_gateway_activity_writes_total: 'Number of times that the use of a key was recorded.',
  platform_gateway_activity_failures_total:
    'Number of times that the use of a key could not be recorded.',
  platform_gateway_revocation_seconds:
    'How long after its commit a change reached this gateway, from the heartbeat.',
  platform_gateway_target_ready:
    'Whether a target besides the management cluster works, as this gateway last found: 1 = it does, 0 = it does not.',
  platform_direct_revocation_list_age_seconds:
    'How old the list of revoked tokens is; since the start while there is none.',
  platform_direct_signing_keys_age_seconds:
    'How old the answer with the public signing keys is; since the start while there is none.',
  platform_direct_max_staleness_seconds:
    'How old the list of revoked tokens and the signing keys may be: beyond it no token is accepted.',
  platform_direct_revoked_tokens: 'Number of tokens on the list of revoked tokens.',
  platform_direct_signing_keys: 'Number of public signing keys that verify tokens.',
  platform_direct_clock_skew_seconds: "Local time minus the issuer's, at its last answer.",
  platform_direct_issuer_polls_total:
    'Number of times that a document of the issuer was read, by result.',
  platform_direct_revocations_refused_total:
    'Number of lists of revoked tokens that were not taken, because they lack what the last one has or are of another time.',
  platform_direct_signing_keys_refused_total:
    'Number of withdrawn signing keys that were published again, and not taken.',
  platform_direct_state_saved:
    '0 while the state directory lacks what is known, else 1, also where nothing is kept.',
  platform_direct_webhook_requests_total: 'Number of reviews of API servers by decision.',
  platform_direct_webhook_request_duration_seconds: 'How long the answer to a review took.',
  platform_sync_config_valid:
    '0 while the configuration file of the virtual cluster has a fault and the last valid one stays, else 1.',
  platform_sync_objects: 'Number of objects that the virtual cluster has for its host, by state.',
  platform_sync_writes_total: 'Number of writes of synced objects by direction.',
  platform_sync_errors_total: 'Number of Events about objects that are not in step, by reason.',
  platform_sync_lag_seconds:
    'How long after a change of either object the write that followed from it was done.',
  platform_patch_evaluations_total: 'Number of expressions that were evaluated, by result.',
  platform_patch_seconds: 'How long an evaluation took, with its wait for those before it.',
} as const

/** Name of one of the metrics of the program. */
export type MetricName = keyof typeof METRIC_HELP
