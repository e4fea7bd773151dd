// A sign-in at a forged provider, without a browser.
import type { OidcProvider } from '../../../src/api/config.gen.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { createOidcProvider } from '../../../src/signin/providers/oidc/provider.ts'
import type {
  AttemptSecrets,
  ProviderIdentity,
  SignInProvider,
} from '../../../src/signin/providers/provider.ts'
import { optionsFor } from '../providers/options.ts'
import { CLIENT_ID, type ForgedProvider, sharedKey, signed } from './forged-provider.ts'

/** The secrets of the attempt that all tests make. */
export const SECRETS: AttemptSecrets = {
  state: 'state'.repeat(9),
  nonce: 'nonce'.repeat(9),
  verifier: 'verifier'.repeat(6),
}

/** A signal that never aborts. */
export const NO_END = new AbortController().signal

type ProviderOptions = Parameters<typeof createOidcProvider>[0]

/** A provider of this product for an issuer. */
export const providerFor = (
  issuerUrl: string,
  settings: OidcProvider = {},
  options: Partial<ProviderOptions> = {},
): SignInProvider =>
  createOidcProvider({
    ...optionsFor('oidc'),
    settings: { issuerUrl, clientId: CLIENT_ID, clientSecret: 'a secret', ...settings },
    ...options,
  })

/** The address that a browser is sent to, for the attempt of all tests. */
export const beginAt = async (provider: SignInProvider): Promise<URL> =>
  (await provider.begin(SECRETS, NO_END)).url

/** The claims, or others, in a token that verifies. */
export async function goodToken(
  forger: ForgedProvider,
  changed: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const claims = { ...forger.claims(SECRETS.nonce), ...changed }
  return signed(claims, await sharedKey('ES256'), { alg: 'ES256', kid: 'ES256' })
}

/** What a browser brings back. */
export const callbackOf = (parameters: Readonly<Record<string, string>> = {}) => ({
  parameters: new URLSearchParams({ code: 'a code', state: SECRETS.state, ...parameters }),
})

/** Finishes a sign-in whose ID token has these claims besides the usual ones. */
export async function signIn(
  forger: ForgedProvider,
  settings: OidcProvider = {},
  claims: Readonly<Record<string, unknown>> = {},
  options: { readonly clock?: Clock } & Partial<ProviderOptions> = {},
): Promise<ProviderIdentity> {
  forger.token = { id_token: await goodToken(forger, claims), ...forger.token }
  return providerFor(forger.issuer, settings, options).finish(callbackOf(), SECRETS, NO_END)
}
