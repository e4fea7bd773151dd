// The policies that a level stands for (contract 21.1). `make generate` writes them as docs/examples/audit-level-<n>.yaml, to
// be read and copied.
import type { AuditPolicy, AuditPolicyRule } from '../../api/config.gen.ts'
import { ACCESS_KEYS, GROUP, TOKENS } from '../../api/names.ts'

/** The levels there are. */
export const POLICY_LEVELS = [1, 2, 3, 4] as const

/** One of POLICY_LEVELS. */
export type PolicyLevel = (typeof POLICY_LEVELS)[number]

/**
 * The policy of a level, in the form of the setting `policy`.
 *
 * @param level another number = the policy without rules
 */
export function policyOfLevel(level: number): AuditPolicy {
  const known = POLICY_LEVELS.find((one) => one === level)
  if (known === undefined) return {}
  return { omitStages: ['RequestReceived'], rules: [...EXCEPTIONS, ...RULES[known]] }
}

/** Questions about rights, which tools ask by the hundred and which change nothing. */
const REVIEWS: AuditPolicyRule = {
  level: 'None',
  resources: [
    { group: 'authentication.k8s.io', resources: ['tokenreviews', 'selfsubjectreviews'] },
    {
      group: 'authorization.k8s.io',
      resources: [
        'subjectaccessreviews',
        'localsubjectaccessreviews',
        'selfsubjectaccessreviews',
        'selfsubjectrulesreviews',
      ],
    },
  ],
}

/** Events that agents send are records already. */
const AGENTS: AuditPolicyRule = { level: 'None', verbs: ['post'], nonResourceURLs: ['/agents/*'] }

/** Requests whose bodies are credentials, records, or streams. */
const WITHOUT_BODIES: readonly AuditPolicyRule[] = [
  {
    level: 'Metadata',
    verbs: ['create'],
    resources: [{ group: GROUP, resources: [ACCESS_KEYS.plural, TOKENS.plural] }],
  },
  { level: 'Metadata', nonResourceURLs: ['/audit/events', '/login', '/auth/*'] },
  {
    level: 'Metadata',
    resources: [
      { group: '', resources: ['pods/log', 'pods/exec', 'pods/attach', 'pods/portforward'] },
    ],
  },
]

/** The rules that each level begins with. */
const EXCEPTIONS: readonly AuditPolicyRule[] = [REVIEWS, AGENTS, ...WITHOUT_BODIES]

const CREATED: AuditPolicyRule = { level: 'Request', verbs: ['create'] }

const RULES: Readonly<Record<PolicyLevel, readonly AuditPolicyRule[]>> = {
  1: [{ level: 'None', verbs: ['get', 'list', 'watch'] }, CREATED, { level: 'Metadata' }],
  2: [CREATED, { level: 'Metadata' }],
  3: [{ level: 'Request' }],
  4: [{ level: 'RequestResponse' }],
}
