// The settings of signing in, followed (contract 6.8, 25.8): each change is in force at once, for attempts under way as well.
import { SIGN_IN_SETTINGS_SECRET } from '../api/names.ts'
import { type Secret, secretText } from '../api/objects.ts'
import { PASSWORD } from '../domain/settings/providers.ts'
import { matchesAny } from '../domain/settings/formats.ts'
import { type SignInSettings, signInSettingsIn } from '../domain/settings/secret-settings.ts'
import type { FullObject, Store } from '../kube/informer/store.ts'
import type { Log } from '../runtime/log.ts'
import type { Html } from './pages/html.ts'
import { legalHtml } from './pages/legal.ts'
import type { GroupFilter } from './people/groups.ts'
import type { SignInProvider } from './providers/provider.ts'

/** The settings in force, with the providers that they set up. */
export interface SignInState {
  readonly settings: SignInSettings
  /** Base URL of the platform for browsers, without a slash at its end; null = not known: no provider is offered. */
  readonly publicUrl: string | null
  /** By id, in the order of the page. */
  readonly providers: ReadonlyMap<string, SignInProvider>
  readonly hasPasswords: boolean
  /** The legal text of the pages; null = none. */
  readonly legal: Html | null
  /** null = a regular expression of groupsFilters is unusable: no provider works. */
  readonly groupFilter: GroupFilter | null
}

/** Creates a provider from its settings. */
export type CreateProvider = (place: {
  readonly settings: SignInSettings
  /** Base URL of the platform, as in SignInState. */
  readonly publicUrl: string
}) => readonly SignInProvider[]

/** Options of followSignInSettings. */
interface FollowOptions {
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  readonly namespace: string
  /** `--public-url`; null = from platformHost. */
  readonly publicUrl: string | null
  readonly createProviders: CreateProvider
  readonly log: Log
}

/** The settings that are followed. */
export interface FollowedSignInSettings {
  /** null = none have been seen. */
  readonly current: () => SignInState | null
  /** Calls back whenever the settings change, and immediately if there are any. */
  readonly subscribe: (listener: (state: SignInState) => void) => void
}

/** Follows the Secret with the settings. While it can't be read, the settings before stay in force. */
export function followSignInSettings(options: FollowOptions): FollowedSignInSettings {
  const { secrets, namespace, log } = options
  const listeners: ((state: SignInState) => void)[] = []
  let current: SignInState | null = null
  let shown: string | null = null
  const read = (): void => {
    const secret = secrets.get(SIGN_IN_SETTINGS_SECRET, namespace)?.object
    const text = secretText(secret, 'config')
    if (text === shown && text !== null) return
    const state = text === null ? null : stateIn(text, options)
    if (state === null) {
      if (current !== null || secret !== undefined)
        log.error(
          { secret: SIGN_IN_SETTINGS_SECRET },
          'sign-in settings cannot be read, the previous ones stay',
        )
      return
    }
    shown = text
    current = state
    log.info({ providers: [...current.providers.keys()] }, 'sign-in settings in force')
    for (const listener of listeners) listener(current)
  }
  secrets.subscribe(({ name }) => name === SIGN_IN_SETTINGS_SECRET && read())
  secrets.whenSynced(read)
  return {
    current: () => current,
    subscribe: (listener) => {
      listeners.push(listener)
      if (current !== null) listener(current)
    },
  }
}

/** The state by the text of the Secret; null = it is malformed, whatever it is that a part of this program can't read. */
function stateIn(text: string, options: FollowOptions): SignInState | null {
  try {
    const settings = signInSettingsIn(text)
    return settings && stateOf(settings, options)
  } catch {
    return null
  }
}

function stateOf(settings: SignInSettings, options: FollowOptions): SignInState {
  const { auth = {}, platformHost, uiSettings = {} } = settings
  const publicUrl = options.publicUrl ?? (platformHost ? `https://${platformHost}` : null)
  const providers = publicUrl === null ? [] : options.createProviders({ settings, publicUrl })
  return {
    settings,
    publicUrl,
    providers: new Map(providers.map((provider) => [provider.id, provider])),
    hasPasswords: publicUrl !== null && auth.password?.disabled !== true,
    legal: uiSettings.legalTemplate ? legalHtml(uiSettings.legalTemplate) : null,
    groupFilter: filterOf(auth.groupsFilters ?? []),
  }
}

function filterOf(patterns: readonly string[]): GroupFilter | null {
  try {
    return matchesAny(patterns)
  } catch {
    return null
  }
}

/**
 * Whether the settings still have the provider of a session, and it is the one that vouched for the account.
 *
 * @param provider id of the provider, or `password`
 */
export function isSetUp(
  { provider, subject }: { readonly provider: string; readonly subject: string },
  { settings, publicUrl, providers }: Pick<SignInState, 'settings' | 'publicUrl' | 'providers'>,
): boolean {
  if (provider === PASSWORD) return settings.auth?.password?.disabled !== true
  // Without an address nothing is offered, whatever is set up.
  if (publicUrl === null) return true
  const found = providers.get(provider)
  return found !== undefined && found.refresh?.knows(subject) !== false
}
