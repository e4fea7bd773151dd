// What condition SignInReady says of the providers (contract 27.1), and of apps that do not work (26.2). Pure.
import { configuredProviders } from '../domain/settings/providers.ts'
import type { ProviderStatus } from '../domain/signin/provider-status.ts'
import { isCustomHeader } from './answers.ts'
import type { ProviderHealth } from './providers/provider.ts'
import type { SignInState } from './settings.ts'

/**
 * The state of all providers; null = nothing is set up, and nothing wrong.
 *
 * @param healths by id
 * @param appFaults a sentence each
 */
export function providerStatus(
  { settings, publicUrl, groupFilter }: Pick<SignInState, 'settings' | 'publicUrl' | 'groupFilter'>,
  healths: ReadonlyMap<string, ProviderHealth>,
  appFaults: readonly string[],
): ProviderStatus | null {
  const { auth = {}, oidc } = settings
  const { password, connectors = [], customHttpHeaders = {} } = auth
  const hasProviders = configuredProviders(auth).length + connectors.length > 0
  const hasApps = oidc?.enabled === true
  // Passwords are on unless they are switched off, so a platform without an address may be one that waits for people.
  const isMeant = hasProviders || hasApps || password?.disabled !== true
  const faults = [...healths].flatMap(([id, { fault }]) =>
    fault === null ? [] : [`${id}: ${fault}.`],
  )
  const general = [
    ...(publicUrl === null && isMeant
      ? ['platformHost is not set, so no way to sign in is offered.']
      : []),
    ...(groupFilter === null
      ? ['auth.groupsFilters: a regular expression is unusable, so no provider works.']
      : []),
  ]
  const ignored = Object.keys(customHttpHeaders).filter((name) => !isCustomHeader(name))
  const notes = [
    ...[...healths].flatMap(([id, { warnings }]) =>
      warnings.map((warning) => `${id}: ${warning}.`),
    ),
    ...(ignored.length === 0
      ? []
      : [`auth.customHttpHeaders: ignored are ${ignored.toSorted().join(', ')}.`]),
  ]
  if (!hasProviders && !hasApps && general.length + notes.length === 0) return null
  const isReady = faults.length + general.length + appFaults.length === 0
  return { isReady, message: [...general, ...faults, ...appFaults, ...notes].join(' ') }
}
