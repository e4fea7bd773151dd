// A sign-in at a stand-in of GitHub, without a browser.
import { lookup } from 'node:dns'
import { onTestFinished } from 'vitest'
import type { SourceHostAProvider } from '../../../src/api/config.gen.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { enterpriseAddresses, PUBLIC_ADDRESSES } from '../../../src/signin/providers/addresses.ts'
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import { createSourceHostAProvider } from '../../../src/signin/providers/source-host-a/provider.ts'
import type { ServerPair } from '../certificate-builder.ts'
import { beginAt, NO_END, SECRETS } from '../oidc/sign-in.ts'
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
    id: 'sourceHostA',
    displayName: null,
    settings: { ...HOST_CLIENT, ...settings },
    publicUrl: 'https://platform.example.com',
    filesDir: null,
    addresses: { ...PUBLIC_ADDRESSES, sourceHostA: enterpriseAddresses(url) },
    resolve: lookup,
    clock: systemClock(),
    signal: NO_END,
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
