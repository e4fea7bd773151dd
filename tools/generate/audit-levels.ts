// The policies that the audit levels stand for, as files to read and copy: docs/examples/audit-level-<n>.yaml.
import { POLICY_LEVELS, type PolicyLevel, policyOfLevel } from '../../src/domain/audit/levels.ts'
import { formatYaml } from '../../src/runtime/yaml.ts'
import type { Page } from './pages.ts'

const MEANINGS: Readonly<Record<PolicyLevel, string>> = {
  1: 'every change, with the bodies of creates',
  2: 'every request, with the bodies of creates',
  3: 'every request with its body',
  4: 'every request with its body and its answer',
}

/** The pages, with a comment that says what a level records. */
export const auditLevelPages = (): readonly Page[] =>
  POLICY_LEVELS.map((level) => [
    `examples/audit-level-${level}.yaml`,
    `# The policy that audit.level: ${level} of a Config stands for: ${MEANINGS[level]}.
# It is the value of audit.policy. The first rule that matches a request decides.
${formatYaml(policyOfLevel(level))}`,
  ])
