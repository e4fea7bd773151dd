// A sign-in provider, whichever protocol it speaks (contract 25.6).
import { SignInRefused } from '../../domain/signin/refusals.ts'
import type { Resolve } from '../../runtime/address-guard.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ProviderAddresses } from './addresses.ts'

/** What providers of every kind need. */
export interface ProviderContext {
  /** Such as `https://platform.example.com`, without a slash at its end. */
  readonly publicUrl: string
  /** `--files-dir`; null = the flag is absent. */
  readonly filesDir: string | null
  readonly addresses: ProviderAddresses
  /** Asks the name servers, as dns.lookup of Node does. */
  readonly resolve: Resolve
  readonly clock: Clock
  /** Ends requests for documents, which sign-ins share. */
  readonly signal: AbortSignal
}

/** Options of a provider. */
export interface ProviderOptions<Settings> extends ProviderContext {
  /** The name of the field, such as `oidc`, or the connector's id. */
  readonly id: string
  /** `displayName` of the connector; null = it has none. */
  readonly displayName: string | null
  readonly settings: Settings
}

/** Where the provider sends the browser back to. @param own redirectURI of the settings */
export const callbackUrl = (
  { publicUrl, id }: Pick<ProviderOptions<unknown>, 'publicUrl' | 'id'>,
  own: string | undefined,
): string => own || `${publicUrl}/auth/${id}/callback`

/** Random texts of one attempt, 256 bits each (contract 25.3). They stay in the sealed cookie of the browser. */
export interface AttemptSecrets {
  readonly state: string
  readonly nonce: string
  /** PKCE verifier. Of no use to a provider without an exchange of codes. */
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
  /** When the refresh token ends, in epoch milliseconds; absent = the provider does not say. */
  readonly refreshEndsMs?: number
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
  /** Of the query, or of the form where the provider's answer is one; none of them came twice. */
  readonly parameters: URLSearchParams
}

/** How the browser gets to the provider. */
export interface ProviderEntrance {
  readonly url: URL
  /** Fields of the form that it posts there; null = it is redirected. */
  readonly form: Readonly<Record<string, string>> | null
}

/** How the browser brings the answer of a provider back: by a redirect (`GET`), or by a form of another site (`POST`). */
export interface CallbackBinding {
  readonly method: 'GET' | 'POST'
  /** The parameter with the state of the attempt. */
  readonly stateParameter: string
}

/** The binding of OAuth. */
export const OAUTH_BINDING: CallbackBinding = { method: 'GET', stateParameter: 'state' }

/** An account that has signed in, as it was then or at its last refresh. */
export interface KnownAccount {
  /** `<authority>#<id at the provider>`. */
  readonly subject: string
  readonly tokens: ProviderTokens
}

/** The authority of a subject: it ends at the first `#` (contract 24.3). */
export const authorityIn = (subject: string): string => subject.split('#', 1)[0] ?? ''

/** Asks a provider again about people who have signed in (contract 25.7). */
export interface ProviderRefresh {
  /**
   * Whether the provider that the settings name now is the one that vouched for the account: another one gets no token of it.
   * True while the settings are unusable.
   */
  readonly knows: (subject: string) => boolean
  /** Whether there is a token to ask with. */
  readonly isPossible: (tokens: ProviderTokens) => boolean
  /**
   * Who the account is now, after every check of a sign-in.
   *
   * @param keep stores the tokens that replace the account's, before anything else is asked: the old ones may have ended. One that
   *   has begun goes on when the signal aborts
   * @throws SignInRefused, GrantEnded where the provider takes the token no more; what `keep` throws
   */
  readonly ask: (
    account: KnownAccount,
    keep: (tokens: ProviderTokens) => Promise<void>,
    signal: AbortSignal,
  ) => Promise<ProviderIdentity>
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
  /** The name of its field, such as `oidc`, or the connector's id: the segment of its routes. */
  readonly id: string
  /** Kind of provider, such as `oidc`, for metrics. */
  readonly kind: string
  /** Text on the button. */
  readonly label: string
  readonly binding: CallbackBinding
  /**
   * Where the browser is sent to.
   *
   * @throws SignInRefused when settings are unusable or the provider can't be reached
   */
  readonly begin: (secrets: AttemptSecrets, signal: AbortSignal) => Promise<ProviderEntrance>
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
  /** null = the provider can't be asked again. */
  readonly refresh: ProviderRefresh | null
  /** The address that ends the session at the provider; null = it has none. Never throws. */
  readonly endSession: (idToken: string | null, signal: AbortSignal) => Promise<URL | null>
  /** Tries the provider, as far as that needs no person: reads its documents and its files. Never throws. */
  readonly check: (signal: AbortSignal) => Promise<ProviderHealth>
}

/** The setup of a provider. @param made a text = why its settings are unusable @throws SignInRefused `provider_unusable` */
export function usable<Setup extends object>(made: Setup | string): Setup {
  if (typeof made === 'string') throw new SignInRefused('provider_unusable', made)
  return made
}

/**
 * What a try of a provider says of it. Never throws.
 *
 * @param known warnings that need no try
 * @param tryIt returns warnings that it has found
 */
export async function healthOf(
  known: readonly string[],
  tryIt: () => Promise<readonly string[]>,
): Promise<ProviderHealth> {
  try {
    return { fault: null, warnings: [...known, ...(await tryIt())] }
  } catch (error) {
    const fault = error instanceof SignInRefused ? error.because : 'it cannot be tried'
    return { fault, warnings: known }
  }
}
