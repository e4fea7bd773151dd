// Keeps the sealing keys in their Secret (contract 25.3): made by whichever replica is first, and read by all.
import { SECRETS, SIGN_IN_KEYS_SECRET, apiVersionOf } from '../../api/names.ts'
import { type Secret, secretData, secretText } from '../../api/objects.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Rounds } from '../../runtime/concurrency/rounds.ts'
import type { Log } from '../../runtime/log.ts'
import { type AgedKey, renewedKeys, sealingKeysIn, sealingKeysText } from './plan.ts'
import type { SealingKeys } from './seal.ts'

/** Why the Secret is written, for metrics. */
export const SEALING_WRITE_REASONS = ['create', 'renew'] as const

/** Options of keepSealingKeys. */
interface KeepOptions {
  readonly client: KubeClient
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  readonly namespace: string
  readonly random: (bytes: number) => Buffer
  readonly clock: Clock
  readonly log: Log
  /** Ends the work. */
  readonly signal: AbortSignal
}

const LOOK_EVERY_MS = 3_600_000
const BACK_OFF = { firstMs: 500, longestMs: 60_000 }
const DATA_KEY = 'keys'

/** The keys that are kept. */
export interface KeptKeys {
  /** null = there are none yet. */
  readonly current: () => SealingKeys | null
  /** Why there are none; null = there are. */
  readonly fault: () => string | null
}

/** Follows the Secret, renews the keys, and makes new ones when it is deleted. A malformed one is left for an administrator. */
export function keepSealingKeys(options: KeepOptions): KeptKeys {
  const { secrets, namespace, log } = options
  let current: SealingKeys | null = null
  const stored = (): Secret | undefined => secrets.get(SIGN_IN_KEYS_SECRET, namespace)?.object
  const read = (): void => {
    const keys = sealingKeysIn(secretText(stored(), DATA_KEY))
    if (keys !== null) current = keys
    else if (stored() !== undefined)
      log.error(
        { secret: SIGN_IN_KEYS_SECRET },
        'sealing keys cannot be read: mend the Secret, or delete it to get new ones',
      )
  }
  const rounds = new Rounds(options)
  secrets.subscribe(({ name, after }) => {
    if (name !== SIGN_IN_KEYS_SECRET) return
    read()
    if (after === undefined) rounds.wake()
  })
  secrets.whenSynced(() => {
    read()
    void rounds.run(renew)
  })
  let retries = 0
  const renew = async (): Promise<number> => {
    const isDone = await renewOnce(stored(), options)
    retries = isDone ? 0 : retries + 1
    return isDone ? LOOK_EVERY_MS : backoffMs(BACK_OFF, retries - 1)
  }
  return {
    current: () => current,
    fault: () =>
      current === null ? `Secret ${SIGN_IN_KEYS_SECRET} has not been read or written yet` : null,
  }
}

/** Writes the Secret where that is due. @returns whether there is nothing to try again */
async function renewOnce(secret: Secret | undefined, options: KeepOptions): Promise<boolean> {
  const { clock, random, log } = options
  const keys = sealingKeysIn(secretText(secret, DATA_KEY))
  if (secret !== undefined && keys === null) return true
  const renewed = renewedKeys(keys, clock.nowMs(), random)
  if (renewed === null) return true
  try {
    await write(secret, renewed, options)
    log.info({ secret: SIGN_IN_KEYS_SECRET }, 'sealing keys renewed')
    return true
  } catch (err) {
    // Another replica was first: its keys come by the watch.
    if (isConflict(err)) return true
    log.warn({ err }, 'sealing keys cannot be stored, trying again')
    return false
  }
}

async function write(
  secret: Secret | undefined,
  keys: readonly AgedKey[],
  options: KeepOptions,
): Promise<void> {
  const { client, namespace, secrets } = options
  const data = secretData({ [DATA_KEY]: sealingKeysText(keys) })
  const object = {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: { name: SIGN_IN_KEYS_SECRET, namespace },
    type: 'Opaque',
    data,
  }
  const written =
    secret === undefined
      ? await client.create<Secret>(SECRETS, object, 'create')
      : await client.replace<Secret>(SECRETS, { ...secret, data } as Secret, 'renew')
  secrets.observe(written)
}
