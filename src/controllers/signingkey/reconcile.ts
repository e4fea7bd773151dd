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
import { type Outcome, done } from '../../kube/controller/controller.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { createSigningKey } from '../../signing/create.ts'
import type { Keyring } from '../../signing/keyring.ts'
import type { RememberedKeys } from './desired-keys.ts'
import { type SigningKeyStep, type SigningKeyTransition, corruptionsOf, plan } from './plan.ts'

/** What the reconciler works with. */
export interface SigningKeyDeps {
  readonly client: KubeClient
  /** Follows the same ConfigMap. */
  readonly keyring: Keyring
  /** Holds ConfigMap `platform-jwks`, where there is one. */
  readonly records: Store<FullObject<ConfigMap>>
  readonly namespace: string
  readonly algorithm: SigningAlgorithm
  /** `--token-max-ttl` in milliseconds. */
  readonly tokenMaxTtlMs: number
  /** The latest `exp` of the live tokens that a key signed; null = it has none. */
  readonly lastExpMs: (kid: string) => number | null
  readonly events: EventRecorder
  readonly clock: Clock
  readonly log: Log
}

/** The one key of the queue: all signing keys are looked at together. */
export const SIGNING_KEYS = 'signing-keys'

/** Why ConfigMap `platform-jwks` is written, for metrics. */
export const JWKS_WRITE_REASONS = ['publish'] as const

/** Why Secrets of signing keys are written, for metrics. */
export const SIGNING_SECRET_WRITE_REASONS = ['create', 'withdrawn', 'retired'] as const

/**
 * When all keys are looked at, whatever happened. The moments that matter are in the queue already;
 * this finds what no moment was known for: tokens that ended sooner than thought, a clock that was
 * set, a wake that was lost.
 */
export const SIGNING_KEYS_SCHEDULE = '*/10 * * * *'

/** Brings the signing keys one step further; its own write brings them back for the next. */
export function createReconcile(deps: SigningKeyDeps): () => Promise<Outcome> {
  const told = new Set<string>()
  const taken: number[] = []
  let remembered: RememberedKeys = { jwks: [], notes: [] }

  return async () => {
    const { keyring, clock } = deps
    if (!keyring.isComplete()) return done
    const secrets = keyring.secrets()
    const published = keyring.published()
    const nowMs = clock.nowMs()
    const step = plan({ ...deps, secrets, published, remembered, taken, nowMs })
    // A set that needs no mending is what a later one is mended from.
    if (published && step.kind !== 'publish') remembered = published
    keyring.review()
    tellCorrupt(secrets, told, deps)
    switch (step.kind) {
      case 'wait':
        return { result: 'later', atMs: step.untilMs }
      case 'publish':
        await publish(step, deps)
        return done
      case 'create':
        return create(step.generation, taken, deps)
      case 'delete':
        await remove(step.secret, step.because, deps)
        return done
      default:
        return step satisfies never
    }
  }
}

async function publish(
  step: Extract<SigningKeyStep, { kind: 'publish' }>,
  deps: SigningKeyDeps,
): Promise<void> {
  const { records, log } = deps
  // Looked at once more as everybody will read it: one odd entry would stop every verifier.
  const parsed = parseJwks(step.data[JWKS_DATA_KEY])
  if (!parsed.ok || parsed.faults.length > 0) throw new Error('the set to publish is not sound')
  const stored = records.get(JWKS_CONFIG_MAP)
  const written = await (stored ? replace(stored.object, step, deps) : createRecord(step, deps))
  if (!written) return
  records.observe(written)
  log.info({ kids: parsed.jwks.map(({ kid }) => kid) }, 'signing keys published')
  for (const announcement of step.announce) tell(written.metadata, announcement, deps)
}

function replace(
  object: ConfigMap,
  { data, isRotated }: Extract<SigningKeyStep, { kind: 'publish' }>,
  { client }: SigningKeyDeps,
): Promise<ConfigMap> {
  const met = isRotated ? [ROTATE_ANNOTATION, WITHDRAW_ANNOTATION] : [WITHDRAW_ANNOTATION]
  const annotations = Object.fromEntries(
    Object.entries(object.metadata.annotations ?? {}).filter(([name]) => !met.includes(name)),
  )
  const wanted = {
    ...object,
    ...ENVELOPE,
    metadata: { ...object.metadata, annotations },
    data: { ...object.data, ...data },
  }
  return client.replace<ConfigMap>(CONFIG_MAPS, wanted, JWKS_WRITE_REASONS[0])
}

const ENVELOPE = { apiVersion: 'v1', kind: CONFIG_MAPS.kind }

/** null = somebody else was first; the watch brings what they wrote. */
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
  taken: number[],
  { client, namespace, algorithm, clock, log }: SigningKeyDeps,
): Promise<Outcome> {
  const creation = await createSigningKey({ client, namespace, generation, algorithm })
  if (creation === 'created') log.info({ generation, algorithm }, 'signing key created')
  if (creation !== 'taken') return done
  log.warn({ generation }, 'name of the signing key is taken by something else')
  taken.push(generation)
  return { result: 'later', atMs: clock.nowMs() }
}

async function remove(
  { name, uid, resourceVersion }: SigningKeySecret,
  because: 'withdrawn' | 'retired',
  { client, namespace, log }: SigningKeyDeps,
): Promise<void> {
  await client.delete(SECRETS, { namespace, name }, { uid, resourceVersion }, because)
  log.info({ object: { name, uid }, because }, 'signing key deleted')
}

function tellCorrupt(
  secrets: readonly SigningKeySecret[],
  told: Set<string>,
  deps: SigningKeyDeps,
): void {
  const record = deps.records.get(JWKS_CONFIG_MAP)
  if (!record) return
  for (const announcement of corruptionsOf(secrets)) {
    if (!told.has(announcement.of)) tell(record.object.metadata, announcement, deps)
    told.add(announcement.of)
  }
}

function tell(
  { uid }: KubeObject['metadata'],
  { reason, note, of }: SigningKeyTransition,
  { events, namespace }: SigningKeyDeps,
): void {
  events.record({
    regarding: { ...ENVELOPE, name: JWKS_CONFIG_MAP, namespace, uid },
    type: reason === 'SigningKeyRotated' ? 'Normal' : 'Warning',
    reason,
    action: 'Reconcile',
    note,
    discriminator: of,
  })
}
