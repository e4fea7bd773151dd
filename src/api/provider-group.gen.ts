// Generated from crds/ by `make generate`: do not edit.

/** A group at a sign-in provider. */
export interface ProviderGroup {
  /** Id of the sign-in provider. */
  readonly connector?: string
  /** Name of the group there. */
  readonly name?: string
}
