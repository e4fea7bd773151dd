// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './objects.ts'
import type { Scope } from './scope.gen.ts'

/**
 * DirectClusterEndpointToken is a signed token with which a client connects straight to a connected
 * cluster, without the central instance in between. The token appears in status.
 */
export type DirectClusterEndpointToken = KubeObject<
  DirectClusterEndpointTokenSpec,
  DirectClusterEndpointTokenStatus
>

/**
 * The declared token. Every field is optional. Immutable, because an issued token cannot be
 * changed.
 */
export interface DirectClusterEndpointTokenSpec {
  /**
   * Lifetime of the token in seconds, 0 to 2147483647. Absent or 0, 86400 (a day). Config's
   * accessKeyMaxTTLSeconds, the operator's flag --token-max-ttl and the end of the access key that
   * owns the token can shorten it.
   */
  readonly ttl?: number
  /**
   * The most that the credential may do. A scope only narrows: RBAC still decides on what it lets
   * pass. It grants the union of what its fields grant. Absent, the owner's full rights; where a
   * key with a scope owns the credential, that scope. A scope that sets nothing is refused.
   */
  readonly scope?: Scope
}

/** What the operator issued. Only the operator writes it. */
export interface DirectClusterEndpointTokenStatus {
  /** The signed bearer token. Secret. Absent, it is not issued, or it has ended. */
  readonly token?: string
  /** When the token stops working (exp), RFC 3339. */
  readonly expirationTimestamp?: string
  /** When the token was issued (iat), RFC 3339. */
  readonly issuedTimestamp?: string
  /** Id (kid) of the key that signed the token. */
  readonly keyID?: string
  /** The access key that the token was issued under. Absent, none. */
  readonly owner?: TokenOwner
  /** metadata.generation that the status was computed from; -1 means none yet. */
  readonly observedGeneration?: number
  /**
   * State of the token. Ready is True (Issued) while the token is valid, else False: Pending,
   * Expired, Revoked, OwnerNotReady, ScopeExceedsOwner, ScopeTooLarge, SigningKeyUnavailable,
   * IssuerUnknown or Terminating. Stalled is True with the same reason when the state does not
   * change by itself. LifetimeCapped is True when Config, the owning access key or --token-max-ttl
   * ends the token earlier.
   */
  readonly conditions?: readonly Condition[]
}

/** The access key that the token was issued under. Absent, none. */
export interface TokenOwner {
  /** Name of the OwnedAccessKey. */
  readonly name?: string
  /** Uid of the OwnedAccessKey. */
  readonly uid?: string
}
