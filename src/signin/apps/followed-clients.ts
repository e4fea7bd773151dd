// The apps in force, followed (contract 26.2): by the settings, and by the Secrets of the sign-in namespace.
import type { Secret } from '../../api/objects.ts'
import { appIssuer } from '../../domain/signin/app-routes.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { FollowedSignInSettings } from '../settings.ts'
import { type AppClients, NO_CLIENTS, appClientsOf, declaresClient } from './clients.ts'

/** The apps that are followed. */
export interface FollowedAppClients {
  readonly current: () => AppClients
  /** Calls back whenever a Secret with an app changes. */
  readonly subscribe: (listener: () => void) => void
}

/** Follows the apps. */
export function followAppClients(
  secrets: Store<FullObject<Secret>>,
  settings: FollowedSignInSettings,
): FollowedAppClients {
  const listeners: (() => void)[] = []
  let found: AppClients | null = null
  settings.subscribe(() => {
    found = null
  })
  secrets.subscribe(({ before, after }) => {
    const isOfClient = [before, after].some((one) => one && declaresClient(one.object))
    if (!isOfClient) return
    found = null
    for (const listener of listeners) listener()
  })
  return {
    current: () => {
      found ??= readClients(secrets, settings)
      return found
    },
    subscribe: (listener) => void listeners.push(listener),
  }
}

function readClients(
  secrets: Store<FullObject<Secret>>,
  settings: FollowedSignInSettings,
): AppClients {
  const { settings: { oidc = {} } = {}, publicUrl = null } = settings.current() ?? {}
  if (appIssuer(oidc, publicUrl) === null) return NO_CLIENTS
  const declared = [...secrets.values()].map(({ object }) => object).filter(declaresClient)
  return appClientsOf(oidc, declared)
}
