// The authorities of certificates that processes of the platform issue themselves: published for the others, and followed by them
// (contract 9.7, 25.1).
import { CONFIG_MAPS, GATEWAY_TLS_SECRET, SECRETS, apiVersionOf } from '../../api/names.ts'
import { type ConfigMap, type Secret, secretText } from '../../api/objects.ts'
import { type KubeClient, type ObjectRef, claim } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Lifecycle } from '../../runtime/lifecycle.ts'
import type { Log } from '../../runtime/log.ts'
import { type Warn, throttledWarnings } from '../../runtime/log-throttle.ts'
import { type FileTexts, followText } from '../../serving/followed-files.ts'
import {
  AUTHORITY_DATA_KEY,
  type Authority,
  PublishedAuthority,
  fileAuthority,
} from '../../serving/tls/authority.ts'

/** The parts of a process that these functions use. */
interface AuthorityProcess {
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Pick<Lifecycle, 'stopping'>
}

/** Where the authority of another process is. */
interface AuthorityPlace {
  /** Path; null = in the ConfigMap. */
  readonly caFile: string | null
  readonly configMap: Required<ObjectRef>
}

/** Follows the authority of another process's certificate. */
export function startAuthority(
  self: AuthorityProcess,
  client: Pick<KubeClient, 'get'>,
  { caFile, configMap }: AuthorityPlace,
): Authority {
  const { clock, log, lifecycle } = self
  const warn = throttledWarnings(clock, log)
  if (caFile === null) return new PublishedAuthority({ client, configMap, clock, warn })
  const text = followText(caFile, { clock, signal: lifecycle.stopping })
  return fileAuthority(textIn(text, warn))
}

const textIn =
  (read: () => FileTexts, warn: Warn): (() => string | null) =>
  () => {
    const last = read()
    if (last.ok) return last.texts[0] ?? null
    warn(last.fault, { because: last.fault }, 'the authority of a certificate cannot be read')
    return null
  }

/** Why the ConfigMap is written, for metrics. */
export const AUTHORITY_WRITE_REASONS = ['authority'] as const

const BACK_OFF = { firstMs: 500, longestMs: 60_000 }
const LOOK_EVERY_MS = 60_000

/**
 * Creates the function that publishes the authority of this process's own certificate, to be called whenever a certificate is in
 * use. It tries until the ConfigMap is stored, and looks each minute whether it still is: without it nobody trusts this process.
 */
export function authorityPublisher(
  { clock, log, lifecycle }: AuthorityProcess,
  client: Pick<KubeClient, 'get'>,
  deps: ClientDeps,
  configMap: Required<ObjectRef>,
): () => void {
  const { stopping: signal } = lifecycle
  const { namespace } = configMap
  let isKept = false
  const publish = async (): Promise<void> => {
    const secret = await client.get<Secret>(SECRETS, { namespace, name: GATEWAY_TLS_SECRET })
    const pem = secretText(secret ?? undefined, AUTHORITY_DATA_KEY)
    if (pem === null) return
    const stored = await client.get<ConfigMap>(CONFIG_MAPS, configMap)
    if (pem === stored?.data?.[AUTHORITY_DATA_KEY]) return
    const object = {
      apiVersion: apiVersionOf(CONFIG_MAPS),
      kind: CONFIG_MAPS.kind,
      metadata: configMap,
      data: { [AUTHORITY_DATA_KEY]: pem },
    }
    await claim(deps, CONFIG_MAPS, object, { manager: deps.fieldManager, reason: 'authority' })
  }
  const untilStored = async (): Promise<void> => {
    for (let retries = 0; !signal.aborted; retries += 1) {
      try {
        return await publish()
      } catch (err) {
        log.warn(
          { err, configMap: configMap.name },
          'the authority of the certificate cannot be published, trying again',
        )
        await sleep(clock, backoffMs(BACK_OFF, retries), signal)
      }
    }
  }
  const keepStored = async (): Promise<void> => {
    isKept = true
    while (!signal.aborted) {
      await untilStored()
      await sleep(clock, LOOK_EVERY_MS, signal)
    }
  }
  return () => void (isKept ? untilStored() : keepStored())
}
