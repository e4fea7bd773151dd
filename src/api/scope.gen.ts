// Generated from crds/ by `make generate`: do not edit.

/**
 * What the credential may be used for at most; the rights of its owner still limit it. What the
 * fields grant adds up. Absent, the owner's full rights; a scope that sets nothing is refused.
 */
export interface Scope {
  /** Managed permissions that the credential has. Absent, none. */
  readonly roles?: readonly ScopeRole[]
  /** Projects that the credential may access, with their spaces and virtual clusters. */
  readonly projects?: readonly ScopeProject[]
  /** Spaces that the credential may access. */
  readonly spaces?: readonly ScopeSpace[]
  /** Virtual clusters that the credential may access. */
  readonly virtualClusters?: readonly ScopeVirtualCluster[]
  /** Connected clusters that the credential may access. */
  readonly clusters?: readonly ScopeCluster[]
  /**
   * Deprecated: use projects, spaces and virtualClusters. Rules of which a request must match one.
   * Within a rule every field that is set must match.
   */
  readonly rules?: readonly ScopeRule[]
  /**
   * Deprecated: use roles with the role platformCLI. When true, certain read-only management
   * requests are allowed so that the command-line client works with the credential. Default false,
   * which sets nothing.
   */
  readonly allowPlatformCli?: boolean
}

/** A role, and where it holds. */
export interface ScopeRole {
  /**
   * Name of the role, agent, vcluster, network-peer, platformCLI (also platform-cli), workspace,
   * metrics-writer or metrics-reader. agent and vcluster imply network-peer. An unknown role grants
   * nothing.
   */
  readonly role?: string
  /** Projects in which the role holds. Absent, no limit by project. */
  readonly projects?: readonly string[]
  /** Virtual clusters in which the role holds. Absent, no limit by virtual cluster. */
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

/** A kind of request that is allowed. A rule that sets nothing is refused. */
export interface ScopeRule {
  /** Verbs that match. Absent or empty, every verb. */
  readonly verbs?: readonly string[]
  /** Resources that match. Absent or empty, all kinds in all groups. */
  readonly resources?: readonly ScopeRuleResources[]
  /**
   * Names of instances that match; resources is needed with it. Absent or empty, every instance.
   */
  readonly resourceNames?: readonly string[]
  /**
   * Namespaces that match; an empty string matches what is not namespaced. Absent or empty, every
   * namespace.
   */
  readonly namespaces?: readonly string[]
  /** URL paths that match; * alone matches every path, and the last step of a path may be *. */
  readonly nonResourceURLs?: readonly string[]
  /** Targets that match. Absent or empty, every request. */
  readonly requestTargets?: readonly string[]
  /**
   * Cluster that matches; when set, only requests to clusters do. Absent or empty, no restriction.
   */
  readonly cluster?: string
  /**
   * Virtual clusters that match; when set, only requests to virtual clusters do. Absent or empty,
   * no restriction.
   */
  readonly virtualClusters?: readonly ScopeRuleVirtualCluster[]
}

/** Resources of one API group. */
export interface ScopeRuleResources {
  /**
   * API group, for example apps, or * for every group; * names none, so it grants no resource that
   * has to be named, such as pods/exec. Absent or empty, the core group.
   */
  readonly group?: string
  /**
   * Resources of the group, as pods, pods/log (a subresource), * (all resources and subresources),
   * pods/* (all subresources of pods) or *\/scale (that subresource of all resources). Where a
   * wildcard is present, entries must not overlap. Absent or empty, all resources and subresources
   * of the group.
   */
  readonly resources?: readonly string[]
  /**
   * Names of instances that match; resources is needed with it. Absent or empty, every instance.
   */
  readonly resourceNames?: readonly string[]
}

/** Virtual clusters by name, by namespace or both. */
export interface ScopeRuleVirtualCluster {
  /** Name of the virtual cluster. Absent or empty, all virtual clusters. */
  readonly name?: string
  /** Namespace of the virtual cluster, as the project's. Absent or empty, all namespaces. */
  readonly namespace?: string
}
