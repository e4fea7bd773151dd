// Queries of dashboards that users of controller-runtime have: kubebuilder's Grafana plugin
// (controller-runtime-metrics.json, controller-resources-metrics.json), and Cluster API's Controller Runtime without
// webhooks and Go, some by `controller`.

/** A query of a dashboard, for a process with these labels. */
export interface Query {
  readonly of: 'kubebuilder' | 'Cluster API' | 'by controller'
  readonly expr: string
  /** The labels of each series that the legend uses. */
  readonly labels: readonly string[]
}

/** The queries with the variables of the dashboards replaced. */
export function usualQueries(job: string, namespace: string, pod: string): readonly Query[] {
  const at = `job="${job}", namespace="${namespace}"`
  const on = `pod=~"${pod}"`
  return [
    ...rows('kubebuilder', [
      [`controller_runtime_active_workers{${at}}`, 'controller instance'],
      [
        `sum(rate(controller_runtime_reconcile_total{${at}}[5m])) by (instance, pod)`,
        'instance pod',
      ],
      [
        `sum(rate(controller_runtime_reconcile_errors_total{${at}}[5m])) by (instance, pod)`,
        'instance pod',
      ],
      [`workqueue_depth{${at}}`, 'name'],
      ...quantiles('workqueue_queue_duration_seconds', at, 'instance, name'),
      [`sum(rate(workqueue_adds_total{${at}}[5m])) by (instance, name)`, 'instance name'],
      [`rate(workqueue_unfinished_work_seconds{${at}}[5m])`, 'name'],
      ...quantiles('workqueue_work_duration_seconds', at, 'instance, name'),
      [`sum(rate(workqueue_retries_total{${at}}[5m])) by (instance, name)`, 'instance name'],
      [`rate(process_cpu_seconds_total{${at}, pod="${pod}"}[5m]) * 100`, 'pod'],
      [`process_resident_memory_bytes{${at}, pod="${pod}"}`, 'pod'],
    ]),
    ...rows('Cluster API', [
      [
        `sum(controller_runtime_active_workers{${on}, controller=~".*"}) by (pod, controller)`,
        'pod controller',
      ],
      [
        `sum(controller_runtime_active_workers{${on}}) by (pod, controller) / sum(controller_runtime_max_concurrent_reconciles{${on}}) by (pod, controller)`,
        'pod controller',
      ],
      [
        `sum(rate(controller_runtime_reconcile_total{${on}}[5m])) by (pod, controller, result)`,
        'pod controller result',
      ],
      [
        `sum(rate(controller_runtime_reconcile_errors_total{${on}}[5m])) by (pod, controller)`,
        'pod controller',
      ],
      [
        `sum(rate(controller_runtime_reconcile_time_seconds_sum{${on}}[5m])) by (pod, controller) / sum(rate(controller_runtime_reconcile_time_seconds_count{${on}}[5m])) by (pod, controller)`,
        'pod controller',
      ],
      [`rate(controller_runtime_reconcile_time_seconds_bucket{${on}}[5m])`, 'le'],
      [`workqueue_depth{${on}, name=~".*"}`, 'pod name'],
      [`rate(workqueue_adds_total{${on}, name=~".*"}[5m])`, 'pod name'],
      [`rate(workqueue_retries_total{${on}, name=~".*"}[5m])`, 'pod name'],
      [`workqueue_longest_running_processor_seconds{${on}, name=~".*"}`, 'pod name'],
      [`workqueue_unfinished_work_seconds{${on}, name=~".*"}`, 'pod name'],
      ...quantiles('workqueue_queue_duration_seconds', `${on}, name=~".*"`, 'pod, name'),
      ...quantiles('workqueue_work_duration_seconds', `${on}, name=~".*"`, 'pod, name'),
      [`rate(workqueue_work_duration_seconds_bucket{${on}}[5m])`, 'le'],
      [
        `sum(rate(rest_client_requests_total{${on}}[5m])) by (pod, code, method) > 0`,
        'pod code method',
      ],
    ]),
    ...rows('by controller', [
      [`sum by (controller) (workqueue_depth{${at}})`, 'controller'],
      [`max by (controller) (workqueue_longest_running_processor_seconds{${at}})`, 'controller'],
      [`max by (controller) (workqueue_unfinished_work_seconds{${at}})`, 'controller'],
      ...quantiles('workqueue_queue_duration_seconds', at, 'controller'),
      [
        `sum by (controller) (workqueue_depth{${at}}) + on (controller) sum by (controller) (controller_runtime_active_workers{${at}})`,
        'controller',
      ],
    ]),
  ]
}

type Row = readonly [expr: string, labels: string]

const rows = (of: Query['of'], all: readonly Row[]): readonly Query[] =>
  all.map(([expr, labels]) => ({ of, expr, labels: labels.split(' ') }))

const quantiles = (histogram: string, selector: string, by: string): readonly Row[] =>
  ['0.50', '0.90', '0.99'].map((quantile) => [
    `histogram_quantile(${quantile}, sum(rate(${histogram}_bucket{${selector}}[5m])) by (${by}, le))`,
    by.replaceAll(',', ''),
  ])
