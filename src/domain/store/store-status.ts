// The state of the secret store (contract 36.1). The leading delivery process keeps it in a ConfigMap, and the operator copies it
// into condition SecretStoreReady of the Config: so the process needs no right on Configs.
import { REASONS } from '../../api/reasons.ts'
import { parseJsonMap } from '../json/json.ts'

/** Reason of condition SecretStoreReady. */
type StoreReason = (typeof REASONS.secretStoreReady)[number]

/** The state of the store that is set up. */
export interface StoreStatus {
  /** `Unknown` = it waits for a token that is optional. */
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: StoreReason
  /** Sentences without a value or token. */
  readonly message: string
}

/** A state as it was reported. */
export interface ReportedStoreStatus extends StoreStatus {
  /** resourceVersion of the Secret with the settings that it is the state of; null = an older delivery process, which does not say. */
  readonly settingsVersion: string | null
}

/** The text of the ConfigMap; null = no store is switched on. */
export const storeStatusText = (status: ReportedStoreStatus | null): string =>
  JSON.stringify(status ?? {})

/** The state in the text of the ConfigMap; null = no store is switched on, or the text is malformed. */
export function storeStatusIn(text: string): ReportedStoreStatus | null {
  const { status, reason, message, settingsVersion } = parseJsonMap(text) ?? {}
  const isStatus = status === 'True' || status === 'False' || status === 'Unknown'
  if (!isStatus || !isReason(reason) || typeof message !== 'string') return null
  const version = typeof settingsVersion === 'string' ? settingsVersion : null
  return { status, reason, message, settingsVersion: version }
}

const isReason = (value: unknown): value is StoreReason =>
  (REASONS.secretStoreReady as readonly unknown[]).includes(value)
