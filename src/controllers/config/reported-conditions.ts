// Conditions of the Config in force that repeat what other processes report.
import type { Config, ConfigSettings } from '../../api/config.gen.ts'
import { DELIVERY_SETTINGS_SECRET } from '../../api/secret-store-names.ts'
import { type DesiredCondition, findCondition } from '../../domain/conditions.ts'
import { CONDITION_MESSAGE_LIMIT } from '../../domain/settings/validation/faults.ts'
import type { ProviderStatus } from '../../domain/signin/provider-status.ts'
import type { ReportedStoreStatus } from '../../domain/store/store-status.ts'
import { type KnownStoreToken, tokenReadingFor } from '../../domain/store/store-token.ts'
import type { StoredSettingsSecret } from './settings-secrets.ts'

/** What other processes report, and what this one knows of the token that one of them needs. */
export interface ReportedStates {
  /** The state of the sign-in providers (contract 27.1); null = none is set up, or the sign-in process does not run. */
  readonly providers: ProviderStatus | null
  /** The state of the secret store (contract 36.1); null = the delivery process has not reported any. */
  readonly secretStore: ReportedStoreStatus | null
  /** The token of the secret store, as far as it is in a Secret; null = none has been read. */
  readonly storeToken: KnownStoreToken | null
}

/** The reports, with what says which settings they are of. */
interface Reports extends ReportedStates {
  readonly config: Pick<Config, 'status'>
  readonly settingsSecrets: readonly StoredSettingsSecret[]
}

/**
 * The conditions `SignInReady` (contract 27.1) and `SecretStoreReady` (36.1), each absent where there is nothing to say.
 *
 * @param settings the settings in force
 */
export const reportedConditions = (
  settings: ConfigSettings,
  reports: Reports,
): readonly DesiredCondition[] => [
  ...providerConditions(reports),
  ...secretStoreConditions(settings, reports),
]

function providerConditions({ providers }: ReportedStates): readonly DesiredCondition[] {
  if (providers === null) return []
  const { isReady } = providers
  const said = inOneLine(providers.message)
  const message = said || (isReady ? 'Every sign-in provider works.' : 'A provider does not work.')
  return isReady
    ? [{ type: 'SignInReady', status: 'True', reason: 'Ready', message }]
    : [{ type: 'SignInReady', status: 'False', reason: 'Unusable', message }]
}

function secretStoreConditions(
  settings: ConfigSettings,
  { secretStore, storeToken, config, settingsSecrets }: Reports,
): readonly DesiredCondition[] {
  // A state that was reported before the store was switched off, or by a process that is gone, says nothing of it.
  if (settings.secretStore?.enabled !== true || secretStore === null) return []
  if (!isOfPresent(secretStore, settings, { storeToken, settingsSecrets }))
    return asPublished(config)
  const { status, reason, message: reported } = secretStore
  const fault = tokenReadingFor(settings, storeToken)?.fault ?? null
  // The delivery process knows that it has no token, this one knows why.
  const message = reason === 'TokenMissing' && fault !== null ? `${reported} ${fault}` : reported
  return [{ type: 'SecretStoreReady', status, reason, message: inOneLine(message) || reason }]
}

/** Whether it is the state of these settings, which the delivery process has by a Secret. */
const isOfPresent = (
  { settingsVersion }: ReportedStoreStatus,
  settings: ConfigSettings,
  { storeToken, settingsSecrets }: Pick<Reports, 'storeToken' | 'settingsSecrets'>,
): boolean =>
  settingsVersion === null ||
  settingsSecrets.some(
    ({ name, textOf, stored, storedVersion }) =>
      name === DELIVERY_SETTINGS_SECRET &&
      storedVersion === settingsVersion &&
      stored === textOf(settings, storeToken),
  )

/** The condition as it stands, of the generation that it was of: `kubectl wait` waits for one of the present generation. */
function asPublished({ status }: Pick<Config, 'status'>): readonly DesiredCondition[] {
  const found = findCondition(status?.conditions ?? [], 'SecretStoreReady')
  if (found === undefined) return []
  const { lastTransitionTime: _, ...condition } = found
  return [condition as DesiredCondition]
}

/** A text of another process as the message of a condition. */
const inOneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, CONDITION_MESSAGE_LIMIT)
    // Half a character is stored as another text, and status would be written again and again.
    .toWellFormed()
