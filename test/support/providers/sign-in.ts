// A sign-in at a stand-in of a product, without a browser.
import { lookup } from 'node:dns'
import { systemClock } from '../../../src/runtime/clock.ts'
import {
  PUBLIC_ADDRESSES,
  type ProviderAddresses,
} from '../../../src/signin/providers/addresses.ts'
import type {
  ProviderIdentity,
  ProviderOptions,
  SignInProvider,
} from '../../../src/signin/providers/provider.ts'
import type { ForgedProvider } from '../oidc/forged-provider.ts'
import { beginAt, callbackOf, goodToken, NO_END, SECRETS } from '../oidc/sign-in.ts'

/** What a provider is created with, besides its settings. */
export const optionsFor = (
  id: string,
  addresses: Partial<ProviderAddresses> = {},
  more: Partial<ProviderOptions<never>> = {},
): Omit<ProviderOptions<never>, 'settings'> => ({
  id,
  displayName: null,
  publicUrl: 'https://platform.example.com',
  filesDir: null,
  addresses: { ...PUBLIC_ADDRESSES, ...addresses },
  resolve: lookup,
  clock: systemClock(),
  signal: NO_END,
  ...more,
})

/** Finishes a sign-in whose ID token has these claims besides the forger's. @param parameters of the callback */
export async function finishAt(
  provider: SignInProvider,
  forger: ForgedProvider,
  claims: Readonly<Record<string, unknown>> = {},
  parameters: Readonly<Record<string, string>> = {},
): Promise<ProviderIdentity> {
  forger.token = { ...forger.token, id_token: await goodToken(forger, claims) }
  return provider.finish(callbackOf(parameters), SECRETS, NO_END)
}

/** The parameters that a browser takes to the provider. */
export const parametersAt = async (
  provider: SignInProvider,
): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await beginAt(provider)).searchParams)

/** What became of a sign-in: the person, or the refusal. */
export const outcomeOf = (found: Promise<ProviderIdentity>): Promise<unknown> =>
  found.catch((error: unknown) => error)
