// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './objects.ts'
import type { Scope } from './scope.gen.ts'

/**
 * AccessKeyClaim asks for an access key, or for a token for direct endpoints, for the workloads of
 * its namespace. It is delivered into a Secret of the namespace, and replaced before it ends.
 */
export type AccessKeyClaim = KubeObject<AccessKeyClaimSpec, AccessKeyClaimStatus>

/**
 * The credential that is wanted, and where. Every field is optional: an empty spec asks for a key
 * that acts as claim:<namespace>:<name>, in a Secret of the claim's name.
 */
export interface AccessKeyClaimSpec {
  /**
   * The access key, with the fields of OwnedAccessKey. Absent, one with a lifetime of 30 days and
   * without a scope.
   */
  readonly key?: ClaimedKeySpec
  /**
   * Delivers a DirectClusterEndpointToken of the key instead of the key. Absent, the key is
   * delivered.
   */
  readonly token?: ClaimedTokenSpec
  /**
   * Seconds from the creation of a credential until it is replaced, at least 300. It is replaced
   * after five sixths of its lifetime in any case, and up to a tenth of the time earlier. Absent,
   * after two thirds of its lifetime.
   */
  readonly rotateAfter?: number
  /**
   * Seconds that a credential goes on working after its successor is delivered. 0 ends it then.
   * Absent, until its own end.
   */
  readonly overlap?: number
  /**
   * When true, nothing is made or replaced, and what is delivered runs to its end. Default false.
   */
  readonly suspend?: boolean
  /**
   * The Secret that the credential is delivered into. Absent, one of the claim's name with the data
   * key `key`.
   */
  readonly secret?: ClaimedSecretSpec
  /** Not served by this version, and refused. */
  readonly exchange?: Readonly<Record<string, unknown>>
}

/**
 * The access key, with the fields of OwnedAccessKey. Absent, one with a lifetime of 30 days and
 * without a scope.
 */
export interface ClaimedKeySpec {
  /** Name of the key for a UI to show. Nothing in this product acts on it. */
  readonly displayName?: string
  /** What the key is for, in words. Nothing in this product acts on it. */
  readonly description?: string
  /**
   * User that the key acts as, which takes the right to impersonate that user. Set at most one of
   * user, team and subject; with none the key acts as subject claim:<namespace>:<name>. Visible
   * ASCII without spaces, not beginning with system:, platform: or claim:.
   */
  readonly user?: string
  /**
   * Team that the key acts as, which takes the right to impersonate group platform:team:<team>.
   * Visible ASCII without spaces, not beginning with system:, platform: or claim:.
   */
  readonly team?: string
  /**
   * Any other identity that the key acts as, which takes the right to impersonate a user of that
   * name. Absent, and without user and team, claim:<namespace>:<name>. Visible ASCII without
   * spaces, not beginning with system: or platform:.
   */
  readonly subject?: string
  /**
   * Groups that the caller has in addition, each of which takes the right to impersonate it: name
   * at most 16. Absent or empty, none.
   */
  readonly groups?: readonly string[]
  /**
   * Lifetime of each key in seconds, at least 600. Absent or 0, 2592000 (30 days). Config's
   * accessKeyMaxTTLSeconds caps it.
   */
  readonly ttl?: number
  /**
   * The most that the credential may do. A scope only narrows: RBAC still decides on what it lets
   * pass. It grants the union of what its fields grant. Absent, the owner's full rights; where a
   * key with a scope owns the credential, that scope. A scope that sets nothing is refused.
   */
  readonly scope?: Scope
}

/**
 * Delivers a DirectClusterEndpointToken of the key instead of the key. Absent, the key is
 * delivered.
 */
export interface ClaimedTokenSpec {
  /**
   * Lifetime of each token in seconds, at least 120. Absent or 0, 86400 (a day). Config's
   * accessKeyMaxTTLSeconds, the key and --token-max-ttl of the manager cap it.
   */
  readonly ttl?: number
  /**
   * The most that the credential may do. A scope only narrows: RBAC still decides on what it lets
   * pass. It grants the union of what its fields grant. Absent, the owner's full rights; where a
   * key with a scope owns the credential, that scope. A scope that sets nothing is refused.
   */
  readonly scope?: Scope
}

/**
 * The Secret that the credential is delivered into. Absent, one of the claim's name with the data
 * key `key`.
 */
