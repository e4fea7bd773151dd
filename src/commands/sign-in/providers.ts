// The providers that settings set up.
import { lookup } from 'node:dns'
import { createOidcProvider } from '../../signin/providers/oidc/provider.ts'
import type { CreateProvider } from '../../signin/settings.ts'
import type { SignInProcess } from './metrics.ts'

/** Creates the providers of settings. */
export const createProviders =
  ({ settings: { filesDir }, clock, lifecycle }: SignInProcess): CreateProvider =>
  ({ settings, publicUrl }) => {
    const { oidc } = settings.auth ?? {}
    if (oidc === undefined) return []
    return [
      createOidcProvider({
        id: 'oidc',
        displayName: null,
        settings: oidc,
        publicUrl,
        filesDir,
        resolve: lookup,
        clock,
        signal: lifecycle.stopping,
      }),
    ]
  }
