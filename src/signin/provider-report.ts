// Tries the providers, and reports them and the apps to the operator by a ConfigMap (contract 27.1), at the replica that leads.
import { CONFIG_MAPS, SIGN_IN_STATUS_CONFIG_MAP, apiVersionOf } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { type ProviderStatus, providerStatusText } from '../domain/signin/provider-status.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { Clock } from '../runtime/clock.ts'
import { Rounds } from '../runtime/concurrency/rounds.ts'
import type { Log } from '../runtime/log.ts'
import type { FollowedAppClients } from './apps/followed-clients.ts'
import { providerStatus } from './provider-summary.ts'
import type { FollowedSignInSettings, SignInState } from './settings.ts'

/** Why the ConfigMap is written, for metrics. */
export const REPORT_WRITE_REASONS = ['create', 'status'] as const

/** Options of reportProviders. */
interface ProviderReportOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly settings: FollowedSignInSettings
  readonly clients: FollowedAppClients
  readonly clock: Clock
  readonly log: Log
  /** Ends the work. */
  readonly signal: AbortSignal
}

const EVERY_MS = 60_000
const RETRY_MS = 5000
/** A change of settings comes as several events. */
const SETTLE_MS = 200

/** Tries all providers every minute and at each change of the settings, until the signal aborts. */
export async function reportProviders(options: ProviderReportOptions): Promise<void> {
  const { settings, clients, clock, log, signal } = options
  const rounds = new Rounds({ clock, signal, settleMs: SETTLE_MS })
  settings.subscribe(() => rounds.wake())
  clients.subscribe(() => rounds.wake())
  await rounds.run(async () => {
    try {
      const state = settings.current()
      if (state !== null) await publish(await statusOf(state, options), options)
      return EVERY_MS
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'the state of the sign-in providers cannot be stored')
      return RETRY_MS
    }
  })
}

async function statusOf(
  state: SignInState,
  { clients, signal }: ProviderReportOptions,
): Promise<ProviderStatus | null> {
  const checked = [...state.providers].map(
    async ([id, provider]) => [id, await provider.check(signal)] as const,
  )
  return providerStatus(state, new Map(await Promise.all(checked)), clients.current().faults)
}

/** Writes the ConfigMap, if its text differs. */
async function publish(
  status: ProviderStatus | null,
  { client, namespace }: ProviderReportOptions,
): Promise<void> {
  const ref = { namespace, name: SIGN_IN_STATUS_CONFIG_MAP }
  const data = { status: providerStatusText(status) }
  const stored = await client.get<ConfigMap>(CONFIG_MAPS, ref)
  if (stored === null) {
    if (status === null) return
    const object = {
      apiVersion: apiVersionOf(CONFIG_MAPS),
      kind: CONFIG_MAPS.kind,
      metadata: ref,
      data,
    }
    await client.create(CONFIG_MAPS, object, 'create')
  } else if (stored.data?.['status'] !== data.status) {
    await client.replace(CONFIG_MAPS, { ...stored, data } as ConfigMap, 'status')
  }
}
