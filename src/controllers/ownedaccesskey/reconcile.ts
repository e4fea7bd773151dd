import { ACCESS_KEYS, API_VERSION, CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../api/names.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  keyIdOf,
} from '../../domain/accesskey/access-key.ts'
import { keyConflictOf } from '../../domain/accesskey/key-state.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { CHAIN_STATE_MESSAGES, chainStatusOf } from '../../domain/accesskey/owner-chain.ts'
import { type AppliedObject, type KubeClient, removeFinalizer } from '../../kube/client/client.ts'
import { type Outcome, done } from '../../kube/controller/controller.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Log } from '../../runtime/log.ts'
import { keysIn } from '../indexes/access-keys.ts'
import { type KeyPlanInput, type KeyStep, type KeyTransition, plan } from './plan.ts'
import { type TokensDeps, countUnrecorded, revokeOwnedTokens } from './revoke-owned-tokens.ts'
import type { DesiredKeyStatus } from './status.ts'

/** Called for each expiry, for the platform_* metrics. */
interface KeyObserver {
  /** @param lagSeconds from the key's expiry to the write of its status */
  expired(lagSeconds: number): void
}

/** Dependencies of reconcile. `caps` returns the caps in force, at each reconcile. */
export interface KeyDeps extends TokensDeps {
  readonly keys: Store<AccessKey>
  readonly caps: () => Caps
  readonly configName: string
  readonly retentionMs: number
  readonly newKey: () => string
  readonly events: EventRecorder
  readonly log: Log
  readonly observer: KeyObserver
}

/** Why keys are written, for metrics. */
export const KEY_WRITE_REASONS = ['adopt', 'status', 'expired', 'finalizer'] as const

/** Does the next step for a key, for a new key the next two; the watch event of its own write enqueues the next. */
export async function reconcile(name: string, deps: KeyDeps): Promise<Outcome> {
  const key = deps.keys.get(name)
  if (!key) return done
  const step = plan(key, planInputOf(key, deps))
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'adopt':
      await adopt(key, step.createdAt, deps)
      return publishAdopted(name, deps)
    case 'publish':
      return publish(key, step, deps)
    case 'delete':
      await remove(key, deps)
      return done
    case 'release':
      return release(key, deps)
    default:
      return step satisfies never
  }
}

const requeueAt = (wakeMs: number | null): Outcome =>
  wakeMs === null ? done : { result: 'later', atMs: wakeMs }

const REQUEUE_AFTER_MS = 1000

/** Requeues after a write, a second later at the earliest: a time in the past must not make a hot loop. */
const requeueAfterWrite = (wakeMs: number | null, nowMs: number): Outcome =>
  requeueAt(wakeMs === null ? null : Math.max(wakeMs, nowMs + REQUEUE_AFTER_MS))

function planInputOf(key: AccessKey, deps: KeyDeps): KeyPlanInput {
  const { keys, caps, configName, retentionMs, clock, revocations } = deps
  const conflict = keyConflictOf(key, keysIn(keys))
  const hasUnrecorded = key.isDeleting && countUnrecorded(key, deps) > 0
  const tokensFault = hasUnrecorded ? revocations.fault() : null
  const nowMs = clock.nowMs()
  const ownerFault = ownerFaultOf(key, keys, caps(), nowMs)
  return { caps: caps(), configName, retentionMs, conflict, ownerFault, tokensFault, nowMs }
}

/** Why an owning key keeps this one from working, as a clause; null = none does (contract 10.3, 12.3). */
function ownerFaultOf(
  key: AccessKey,
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
): string | null {
  if (key.ownerRef === null) return null
  const { state, above } = chainStatusOf(key, keysIn(keys), caps, nowMs)
  if (state === 'Active' || above === null) return null
  return `access key ${above}, which it depends on, ${CHAIN_STATE_MESSAGES[state]}`
}

