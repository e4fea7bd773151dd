// Writes the Secret with the secret settings that the gateway needs (contract 6.8).
import { GATEWAY_SETTINGS_SECRET, SECRETS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { applyFields } from '../../kube/controller/object-writes.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { ignoreConflict } from './settings-record.ts'

/** Why Secrets with settings are written, for metrics. */
export const SECRET_SETTINGS_WRITE_REASONS = ['settings'] as const

/** Dependencies of writeSecretSettings. */
interface SecretSettingsDeps {
  readonly client: KubeClient
  readonly secretSettings: Store<FullObject<Secret>>
  readonly namespace: string
}

/** Creates or changes the Secret. @throws StatusError 409 when it has changed, and for a write that is refused */
export async function writeSecretSettings(
  text: string,
  { client, secretSettings, namespace }: SecretSettingsDeps,
): Promise<void> {
  const [reason] = SECRET_SETTINGS_WRITE_REASONS
  const data = { config: Buffer.from(text).toString('base64') }
  const stored = secretSettings.get(GATEWAY_SETTINGS_SECRET, namespace)
  if (stored) {
    const target = { client, resource: SECRETS, store: secretSettings }
    return applyFields(target, stored, { metadata: { namespace }, data }, { reason })
  }
  const metadata = { name: GATEWAY_SETTINGS_SECRET, namespace }
  const object = { apiVersion: 'v1', kind: SECRETS.kind, metadata, data }
  await ignoreConflict(client.create(SECRETS, object, reason))
}
