// Generated from crds/ by `make generate`: do not edit.

/**
 * The most that the credential may do. A scope only narrows: RBAC still decides on what it lets
 * pass. It grants the union of what its fields grant. Absent, the owner's full rights; where a key
 * with a scope owns the credential, that scope. A scope that sets nothing is refused.
 */
export interface Scope {
  /**
   * Managed permissions. ClusterRole platform:scope:<role> says what a role grants. Roles grant
   * nothing in connected clusters. Absent, none.
   */
  readonly roles?: readonly ScopeRole[]
  /**
   * Projects that the credential may access: their namespaces in the management cluster, their
   * spaces and their virtual clusters.
   */
  readonly projects?: readonly ScopeProject[]
  /** Spaces that the credential may access. */
  readonly spaces?: readonly ScopeSpace[]
  /** Virtual clusters that the credential may access. */
  readonly virtualClusters?: readonly ScopeVirtualCluster[]
  /** Connected clusters that the credential may access. */
  readonly clusters?: readonly ScopeCluster[]
  /**
   * Deprecated: use projects, spaces and virtualClusters. A rule grants the requests that match
   * every field that it sets.
   */
  readonly rules?: readonly ScopeRule[]
  /**
   * Deprecated: use roles with the role platformCLI. When true, the same as that role: the
   * read-only management requests that the command-line client needs. Default false, which sets
   * nothing.
   */
  readonly allowPlatformCli?: boolean
}

/** A role, and where it applies. */
export interface ScopeRole {
  /**
   * Name of the role: agent, vcluster, network-peer, platformCLI (also platform-cli), workspace,
   * metrics-writer or metrics-reader. agent and vcluster include network-peer. An unknown role
   * grants nothing.
   */
  readonly role?: string
  /**
   * Projects to whose namespaces, spaces and virtual clusters the role is limited. Absent, no limit
   * in the management cluster.
   */
  readonly projects?: readonly string[]
  /**
   * Virtual clusters to which the role is limited, besides the projects' virtual clusters. With
   * this list alone the role grants nothing in spaces. Absent, no limit of its own.
   */
  readonly virtualClusters?: readonly string[]
}

/** A project. */
export interface ScopeProject {
  /** Name of the project; * stands for all projects. */
  readonly project?: string
}

/** A space of a project. */
export interface ScopeSpace {
  /** Name of the project; * stands for all projects. */
  readonly project?: string
  /** Name of the space; * stands for all spaces of the project. */
  readonly space?: string
}

/** A virtual cluster of a project. */
export interface ScopeVirtualCluster {
  /** Name of the project; * stands for all projects. */
  readonly project?: string
  /** Name of the virtual cluster; * stands for all virtual clusters of the project. */
  readonly virtualCluster?: string
}

/** A connected cluster. */
export interface ScopeCluster {
  /** Name of the cluster; * stands for all clusters. */
  readonly cluster?: string
}

/** Requests that the credential may make. A rule that sets nothing is refused. */
export interface ScopeRule {
  /**
   * Verbs that match. Absent or empty, every verb but those that must be named: escalate, bind,
   * approve and impersonate.
   */
  readonly verbs?: readonly string[]
  /**
   * Resources that match. Absent or empty, all kinds in all groups, but nothing that must be named,
   * such as pods/exec.
   */
  readonly resources?: readonly ScopeRuleResources[]
  /**
   * Names of instances that match; resources is needed with it. Absent or empty, every instance.
   */
  readonly resourceNames?: readonly string[]
  /**
   * Namespaces that match. An empty string matches requests without a namespace, such as those for
   * nodes and lists over all namespaces. Absent or empty, every namespace.
   */
  readonly namespaces?: readonly string[]
  /**
   * URL paths that match. * alone matches every path, and the last step of a path may be *. Refused
   * beside resources or namespaces: no request is for a path and for resources. Absent or empty,
   * every path.
   */
  readonly nonResourceURLs?: readonly string[]
  /** Targets that match. Absent or empty, every target. */
  readonly requestTargets?: readonly string[]
  /**
   * Cluster that matches; when set, only requests to that cluster match. Absent or empty, no
   * restriction.
   */
  readonly cluster?: string
  /**
   * Virtual clusters that match; when set, only requests to virtual clusters match. Absent or
   * empty, no restriction.
   */
  readonly virtualClusters?: readonly ScopeRuleVirtualCluster[]
}

/** Resources of one API group. */
export interface ScopeRuleResources {
  /**
   * API group, for example apps. * is every group, and grants nothing that must be named, such as
   * pods/exec. Absent or empty, the core group.
   */
  readonly group?: string
  /**
   * Resources of the group: pods, pods/log (a subresource), * (all resources and subresources),
   * pods/* (all subresources of pods) or *\/scale (that subresource of all resources). Entries must
   * not overlap with a wildcard. Absent or empty, all resources and subresources of the group. A
   * wildcard grants nothing that must be named, such as pods/exec.
   */
  readonly resources?: readonly string[]
  /**
   * Names of instances that match; resources is needed with it. Absent or empty, every instance.
   */
  readonly resourceNames?: readonly string[]
}

/**
 * Virtual clusters by name, by namespace or both. An entry without both matches all virtual
 * clusters.
 */
export interface ScopeRuleVirtualCluster {
  /** Name of the virtual cluster. Absent or empty, all virtual clusters. */
  readonly name?: string
  /**
   * Namespace of the virtual cluster: its project's namespace, for example p-shop. Absent or empty,
   * all namespaces.
   */
  readonly namespace?: string
}
