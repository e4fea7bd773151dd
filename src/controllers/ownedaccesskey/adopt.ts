// Takes on a key that the controller sees for the first time (contract 3.1).
import { ACCESS_KEYS, CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../api/names.ts'
import type { AccessKey, OwnedAccessKeyObject } from '../../domain/accesskey/access-key.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { adoptObject } from '../../kube/controller/object-writes.ts'
import type { Store } from '../../kube/informer/store.ts'
import { targetOf } from './publish.ts'

/** Dependencies of adopt. */
interface AdoptDeps {
  readonly client: KubeClient
  readonly keys: Store<AccessKey>
  readonly newKey: () => string
}

/**
 * Adds the finalizer, the creation annotation and, if there is none, the key itself, in one write.
 *
 * @param createdAt the creation annotation, RFC 3339
 * @returns whether a key was generated; null = the object has changed, and nothing was written
 */
export async function adopt(
  key: AccessKey,
  createdAt: string,
  { client, keys, newKey }: AdoptDeps,
): Promise<{ readonly isGenerated: boolean } | null> {
  const isGenerated = key.digest === null
  const live = key.isKeyOurs
    ? await liveKeyOf(key, client)
    : { key: isGenerated ? newKey() : null, resourceVersion: key.resourceVersion }
  if (live === null) return null
  const metadata = {
    resourceVersion: live.resourceVersion,
    annotations: { [CREATED_ANNOTATION]: createdAt },
  }
  const spec = live.key === null ? {} : { spec: { key: live.key } }
  await adoptObject(targetOf({ client, keys }), key, REVOKE_FINALIZER, { metadata, ...spec })
  return { isGenerated }
}

interface LiveKey {
  /** null = another manager owns the field. */
  readonly key: string | null
  readonly resourceVersion: string
}

/** Reads spec.key from the API server: our field manager owns it, so an apply without it would remove it. */
async function liveKeyOf({ name, uid }: AccessKey, client: KubeClient): Promise<LiveKey | null> {
  const object = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, { name })
  if (!object || object.metadata.uid !== uid) return null
  return { key: object.spec?.key ?? null, resourceVersion: object.metadata.resourceVersion }
}
