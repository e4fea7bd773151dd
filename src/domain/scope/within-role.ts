// Whether a role covers a role (contract 11.4, 11.8).
import type { RoleGrant } from './entries.ts'
import { beyond, type Check, firstGap, type Gap } from './gap.ts'
import type { Limit } from './rule.ts'
import { quoted } from './text.ts'

/** Why a role does not cover a role; null when it does. An unknown role covers only itself. */
export const roleGap = (child: RoleGrant, parent: RoleGrant): Gap | null =>
  firstGap(AGAINST_ROLE, child, parent)

/** A role in words. */
export const roleText = ({ role }: RoleGrant): string => `role ${quoted(role)}`

// In a role with limits an absent list names nothing, but without projects there is no limit in the management
// cluster. So a role with projects and one with only virtualClusters never cover each other.
const AGAINST_ROLE: readonly Check<RoleGrant, RoleGrant>[] = [
  (child, parent) => (isHeldBy(child.role, parent.role) ? null : roleText(child)),
  (child, parent) =>
    isUnlimited(child) && !isUnlimited(parent)
      ? 'its projects and virtualClusters set no limit'
      : null,
  (child, parent) =>
    isUnlimited(parent) || (child.projects === null && parent.projects === null)
      ? null
      : namesBeyond('projects', child.projects, parent.projects),
  (child, parent) =>
    isUnlimited(parent) || child.virtualClusters === null
      ? null
      : namesBeyond('virtualClusters', child.virtualClusters, parent.virtualClusters),
]

const isHeldBy = (role: string, holder: string): boolean =>
  role === holder || (role === 'network-peer' && (holder === 'agent' || holder === 'vcluster'))

const isUnlimited = ({ projects, virtualClusters }: RoleGrant): boolean =>
  projects === null && virtualClusters === null

const namesBeyond = (field: string, child: Limit, parent: Limit): string | null =>
  child !== null && parent?.has('*') ? null : beyond(field, child, parent ?? new Set())
