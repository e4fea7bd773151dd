// The reasons of conditions and events, which users and their tools read.

/**
 * All reasons of conditions, by condition, and of events. docs/troubleshooting.md has an entry for each. A Stalled
 * condition has the reason of the Ready condition beside it.
 */
export const REASONS = {
  /**
   * Ready of an OwnedAccessKey (contract 4.1). `OwnerNotReady`: an owner of the key does not work, or grants less than
   * the key (10.3, 12.3).
   */
  accessKeyReady: [
    'Active',
    'Terminating',
    'NoIdentity',
    'KeyConflict',
    'UserDisabled',
    'TeamGone',
    'IdentityGone',
    'IdentityStale',
    'SignInAgain',
    'Expired',
    'Disabled',
    'OwnerNotReady',
  ],
  /** Ready of a DirectClusterEndpointToken (contract 4.2). */
  tokenReady: [
    'Issued',
    'Pending',
    'OwnerNotReady',
    'ScopeExceedsOwner',
    'ScopeTooLarge',
    'SigningKeyUnavailable',
    'IssuerUnknown',
    'Terminating',
    'Expired',
    'Revoked',
  ],
  /** Ready of a User (contract 24.1). `NameMismatch`: metadata.name is not the form of the name (24.3). */
  userReady: ['Active', 'Terminating', 'NameMismatch', 'Disabled'],
  /** Ready of a Team (contract 24.1). */
  teamReady: ['Active', 'Terminating', 'NameMismatch'],
  /** Ready of an AccessKeyClaim, the first that applies (contract 28.7). */
  claimReady: [
    'Delivered',
    'Terminating',
    'NamespaceRefused',
    'TooManyClaims',
    'GatewayUnknown',
    'LifetimeTooShort',
    'DeliveryForbidden',
    'SecretTaken',
    'SecretRefused',
    'KeyDisabled',
    'KeyNotReady',
    'Suspended',
    'Pending',
  ],
  /** Ready of a Config (contract 4.3). */
  configReady: ['Applied', 'Invalid', 'NotWritten', 'NotInForce'],
  /** LifetimeCapped of keys and tokens. */
  lifetimeCapped: ['CappedByConfig', 'CappedByOwner', 'CappedByLimit'],
  /** PartsNotServed of a Config (contract 6.7). */
  partsNotServed: ['NotBuilt'],
  /** SigningKeyCorrupt of a Config. */
  signingKeyCorrupt: ['SelfTestFailed'],
  /** SignInReady of a Config (contract 27.1). */
  signInReady: ['Ready', 'Unusable'],
  /** SecretStoreReady of a Config (contract 36.1). `TokenMissing` is Unknown where tokenSecretRef is optional. */
  secretStoreReady: ['Synced', 'AddressMissing', 'TokenMissing', 'Unreachable', 'Denied', 'Partly'],
  /** Events (contract 4.5). */
  events: [
    'KeyGenerated',
    'KeyConflict',
    'ActivityIgnored',
    'KeyKept',
    'TooManyTeams',
    'TokenIssued',
    'ScopeExceedsOwner',
    'Expired',
    'Revoked',
    'ConfigApplied',
    'InvalidConfig',
    'UnknownField',
    'SettingsKept',
    'AuditRecordsNothing',
    'SigningKeyRotated',
    'SigningKeyCorrupt',
    'UnknownSigningKey',
    'TargetReady',
    'TargetUnusable',
    'TargetConflict',
    'Delivered',
    'Rotated',
    'DeliveryForbidden',
    'SecretTaken',
    'SecretRefused',
    'SecretChanged',
    'RotationFailed',
    'StorePathRefused',
    'StoreContentRefused',
    'StoreNotFound',
    'StoreConflict',
  ],
} as const

/** Reason of any condition on our kinds. */
export type ConditionReason = (typeof REASONS)[Exclude<keyof typeof REASONS, 'events'>][number]

/** Reason of any Event that this program records. */
export type EventReason = (typeof REASONS.events)[number]
