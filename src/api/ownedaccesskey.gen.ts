// Generated from crds/ by `make generate`: do not edit.

import type { Condition, KubeObject } from './meta.ts'
import type { Scope } from './scope.gen.ts'

/**
 * OwnedAccessKey is a bearer credential of a user, a team or a subject, for the API and the
 * command-line client, for example in CI/CD pipelines. It works until it expires, is disabled or is
 * deleted.
 */
export type OwnedAccessKey = KubeObject<OwnedAccessKeySpec, OwnedAccessKeyStatus>

/** The declared key. Every field is optional; an empty string and false equal absent. */
export interface OwnedAccessKeySpec {
  /** Name shown in the UI. Absent, the object's name. */
  readonly displayName?: string
  /** What the key is for, in words. */
  readonly description?: string
  /**
   * User whom the key stands for. At most one of user, team and subject; with none the key does not
   * work. Visible ASCII without spaces, not beginning with system: or platform:.
   */
  readonly user?: string
  /**
   * Team that the key stands for. At most one of user, team and subject. Visible ASCII without
   * spaces, not beginning with system: or platform:.
   */
  readonly team?: string
  /**
   * Anything else that the key stands for, instead of user or team. Visible ASCII without spaces,
   * not beginning with system: or platform:.
   */
  readonly subject?: string
  /** Groups that the caller has in addition when the key is used. Absent or empty, none. */
  readonly groups?: readonly string[]
  /**
   * The key itself, which is sent as bearer token. Absent, one is generated. It is set once and
   * then immutable, 32 to 256 characters of A-Z, a-z, 0-9, _ and -; or sha256: and the 64 hex
   * digits of a key's SHA-256, where only the key's holder knows it (management-operator keygen
   * prints both).
   */
  readonly key?: string
  /** When true, the key exists and does not work. Default false. */
  readonly disabled?: boolean
  /**
   * Lifetime of the key in seconds, 0 to 2147483647. Absent or 0, none of its own; type Login then
   * takes Config's loginAccessKeyTTLSeconds. Config's accessKeyMaxTTLSeconds caps it, which
   * status.effectiveTTLSeconds shows.
   */
  readonly ttl?: number
  /**
   * When true, the lifetime counts from the last use of the key instead of from its creation.
   * Default false.
   */
  readonly ttlAfterLastActivity?: boolean
  /**
   * What the credential may be used for at most; the rights of its owner still limit it. What the
   * fields grant adds up. Absent, the owner's full rights; a scope that sets nothing is refused.
   */
  readonly scope?: Scope
  /**
   * What the key is for, and whether people or the platform manage it. Keys that people make have
   * User; Login keys come from a sign-in and take Config's loginAccessKeyTTLSeconds when ttl is
   * absent. Immutable; absent equals empty.
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
  /** Data of the single sign-on login that the key came from, when there was one. */
  readonly identity?: SignOnIdentity
  /** When the identity was last refreshed, RFC 3339. Absent or empty, never. */
  readonly identityRefresh?: string
  /** Data of the OIDC client, present when the key is a refresh token. */
  readonly oidcProvider?: OidcProviderData
  /**
   * Deprecated: let several keys share OIDC and external token information. Name of the key that
   * holds it.
   */
  readonly parent?: string
  /** Deprecated: use identity. Tokens of the login that the key came from. */
  readonly oidcLogin?: OidcLogin
}

/** Data of the single sign-on login that the key came from, when there was one. */
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
  /**
   * Data for later requests to the connector. Secret, never shown to users and clients by the
   * platform.
   */
  readonly connectorData?: string
}

/** Data of the OIDC client, present when the key is a refresh token. */
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

/** Deprecated: use identity. Tokens of the login that the key came from. */
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

/** What the operator and the gateway observed. Written by them only. */
export interface OwnedAccessKeyStatus {
  /** Last time the key was used to access the API, RFC 3339. Absent, never. */
  readonly lastActivity?: string
  /** When the key stops working, RFC 3339. Absent, never. */
  readonly expirationTimestamp?: string
  /**
   * When the expired object is deleted, RFC 3339. Absent while the key has not expired, and where
   * the object is kept: because annotation management.platform.sh/expired says Keep, or because a
   * GitOps tool applies it and would create it anew.
   */
  readonly removalTimestamp?: string
  /** Lifetime in force, in seconds, after caps and defaults. Absent, none. */
  readonly effectiveTTLSeconds?: number
  /**
   * First 16 hex digits of the key's SHA-256, by which the key is found in logs without being
   * shown.
   */
  readonly keyID?: string
  /** Whom the key stands for, as user:<user>, team:<team> or subject:<subject>. */
  readonly identity?: string
  /** metadata.generation that the status was computed from; -1, none yet. */
  readonly observedGeneration?: number
  /**
   * What is to be known about the key. Ready is True (Active) while the key authenticates, and
   * False as Terminating, NoIdentity, KeyConflict, Expired, Disabled or OwnerNotReady (a key that
   * owns it does not work). Stalled is True with the same reason where that does not change by
   * itself. LifetimeCapped is True where the key would live longer without Config's cap.
   */
  readonly conditions?: readonly Condition[]
}
