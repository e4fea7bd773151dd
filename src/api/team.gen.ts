// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './objects.ts'
import type { ProviderGroup } from './provider-group.gen.ts'

/**
 * Team gives its people the group platform:team:<team>, which RoleBindings name. Deleted, it ends
 * every access key of that team. Keys of a team need no Team.
 */
export type Team = KubeObject<TeamSpec, TeamStatus>

/** The declared team. Every field is optional; an empty string counts as absent. */
export interface TeamSpec {
  /**
   * Name of the team, as keys have it in spec.team. Default metadata.name, which must be this name
   * or, where that is no name of an object, its form: the reason NameMismatch names it. Immutable.
   * Visible ASCII without spaces, not beginning with system:, platform: or claim:.
   */
  readonly name?: string
  /** Name of the team for people to read. Nothing in this product acts on it. */
  readonly displayName?: string
  /** User names of people in the team. A user name needs no User. Absent or empty, none. */
  readonly users?: readonly string[]
  /**
   * Groups at sign-in providers: whoever has one of them in status.groups of the User belongs to
   * the team. Absent or empty, none.
   */
  readonly groups?: readonly ProviderGroup[]
}

/** What the operator observed. Only it writes it. */
export interface TeamStatus {
  /** The name in force, spec.name or else metadata.name. */
  readonly name?: string
  /** metadata.generation that the status was computed from; -1 means none yet. */
  readonly observedGeneration?: number
  /**
   * State of the team. Ready is True (Active) while the team gives its group to its people, else
   * False: Terminating or NameMismatch (metadata.name is not the form of the name; the object
   * counts for nothing). Stalled is then True with the same reason.
   */
  readonly conditions?: readonly Condition[]
}
