// Reads the Secret that has the token of the secret store (contract 36.1). Its name is a setting, so no watch follows it.
import { SECRETS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import {
  type KnownStoreToken,
  isSameRef,
  readToken,
  refusedRef,
  type TokenReading,
  type TokenRef,
} from '../../domain/store/store-token.ts'
import { NoResponseError, StatusError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'

/** Dependencies of followToken. */
export interface StoreTokenDeps {
  readonly client: Pick<KubeClient, 'get'>
  readonly namespace: string
  readonly configName: string
  readonly clock: Clock
  /** The last reading; null = none. followToken sets it. */
  readonly storeToken: { known: KnownStoreToken | null }
}

/** Reads the token there. Where the API server does not give the Secret out, what was known of it stays. */
export async function followToken(ref: TokenRef, deps: StoreTokenDeps, log: Log): Promise<void> {
  const { clock, storeToken } = deps
  const before =
    storeToken.known && isSameRef(storeToken.known.ref, ref) ? storeToken.known.reading : null
  let reading = before
  try {
    reading = await readingOf(ref, deps)
  } catch (error) {
    if (!(error instanceof StatusError || error instanceof NoResponseError)) throw error
    log.warn({ err: error }, 'cannot read the token of the secret store, what was known stays')
  }
  storeToken.known = { ref, reading, readMs: clock.nowMs() }
  if (reading && reading.fault !== before?.fault) report(reading, log)
}

async function readingOf(
  ref: TokenRef,
  { client, namespace, configName }: StoreTokenDeps,
): Promise<TokenReading> {
  const fault = refusedRef(ref, configName)
  if (fault !== null) return { token: null, fault }
  return readToken(ref, await client.get<Secret>(SECRETS, { name: ref.name, namespace }))
}

function report({ fault }: TokenReading, log: Log): void {
  if (fault === null) log.info({}, 'token of the secret store found')
  else log.warn({ because: fault }, 'no token of the secret store')
}
