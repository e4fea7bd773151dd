import { SECRETS } from '../../api/names.ts'
import type { SigningAlgorithm } from '../../domain/token/token-claims.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Outcome, done } from '../../kube/controller/outcome.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Keyring } from '../../signing/keyring.ts'
import { createSigningKey } from '../../signing/signing-key-secret.ts'
import type { LastSoundKeys } from './desired-keys.ts'
import { type SigningKeyStep, plan } from './plan.ts'
import { publishKeys } from './publish-keys.ts'
import { type ReportDeps, recordEvents, reportCorrupt } from './report.ts'

/** Dependencies of the reconciler. */
export interface SigningKeyDeps extends ReportDeps {
  readonly client: KubeClient
  /** Reads the same ConfigMap as `records`. */
  readonly keyring: Keyring
  readonly algorithm: SigningAlgorithm
  /** `--token-max-ttl` in milliseconds. */
  readonly tokenMaxTtlMs: number
  /** The latest `exp` of the live tokens that a key signed; null = it has none. */
  readonly lastExpMs: (kid: string) => number | null
  readonly clock: Clock
}

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
  const { log } = context
  const published = await publishKeys(step, deps)
  if (published === null) return
  const { record, kids } = published
  log.info({ kids }, 'signing keys published')
  recordEvents(record.metadata, step.announce, deps, context)
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
  log.info({ secret: { name, uid }, because }, 'signing key deleted')
}