export interface ClaimedSecretSpec {
  /**
   * Name of the Secret. Default the claim's name. Immutable. A Secret of that name that another has
   * made is left alone.
   */
  readonly name?: string
  /** Type of the Secret. Default Opaque. Immutable. */
  readonly type?: '' | 'Opaque' | 'kubernetes.io/basic-auth' | 'kubernetes.io/dockerconfigjson'
  /**
   * Labels of the Secret. Names with kubernetes.io, k8s.io or management.platform.sh in them are
   * refused, but for management.platform.sh/secret-store.
   */
  readonly labels?: Readonly<Record<string, string>>
  /**
   * Annotations of the Secret. Names with kubernetes.io, k8s.io or management.platform.sh in them
   * are refused, but for management.platform.sh/secret-store-path and -version.
   */
  readonly annotations?: Readonly<Record<string, string>>
  /**
   * Entries of the Secret. $(KEY), $(TOKEN), $(KEY_ID), $(EXPIRES), $(SERVER), $(CA_DATA) (base64)
   * and $(KUBECONFIG) in them are replaced, $$ is a $. Absent, one entry: key with $(KEY), with
   * spec.token token with $(TOKEN).
   */
  readonly data?: Readonly<Record<string, string>>
  /**
   * What $(SERVER) and $(KUBECONFIG) lead to at the gateway: management, cluster/<cluster>,
   * project/<project>/space/<space> or project/<project>/virtualcluster/<virtual cluster>. Default
   * management.
   */
  readonly target?: string
}

/** What is delivered. Only the delivery process writes it. It has no secret. */
export interface AccessKeyClaimStatus {
  /** The access key of what is delivered. Absent, nothing is. */
  readonly key?: DeliveredKey
  /** The access key of what was delivered before, while it still works. Absent, none does. */
  readonly previous?: PreviousKey
  /** The token that is delivered. Absent, the claim asks for a key, or none is delivered. */
  readonly token?: DeliveredToken
  /** `user:<user>`, `team:<team>` or `subject:<subject>` that the credential acts as. */
  readonly identity?: string
  /** When the credential in the Secret stops working, RFC 3339. Absent, nothing is delivered. */
  readonly expirationTimestamp?: string
  /** When the credential is replaced, RFC 3339. Absent, it is not. */
  readonly nextRotation?: string
  /** When a credential was last delivered, RFC 3339. Absent, never. */
  readonly lastRotation?: string
  /**
   * The first 256 characters of annotation management.platform.sh/rotate that were last answered by
   * a new credential. Absent, none was.
   */
  readonly lastRotate?: string
  /** Name of the Secret that has the credential. Absent, nothing is delivered. */
  readonly secretName?: string
  /** SHA-256 in hex of the data that were delivered into the Secret. */
  readonly secretDigest?: string
  /** metadata.generation that the status was computed from; -1 means none yet. */
  readonly observedGeneration?: number
  /**
   * State of the claim. Ready is True (Delivered) while the Secret has a credential that works,
   * else False with the first reason that applies: Terminating, NamespaceRefused, TooManyClaims,
   * GatewayUnknown, LifetimeTooShort, DeliveryForbidden, SecretTaken, SecretRefused, KeyDisabled,
   * KeyNotReady, Suspended or Pending. Stalled is True with the same reason for NamespaceRefused,
   * LifetimeTooShort, SecretTaken and KeyDisabled, which do not pass by themselves.
   */
  readonly conditions?: readonly Condition[]
}

/** The access key of what is delivered. Absent, nothing is. */
export interface DeliveredKey {
  /** Name of the OwnedAccessKey. */
  readonly name?: string
  /** Id of the key in logs, the first 16 hex digits of its SHA-256. */
  readonly keyID?: string
  /** When it stops working, RFC 3339. */
  readonly expirationTimestamp?: string
}

/** The access key of what was delivered before, while it still works. Absent, none does. */
export interface PreviousKey {
  /** Name of the OwnedAccessKey. */
  readonly name?: string
  /** Id of the key in logs, the first 16 hex digits of its SHA-256. */
  readonly keyID?: string
  /** When it stops working, RFC 3339. */
  readonly expirationTimestamp?: string
}

/** The token that is delivered. Absent, the claim asks for a key, or none is delivered. */
export interface DeliveredToken {
  /** Name of the DirectClusterEndpointToken. */
  readonly name?: string
  /** When it stops working, RFC 3339. */
  readonly expirationTimestamp?: string
}
