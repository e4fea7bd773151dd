import { CLUSTER_ROLES } from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import {
  type PolicyRule,
  type RoleRules,
  SCOPE_ROLES,
  clusterRoleNameOf,
} from '../domain/scope/roles.ts'
import type { KubeClient } from '../kube/client/client.ts'

/** The part of a ClusterRole (rbac.authorization.k8s.io/v1) that is used here. */
type ClusterRole = KubeObject & { readonly rules?: readonly PolicyRule[] | null }

/** The rules of the roles of scopes, as last read (contract 11.4). */
interface RoleReader {
  /** Empty for a role that is unknown, missing or not read yet. */
  readonly roleRules: RoleRules
  /** Reads the ClusterRoles again. @throws Error when one can't be read: all are kept as they were */
  readonly read: (signal: AbortSignal) => Promise<void>
}

const NO_RULES: readonly PolicyRule[] = []

/** A reader without any rules. @param changed called when a ClusterRole has changed */
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
