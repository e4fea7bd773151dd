import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import { API_VERSION, REVOKE_FINALIZER, TOKENS } from '../../api/names.ts'
import type { LiveKeyReader } from '../../authn/live-reader.ts'
import type { RevocationList } from '../../revocation/revocation-list.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { KeyLookup } from '../../domain/accesskey/owner-chain.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import { type KubeClient, removeFinalizer } from '../../kube/client/client.ts'
import { type Outcome, done } from '../../kube/controller/controller.ts'
import { type EventRecorder, recordTransitions } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { TokenSigner } from '../../signing/keyring.ts'
import { keysIn } from '../indexes/access-keys.ts'
import { type IssuesInProgress, ownerOf } from '../indexes/tokens.ts'
import { type TokenPlanInput, type TokenStep, type TokenTransition, plan } from './plan.ts'

/** Called for each issue and each signature, for the platform_* metrics. */
interface TokenObserver {
  issued(): void
  signed(seconds: number): void
}

/** Dependencies of reconcile. Functions without a parameter return the value of the moment. */
export interface TokenDeps {
  readonly client: KubeClient
  readonly tokens: Store<TokenObject>
  readonly keys: Store<AccessKey>
  /** Reads the keys of these names, and the keys that their state depends on, from the API server. */
  readonly readKeys: LiveKeyReader['readWithRelated']
  readonly signer: TokenSigner
  readonly revocations: RevocationList
  readonly issues: IssuesInProgress
  readonly caps: () => Caps
  readonly issuer: () => string | null
  readonly configName: string
  readonly maxTtlMs: number
  readonly retentionMs: number
  readonly events: EventRecorder
  readonly clock: Clock
  readonly log: Log
  readonly observer: TokenObserver
}

/** Why tokens are written, for metrics. */
export const TOKEN_WRITE_REASONS = ['adopt', 'status', 'expired', 'finalizer', 'owner'] as const

/** Delay of a requeue when store and API server disagree about the keys, and the shortest delay after a write. */
const REQUEUE_AFTER_MS = 1000

/** Does the next step for a token; the watch event of its own write enqueues the step after it. */
export async function reconcile(name: string, deps: TokenDeps): Promise<Outcome> {
  const { issues } = deps
  if (issues.has(name)) await readAfterFailure(name, deps)
  const outcome = await runStep(name, deps)
  // Not after an error: the API server may have stored the status although no answer came.
  issues.end(name)
  return outcome
}

/** Reads the token after a failed issue, so that the deletion of its owner sees whether it was issued. */
async function readAfterFailure(
  name: string,
  { client, tokens, issues }: TokenDeps,
): Promise<void> {
  const object = await client.get<DirectClusterEndpointToken>(TOKENS, { name })
  if (object) tokens.observe(object)
  issues.end(name)
}

async function runStep(name: string, deps: TokenDeps): Promise<Outcome> {
  const token = deps.tokens.get(name)
  if (!token) return done
  const { clock, revocations } = deps
  const step = await confirmedStep(token, deps)
  if (step === 'later') return requeueAt(clock.nowMs() + REQUEUE_AFTER_MS)
  switch (step.kind) {
    case 'nothing':
      return done
    case 'wait':
      return requeueAt(step.wakeMs)
    case 'adopt':
      await adopt(token, deps)
      return done
    case 'issue':
      await issue(token, step, deps)
      return done
    case 'record':
      revocations.record(token.uid, step.expiresMs)
      return requeueAt(step.wakeMs)
    case 'publish':
      await publish(token, step, deps)
      return step.wakeMs === null
        ? done
        : requeueAt(Math.max(step.wakeMs, clock.nowMs() + REQUEUE_AFTER_MS))
    case 'delete':
      await remove(token, deps)
      return done
    case 'release':
      await release(token, deps)
      return done
    default:
      return step satisfies never
  }
}

const requeueAt = (atMs: number): Outcome => ({ result: 'later', atMs })

/**
 * Plans the next step. Keys and tokens arrive by two watches, and either may be late: an irreversible step, a
 * signature or a revocation record, is done only if the keys in the API server lead to the same step.
 *
 * @returns `later` = they lead to another step
 */
async function confirmedStep(token: TokenObject, deps: TokenDeps): Promise<TokenStep | 'later'> {
  const step = plan(token, planInputOf(token, keysIn(deps.keys), deps))
  // Before the owner is read from the API server, as it may be deleted during that read.
  if (step.kind === 'issue') deps.issues.begin(token)
  if (!isIrreversible(step, token, deps) || token.ownerRef === null) return step
  const known = await deps.readKeys([token.ownerRef.name])
  const now = plan(token, planInputOf(token, known, deps))
  return isSameStep(step, now) ? now : 'later'
}

/** Whether a step is irreversible and not done yet. A record that was requested before counts as done. */
const isIrreversible = (
  { kind }: TokenStep,
  { uid, isDeleting }: TokenObject,
  { revocations }: TokenDeps,
): boolean =>
  kind === 'issue' || (kind === 'record' && !isDeleting && revocations.requestedForMs(uid) === null)

/** Whether both plans lead to the same step, for an issue with identical claims. Either plan may use older keys. */
const isSameStep = (step: TokenStep, now: TokenStep): boolean =>
  step.kind === 'issue' && now.kind === 'issue'
    ? JSON.stringify(step.claims) === JSON.stringify(now.claims)
    : step.kind === now.kind

