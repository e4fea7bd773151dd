// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './meta.ts'
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
 * The declared token. Every field is optional. Immutable, since a token that is out cannot be
 * changed.
 */
export interface DirectClusterEndpointTokenSpec {
  /**
   * Lifetime of the token in seconds, 0 to 2147483647. Absent or 0, 86400 (a day). Config's
   * accessKeyMaxTTLSeconds, the operator's flag --token-max-ttl and the end of the access key that
   * owns the token cap it.
   */
  readonly ttl?: number
  /**
   * What the credential may be used for at most; the rights of its owner still limit it. What the
   * fields grant adds up. Absent, the owner's full rights; a scope that sets nothing is refused.
   */
  readonly scope?: Scope
}

/** What the operator issued. Written by it only. */
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
  /** metadata.generation that the status was computed from; -1, none yet. */
  readonly observedGeneration?: number
  /**
   * What is to be known about the token. Ready is True (Issued) while the token is valid, and False
   * as Pending, Expired, Revoked, OwnerNotReady, ScopeExceedsOwner, ScopeTooLarge,
   * SigningKeyUnavailable, IssuerUnknown or Terminating. Stalled is True with the same reason where
   * that does not change by itself. LifetimeCapped is True where the token would live longer
   * without a cap.
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
