// The expressions of our alerts and dashboard, filled in for the clusters of a test.
import { alerts, dashboard } from '../../support/monitoring.ts'

/** The namespace of manager, gateway and direct endpoint. */
export const NAMESPACE = 'platform-system'
/** The namespace of the sign-in process. */
export const SIGN_IN_NAMESPACE = `${NAMESPACE}-sign-in`
/** The namespace of the syncer. */
export const SYNCER_NAMESPACE = 'vcluster-my-vc'
/** Both clusters have the same jobs and instances. */
export const CLUSTERS = ['a', 'b']

/** An expression and what has it: an alert, a panel or an annotation. */
interface Expression {
  readonly of: string
  readonly expr: string
}

/** The expressions of the dashboard. */
export const shown: readonly Expression[] = [
  ...dashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ of: title, expr: filledIn(expr) })),
  ),
  ...dashboard().annotations.list.map(({ expr }) => ({ of: 'annotation', expr: filledIn(expr) })),
]

/** The expressions of alerts and dashboard. */
export const expressions: readonly Expression[] = [
  ...alerts().map(({ alert, expr }) => ({ of: alert, expr })),
  ...shown,
]

/** Replaces the variables of Grafana. */
export function filledIn(expr: string): string {
  return expr
    .replaceAll('$cluster', CLUSTERS[0] ?? '')
    .replaceAll('$namespace', /platform_(sync|patch)_/.test(expr) ? SYNCER_NAMESPACE : NAMESPACE)
    .replaceAll('$__rate_interval', '5m')
}