/** Adds the finalizer, the creation annotation and, if there is none, the key itself, in one write (contract 3.1). */
async function adopt(key: AccessKey, createdAt: string, deps: KeyDeps): Promise<void> {
  const { client, keys, newKey, log } = deps
  const isGenerated = key.digest === null
  const live = key.isKeyOurs
    ? await liveKeyOf(key, client)
    : { key: isGenerated ? newKey() : null, resourceVersion: key.resourceVersion }
  if (live === null) return
  const adopted = await client.apply(ACCESS_KEYS, adoptedObject(key, createdAt, live), 'adopt')
  keys.observe(adopted)
  log.info({ object: ref(key), generated: isGenerated }, 'access key adopted')
  if (!isGenerated) return
  const note = 'A key was generated into spec.key.'
  recordEvents(key, [{ reason: 'KeyGenerated', note, discriminator: '' }], deps)
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

function adoptedObject({ name, uid }: AccessKey, createdAt: string, live: LiveKey): AppliedObject {
  return {
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: {
      name,
      uid,
      resourceVersion: live.resourceVersion,
      annotations: { [CREATED_ANNOTATION]: createdAt },
      finalizers: [REVOKE_FINALIZER],
    },
    ...(live.key === null ? {} : { spec: { key: live.key } }),
  }
}

/**
 * Publishes the status of an adopted key in the same reconcile: after a burst of new keys it would have to queue
 * again to become Ready. Any other step is left to the reconcile that our write causes.
 */
async function publishAdopted(name: string, deps: KeyDeps): Promise<Outcome> {
  const key = deps.keys.get(name)
  if (!key) return done
  const step = plan(key, planInputOf(key, deps))
  return step.kind === 'publish' ? publish(key, step, deps) : done
}

async function publish(
  key: AccessKey,
  step: Extract<KeyStep, { kind: 'publish' }>,
  deps: KeyDeps,
): Promise<Outcome> {
  const { client, keys } = deps
  keys.observe(await client.apply(ACCESS_KEYS, statusObject(key, step.status), 'status', 'status'))
  recordEvents(key, step.announce, deps)
  if (step.announce.some(({ reason }) => reason === 'Expired')) reportExpiry(key, step.status, deps)
  return requeueAfterWrite(step.wakeMs, deps.clock.nowMs())
}

function statusObject(
  { name, uid, resourceVersion }: AccessKey,
  status: DesiredKeyStatus,
): AppliedObject {
  return {
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: { name, uid, resourceVersion },
    status,
  }
}

function reportExpiry(
  key: AccessKey,
  { expirationTimestamp }: DesiredKeyStatus,
  { caps, clock, log, observer }: KeyDeps,
): void {
  const nowMs = clock.nowMs()
  const lagMs = nowMs - (lifetimeOf(key, caps(), nowMs).expiresMs ?? nowMs)
  observer.expired(lagMs / 1000)
  log.info({ object: ref(key), expirationTimestamp, lagMs }, 'access key expired')
}

/** Deletes an expired key. The resourceVersion protects a key that was used a moment ago (contract 5.3). */
async function remove(key: AccessKey, { client, keys, log }: KeyDeps): Promise<void> {
  const { uid, resourceVersion } = key
  const terminating = await client.delete(ACCESS_KEYS, key, { uid, resourceVersion }, 'expired')
  if (!terminating) return
  keys.observe(terminating)
  log.info({ object: ref(key) }, 'expired access key deleted')
}

/**
 * Revokes the tokens before it removes the finalizer: once the key is gone, nothing leads to the tokens issued under
 * it.
 */
async function release(key: AccessKey, deps: KeyDeps): Promise<Outcome> {
  const { client, keys, clock, log } = deps
  if ((await revokeOwnedTokens(key, deps)) > 0) return requeueAt(clock.nowMs() + REQUEUE_AFTER_MS)
  const released = await removeFinalizer(client, ACCESS_KEYS, key, REVOKE_FINALIZER)
  if (!released) return done
  keys.observe(released)
  log.info({ object: ref(key) }, 'access key released')
  return done
}

/** Log fields of a key. By the key ID the log tells what happened to a key that leaked (contract 1.5). */
const ref = (key: AccessKey): Readonly<Record<string, string>> => {
  const { name, uid, resourceVersion, digest } = key
  return { name, uid, resourceVersion, ...(digest === null ? {} : { keyID: keyIdOf(key) }) }
}

/** Reasons of events that need no action; the others are warnings. */
const NORMAL_REASONS: readonly KeyTransition['reason'][] = ['KeyGenerated']

function recordEvents(
  { name, uid }: AccessKey,
  transitions: readonly KeyTransition[],
  { events }: KeyDeps,
): void {
  const regarding = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name, uid }
  recordTransitions(transitions, regarding, NORMAL_REASONS, events)
}
