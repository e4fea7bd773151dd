/** A PrometheusRule with groups of a file of plain rules. */
interface RuleOptions {
  readonly name: string
  /** Value of label part-of. */
  readonly partOf: string
  /** Whether the group of this name is in it. */
  readonly has: (group: string) => boolean
}

const PLATFORM = 'management-operator'

/** All alerts. */
export const ALL_ALERTS: RuleOptions = { name: PLATFORM, partOf: PLATFORM, has: () => true }

/** The alerts for a cluster that has a direct endpoint and neither managers nor gateways. */
export const DIRECT_ALERTS: RuleOptions = {
  name: `${PLATFORM}-direct`,
  partOf: `${PLATFORM}-direct`,
  has: (group) => group !== PLATFORM,
}

/** The head of a PrometheusRule, the kind that the Prometheus Operator reads. */
const headOf = ({ name, partOf }: RuleOptions): string =>
  `# Generated from prometheus/rules.yml by \`make generate\`: do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ${name}
  namespace: platform-system
  labels:
    app.kubernetes.io/name: management-operator
    app.kubernetes.io/part-of: ${partOf}
spec:
`

/**
 * The PrometheusRule with groups of a file of plain rules, as they stand there.
 *
 * @throws Error for a text without groups
 */
export function prometheusRule(rules: string, options: RuleOptions): string {
  const [, groups] = rules.split(/^groups:\n/m)
  if (groups === undefined) throw new Error('the rules have no line `groups:`')
  const chosen = groups
    .split(/^(?=- name: )/m)
    .filter((group) => options.has(/^- name: (.*)$/m.exec(group)?.[1] ?? ''))
    .join('')
    .trimEnd()
  return `${headOf(options)}${`groups:\n${chosen}\n`.replaceAll(/^(?=.)/gm, '  ')}`
}
