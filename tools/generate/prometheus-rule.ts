/** What stands around the groups of a file of rules, so that the Prometheus Operator takes them. */
const HEAD = `# Generated from rules.yml by \`make generate\`: do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: management-operator
  namespace: platform-system
  labels:
    app.kubernetes.io/name: management-operator
    app.kubernetes.io/part-of: management-operator
spec:
`

/**
 * The PrometheusRule with the groups of a file of plain rules, as they stand there.
 *
 * @throws Error for a text without groups
 */
export function prometheusRule(rules: string): string {
  const at = rules.search(/^groups:$/m)
  if (at === -1) throw new Error('the rules have no line `groups:`')
  return HEAD + rules.slice(at).replaceAll(/^(?=.)/gm, '  ')
}
