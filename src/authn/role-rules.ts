import { CLUSTER_ROLES } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import {
  clusterRoleNameOf,
  type PolicyRule,
  type RoleRules,
  SCOPE_ROLES,
} from '../domain/scope/roles.ts'
import type { KubeClient } from '../kube/client/client.ts'

/** A ClusterRole (rbac.authorization.k8s.io/v1) with the fields used here. */
type ClusterRole = KubeObject & { readonly rules?: readonly PolicyRule[] | null }

/** Reads the rules of the roles of scopes (contract 11.4). */
interface RoleReader {
  /** The rules as last read; empty for a role that is unknown, missing or not read yet. */
  readonly roleRules: RoleRules
  /** Reads all ClusterRoles. @throws Error when one can't be read; the previous rules of all roles then stay */
  readonly read: (signal: AbortSignal) => Promise<void>
}

const NO_RULES: readonly PolicyRule[] = []

/** Creates a reader that has no rules yet. @param changed called after a read that found a changed ClusterRole */
export function createRoleReader(client: KubeClient, changed: () => void): RoleReader {
  let roles: ReadonlyMap<string, ClusterRole> = new Map()
  return {
    roleRules: (role) => roles.get(role)?.rules ?? NO_RULES,
    read: async (signal) => {
      const found = await Promise.all(
        SCOPE_ROLES.map(async (role) => {
          const ref = { name: clusterRoleNameOf(role) }
          return [role, await client.get<ClusterRole>(CLUSTER_ROLES, ref, signal)] as const
        }),
      )
      const before = roles
      roles = new Map(found.flatMap(([role, object]) => (object ? [[role, object]] : [])))
      if (SCOPE_ROLES.some((role) => versionOf(before, role) !== versionOf(roles, role))) changed()
    },
  }
}

const versionOf = (roles: ReadonlyMap<string, ClusterRole>, role: string): string | undefined =>
  roles.get(role)?.metadata.resourceVersion
