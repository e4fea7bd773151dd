/** The content of a direct cluster endpoint token whose signature and claims are sound (contract 7.1). */
export interface VerifiedToken {
  /** Uid of the token object: revocation is recorded under it. */
  readonly jti: string
  /** `user:<user>`, `team:<team>`, `subject:<subject>` or `token:<object name>`. */
  readonly subject: string
  readonly groups: readonly string[]
  /** Name of the owning access key, or of the token object without one. */
  readonly name: string
  /** The scope as in the claim: compact JSON, `*` when unrestricted. */
  readonly scope: string
  /** Epoch milliseconds. */
  readonly issuedMs: number
  /** Epoch milliseconds; the token is valid before it. */
  readonly expiresMs: number
}
