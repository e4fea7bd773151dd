// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './objects.ts'
import type { ProviderGroup } from './provider-group.gen.ts'

/**
 * User is a person. Disabled or deleted, it ends every access key of that user name. Keys need no
 * User: without one, they work by their own fields alone.
 */
export type User = KubeObject<UserSpec, UserStatus>

/** The declared person. Every field is optional; an empty string or false counts as absent. */
export interface UserSpec {
  /**
   * User name, as keys have it in spec.user. Default metadata.name, which must be this name or,
   * where that is no name of an object, its form: the reason NameMismatch names it. Immutable.
   * Visible ASCII without spaces, not beginning with system:, platform: or claim:.
   */
  readonly username?: string
  /** Name of the person for people to read. Nothing in this product acts on it. */
  readonly displayName?: string
  /** Email address for people to read. Nothing in this product acts on it. */
  readonly email?: string
  /**
   * When true, no key of this user name works, and the objects stay. Tokens that were issued under
   * such a key are revoked for good. Default false.
   */
  readonly disabled?: boolean
  /**
   * Accounts at sign-in providers that are this person. Absent or empty, none: the person signs in
   * with a password only.
   */
  readonly identities?: readonly UserIdentity[]
  /** Where the hash of the password is. Absent, the person has no password. */
  readonly passwordRef?: PasswordReference
}

/** An account at a sign-in provider. */
export interface UserIdentity {
  /**
   * Id of the sign-in provider: oidc, sourceHostA, sourceHostB, idpA, idpB, saml, password or the
   * id of a connector.
   */
  readonly connector?: string
  /**
   * Who the person is there, as <authority>#<id>. Absent or empty, not known yet: the first sign-in
   * by that provider with this user name sets it.
   */
  readonly subject?: string
}

/** Where the hash of the password is. Absent, the person has no password. */
export interface PasswordReference {
  /** Name of a Secret in the namespace of the sign-in process. */
  readonly name?: string
  /**
   * Key of the Secret's data, a hash that management-operator password prints. Default password.
   */
  readonly key?: string
}

/** What the operator and the sign-in process observed. Only they write it. */
export interface UserStatus {
  /** The user name in force, spec.username or else metadata.name. */
  readonly username?: string
  /**
   * Groups of the person at the last sign-in or refresh, as the providers named them. Teams name
   * them in spec.groups.
   */
  readonly groups?: readonly ProviderGroup[]
  /** When the person last signed in, RFC 3339. Absent, never. */
  readonly lastSignIn?: string
  /** metadata.generation that the status was computed from; -1 means none yet. */
  readonly observedGeneration?: number
  /**
   * State of the person. Ready is True (Active) while keys of the person may work, else False:
   * Terminating, NameMismatch (metadata.name is not the form of the user name; the object counts
   * for nothing) or Disabled. Stalled is then True with the same reason.
   */
  readonly conditions?: readonly Condition[]
}
