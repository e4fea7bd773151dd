// What a provider of this product is created with in a test, besides its settings.
import { lookup } from 'node:dns'
import { systemClock } from '../../../src/runtime/clock.ts'
import {
  PUBLIC_ADDRESSES,
  type ProviderAddresses,
} from '../../../src/signin/providers/addresses.ts'
import type { ProviderContext, ProviderOptions } from '../../../src/signin/providers/provider.ts'

/** What providers of every kind share, with addresses of stand-ins. */
export const contextWith = (addresses: Partial<ProviderAddresses> = {}): ProviderContext => ({
  publicUrl: 'https://platform.example.com',
  filesDir: null,
  addresses: { ...PUBLIC_ADDRESSES, ...addresses },
  resolve: lookup,
  clock: systemClock(),
  signal: new AbortController().signal,
})

/** The same, with the name of the provider. */
export const optionsFor = (
  id: string,
  addresses: Partial<ProviderAddresses> = {},
  more: Partial<ProviderOptions<never>> = {},
): Omit<ProviderOptions<never>, 'settings'> => ({
  ...contextWith(addresses),
  id,
  displayName: null,
  ...more,
})
