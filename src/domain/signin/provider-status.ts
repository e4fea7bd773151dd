// The state of the sign-in providers (contract 27.1). The leading sign-in process keeps it in a ConfigMap, and the operator
// copies it into condition SignInReady of the Config: so the process needs no right on Configs.
import { parseJsonMap } from '../json/json.ts'

/** The state of all providers that are set up. */
export interface ProviderStatus {
  /** Whether every provider works. */
  readonly isReady: boolean
  /** A sentence for each provider that does not work, admits everybody or is insecure; empty = nothing to say. */
  readonly message: string
}

/** The text of the ConfigMap; null = nothing is set up. */
export const providerStatusText = (status: ProviderStatus | null): string =>
  JSON.stringify(status === null ? {} : { ready: status.isReady, message: status.message })

/** The state in the text of the ConfigMap; null = nothing is set up, or the text is malformed. */
export function providerStatusIn(text: string): ProviderStatus | null {
  const { ready, message } = parseJsonMap(text) ?? {}
  return typeof ready === 'boolean' && typeof message === 'string'
    ? { isReady: ready, message }
    : null
}
