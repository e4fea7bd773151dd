// Reads a Secret that a list has shown: what it asks for may have changed meanwhile, and a list has no type and no owner.
import { SECRETS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import {
  type StoreDirection,
  isSameRequest,
  secretFault,
} from '../../domain/store/stored-secret.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { ListedSecret } from './deps.ts'
import { GONE, type SyncResult, outOfStep } from './result.ts'

/** The Secret, or how its sync ends without it. */
type SecretReading =
  | { readonly ok: true; readonly secret: Secret }
  | { readonly ok: false; readonly result: SyncResult }

/** Reads the Secret, which must still ask for the same, and may be synced. @throws StatusError, NoResponseError */
export async function readSecret(
  found: ListedSecret,
  direction: StoreDirection,
  client: KubeClient,
): Promise<SecretReading> {
  const { name, namespace } = found
  const secret = await client.get<Secret>(SECRETS, { name, namespace })
  if (secret === null || !isSameRequest(secret.metadata, found)) return { ok: false, result: GONE }
  const fault = secretFault(secret, direction)
  return fault === null
    ? { ok: true, secret }
    : { ok: false, result: outOfStep('refused', 'StoreContentRefused', fault) }
}
