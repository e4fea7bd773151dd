/** The known roles, without the other spelling of platformCLI (contract 1.3); others grant nothing. */
export const SCOPE_ROLES = [
  'agent',
  'metrics-reader',
  'metrics-writer',
  'network-peer',
  'platformCLI',
  'vcluster',
  'workspace',
] as const

/** One of SCOPE_ROLES. */
export type ScopeRoleName = (typeof SCOPE_ROLES)[number]

/** Name of the ClusterRole that defines what a role grants (contract 11.4). */
export const clusterRoleOf = (role: ScopeRoleName): string => `platform:scope:${role}`
