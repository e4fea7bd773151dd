// Generated from config/ by `make generate`: do not edit.

/** A rule of a role that is bound to an account of the product. */
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

/** The rules of manager and gateway in config/rbac, without impersonation. */
export const SHIPPED_RULES: readonly ShippedRule[] = [
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['ownedaccesskeys', 'directclusterendpointtokens'],
    verbs: ['get', 'list', 'watch', 'patch', 'delete'],
  },
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['users', 'teams'],
    verbs: ['get', 'list', 'watch', 'patch'],
  },
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['ownedaccesskeys'],
    verbs: ['generate', 'record-identity'],
  },
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: [
      'ownedaccesskeys/finalizers',
      'directclusterendpointtokens/finalizers',
      'users/finalizers',
      'teams/finalizers',
    ],
    verbs: ['update'],
  },
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['configs'],
    verbs: ['list', 'watch', 'create'],
  },
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: [
      'ownedaccesskeys/status',
      'directclusterendpointtokens/status',
      'configs/status',
      'users/status',
      'teams/status',
    ],
    verbs: ['patch'],
  },
  {
    account: 'manager',
    isNamespaced: false,
    apiGroups: ['events.k8s.io'],
    resources: ['events'],
    verbs: ['create'],
  },
  {
    account: 'manager',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get', 'list', 'watch', 'create', 'delete'],
  },
  {
    account: 'manager',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: ['platform-settings-gateway'],
    verbs: ['patch'],
  },
  {
    account: 'manager',
    isNamespaced: true,
    apiGroups: ['management.platform.sh'],
    resources: ['tokensecrets'],
    verbs: ['confine'],
  },
  {
    account: 'manager',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
  {
    account: 'manager',
    isNamespaced: true,
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: ['management-operator'],
    verbs: ['get', 'update'],
  },
  {
    account: 'manager',
    isNamespaced: true,
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['create'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['ownedaccesskeys', 'directclusterendpointtokens'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['ownedaccesskeys'],
    verbs: ['delegate', 'use'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['ownedaccesskeys/status'],
    verbs: ['patch'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['users', 'teams'],
    verbs: ['get', 'list', 'watch'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['users', 'teams'],
    verbs: ['create'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['users', 'teams'],
    resourceNames: ['platform-heartbeat'],
    verbs: ['patch', 'delete'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['management.platform.sh'],
    resources: ['configs'],
    verbs: ['get', 'list', 'watch'],
  },
  {
    account: 'gateway',
    isNamespaced: false,
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['clusterroles'],
    resourceNames: [
      'platform:scope:agent',
      'platform:scope:metrics-reader',
      'platform:scope:metrics-writer',
      'platform:scope:network-peer',
      'platform:scope:platformCLI',
      'platform:scope:vcluster',
      'platform:scope:workspace',
    ],
    verbs: ['get'],
  },
  {
    account: 'gateway',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch'],
  },
  {
    account: 'gateway',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: ['platform-gateway-ca', 'platform-gateway-tls'],
    verbs: ['get', 'create', 'patch'],
  },
  {
    account: 'gateway',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: ['platform-gateway-ca'],
    verbs: ['create', 'patch'],
  },
  {
    account: 'gateway',
    isNamespaced: true,
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: ['platform-settings-gateway'],
    verbs: ['list', 'watch'],
  },
  {
    account: 'gateway',
    isNamespaced: true,
    apiGroups: ['management.platform.sh'],
    resources: ['tokensecrets'],
    verbs: ['confine'],
  },
]

/** Names of the ValidatingAdmissionPolicies in config/policies; each has a binding of the same name. */
export const SHIPPED_POLICIES: readonly string[] = [
  'account-token.management.platform.sh',
  'advice-config.management.platform.sh',
  'advice.management.platform.sh',
  'claims.management.platform.sh',
  'finalizer.management.platform.sh',
  'identity.management.platform.sh',
  'key-type.management.platform.sh',
  'lifetime.management.platform.sh',
  'limits.management.platform.sh',
  'owner.management.platform.sh',
  'people-teams.management.platform.sh',
  'people.management.platform.sh',
  'reserved-claim.management.platform.sh',
  'reserved.management.platform.sh',
  'secret-in-annotation.management.platform.sh',
]
