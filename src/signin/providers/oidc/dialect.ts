// What differs between providers that speak OpenID Connect (contract 25.6): the plain one of field `oidc`, and products that
// name issuers, people and groups in ways of their own.
import type { OidcProvider } from '../../../api/config.gen.ts'
import type { JsonMap } from '../../../domain/json/json.ts'
import type { ProviderName } from '../../../domain/settings/providers.ts'
import type { ProviderIdentity } from '../provider.ts'

/** What a kind of OpenID Connect provider adds to the client that all share. */
export interface OidcDialect {
  readonly kind: ProviderName
  /** Text on the button of a provider without displayName. */
  readonly label: string
  /** The client, as the fields of `oidc` set it up; `issuerUrl` is where discovery begins. */
  readonly client: OidcProvider
  /** Why the other settings cannot be used, without their values; null = they can. */
  readonly fault: string | null
  readonly issuers: IssuerRules
  /** Parameters of the way to the provider, besides those of every client. */
  readonly parameters: Readonly<Record<string, string>>
  /** Sentences about a provider that works, for SignInReady. */
  readonly warnings: readonly string[]
  /**
   * Who verified claims name, with what has to be looked up.
   *
   * @throws SignInRefused
   */
  readonly identify: (verified: VerifiedClaims, signal: AbortSignal) => Promise<VerifiedIdentity>
  /** Tries what look-ups need besides a person, such as a file. @throws SignInRefused */
  readonly tryLookUps: (signal: AbortSignal) => Promise<void>
}

/** The fields that every client has; empty = absent. */
export const clientFields = ({
  clientId = '',
  clientSecret = '',
  redirectURI = '',
}: Pick<OidcProvider, 'clientId' | 'clientSecret' | 'redirectURI'>) => ({
  clientId,
  clientSecret,
  redirectURI,
})

/** A person, without the tokens. */
export type VerifiedIdentity = Omit<ProviderIdentity, 'tokens'>

/** What a provider vouches for. */
export interface VerifiedClaims {
  /** Of the ID token; with `getUserInfo`, claims of userinfo have replaced them. */
  readonly claims: JsonMap
  /** null = not asked for. */
  readonly userinfo: JsonMap | null
  readonly accessToken: string
  /** The issuer of the discovery document. */
  readonly issuer: string
}

/** Which issuers a provider has. */
export interface IssuerRules {
  /** The setting with the address, for messages. */
  readonly field: string
  /** Whether the discovery document may name this issuer. */
  readonly isOwn: (named: string) => boolean
  /** Whether a callback (RFC 9207) or the subject of an account may name this issuer; the token must be of the same. */
  readonly mayAnswer: (named: string) => boolean
  /** The issuer that a token must name, by its claims, which are not verified yet; null = no issuer has such a token. */
  readonly ofToken: (claims: JsonMap) => string | null
  /** Whether a published key signs for the issuer. */
  readonly signs: (key: JsonMap, issuer: string) => boolean
}

/** The rules of a provider with one issuer, byte for byte. */
export const oneIssuer = (field: string, issuer: string): IssuerRules => ({
  field,
  isOwn: (named) => named === issuer,
  mayAnswer: (named) => named === issuer,
  ofToken: () => issuer,
  signs: () => true,
})
