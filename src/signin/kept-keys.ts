// Keeps keys in their Secret (contract 25.3, 26.1): made by whichever replica is first, and read by all.
import { SECRETS, apiVersionOf } from '../api/names.ts'
import { type Secret, secretData, secretText } from '../api/objects.ts'
import { isConflict } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import type { FullObject, Store } from '../kube/informer/store.ts'
import { backoffMs } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import { Rounds } from '../runtime/concurrency/rounds.ts'
import type { Log } from '../runtime/log.ts'

/** Why the Secret is written, for metrics. */
export const KEPT_KEYS_WRITE_REASONS = ['create', 'renew'] as const

/** Keys of one purpose. */
export interface KeptKind<Keys> {
  /** Name of the Secret. */
  readonly secret: string
  /** The keys in the text of the Secret; null = there is none, or one is malformed. */
  readonly read: (text: string | null) => Keys | null
  /** The text to store now; null = what is stored stays. @param stored null = there is no Secret */
  readonly renewed: (stored: Keys | null, nowMs: number) => string | null
}

/** Options of keepKeys. */
interface KeepOptions {
  readonly client: KubeClient
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  /** Ends the work. */
  readonly signal: AbortSignal
}

const LOOK_EVERY_MS = 3_600_000
const BACK_OFF = { firstMs: 500, longestMs: 60_000 }
const DATA_KEY = 'keys'

/** The keys that are kept. */
export interface KeptKeys<Keys> {
  /** null = there are none yet. */
  readonly current: () => Keys | null
  /** Why there are none; null = there are. */
  readonly fault: () => string | null
  /** Looks at once whether keys are to be made. */
  readonly wake: () => void
}

/** Follows the Secret, renews the keys, and makes new ones when it is deleted. A malformed one is left for an administrator. */
export function keepKeys<Keys>(kind: KeptKind<Keys>, options: KeepOptions): KeptKeys<Keys> {
  const { secrets, namespace, log } = options
  const { secret: secretName } = kind
  let current: Keys | null = null
  const stored = (): Secret | undefined => secrets.get(secretName, namespace)?.object
  const read = (): void => {
    const keys = kind.read(secretText(stored(), DATA_KEY))
    if (keys !== null) current = keys
    else if (stored() !== undefined)
      log.error(
        { secret: secretName },
        'keys cannot be read: mend the Secret, or delete it to get new ones',
      )
  }
  const rounds = new Rounds(options)
  let retries = 0
  const renew = async (): Promise<number> => {
    const isDone = await renewOnce(kind, stored(), options)
    retries = isDone ? 0 : retries + 1
    return isDone ? LOOK_EVERY_MS : backoffMs(BACK_OFF, retries - 1)
  }
  secrets.subscribe(({ name, after }) => {
    if (name !== secretName) return
    read()
    if (after === undefined) rounds.wake()
  })
  secrets.whenSynced(() => {
    read()
    void rounds.run(renew)
  })
  return {
    current: () => current,
    fault: () =>
      current === null ? `Secret ${secretName} has not been read or written yet` : null,
    wake: () => rounds.wake(),
  }
}

/** Writes the Secret where that is due. @returns whether there is nothing to try again */
async function renewOnce<Keys>(
  kind: KeptKind<Keys>,
  secret: Secret | undefined,
  options: KeepOptions,
): Promise<boolean> {
  const { clock, log } = options
  const keys = kind.read(secretText(secret, DATA_KEY))
  if (secret !== undefined && keys === null) return true
  const renewed = kind.renewed(keys, clock.nowMs())
  if (renewed === null) return true
  try {
    await write(kind.secret, secret, renewed, options)
    log.info({ secret: kind.secret }, 'keys renewed')
    return true
  } catch (err) {
    // Another replica was first: its keys come by the watch.
    if (isConflict(err)) return true
    log.warn({ err, secret: kind.secret }, 'keys cannot be stored, trying again')
    return false
  }
}

async function write(
  name: string,
  secret: Secret | undefined,
  text: string,
  { client, namespace, secrets }: KeepOptions,
): Promise<void> {
  const data = secretData({ [DATA_KEY]: text })
  const object = {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: { name, namespace },
    type: 'Opaque',
    data,
  }
  const written =
    secret === undefined
      ? await client.create<Secret>(SECRETS, object, 'create')
      : await client.replace<Secret>(SECRETS, { ...secret, data } as Secret, 'renew')
  secrets.observe(written)
}
