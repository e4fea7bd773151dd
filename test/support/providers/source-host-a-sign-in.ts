// A sign-in at a stand-in of GitHub, without a browser.
import { onTestFinished } from 'vitest'
import type { SourceHostAProvider } from '../../../src/api/config.gen.ts'
import { enterpriseAddresses } from '../../../src/signin/providers/addresses.ts'
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import { createSourceHostAProvider } from '../../../src/signin/providers/source-host-a/provider.ts'
import type { ServerPair } from '../certificate-builder.ts'
import { beginAt, NO_END, SECRETS } from '../oidc/sign-in.ts'
import { optionsFor } from './options.ts'
import { HOST_CLIENT, type SourceHost, startSourceHost } from './source-host-a.ts'

/** Starts a stand-in that is stopped when the test ends. @param tls null = http */
export const hostOfTest = (tls: ServerPair | null = null): Promise<SourceHost> =>
  startSourceHost(tls, onTestFinished)

type ProviderOptions = Parameters<typeof createSourceHostAProvider>[0]

/** A provider of this product for a stand-in. */
export const providerAt = (
  { url }: Pick<SourceHost, 'url'>,
  settings: SourceHostAProvider = {},
  options: Partial<ProviderOptions> = {},
): SignInProvider =>
  createSourceHostAProvider({
    ...optionsFor('sourceHostA', { sourceHostA: enterpriseAddresses(url) }),
    settings: { ...HOST_CLIENT, ...settings },
    ...options,
  })

/** Finishes a callback with these parameters, beside a code that the stand-in gave for this sign-in. */
export async function finishAt(
  host: SourceHost,
  provider: SignInProvider,
  parameters: Readonly<Record<string, string>> = {},
  signal = NO_END,
): Promise<ProviderIdentity> {
  const code = host.consent((await beginAt(provider)).searchParams)
  const callback = new URLSearchParams({ code, state: SECRETS.state, ...parameters })
  return provider.finish({ parameters: callback }, SECRETS, signal)
}

/** Signs in as the account of the stand-in. @param signal of the caller */
export const signInAt = (
  host: SourceHost,
  settings: SourceHostAProvider = {},
  signal = NO_END,
): Promise<ProviderIdentity> => finishAt(host, providerAt(host, settings), {}, signal)
