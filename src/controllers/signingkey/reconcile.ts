import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  ROTATE_ANNOTATION,
  SECRETS,
  WITHDRAW_ANNOTATION,
} from '../../api/names.ts'
import type { ConfigMap, KubeObject } from '../../api/objects.ts'
import { parseJwks } from '../../authn/jwks.ts'
import { JWKS_DATA_KEY } from '../../domain/signingkey/published-keys.ts'
import type { SigningKeySecret } from '../../domain/signingkey/signing-key.ts'
import type { SigningAlgorithm } from '../../domain/token/token-claims.ts'
import { isConflict } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Outcome, done } from '../../kube/controller/outcome.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { Keyring } from '../../signing/keyring.ts'
import { createSigningKey } from '../../signing/signing-key-secret.ts'
import type { LastSoundKeys } from './desired-keys.ts'
import { type SigningKeyStep, type SigningKeyTransition, corruptionsOf, plan } from './plan.ts'

/** Dependencies of the reconciler. */
export interface SigningKeyDeps {
  readonly client: KubeClient
  /** Reads the same ConfigMap as `records`. */
  readonly keyring: Keyring
  /** Holds ConfigMap `platform-jwks`, if it exists. */
  readonly records: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly algorithm: SigningAlgorithm
  /** `--token-max-ttl` in milliseconds. */
  readonly tokenMaxTtlMs: number
  /** The latest `exp` of the live tokens that a key signed; null = it has none. */
  readonly lastExpMs: (kid: string) => number | null
  readonly events: EventRecorder
  readonly clock: Clock
}

/** Why ConfigMap `platform-jwks` is written, for metrics. */
export const JWKS_WRITE_REASONS = ['publish'] as const

/** Why Secrets of signing keys are written, for metrics. */
export const SIGNING_SECRET_WRITE_REASONS = ['create', 'withdrawn', 'retired'] as const

/** Does the next step for the signing keys; the watch event of its own write enqueues the step after it. */
export function createReconcile(
  deps: SigningKeyDeps,
): (context: ReconcileContext) => Promise<Outcome> {
  const reported = new Set<string>()
  const unavailableGenerations: number[] = []
  let lastSound: LastSoundKeys = { jwks: [], notes: [] }

  return async (context) => {
    const { keyring, clock } = deps
    if (!keyring.isComplete()) return done
    const secrets = keyring.secrets()
    const published = keyring.published()
    const nowMs = clock.nowMs()
    const step = plan({ ...deps, secrets, published, lastSound, unavailableGenerations, nowMs })
    // A set that needs no publication is sound: a later damaged set is repaired from it.
    if (published && step.kind !== 'publish') lastSound = published
    keyring.review()
    reportCorrupt(secrets, reported, deps, context)
    switch (step.kind) {
      case 'wait':
        return { result: 'later', atMs: step.untilMs }
      case 'publish':
        await publish(step, deps, context)
        return done
      case 'create':
        return create(step.generation, unavailableGenerations, deps, context)
      case 'delete':
        await remove(step, deps, context)
        return done
      default:
        return step satisfies never
    }
  }
}

async function publish(
  step: Extract<SigningKeyStep, { kind: 'publish' }>,
  deps: SigningKeyDeps,
  context: ReconcileContext,
): Promise<void> {
  const { records, namespace } = deps
  // Parsed once more as verifiers will read it: one malformed entry would break every verifier.
  const parsed = parseJwks(step.data[JWKS_DATA_KEY])
  if (!parsed.ok || parsed.faults.length > 0) throw new Error('the set to publish is not sound')
  const stored = records.get(JWKS_CONFIG_MAP, namespace)
  const written = await (stored ? replace(stored.object, step, deps) : createRecord(step, deps))
  if (!written) return
  records.observe(written)
  context.log.info({ kids: parsed.jwks.map(({ kid }) => kid) }, 'signing keys published')
  recordEvents(written.metadata, step.announce, deps, context)
}

function replace(
  object: ConfigMap,
  { data, isRotated }: Extract<SigningKeyStep, { kind: 'publish' }>,
  { client }: SigningKeyDeps,
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
  { data }: Extract<SigningKeyStep, { kind: 'publish' }>,
  { client, namespace }: SigningKeyDeps,
): Promise<ConfigMap | null> {
  const object = { ...ENVELOPE, metadata: { name: JWKS_CONFIG_MAP, namespace }, data }
  try {
    return await client.create<ConfigMap>(CONFIG_MAPS, object, JWKS_WRITE_REASONS[0])
  } catch (error) {
    if (isConflict(error)) return null
    throw error
  }
}

async function create(
  generation: number,
  unavailableGenerations: number[],
  { client, namespace, algorithm, clock }: SigningKeyDeps,
  { log }: ReconcileContext,
): Promise<Outcome> {
  const creation = await createSigningKey({ client, namespace, generation, algorithm })
  if (creation === 'created') log.info({ generation, algorithm }, 'signing key created')
  if (creation !== 'taken') return done
  log.warn({ generation }, 'name of the signing key is taken by something else')
  unavailableGenerations.push(generation)
  return { result: 'later', atMs: clock.nowMs() }
}

async function remove(
  { secret, because }: Extract<SigningKeyStep, { kind: 'delete' }>,
  { client, namespace }: SigningKeyDeps,
  { log }: ReconcileContext,
): Promise<void> {
  const { name, uid, resourceVersion } = secret
  await client.delete(SECRETS, { namespace, name }, { uid, resourceVersion }, because)
  log.info({ secret: name, because }, 'signing key deleted')
}

/** Records an event for each corruption, once in the life of this process. */
function reportCorrupt(
  secrets: readonly SigningKeySecret[],
  reported: Set<string>,
  deps: SigningKeyDeps,
  context: ReconcileContext,
): void {
  const record = deps.records.get(JWKS_CONFIG_MAP, deps.namespace)
  if (!record) return
  const unreported = corruptionsOf(secrets).filter(
    ({ discriminator }) => !reported.has(discriminator),
  )
  recordEvents(record.object.metadata, unreported, deps, context)
  for (const { discriminator } of unreported) reported.add(discriminator)
}

function recordEvents(
  { uid }: KubeObject['metadata'],
  transitions: readonly SigningKeyTransition[],
  { events, namespace }: SigningKeyDeps,
  { reconcileID }: ReconcileContext,
): void {
  const regarding = { ...ENVELOPE, name: JWKS_CONFIG_MAP, namespace, uid }
  const normalReasons = ['SigningKeyRotated']
  recordTransitions(transitions, { regarding, normalReasons, reconcileID }, events)
}