function planInputOf(token: TokenObject, known: KeyLookup, deps: TokenDeps): TokenPlanInput {
  const { signer, revocations, clock, configName, maxTtlMs, retentionMs } = deps
  const nowMs = clock.nowMs()
  const caps = deps.caps()
  const { keyID } = token.published
  return {
    owner: ownerOf(token, known, caps, nowMs),
    caps,
    configName,
    issuer: deps.issuer(),
    signing: signer.current(),
    isKeyWithdrawn: keyID !== undefined && signer.isWithdrawn(keyID),
    maxTtlMs,
    isRecorded: revocations.has(token.uid),
    recordFault: revocations.fault(),
    recordAskedForMs: revocations.requestedForMs(token.uid),
    retentionMs,
    nowMs,
  }
}

/** Adds the finalizer before the token is issued, so that no issued token is deleted without a revocation record. */
async function adopt({ name, uid, resourceVersion }: TokenObject, deps: TokenDeps): Promise<void> {
  const metadata = { name, uid, resourceVersion, finalizers: [REVOKE_FINALIZER] }
  const object = { apiVersion: API_VERSION, kind: TOKENS.kind, metadata }
  deps.tokens.observe(await deps.client.apply(TOKENS, object, 'adopt'))
}

/** Signs the token and writes it into status. A token that is signed but not stored is discarded. */
async function issue(
  token: TokenObject,
  { claims, status, announce }: Extract<TokenStep, { kind: 'issue' }>,
  deps: TokenDeps,
): Promise<void> {
  const { signer, clock, log, observer } = deps
  const startedMs = clock.monotonicMs()
  const signed = await signer.sign(claims)
  // The signing key is gone meanwhile. The signer enqueues all tokens when another key can sign.
  if (signed === null) return
  observer.signed((clock.monotonicMs() - startedMs) / 1000)
  const { kid } = signed
  await writeStatus(token, { ...status, token: signed.token, keyID: kid }, deps)
  observer.issued()
  const { expirationTimestamp } = status
  log.info({ object: ref(token), expirationTimestamp, keyID: kid }, 'token issued')
  recordEvents(token, announce, deps)
}

async function publish(
  token: TokenObject,
  { status, keepsToken, announce }: Extract<TokenStep, { kind: 'publish' }>,
  deps: TokenDeps,
): Promise<void> {
  const tokenField = await tokenFieldToApply(token, keepsToken, deps.client)
  if (tokenField === null) return
  await writeStatus(token, { ...status, ...tokenField }, deps)
  recordEvents(token, announce, deps)
  for (const { reason } of announce) {
    if (reason !== 'ScopeExceedsOwner') deps.log.info({ object: ref(token), reason }, 'token ended')
  }
}

/**
 * The field status.token of an apply. To keep it, the apply must repeat it, so it is read first. To remove it, the
 * apply omits it, or sets it to empty if another manager owns the field. null = the object has changed meanwhile.
 */
async function tokenFieldToApply(
  { name, uid, resourceVersion, published }: TokenObject,
  keepsToken: boolean,
  client: KubeClient,
): Promise<{ readonly token?: string } | null> {
  if (!keepsToken) return published.isTokenForeign ? { token: '' } : {}
  const object = await client.get<DirectClusterEndpointToken>(TOKENS, { name })
  const isSame = object?.metadata.uid === uid && object.metadata.resourceVersion === resourceVersion
  return isSame ? { token: object.status?.token ?? '' } : null
}

async function writeStatus(
  { name, uid, resourceVersion }: TokenObject,
  status: object,
  { client, tokens }: TokenDeps,
): Promise<void> {
  const metadata = { name, uid, resourceVersion }
  const object = { apiVersion: API_VERSION, kind: TOKENS.kind, metadata, status }
  tokens.observe(await client.apply(TOKENS, object, 'status', 'status'))
}

async function remove(token: TokenObject, { client, tokens, log }: TokenDeps): Promise<void> {
  const { uid, resourceVersion } = token
  const terminating = await client.delete(TOKENS, token, { uid, resourceVersion }, 'expired')
  if (!terminating) return
  tokens.observe(terminating)
  log.info({ object: ref(token) }, 'ended token deleted')
}

async function release(token: TokenObject, { client, tokens, log }: TokenDeps): Promise<void> {
  const released = await removeFinalizer(client, TOKENS, token, REVOKE_FINALIZER)
  if (!released) return
  tokens.observe(released)
  log.info({ object: ref(token) }, 'token released')
}

const ref = ({ name, uid, resourceVersion }: TokenObject): Readonly<Record<string, string>> => ({
  name,
  uid,
  resourceVersion,
})

/** Reasons of events that need no action; the others are warnings. */
const NORMAL_REASONS: readonly TokenTransition['reason'][] = ['TokenIssued', 'Revoked']

function recordEvents(
  { name, uid }: TokenObject,
  transitions: readonly TokenTransition[],
  { events }: TokenDeps,
): void {
  const regarding = { apiVersion: API_VERSION, kind: TOKENS.kind, name, uid }
  recordTransitions(transitions, regarding, NORMAL_REASONS, events)
}
