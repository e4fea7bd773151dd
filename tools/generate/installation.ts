// The objects that `management-operator check` expects, from the shipped manifests: the policies, and the rights of each account.
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly rules?: readonly Rule[]
}

/** The files that a module of the installation is made from. */
interface InstallationFiles {
  readonly policies: readonly string[]
  /** The file with the roles of each ServiceAccount. */
  readonly accounts: Readonly<Record<string, string>>
}

/** The text of the module, before formatting. @throws Error where a file has no policy, or no rule */
export function renderInstallation({ policies, accounts }: InstallationFiles): string {
  const names = policies.flatMap((file) =>
    manifestsIn(file)
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
      .map(({ metadata }) => metadata.name),
  )
  const rights = Object.entries(accounts).flatMap(([account, file]) =>
    manifestsIn(file)
      .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
      .flatMap(({ kind, rules = [] }) =>
        rules.map((rule) => ({ account, isNamespaced: kind === 'Role', ...rule })),
      ),
  )
  if (names.length === 0) throw new Error('config/policies has no ValidatingAdmissionPolicy')
  if (rights.length === 0) throw new Error('config/rbac has no rule')
  return `/** A rule of a role that is bound to an account of the product. */
export interface ShippedRule {
  /** Name of the ServiceAccount in the platform's namespace. */
  readonly account: string
  /** Whether the rule is of a Role, for the platform's namespace only. */
  readonly isNamespaced: boolean
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** The rules of manager, gateway and delivery process in config/rbac, without impersonation. */
export const SHIPPED_RULES: readonly ShippedRule[] = ${JSON.stringify(rights)}

/** Names of the ValidatingAdmissionPolicies in config/policies; each has a binding of the same name. */
export const SHIPPED_POLICIES: readonly string[] = ${JSON.stringify(names.toSorted())}
`
}

const manifestsIn = (file: string): readonly Manifest[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Manifest)
