// Conditions of the Config in force that repeat what other processes report.
import type { ConfigSettings } from '../../api/config.gen.ts'
import type { DesiredCondition } from '../../domain/conditions.ts'
import { CONDITION_MESSAGE_LIMIT } from '../../domain/settings/validation/faults.ts'
import type { ProviderStatus } from '../../domain/signin/provider-status.ts'
import type { StoreStatus } from '../../domain/store/store-status.ts'
import { type KnownStoreToken, tokenReadingFor } from '../../domain/store/store-token.ts'

/** What other processes report, and what this one knows of the token that one of them needs. */
export interface ReportedStates {
  /** The state of the sign-in providers (contract 27.1); null = none is set up, or the sign-in process does not run. */
  readonly providers: ProviderStatus | null
  /** The state of the secret store (contract 36.1); null = the delivery process has not reported any. */
  readonly secretStore: StoreStatus | null
  /** The token of the secret store, as far as it is in a Secret; null = none has been read. */
  readonly storeToken: KnownStoreToken | null
}

/**
 * The conditions `SignInReady` (contract 27.1) and `SecretStoreReady` (36.1), each absent where there is nothing to say.
 *
 * @param settings the settings in force
 */
export const reportedConditions = (
  settings: ConfigSettings,
  states: ReportedStates,
): readonly DesiredCondition[] => [
  ...providerConditions(states),
  ...secretStoreConditions(settings, states),
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
  { secretStore, storeToken }: ReportedStates,
): readonly DesiredCondition[] {
  // A state that was reported before the store was switched off, or by a process that is gone, says nothing of it.
  if (settings.secretStore?.enabled !== true || secretStore === null) return []
  const { status, reason, message: reported } = secretStore
  const fault = tokenReadingFor(settings, storeToken)?.fault ?? null
  // The delivery process knows that it has no token, this one knows why.
  const message = reason === 'TokenMissing' && fault !== null ? `${reported} ${fault}` : reported
  return [{ type: 'SecretStoreReady', status, reason, message: inOneLine(message) || reason }]
}

/** A text of another process as the message of a condition. */
const inOneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, CONDITION_MESSAGE_LIMIT)
    // Half a character is stored as another text, and status would be written again and again.
    .toWellFormed()
