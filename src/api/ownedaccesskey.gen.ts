// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './objects.ts'
import type { Scope } from './scope.gen.ts'

/**
 * OwnedAccessKey is a bearer credential of a user, a team or a subject, for the API and the
 * command-line client, for example in CI/CD pipelines. It works until it expires, is disabled or is
 * deleted.
 */
export type OwnedAccessKey = KubeObject<OwnedAccessKeySpec, OwnedAccessKeyStatus>

/** The declared key. Every field is optional; an empty string or false counts as absent. */
export interface OwnedAccessKeySpec {
  /** Name for a UI to show. Nothing in this product acts on it. */
  readonly displayName?: string
  /** What the key is for, in words. Nothing in this product acts on it. */
  readonly description?: string
  /**
   * User that the key acts as. Set at most one of user, team and subject; with none the key does
   * not work. Visible ASCII without spaces, not beginning with system: or platform:.
   */
  readonly user?: string
  /**
   * Team that the key acts as. Set at most one of user, team and subject. Visible ASCII without
   * spaces, not beginning with system: or platform:.
   */
  readonly team?: string
  /**
   * Any other identity that the key acts as, instead of user or team. Visible ASCII without spaces,
   * not beginning with system: or platform:.
   */
  readonly subject?: string
  /** Groups that the caller has in addition when the key is used. Absent or empty, none. */
  readonly groups?: readonly string[]
  /**
   * The key itself, sent as a bearer token. Absent, one is generated. Immutable once it is set. 32
   * to 256 characters of A-Z, a-z, 0-9, _ and -; or sha256: and the 64 hex digits of the key's
   * SHA-256, so that only the holder has the key (management-operator keygen prints both).
   */
  readonly key?: string
  /** When true, the key does not work, and the object stays. Default false. */
  readonly disabled?: boolean
  /**
   * Lifetime of the key in seconds, 0 to 2147483647. Absent or 0, none of its own; type Login then
   * takes Config's loginAccessKeyTTLSeconds. Config's accessKeyMaxTTLSeconds caps it, which
   * status.effectiveTTLSeconds shows.
   */
  readonly ttl?: number
  /**
   * When true, the lifetime counts from the last use of the key instead of from its creation.
   * Config's cap still counts from the creation. Default false.
   */
  readonly ttlAfterLastActivity?: boolean
  /**
   * The most that the credential may do. A scope only narrows: RBAC still decides on what it lets
   * pass. It grants the union of what its fields grant. Absent, the owner's full rights; where a
   * key with a scope owns the credential, that scope. A scope that sets nothing is refused.
   */
  readonly scope?: Scope
  /**
   * What the key is for, and whether people or the platform manage it. User is for keys that people
   * make. Login is for keys that a person signs in with; without a ttl it takes Config's
   * loginAccessKeyTTLSeconds. Reset and OIDCRefreshToken cannot be bearer credentials: the gateway
   * refuses such keys, and their Ready says so. Immutable; empty counts as absent.
   */
  readonly type?:
    | ''
    | 'Login'
    | 'User'
    | 'Other'
    | 'Reset'
    | 'OIDCRefreshToken'
    | 'NetworkPeer'
    | 'Workspace'
  /**
   * Data of the single sign-on login that the key was created from. Nothing in this product acts on
   * it.
   */
  readonly identity?: SignOnIdentity
  /**
   * When the sign-in provider last confirmed the person, RFC 3339. A key of type Login does not
   * work from 24 hours after it (IdentityStale). Absent or empty, the person is not asked for
   * again. The operator writes it. Without an effect on keys of other types.
   */
  readonly identityRefresh?: string
  /**
   * Data of the OIDC client, present when the key is a refresh token. Nothing in this product acts
   * on it.
   */
  readonly oidcProvider?: OidcProviderData
  /**
   * Deprecated: leave it out; nothing replaces it. Name of the key that holds the OIDC and external
   * token information of several keys. Nothing in this product acts on it.
   */
  readonly parent?: string
  /**
   * Deprecated: use identity. Tokens of the login that the key was created from. The gateway never
   * shows it. Nothing in this product acts on it.
   */
  readonly oidcLogin?: OidcLogin
}

/**
 * Data of the single sign-on login that the key was created from. Nothing in this product acts on
 * it.
 */
export interface SignOnIdentity {
  /** Subject of the user at the identity provider. */
  readonly userId?: string
  /** User name. */
  readonly username?: string
  /** User name that the user prefers. */
  readonly preferredUsername?: string
  /** Email address. */
  readonly email?: string
  /** Whether the identity provider verified the email address. Default false. */
  readonly emailVerified?: boolean
  /**
   * Further claims of the login, as far as the sign-in settings allow them (allowedExtraClaims).
   * Any fields.
   */
  readonly extraClaims?: Readonly<Record<string, unknown>>
  /** Groups that the identity provider named. */
  readonly groups?: readonly string[]
  /** Id of the connector that the key was created from. */
  readonly connector?: string
  /** Data for later requests to the connector. Secret: the gateway never shows it. */
  readonly connectorData?: string
}

/**
 * Data of the OIDC client, present when the key is a refresh token. Nothing in this product acts on
 * it.
 */
export interface OidcProviderData {
  /** Id of the client. */
  readonly clientId?: string
  /** Nonce of the authentication request. */
  readonly nonce?: string
  /** Redirect URI of the authentication request. */
  readonly redirectUri?: string
  /** Scopes of the authentication request, separated by spaces. */
  readonly scopes?: string
}

/**
 * Deprecated: use identity. Tokens of the login that the key was created from. The gateway never
 * shows it. Nothing in this product acts on it.
 */
export interface OidcLogin {
  /** Current ID token. Secret. */
  readonly idToken?: string
  /** Current access token. Secret. */
  readonly accessToken?: string
  /** Current refresh token. Secret. */
  readonly refreshToken?: string
  /** When the ID token was last refreshed, RFC 3339. Absent or empty, never. */
  readonly lastRefresh?: string
}

/** What the operator and the gateway observed. Only they write it. */
export interface OwnedAccessKeyStatus {
  /** Last recorded use of the key to access the API, RFC 3339. Absent, never. */
  readonly lastActivity?: string
  /** When the key stops working, RFC 3339. Absent, never. */
  readonly expirationTimestamp?: string
  /**
   * When the operator deletes the expired object, RFC 3339. Absent until the key expires, and where
   * the object is kept: annotation management.platform.sh/expired says Keep, or a GitOps tool
   * applies the object and would create it again.
   */
  readonly removalTimestamp?: string
  /** Lifetime in force, in seconds, after caps and defaults. Absent, none. */
  readonly effectiveTTLSeconds?: number
  /** First 16 hex digits of the key's SHA-256: finds the key in logs without showing it. */
  readonly keyID?: string
  /** Identity that the key acts as: user:<user>, team:<team> or subject:<subject>. */
  readonly identity?: string
  /** metadata.generation that the status was computed from; -1 means none yet. */
  readonly observedGeneration?: number
  /**
   * State of the key. Ready is True (Active) while the key authenticates, else False: Terminating,
   * NoIdentity, KeyConflict, Expired, Disabled or OwnerNotReady (a key that owns it does not work,
   * or grants less than it). Stalled is True with the same reason when the state does not change by
   * itself. LifetimeCapped is True when Config's cap ends the key earlier.
   */
  readonly conditions?: readonly Condition[]
}
