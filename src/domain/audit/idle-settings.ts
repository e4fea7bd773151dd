// Settings of audit that are valid and record nothing: each is more likely a slip than meant (contract 21.1).
import type { AuditPolicyRule, AuditSettings } from '../../api/config.gen.ts'
import { auditPolicyOf } from './policy.ts'

/** A sentence for each part of the settings that records nothing; empty = there is none, or audit is off. */
export function idleAuditSettings(audit: AuditSettings | undefined): readonly string[] {
  if (audit?.enabled !== true) return []
  if (auditPolicyOf(audit) === null)
    return ['audit is enabled, and has neither a level nor rules: nothing is recorded']
  return (audit.policy?.rules ?? []).flatMap((rule, at) => idleParts(rule, `rules[${at}]`))
}

const idleParts = (rule: AuditPolicyRule, name: string): readonly string[] => [
  ...(isOfVirtualClustersAlone(rule)
    ? [`${name} names only VCluster, which has no path here: it matches no request`]
    : []),
  ...EXACT_FIELDS.filter((field) => rule[field]?.includes('*') === true).map(
    (field) => `${name} has * in ${field}, where it is a name like any other: leave ${field} out`,
  ),
]

const isOfVirtualClustersAlone = ({ requestTargets = [] }: AuditPolicyRule): boolean =>
  requestTargets.length > 0 && requestTargets.every((target) => target === 'VCluster')

/** The fields of a rule that know no wildcard. */
const EXACT_FIELDS = ['users', 'userGroups', 'verbs', 'namespaces'] as const
