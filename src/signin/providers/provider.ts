// A sign-in provider, whichever protocol it speaks (contract 25.6).

/** Random texts of one attempt, 256 bits each (contract 25.3). They stay in the sealed cookie of the browser. */
export interface AttemptSecrets {
  readonly state: string
  readonly nonce: string
  /** PKCE verifier. */
  readonly verifier: string
}

/** A group at the provider. */
export interface ProviderGroupName {
  /** As the provider names it, without groupsPrefix. */
  readonly name: string
  /** For people; null = the provider has none. */
  readonly displayName: string | null
}

/** Tokens of the provider for this person. Secret. */
export interface ProviderTokens {
  /** For refreshes; null = the provider gave none. */
  readonly refreshToken: string | null
  readonly accessToken: string | null
  /** Sent as `id_token_hint` at sign-out; null = the provider gave none. */
  readonly idToken: string | null
}

/** Who has signed in, verified by the provider (contract 24.3, 25.4). */
export interface ProviderIdentity {
  /** `<authority>#<id at the provider>`. */
  readonly subject: string
  /** The user name with its prefix, not yet checked against the rules of names; null = no claim had one. */
  readonly username: string | null
  /** For people; null = unknown. */
  readonly displayName: string | null
  readonly email: string | null
  readonly emailVerified: boolean
  /** Field `identity.userId` of the key. */
  readonly userId: string
  /** Field `identity.preferredUsername` of the key; null = absent. */
  readonly preferredUsername: string | null
  /** Field `identity.extraClaims` of the key. */
  readonly extraClaims: Readonly<Record<string, unknown>>
  readonly groups: readonly ProviderGroupName[]
  /** Added to the names of groups after groupsFilters; empty = none. */
  readonly groupsPrefix: string
  readonly tokens: ProviderTokens
}

/** A callback of the browser. */
export interface ProviderCallback {
  /** The parameters; none of them came twice. */
  readonly parameters: URLSearchParams
}

/** The state of one provider, for condition SignInReady (contract 27.1). */
export interface ProviderHealth {
  /** Why it does not work, in a sentence without a value of the provider; null = it works. */
  readonly fault: string | null
  /** Sentences of a provider that works: it admits everybody, or is insecure. */
  readonly warnings: readonly string[]
}

/** A provider with its settings. Made anew when they change. */
export interface SignInProvider {
  /** `oidc`, or the connector's id: the segment of its routes. */
  readonly id: string
  /** Kind of provider, such as `oidc`, for metrics. */
  readonly kind: string
  /** Text on the button. */
  readonly label: string
  /**
   * The address at the provider that the browser is sent to.
   *
   * @throws SignInRefused when settings are unusable or the provider can't be reached
   */
  readonly begin: (secrets: AttemptSecrets, signal: AbortSignal) => Promise<URL>
  /**
   * Who has signed in, after every check of contract 25.6.
   *
   * @throws SignInRefused with the reason
   */
  readonly finish: (
    callback: ProviderCallback,
    secrets: AttemptSecrets,
    signal: AbortSignal,
  ) => Promise<ProviderIdentity>
  /** The address that ends the session at the provider; null = it has none. Never throws. */
  readonly endSession: (idToken: string | null, signal: AbortSignal) => Promise<URL | null>
  /** Tries the provider: reads its discovery. Never throws. */
  readonly check: (signal: AbortSignal) => Promise<ProviderHealth>
}
