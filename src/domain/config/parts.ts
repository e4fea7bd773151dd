import type { AuthSettings, Connector, ConfigSettings } from '../../api/config.gen.ts'
import type { Verdict } from '../conditions.ts'

/**
 * Conditions for what is switched on while no part of the product does it yet (contract 6.7): each
 * True while that is so, absent otherwise. The settings are those in force.
 */
export function partConditions(settings: ConfigSettings): readonly Verdict[] {
  return PARTS.filter(({ isOn }) => isOn(settings)).map(({ type, reason, message }) => ({
    type,
    status: 'True',
    reason,
    message,
  }))
}

interface Part {
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly isOn: (settings: ConfigSettings) => boolean
}

const PARTS: readonly Part[] = [
  {
    type: 'AuditNotWritten',
    reason: 'AuditNotBuilt',
    message: 'audit.enabled is true, but this version writes no audit log.',
    isOn: ({ audit }) => audit?.enabled === true,
  },
  {
    type: 'SignInNotServed',
    reason: 'SignInNotBuilt',
    message: 'auth configures sign-in providers, but this version serves no sign-in.',
    isOn: ({ auth }) => auth !== undefined && offersSignIn(auth),
  },
  {
    type: 'SecretStoreNotSynced',
    reason: 'SecretStoreNotBuilt',
    message: 'secretStore.enabled is true, but this version syncs no secrets.',
    isOn: ({ secretStore }) => secretStore?.enabled === true,
  },
]

const PROVIDERS = ['oidc', 'sourceHostA', 'sourceHostB', 'idpA', 'idpB', 'saml'] as const

const hasProvider = (home: AuthSettings | Connector): boolean =>
  PROVIDERS.some((name) => home[name] !== undefined)

const offersSignIn = (auth: AuthSettings): boolean =>
  hasProvider(auth) || (auth.connectors ?? []).some(hasProvider)
