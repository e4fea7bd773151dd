// The settings of the secret store, as the delivery process acts on them (contract 36.1).
import type { DeliveryProcessSettings } from '../settings/secret-settings.ts'
import { parseDuration } from '../time.ts'
import { SHORTEST_INTERVAL_MS, syncIntervalMs } from './store-token.ts'

/** The store that is switched on. */
export interface StoreSettings {
  /** Base URL; null = neither the setting nor the environment has one. */
  readonly address: string | null
  /** Namespace of the store itself; empty = its root. */
  readonly namespace: string
  /** Secret. null = there is none. */
  readonly token: string | null
  /** Where the token comes from, for messages; null = no place is set. */
  readonly tokenSecret: {
    readonly name: string
    readonly key: string
    /** Whether it may be missing: the store then waits for it. */
    readonly isOptional: boolean
  } | null
  readonly skipsVerification: boolean
  /** Time from one round to the next, in milliseconds. */
  readonly intervalMs: number
  /** What the namespaces of projects begin with. */
  readonly projectPrefix: string
  /** Sentences about settings that do not count as they stand, or are insecure. */
  readonly notes: readonly string[]
}

/**
 * The store in the settings; null = it is switched off, or no project has a namespace.
 *
 * @param environmentAddress VAULT_ADDR; empty = not set
 */
export function storeSettingsOf(
  { projectNamespacePrefix = '', secretStore }: DeliveryProcessSettings,
  environmentAddress: string,
): StoreSettings | null {
  if (secretStore?.enabled !== true || projectNamespacePrefix === '') return null
  const { address, auth = {}, namespace, skipTLSVerify = false, syncInterval = '' } = secretStore
  const { tokenSecretRef } = auth
  const askedMs = parseDuration(syncInterval) ?? SHORTEST_INTERVAL_MS
  return {
    address: address || environmentAddress || null,
    namespace: namespace ?? '',
    token: auth.token || null,
    tokenSecret: tokenSecretRef?.name
      ? {
          name: tokenSecretRef.name,
          key: tokenSecretRef.key || 'token',
          isOptional: tokenSecretRef.optional === true,
        }
      : null,
    skipsVerification: skipTLSVerify,
    intervalMs: syncIntervalMs({ secretStore }),
    projectPrefix: projectNamespacePrefix,
    notes: [
      ...(skipTLSVerify ? ['skipTLSVerify is on: anybody on the way can read the token.'] : []),
      ...(askedMs < SHORTEST_INTERVAL_MS ? ['A syncInterval below 10s counts as 10s.'] : []),
    ],
  }
}
