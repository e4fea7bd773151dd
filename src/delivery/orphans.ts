// Keys whose claim is gone are deleted (contract 28.3): a crash, or a finalizer that was taken off by hand, leaves them behind.
import { ACCESS_KEY_CLAIMS, ACCESS_KEYS } from '../api/names.ts'
import { keyIdOf } from '../domain/accesskey/access-key.ts'
import type { KeyOfClaim } from '../domain/claim/claimed-key.ts'
import type { KubeClient } from '../kube/client/client.ts'
import { listPages } from '../kube/client/list.ts'
import { deleteObject } from '../kube/controller/object-writes.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { ClaimStores } from './claims/deps.ts'

const LOOK_EVERY_MS = 60_000

/** Options of deleteOrphans. */
interface OrphanOptions {
  readonly client: KubeClient
  readonly stores: Pick<ClaimStores, 'claims' | 'keys'>
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Deletes such keys at once and every minute, until the signal aborts. Both stores must have synced. */
export async function deleteOrphans(options: OrphanOptions): Promise<void> {
  const { clock, log, signal } = options
  while (!signal.aborted) {
    try {
      await deleteOnce(options)
    } catch (err) {
      if (!signal.aborted)
        log.warn({ err }, 'keys whose claim is gone cannot be deleted, trying again')
    }
    await sleep(clock, LOOK_EVERY_MS, signal)
  }
}

/**
 * The store only says which keys to ask about. The API server says whether their claims are gone: a watch that is behind would
 * end keys that are in use.
 */
async function deleteOnce({ client, stores, log }: OrphanOptions): Promise<void> {
  const known = new Set([...stores.claims.values()].map(({ uid }) => uid))
  const suspects = [...stores.keys.values()].filter(
    ({ claimUid, isDeleting }) => !isDeleting && !known.has(claimUid),
  )
  if (suspects.length === 0) return
  const living = await claimUids(client)
  for (const key of suspects.filter(({ claimUid }) => !living.has(claimUid))) await end(key)

  async function end(key: KeyOfClaim): Promise<void> {
    await deleteObject({ client, resource: ACCESS_KEYS, store: stores.keys }, key, 'claim-gone')
    log.info({ keyID: keyIdOf(key), claim: key.claimKey }, 'access key without its claim deleted')
  }
}

async function claimUids(client: KubeClient): Promise<ReadonlySet<string>> {
  const uids = new Set<string>()
  for await (const page of listPages(client, ACCESS_KEY_CLAIMS))
    for (const { metadata } of page) uids.add(metadata.uid)
  return uids
}
