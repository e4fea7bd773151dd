import { ACCESS_KEYS, API_VERSION, CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../api/names.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  keyIdOf,
} from '../../domain/accesskey/access-key.ts'
import { keyConflictOf } from '../../domain/accesskey/key-state.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { CHAIN_STATE_MESSAGES, chainStatusOf } from '../../domain/accesskey/owner-chain.ts'
import { type AppliedObject, type KubeClient, removeFinalizer } from '../../kube/client/client.ts'
import { type Outcome, done } from '../../kube/controller/controller.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Log } from '../../runtime/log.ts'
import { keysIn } from './indexes.ts'
import { type KeyCircumstances, type KeyStep, type KeyTransition, plan } from './plan.ts'
import { type TokensDeps, countUnrecorded, revokeOwnedTokens } from './revoke-owned-tokens.ts'
import type { DesiredKeyStatus } from './status.ts'

/** Called for each expiry, for the platform_* metrics. */
interface KeyObserver {
  /** @param lagSeconds from the key's end to its being seen */
  expired(lagSeconds: number): void
}

/** Dependencies of reconcile. `caps` are those in force, read at each reconcile. */
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

/** Brings one key a step further, a new one two; its own write brings it back for the next. */
export async function reconcile(name: string, deps: KeyDeps): Promise<Outcome> {
  const key = deps.keys.get(name)
  if (!key) return done
  const step = plan(key, circumstancesOf(key, deps))
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return later(step.wakeMs)
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

const later = (wakeMs: number | null): Outcome =>
  wakeMs === null ? done : { result: 'later', atMs: wakeMs }

const LOOK_AGAIN_AFTER_MS = 1000

/** Our write brings the key back by itself; a wake in the past must not bring it back in a circle. */
const soonest = (wakeMs: number | null, nowMs: number): Outcome =>
  later(wakeMs === null ? null : Math.max(wakeMs, nowMs + LOOK_AGAIN_AFTER_MS))

function circumstancesOf(key: AccessKey, deps: KeyDeps): KeyCircumstances {
  const { keys, caps, configName, retentionMs, clock, revocations } = deps
  const conflict = keyConflictOf(key, keysIn(keys))
  const waits = key.isDeleting && countUnrecorded(key, deps) > 0
  const tokensFault = waits ? revocations.fault() : null
  const nowMs = clock.nowMs()
  const ownerFault = ownerFaultOf(key, keys, caps(), nowMs)
  return { caps: caps(), configName, retentionMs, conflict, ownerFault, tokensFault, nowMs }
}

/** A key is worth no more than one that owns it (contract 10.3, 12.3). */
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

/** Finalizer, first-seen annotation and, where there is none, the key: one write (contract 3.1). */
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
  recordEvents(key, [{ reason: 'KeyGenerated', note, of: '' }], deps)
}

interface LiveKey {
  /** null = another manager owns the field. */
  readonly key: string | null
  readonly resourceVersion: string
}

/** Our field set holds the key, so an apply without it would take it out: read it first. */
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
 * Its status in the same pass: behind a burst of others the key would wait once more to be Ready. Whatever
 * else it needs, another adoption too, is for the pass that our write brings.
 */
async function publishAdopted(name: string, deps: KeyDeps): Promise<Outcome> {
  const key = deps.keys.get(name)
  if (!key) return done
  const step = plan(key, circumstancesOf(key, deps))
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
  return soonest(step.wakeMs, deps.clock.nowMs())
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
  { clock, log, observer }: KeyDeps,
): void {
  const lagMs = clock.nowMs() - Date.parse(expirationTimestamp ?? '')
  observer.expired(lagMs / 1000)
  log.info({ object: ref(key), expirationTimestamp, lagMs }, 'access key expired')
}

/** The resourceVersion guards a key that was used a moment ago (contract 5.3). */
async function remove(key: AccessKey, { client, keys, log }: KeyDeps): Promise<void> {
  const { uid, resourceVersion } = key
  const held = await client.delete(ACCESS_KEYS, key, { uid, resourceVersion }, 'expired')
  if (!held) return
  keys.observe(held)
  log.info({ object: ref(key) }, 'expired access key deleted')
}

/** Tokens first: once the key is gone nothing would lead to those that it was issued under. */
async function release(key: AccessKey, deps: KeyDeps): Promise<Outcome> {
  const { client, keys, clock, log } = deps
  if ((await revokeOwnedTokens(key, deps)) > 0) return later(clock.nowMs() + LOOK_AGAIN_AFTER_MS)
  const released = await removeFinalizer(client, ACCESS_KEYS, key, REVOKE_FINALIZER)
  if (!released) return done
  keys.observe(released)
  log.info({ object: ref(key) }, 'access key released')
  return done
}

/** The key ID leads from a key that was found somewhere to what became of it (contract 1.5). */
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
