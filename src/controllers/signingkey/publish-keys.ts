// Writes ConfigMap `platform-jwks`, from which verifiers read the public signing keys.
import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  ROTATE_ANNOTATION,
  WITHDRAW_ANNOTATION,
} from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import { parseJwks } from '../../authn/jwks.ts'
import { JWKS_DATA_KEY } from '../../domain/signingkey/published-keys.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { SigningKeyStep } from './plan.ts'

/** Why ConfigMap `platform-jwks` is written, for metrics. */
export const JWKS_WRITE_REASONS = ['publish'] as const

/** Dependencies of publishKeys. */
interface PublishDeps {
  readonly client: KubeClient
  /** Holds the ConfigMap, if it exists. */
  readonly records: Store<FullObject<ConfigMap>>
  readonly namespace: string
}

/** A set that is published. */
interface PublishedSet {
  readonly record: ConfigMap
  /** The IDs of its keys. */
  readonly kids: readonly string[]
}

type PublishStep = Extract<SigningKeyStep, { kind: 'publish' }>

/**
 * Publishes the set of the step.
 *
 * @returns null = another writer created the ConfigMap first, and the watch delivers that object
 * @throws Error when the set is not sound; StatusError 409 when the ConfigMap has changed
 */
export async function publishKeys(
  step: PublishStep,
  { client, records, namespace }: PublishDeps,
): Promise<PublishedSet | null> {
  // Parsed once more as verifiers will read it: one malformed entry would break every verifier.
  const parsed = parseJwks(step.data[JWKS_DATA_KEY])
  if (!parsed.ok || parsed.faults.length > 0) throw new Error('the set to publish is not sound')
  const stored = records.get(JWKS_CONFIG_MAP, namespace)
  const record = await (stored
    ? replace(stored.object, step, client)
    : createRecord(step, namespace, client))
  if (!record) return null
  records.observe(record)
  return { record, kids: parsed.jwks.map(({ kid }) => kid) }
}

function replace(
  object: ConfigMap,
  { data, isRotated }: PublishStep,
  client: KubeClient,
): Promise<ConfigMap> {
  const fulfilled = isRotated ? [ROTATE_ANNOTATION, WITHDRAW_ANNOTATION] : [WITHDRAW_ANNOTATION]
  const annotations = Object.fromEntries(
    Object.entries(object.metadata.annotations ?? {}).filter(([name]) => !fulfilled.includes(name)),
  )
  const replacement = {
    ...object,
    ...ENVELOPE,
    metadata: { ...object.metadata, annotations },
    data: { ...object.data, ...data },
  }
  return client.replace<ConfigMap>(CONFIG_MAPS, replacement, JWKS_WRITE_REASONS[0])
}

const ENVELOPE = { apiVersion: 'v1', kind: CONFIG_MAPS.kind }

/** Creates the ConfigMap. null = another writer created it first, and the watch delivers that object. */
async function createRecord(
  { data }: PublishStep,
  namespace: string,
  client: KubeClient,
): Promise<ConfigMap | null> {
  const object = { ...ENVELOPE, metadata: { name: JWKS_CONFIG_MAP, namespace }, data }
  try {
    return await client.create<ConfigMap>(CONFIG_MAPS, object, JWKS_WRITE_REASONS[0])
  } catch (error) {
    if (isConflict(error)) return null
    throw error
  }
}
