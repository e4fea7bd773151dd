// The providers that settings set up.
import { lookup } from 'node:dns'
import { providersIn } from '../../signin/providers/in-settings.ts'
import type { CreateProvider } from '../../signin/settings.ts'
import type { SignInProcess } from './metrics.ts'

/** Creates the providers of settings. */
export const createProviders =
  ({ settings: { filesDir, addresses }, clock, lifecycle }: SignInProcess): CreateProvider =>
  ({ settings, publicUrl }) =>
    providersIn(settings.auth ?? {}, {
      publicUrl,
      filesDir,
      addresses,
      resolve: lookup,
      clock,
      signal: lifecycle.stopping,
    })
