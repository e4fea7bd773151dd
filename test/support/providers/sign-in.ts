// A sign-in at a stand-in of a product, without a browser.
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import type { ForgedProvider } from '../oidc/forged-provider.ts'
import { beginAt, callbackOf, goodToken, NO_END, SECRETS } from '../oidc/sign-in.ts'

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
